"""The last time stamp of a batch."""

from __future__ import annotations

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.nsys.tables import OPEN


def last_time(start_ns: Int64s, end_ns: Int64s) -> int:
    """Return the largest start or end; ``OPEN`` where there is none."""
    return max(int(start_ns.max(initial=OPEN)), int(end_ns.max(initial=OPEN)))
