"""One file an output format; these arrange what the digest holds, and compute nothing."""
