"""Unions of what streams by: merged intervals only, in runs, and gone through in windows of time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, grouped_union

_WINDOW = 1 << 17
_UINT32_MAX = 2**32 - 1


class _Run(NamedTuple):
    """Merged intervals of one stretch of rows, each group in order of start; ``counts[i]`` of group ``groups[i]``."""

    start_ns: Int64s
    length_ns: Int64s | npt.NDArray[np.uint32]
    groups: Int64s
    counts: Int64s
    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, merged: GroupedIntervals) -> _Run:
        """Keep merged intervals, at least one, in 12 bytes each where all are shorter than 4.29 s, else in 16."""
        length_ns = merged.end_ns - merged.start_ns
        short = int(length_ns.max()) <= _UINT32_MAX
        groups, counts = np.unique(merged.group, return_counts=True)
        first_ns, last_ns = int(merged.start_ns.min()), int(merged.end_ns.max())
        kept = length_ns.astype(np.uint32) if short else length_ns
        return cls(merged.start_ns, kept, groups, counts, first_ns, last_ns)

    def within(self, low_ns: int, high_ns: int) -> GroupedIntervals:
        """Return what lies in ``[low, high)``; what crosses an edge is cut there."""
        group = np.repeat(self.groups, self.counts)
        end_ns = self.start_ns + self.length_ns
        if low_ns <= self.first_ns and self.last_ns <= high_ns:
            return GroupedIntervals(self.start_ns, end_ns, group)
        inside = np.flatnonzero((end_ns > low_ns) & (self.start_ns < high_ns))
        start_ns, end_ns = np.maximum(self.start_ns[inside], low_ns), np.minimum(end_ns[inside], high_ns)
        return GroupedIntervals(start_ns, end_ns, group[inside])


class StreamingUnion:
    """Union of half-open intervals by group, fed batch by batch in any order.

    Kept are merged intervals only, 12 bytes each, in runs of about the same stretch of rows, and some pending ones.
    The runs are merged with each other once, at the end, window of time by window of time, so that memory does not
    double.
    """

    def __init__(self, *, seal_at: int = _WINDOW, window: int = _WINDOW, samples: int = 128) -> None:
        """Start without an interval.

        Intervals are merged into a run when ``seal_at`` are pending. A window has about ``window`` of them, and its
        edges are found by looking at ``samples`` of them, ``window`` at most.
        """
        self._seal_at, self._step, self._samples = seal_at, max(1, window // samples), samples
        self._pending: list[tuple[Int64s, Int64s, Int64s]] = []
        self._pending_count = 0
        self._runs: list[_Run] = []

    def add(self, start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
        """Take intervals with their groups, arrays of shape (n,), which are copied."""
        self._pending.append((start_ns.copy(), end_ns.copy(), group.copy()))
        self._pending_count += start_ns.size
        if self._pending_count >= self._seal_at:
            self._seal()

    def _seal(self) -> None:
        """Merge what is pending into a run of its own."""
        if not self._pending:
            return
        start_ns, end_ns, group = (np.concatenate(column) for column in zip(*self._pending, strict=True))
        self._pending, self._pending_count = [], 0
        merged = grouped_union(start_ns, end_ns, group)
        if merged.group.size:
            self._runs.append(_Run.of(merged))

    def merge(self, other: StreamingUnion, group: Int64s) -> None:
        """Take what another has; ``group`` is the group here of each group there."""
        self._runs += [run._replace(groups=group[run.groups]) for run in other._runs]
        self._pending += [(start_ns, end_ns, group[there]) for start_ns, end_ns, there in other._pending]
        self._pending_count += other._pending_count
        if self._pending_count >= self._seal_at:
            self._seal()

    def windows(self) -> Iterator[GroupedIntervals]:
        """Return the whole union in windows of time, in order of time.

        In each window the intervals of a group are disjoint, or nearly so: they may still overlap where the rows were
        out of order, so that a consumer merges them by the groups it wants. What crosses the edge of a window is cut
        there: lengths add up, and touching pieces join when they are merged again.

        What was given is held no longer by the iterator, so that memory is freed on the way where the union is dropped.
        """
        self._seal()
        return _windows(list(self._runs), self._step, self._samples)


def _windows(runs: list[_Run], step: int, samples: int) -> Iterator[GroupedIntervals]:
    for low_ns, high_ns in pairwise(_window_edges(runs, step, samples)):
        parts = [run.within(low_ns, high_ns) for run in runs if run.first_ns < high_ns]
        runs = [run for run in runs if run.last_ns > high_ns]
        yield GroupedIntervals(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _window_edges(runs: list[_Run], step: int, samples: int) -> list[int]:
    """Return times that cut the runs into windows."""
    if not runs:
        return []
    starts = np.sort(np.concatenate([run.start_ns[::step] for run in runs]))
    inner = np.unique(starts[samples::samples]).tolist()
    first, last = min(run.first_ns for run in runs), max(run.last_ns for run in runs)
    return [first, *(edge for edge in inner if first < edge < last), last]


def windows_of_sorted(start_ns: Int64s, end_ns: Int64s, group: npt.NDArray[Any]) -> Iterator[GroupedIntervals]:
    """Yield intervals in order of start in windows of time, as :meth:`StreamingUnion.windows` does."""
    carried = GroupedIntervals(*(np.zeros(0, np.int64) for _ in range(3)))
    for low in range(0, start_ns.size, _WINDOW):
        part = slice(low, low + _WINDOW)
        begun = GroupedIntervals(start_ns[part], end_ns[part], group[part].astype(np.int64))
        window = GroupedIntervals(*(np.concatenate(both) for both in zip(carried, begun, strict=True)))
        if part.stop >= start_ns.size:
            yield window
            return
        edge = start_ns[part.stop]
        across = window.end_ns > edge
        carried = GroupedIntervals(
            np.full(int(across.sum()), edge, np.int64), window.end_ns[across], window.group[across]
        )
        yield window._replace(end_ns=np.minimum(window.end_ns, edge))
