"""A program of known shape: it does some of everything that a trace can hold, and says exactly how much."""

from __future__ import annotations

from nsys_digest.workloads.patterns.run import PatternsResult, Plan, run

__all__ = ["PatternsResult", "Plan", "run"]
