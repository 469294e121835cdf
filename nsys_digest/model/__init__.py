"""What a digest is: its types, how they become JSON and tables, and the paths of its figures."""
