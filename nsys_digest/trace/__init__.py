"""From a file to columns: containers, the scan, and what links GPU work to its calls."""
