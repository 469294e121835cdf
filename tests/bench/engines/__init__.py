"""Rival engines: each reads one trace as a whole process and prints the same numbers as one JSON object."""
