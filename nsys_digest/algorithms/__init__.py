"""Algorithms on arrays: intervals, nesting, totals; arrays in, arrays out, nothing of CUDA."""
