"""What one pass over each event table keeps: totals, merged intervals, and the few rows that are listed whole."""
