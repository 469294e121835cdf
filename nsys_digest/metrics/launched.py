"""GPU work by who launched it: the operations behind the calls of one thread in a stretch of time."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from nsys_digest.events import NONE, Events
from nsys_digest.intervals import Int64s, grouped_union
from nsys_digest.schema.tables import GPU_KINDS
from nsys_digest.timeline import depths

_SLICE = 1 << 20


class Stretches(NamedTuple):
    """Stretches ``[first, after)`` of launching calls, and which of the stretches of time asked for each belongs to."""

    first: Int64s
    after: Int64s
    asked: Int64s


class LaunchedWork:
    """Calls that launched something, in lines, and their operations in the same order.

    A line holds calls of one thread that do not overlap, so that both their starts and their ends are in order. A
    thread has one line, and a further one for each level of calls that nest.
    """

    def __init__(self, events: Events) -> None:
        """Put the launching calls in lines, and the linked operations behind them."""
        operations, calls = events.operations, events.calls
        linked = np.flatnonzero(operations.call != NONE)
        launching = np.unique(operations.call[linked]).astype(np.int64)
        start_ns, end_ns = calls.start_ns[launching], calls.end_ns[launching]
        edges = np.searchsorted(launching, calls.edges)
        order = np.arange(launching.size)
        self._lines: defaultdict[int, list[slice]] = defaultdict(list)
        for thread in np.flatnonzero(np.diff(edges)).tolist():
            part = slice(int(edges[thread]), int(edges[thread + 1]))
            if (end_ns[part][:-1] <= start_ns[part][1:]).all():
                self._lines[thread].append(part)
                continue
            by_nesting = np.lexsort((-end_ns[part], start_ns[part]))
            depth = depths(start_ns[part][by_nesting], np.maximum(end_ns[part], start_ns[part] + 1)[by_nesting])
            by_line = np.argsort(depth, kind="stable")
            order[part] = by_nesting[by_line] + part.start
            borders = np.searchsorted(depth[by_line], np.arange(int(depth.max()) + 2)) + part.start
            self._lines[thread] += [slice(low, high) for low, high in pairwise(borders.tolist())]
        self._start_ns, self._end_ns = start_ns[order], end_ns[order]
        position = np.empty(order.size, np.int64)
        position[order] = np.arange(order.size)
        position_of = position[np.searchsorted(launching, operations.call[linked])]
        behind = linked[np.argsort(position_of, kind="stable")]
        self._edges = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(position_of, minlength=order.size))))
        """Operations of the i-th launching call are at ``edges[i]:edges[i + 1]``."""
        self._operation_start_ns, self._operation_end_ns = operations.start_ns[behind], operations.end_ns[behind]
        kernels = operations.kind[behind] == GPU_KINDS.index("kernel")
        self._kernels_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kernels, dtype=np.int64)))

    def within(self, thread: Int64s, start_ns: Int64s, end_ns: Int64s) -> Stretches:
        """Return the launching calls of a thread that lie wholly in ``[start, end]``."""
        return self._stretches(thread, start_ns, end_ns, wholly=True)

    def begun_in(self, thread: Int64s, start_ns: Int64s, end_ns: Int64s) -> Stretches:
        """Return the launching calls of a thread that begin in ``[start, end)``."""
        return self._stretches(thread, start_ns, end_ns, wholly=False)

    def _stretches(self, thread: Int64s, start_ns: Int64s, end_ns: Int64s, *, wholly: bool) -> Stretches:
        found: list[Stretches] = []
        for one in np.unique(thread).tolist():
            asked = np.flatnonzero(thread == one)
            for line in self._lines.get(one, ()):
                first = np.searchsorted(self._start_ns[line], start_ns[asked], side="left") + line.start
                if wholly:
                    after = np.searchsorted(self._end_ns[line], end_ns[asked], side="right") + line.start
                else:
                    after = np.searchsorted(self._start_ns[line], end_ns[asked], side="left") + line.start
                real = after > first
                found.append(Stretches(first[real], after[real], asked[real]))
        if not found:
            return Stretches(*(np.zeros(0, np.int64) for _ in range(3)))
        return Stretches(*(np.concatenate(column) for column in zip(*found, strict=True)))

    def kernel_count(self, first: Int64s, after: Int64s) -> Int64s:
        """Return how many kernels each stretch launched."""
        low, high = self._edges[first], self._edges[after]
        return self._kernels_before[high] - self._kernels_before[low]

    def busy_by_group(self, first: Int64s, after: Int64s, group: Int64s, groups: int) -> Int64s:
        """Return the length of the union of the operations that each group's stretches launched.

        The stretches of a group must not share a call. Groups are taken together up to a million operations at once,
        so that memory stays bounded but by the largest group.
        """
        low, high = self._edges[first], self._edges[after]
        order = np.argsort(group, kind="stable")
        low, sizes, group = low[order], (high - low)[order], group[order]
        lengths = np.zeros(groups, np.int64)
        reached = np.cumsum(sizes)
        at = 0
        while at < group.size:
            base = int(reached[at - 1]) if at else 0
            until = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
            # a group is never split: its union needs all of its operations
            until = int(np.searchsorted(group, group[until - 1], side="right"))
            part = slice(at, until)
            index = _consecutive(low[part], sizes[part])
            merged = grouped_union(
                self._operation_start_ns[index], self._operation_end_ns[index], np.repeat(group[part], sizes[part])
            )
            np.add.at(lengths, merged.group, merged.end_ns - merged.start_ns)
            at = until
        return lengths


def _consecutive(low: Int64s, sizes: Int64s) -> Int64s:
    """Return ``low, low + 1, …`` of each stretch, ``sizes`` numbers each, one behind the other."""
    ends = np.cumsum(sizes)
    numbers: Int64s = np.arange(int(ends[-1])) + np.repeat(low - (ends - sizes), sizes)
    return numbers
