"""Containers of tables that hold a trace, opened read-only."""
