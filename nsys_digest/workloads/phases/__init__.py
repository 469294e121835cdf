"""The log of the phases of a workload, and its comparison with a trace."""
