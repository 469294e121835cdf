"""Where the steps are: instances of ranges, or stretches from a mark to the next of its thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import Marks, Ranges
from nsys_digest.trace.nsys.tables import THREAD_BITS


@dataclass(frozen=True, slots=True)
class Instances:
    """Steps in order of start, then of end, then of thread; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    thread: Int64s
    """globalTid."""
    name: Int64s
    """Index into the names of the ranges or marks."""
    cut: Bools
    """Whether it was open when the capture ended."""

    @property
    def process(self) -> Int64s:
        """The globalPid of each."""
        return self.thread & ~THREAD_BITS

    def some(self, chosen: Int64s | Bools) -> Instances:
        """Return those at these positions."""
        return Instances(
            self.start_ns[chosen], self.end_ns[chosen], self.thread[chosen], self.name[chosen], self.cut[chosen]
        )


def of_ranges(ranges: Ranges, wanted: Bools, session_ns: int | None) -> Instances:
    """Return the instances of the wanted groups; one that lies within another on its thread is part of that.

    A range that nobody ended is cut. nsys ends such at the very end of the session, at ``session_ns``.
    """
    chosen = np.flatnonzero(wanted[ranges.group]) if ranges.group.size else np.zeros(0, np.int64)
    thread = np.searchsorted(ranges.edges, chosen, side="right") - 1
    outer = _outer(ranges.start_ns[chosen], ranges.end_ns[chosen], thread)
    chosen, thread = chosen[outer], np.array(ranges.threads, np.int64)[thread[outer]]
    cut = ranges.was_open[chosen] | (ranges.end_ns[chosen] == (-1 if session_ns is None else session_ns))
    group = ranges.group[chosen].astype(np.int64)
    return _in_order(ranges.start_ns[chosen], ranges.end_ns[chosen], thread, group, cut)


def of_marks(marks: Marks, wanted: Bools, threads: Sequence[int]) -> Instances:
    """Return the stretches from each mark of a wanted name to the next of its thread; the last of a thread has none."""
    chosen = np.flatnonzero(wanted[marks.name]) if marks.name.size else np.zeros(0, np.int64)
    first = chosen[:-1][marks.thread[chosen[1:]] == marks.thread[chosen[:-1]]]
    after = chosen[1:][marks.thread[chosen[1:]] == marks.thread[chosen[:-1]]]
    thread = np.array(threads, np.int64)[marks.thread[first]]
    return _in_order(
        marks.start_ns[first], marks.start_ns[after], thread, marks.name[first], np.zeros(first.size, bool)
    )


def _in_order(start_ns: Int64s, end_ns: Int64s, thread: Int64s, name: Int64s, cut: Bools) -> Instances:
    found = Instances(start_ns, end_ns, thread, name, cut)
    return found.some(np.lexsort((thread, end_ns, start_ns)))


def _outer(start_ns: Int64s, end_ns: Int64s, thread: Int64s) -> Int64s:
    """Return the ranges that lie within no other on their thread; by thread, then by start, the longer one first."""
    times = np.unique(np.concatenate((start_ns, end_ns)))
    line = thread * np.int64(times.size + 1)
    start, end = line + np.searchsorted(times, start_ns), line + np.searchsorted(times, end_ns)
    before = np.append(np.int64(-1), np.maximum.accumulate(end)[:-1])[: end.size]
    return np.flatnonzero((end > before) | (start >= before))
