"""Two sides in, what differs between them out: facts of the capture, figures, names, and terms of the span's change."""
