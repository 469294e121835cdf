"""What would gain most, and what to do about it: rules over the digest alone."""
