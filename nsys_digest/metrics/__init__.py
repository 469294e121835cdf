"""One file a section of the digest; each a pure function of what the scan collected."""
