"""The events of a trace as tables: one file a table, each declared once; rows come batch by batch."""
