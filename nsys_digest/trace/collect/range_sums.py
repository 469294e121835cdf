"""Ranges that have ended, added up by name."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.accumulators import Firsts, Totals
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.streaming import StreamingUnion
from nsys_digest.trace.collect.chosen import Clip


class RangeSums:
    """Count, total, first start and union by group, and rows by process."""

    def __init__(self, session_ns: int | None) -> None:
        """Start without a range; the session ends at ``session_ns``."""
        self.session_ns = session_ns
        self.totals, self.firsts = Totals(), Firsts()
        self.lengths = Totals()
        """Whole lengths of ranges of which a part may be looked at; empty without a window."""
        self.unions = StreamingUnion()
        self.process_rows = Totals()
        self.reversed_count = self.ended_with_session_count = 0

    def add(self, start_ns: Int64s, end_ns: Int64s, group: Int64s, process: Int64s, clip: Clip | None) -> int:
        """Take ranges, arrays of shape (n,), and return how many count; ``process`` are small ids."""
        length_ns = end_ns - start_ns
        if clip is not None:
            counts, within_ns = clip(start_ns, end_ns)
            start_ns, end_ns, group, process = start_ns[counts], end_ns[counts], group[counts], process[counts]
            self.lengths.add(group, np.maximum(length_ns[counts], 0))
            length_ns = np.where(length_ns[counts] < 0, -1, within_ns)
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        if self.session_ns is not None:
            self.ended_with_session_count += int(np.count_nonzero(end_ns == self.session_ns))
        self.process_rows.add(process, np.zeros(process.size, np.int64))
        self.firsts.add(group, start_ns)
        self.totals.add(group, length_ns)
        self.unions.add(start_ns, end_ns, group)
        return start_ns.size

    def merge(self, other: RangeSums, group: Int64s, process: Int64s) -> None:
        """Take the ranges of another; ``group`` and ``process`` are those here of each there."""
        self.totals.merge(other.totals, group)
        self.lengths.merge(other.lengths, group)
        self.firsts.merge(other.firsts, group)
        self.unions.merge(other.unions, group)
        self.process_rows.merge(other.process_rows, process)
        self.reversed_count += other.reversed_count
        self.ended_with_session_count += other.ended_with_session_count
