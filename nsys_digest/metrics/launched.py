"""GPU work by who launched it: the operations behind a stretch of calls of one thread."""

from __future__ import annotations

import numpy as np

from nsys_digest.events import NONE, Events
from nsys_digest.intervals import Int64s, grouped_union
from nsys_digest.schema.tables import GPU_KINDS

_SLICE = 1 << 20


class LaunchedWork:
    """Operations in the order of the calls that launched them."""

    def __init__(self, events: Events) -> None:
        """Sort the linked operations by call."""
        operations = events.operations
        linked = np.flatnonzero(operations.call != NONE)
        order = linked[np.argsort(operations.call[linked], kind="stable")]
        self._start_ns, self._end_ns = operations.start_ns[order], operations.end_ns[order]
        call = operations.call[order]
        count = events.calls.start_ns.size
        self._edges = np.searchsorted(call, np.arange(count + 1, dtype=call.dtype))
        """Operations of call c are at ``edges[c]:edges[c + 1]``."""
        kernels = operations.kind[order] == GPU_KINDS.index("kernel")
        self._kernels_before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kernels, dtype=np.int64)))

    def kernel_count(self, first_call: Int64s, after_call: Int64s) -> Int64s:
        """Return how many kernels each stretch of calls ``[first, after)`` launched."""
        low, high = self._edges[first_call], self._edges[after_call]
        return self._kernels_before[high] - self._kernels_before[low]

    def busy_by_group(self, first_call: Int64s, after_call: Int64s, group: Int64s, groups: int) -> Int64s:
        """Return the length of the union of the operations that each group's stretches of calls launched.

        The stretches of a group must not share a call; they are taken in slices of a million operations, group by
        group, so that memory stays bounded.
        """
        low, high = self._edges[first_call], self._edges[after_call]
        order = np.argsort(group, kind="stable")
        low, high, group = low[order], high[order], group[order]
        lengths = np.zeros(groups, np.int64)
        sizes = high - low
        reached = np.cumsum(sizes)
        at = 0
        while at < group.size:
            base = int(reached[at - 1]) if at else 0
            after = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
            # a group is never split: its union needs all of its operations at once
            after = int(np.searchsorted(group, group[after - 1], side="right"))
            part = slice(at, after)
            index = _ranges(low[part], sizes[part])
            of = np.repeat(group[part], sizes[part])
            merged = grouped_union(self._start_ns[index], self._end_ns[index], of)
            np.add.at(lengths, merged.group, merged.end_ns - merged.start_ns)
            at = after
        return lengths


def _ranges(low: Int64s, sizes: Int64s) -> Int64s:
    """Return ``low[0], low[0] + 1 … `` for each stretch, one behind the other."""
    ends = np.cumsum(sizes)
    if not ends.size or not ends[-1]:
        return np.zeros(0, np.int64)
    return np.arange(ends[-1]) - np.repeat(ends - sizes - low, sizes)
