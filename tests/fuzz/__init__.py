"""Damaged inputs, made at random without end: the program must refuse each in one line, or read it and be right."""
