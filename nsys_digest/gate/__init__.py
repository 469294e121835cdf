"""Holding runs to a policy: rules, significance, verdicts, baselines."""
