"""Every NVTX range, for the sections that look at one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Columns, smallest_type
from nsys_digest.trace.events import Ranges
from nsys_digest.trace.nsys.tables import OPEN


class RangePart:
    """Some of the ranges."""

    def __init__(self, rows: int) -> None:
        """Start without a row; ``rows`` says about how many there are."""
        self._rows = Columns(rows, 2, 4)
        """Start, end (``OPEN``: the last time stamp), group, code of the thread, 1 for push/pop, 1 for an end on the
        thread of the start."""

    def add(
        self,
        start_ns: Int64s,
        end_ns: Int64s,
        group: Int64s,
        thread: Int64s,
        is_push_pop: Int64s,
        ends_on_thread: Int64s,
    ) -> None:
        """Take ranges, arrays of shape (n,)."""
        self._rows.add(start_ns, end_ns, group, thread, is_push_pop, ends_on_thread)

    def merge(self, other: RangePart, group: Int64s, thread: Int64s) -> None:
        """Take the rows of another part: ``group`` and ``thread`` are those here of each there."""
        for start_ns, end_ns, group_there, thread_there, *flags in other._rows.slices():
            self._rows.add(start_ns, end_ns, group[group_there], thread[thread_there], *flags)

    def finish(self, last_ns: int, thread_of_code: Int64s, threads: Sequence[int]) -> Ranges:
        """End the part, and put the ranges in order; open ones end at ``last_ns``.

        ``threads`` are the globalTids of all threads, ``thread_of_code`` the index into them of each code.
        """
        start_ns, end_ns, code = (self._rows.column(index) for index in (0, 1, 3))
        thread = thread_of_code.astype(smallest_type(len(threads)))[code] if code.size else code
        order = np.lexsort((-_closed(start_ns, end_ns, last_ns), start_ns, thread))
        edges = np.searchsorted(thread[order], np.arange(len(threads) + 1))
        del start_ns, end_ns, code, thread
        start_ns, end_ns, group, _, is_push_pop, ends_on_thread = self._rows.finish(order)
        return Ranges(
            start_ns=start_ns,
            end_ns=_closed(start_ns, end_ns, last_ns),
            group=group,
            is_push_pop=is_push_pop.astype(bool),
            ends_on_thread=ends_on_thread.astype(bool),
            was_open=end_ns == OPEN,
            edges=edges,
            threads=tuple(threads),
        )


def _closed(start_ns: Int64s, end_ns: Int64s, last_ns: int) -> Int64s:
    """Return the ends, of open ranges the last time stamp; none is before its start."""
    closed_ns = np.maximum(end_ns, start_ns)
    was_open = end_ns == OPEN
    closed_ns[was_open] = np.maximum(start_ns[was_open], last_ns)
    return closed_ns
