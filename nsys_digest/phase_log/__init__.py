"""The log of a distillation step, written and read: lines of text, or one JSON document."""
