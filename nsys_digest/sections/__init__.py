"""The sections of a digest, each computed from what the scan collected."""
