"""The recorder: finds nsys, sees that it can work, runs a program under it, and leaves only the trace behind."""
