"""GPU work by who launched it: the operations behind the calls of one thread in a stretch of time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, union_lengths
from nsys_digest.algorithms.lines import positions
from nsys_digest.algorithms.nesting import depths
from nsys_digest.trace.columns import Bools, Ints, small_ids
from nsys_digest.trace.events import NONE, Events
from nsys_digest.trace.nsys.tables import GPU_KINDS

_SLICE = 1 << 18
_LONG = 1 << 8
_TOGETHER = 1 << 5
NEVER = np.iinfo(np.int64).max


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

    def __init__(self, events: Events, counts: Bools | None = None) -> None:
        """Put the launching calls in lines, and the linked operations behind them.

        ``counts`` tells which operations are counted; None is all. Others must have no length.
        """
        operations, calls = events.operations, events.calls
        linked = np.flatnonzero(operations.call != NONE)
        launches = np.zeros(calls.start_ns.size, bool)
        launches[operations.call[linked]] = True
        launching = small_ids(np.flatnonzero(launches), calls.start_ns.size)
        del launches
        edges = np.searchsorted(launching, calls.edges)
        self._lines = _Lines.of(launching, edges, events)
        self._operations, self._calls, self._call = operations, calls, launching
        place = np.zeros(calls.start_ns.size, launching.dtype)
        place[launching] = np.arange(launching.size, dtype=launching.dtype)
        position = place[operations.call[linked]]
        del place
        # by thread first: within a thread work is launched nearly in the order in which it runs
        small = np.uint16 if len(calls.threads) < 1 << 16 else np.int64
        thread_of = np.repeat(np.arange(len(calls.threads), dtype=small), np.diff(edges))[position]
        behind = small_ids(np.argsort(thread_of, kind="stable"), linked.size)
        del thread_of
        behind = behind[np.argsort(position[behind], kind="stable")]
        sizes = np.bincount(position, minlength=launching.size)
        self._edges = small_ids(np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes))), linked.size + 1)
        """Operations of the i-th launching call are at ``edges[i]:edges[i + 1]`` of ``_order``."""
        self._order = small_ids(linked, operations.start_ns.size)[behind]
        kernels = operations.kind[self._order] == GPU_KINDS.index("kernel")
        if counts is not None:
            kernels &= counts[self._order]
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(kernels, dtype=np.int64)))
        self._kernels_before = small_ids(before, linked.size + 1)

    def first_starts(self) -> tuple[Ints, Int64s]:
        """Return the launching calls, and when the first kernel or graph of each began; ``NEVER`` without one.

        Work without a known time (0 to 0, as CUPTI writes it) or with its end before its start does not count.
        """
        operations = self._operations
        first_ns = np.full(self._call.size, NEVER)
        for low in range(0, self._call.size, _SLICE):
            high = min(low + _SLICE, self._call.size)
            base, after = int(self._edges[low]), int(self._edges[high])
            order = self._order[base:after]
            start_ns, end_ns, kind = operations.start_ns[order], operations.end_ns[order], operations.kind[order]
            work = (kind == GPU_KINDS.index("kernel")) | (kind == GPU_KINDS.index("graph"))
            work &= (end_ns >= start_ns) & ((start_ns != 0) | (end_ns != 0))
            start_ns[~work] = NEVER
            first_ns[low:high] = np.minimum.reduceat(start_ns, self._edges[low:high] - base)
        return self._call, first_ns

    def within(self, thread: Ints, start_ns: Int64s, end_ns: Int64s) -> Stretches:
        """Return the launching calls of a thread that lie wholly in ``[start, end]``."""
        return self._stretches(thread, start_ns, end_ns, wholly=True)

    def begun_in(self, thread: Ints, start_ns: Int64s, end_ns: Int64s) -> Stretches:
        """Return the launching calls of a thread that begin in ``[start, end)``."""
        return self._stretches(thread, start_ns, end_ns, wholly=False)

    def _stretches(self, thread: Ints, start_ns: Int64s, end_ns: Int64s, *, wholly: bool) -> Stretches:
        asked, line = self._lines.of_threads(thread)
        edges, times = self._lines.edges, self._calls.end_ns if wholly else self._calls.start_ns
        low, high = int(line.min(initial=0)), int(line.max(initial=-1)) + 1
        part = slice(int(edges[low]), int(edges[high])) if high > low else slice(0, 0)
        edges, line = edges[low : high + 1] - part.start, line - low
        first = positions(self._calls.start_ns[self._call[part]], edges, line, start_ns[asked], "left")
        after = positions(times[self._call[part]], edges, line, end_ns[asked], "right" if wholly else "left")
        real = after > first
        return Stretches(first[real] + part.start, after[real] + part.start, asked[real])

    def operation_count(self, first: Ints, after: Ints) -> Int64s:
        """Return how many operations each stretch launched."""
        return (self._edges[after] - self._edges[first]).astype(np.int64)

    def kernel_count(self, first: Ints, after: Ints) -> Int64s:
        """Return how many kernels each stretch launched."""
        low, high = self._edges[first], self._edges[after]
        return (self._kernels_before[high] - self._kernels_before[low]).astype(np.int64)

    def operations(self, first: Ints, after: Ints) -> Iterator[tuple[Int64s, Int64s]]:
        """Yield the operations behind stretches that share none, and the stretch of each, some stretches at a time."""
        low, sizes = self._edges[first], self._edges[after] - self._edges[first]
        reached = np.cumsum(sizes, dtype=np.int64)
        at = 0
        while at < sizes.size:
            base = int(reached[at - 1]) if at else 0
            until = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
            part = slice(at, until)
            work = self._order[_consecutive(low[part], sizes[part])].astype(np.int64)
            yield work, np.repeat(np.arange(at, until), sizes[part])
            at = until

    def busy_by_group(self, first: Ints, after: Ints, group: Ints, groups: int) -> Int64s:
        """Return the length of the union of the operations that each group's stretches launched.

        The stretches of a group must not share a call. Groups are taken together up to a quarter of a million
        operations at once, so that memory stays bounded but by the largest group.
        """
        lengths = np.zeros(groups, np.int64)
        ended = _ending_together(after, group)
        for chosen in ended:
            lengths[group[chosen]] = self._suffix_lengths(first[chosen], int(after[chosen[0]]))
        if ended:
            rest = np.ones(group.size, bool)
            rest[np.concatenate(ended)] = False
            first, after, group = first[rest], after[rest], group[rest]
        order = np.argsort(group, kind="stable")
        group, low = group[order], self._edges[first[order]]
        sizes = self._edges[after[order]] - low
        del order
        reached = np.cumsum(sizes, dtype=np.int64)
        at = 0
        while at < group.size:
            base = int(reached[at - 1]) if at else 0
            until = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
            # a group is never split: its union needs all of its operations
            until = int(np.searchsorted(group, group[until - 1], side="right"))
            part = slice(at, until)
            lengths += self._union_lengths(low[part], sizes[part], group[part], groups)
            at = until
        return lengths

    def _suffix_lengths(self, first: Ints, after: int) -> Int64s:
        """Return the union of the operations of stretches that all end with the same call, at once.

        Time is cut wherever an operation begins or ends; a piece is in the union of a stretch where the last operation
        over it, in order of launch, is not before the stretch.
        """
        low = int(self._edges[first].min())
        work = self._order[low : int(self._edges[after])]
        start_ns, end_ns = self._operations.start_ns[work], self._operations.end_ns[work]
        real = np.flatnonzero(end_ns > start_ns)
        times = np.unique(np.concatenate((start_ns[real], end_ns[real])))
        last = _last_over(np.searchsorted(times, start_ns[real]), np.searchsorted(times, end_ns[real]), times.size)
        lengths = np.zeros(work.size + 1, np.int64)
        covered = np.flatnonzero(last >= 0)
        np.add.at(lengths, real[last[covered]], np.diff(times, append=times[-1:])[covered])
        return np.cumsum(lengths[::-1])[::-1][self._edges[first] - low]

    def _in_order(self, low: Ints, sizes: Ints) -> Int64s:
        """Return the operations of stretches that share none, in order of start, by which operations are numbered."""
        behind = np.zeros(self._operations.start_ns.size, bool)
        long = sizes > _LONG
        for first, size in zip(low[long].tolist(), sizes[long].tolist(), strict=True):
            behind[self._order[first : first + size]] = True
        low, sizes = low[~long], sizes[~long]
        for at in range(0, low.size, _SLICE // _LONG):
            part = slice(at, at + _SLICE // _LONG)
            behind[self._order[_consecutive(low[part], sizes[part])]] = True
        return np.flatnonzero(behind)

    def _union_lengths(self, low: Ints, sizes: Ints, group: Ints, groups: int) -> Int64s:
        """Return the union of the operations of each group, in lengths by group."""
        if group[0] == group[-1]:
            operation = self._in_order(low, sizes)
            of = np.broadcast_to(group[:1], operation.shape)
        else:
            operation = self._order[_consecutive(low, sizes)]
            of = np.repeat(group, sizes)
            by_group = np.lexsort((operation, of))
            operation, of = operation[by_group], of[by_group]
        return union_lengths(self._operations.start_ns, self._operations.end_ns, of, groups, operation)


def _ending_together(after: Ints, group: Ints) -> list[Int64s]:
    """Return stretches that end with the same call, many together, and of which each is the only one of its group.

    So end those of ranges that are never ended: looked at one by one they cost the square of their number.
    """
    only = np.flatnonzero(np.bincount(group)[group] == 1) if group.size else np.zeros(0, np.int64)
    only = only[np.argsort(after[only], kind="stable")]
    borders = np.flatnonzero(np.diff(after[only])) + 1
    return [chosen for chosen in np.split(only, borders) if chosen.size >= _TOGETHER]


def _last_over(begin: Int64s, end: Int64s, size: int) -> Int64s:
    """Return for each of ``size`` places the last of the intervals ``[begin, end)`` of places over it, -1 for none.

    An interval is two stretches of a power of two, which may overlap; from the longest down, each is halved.
    """
    power = np.frexp((end - begin).astype(np.float64))[1] - 1
    last = np.full(size, -1, np.int64)
    for level in range(int(power.max(initial=-1)), -1, -1):
        half = 1 << level
        if level < int(power.max()):
            right = last[:-half].copy()
            np.maximum(last[half:], right, out=last[half:])
        own = np.flatnonzero(power == level)
        np.maximum.at(last, begin[own], own)
        np.maximum.at(last, end[own] - half, own)
    return last


def _consecutive(low: Ints, sizes: Ints) -> Int64s:
    """Return ``low, low + 1, …`` of each stretch, ``sizes`` numbers each, one behind the other."""
    ends = np.cumsum(sizes, dtype=np.int64)
    numbers: Int64s = np.arange(int(ends[-1])) + np.repeat(low - (ends - sizes), sizes)
    return numbers


class _Lines(NamedTuple):
    """Lines of launching calls: line ``l`` has those at ``edges[l]:edges[l + 1]``.

    Thread ``t`` has lines ``first[t]`` to ``first[t + 1] - 1``.
    """

    edges: Int64s
    first: Int64s

    @classmethod
    def of(cls, launching: Ints, edges: Int64s, events: Events) -> _Lines:
        """Put the launching calls of each thread, ``edges[t]:edges[t + 1]``, line by line in place."""
        start_ns, end_ns = events.calls.start_ns[launching], events.calls.end_ns[launching]
        overlap = np.flatnonzero(end_ns[:-1] > start_ns[1:]) + 1
        counts = np.minimum(np.diff(edges), 1)
        borders = [edges]
        for thread in np.unique(np.searchsorted(edges, overlap, side="right") - 1).tolist():
            low, high = int(edges[thread]), int(edges[thread + 1])
            order, lengths = _in_lines(start_ns[low:high], end_ns[low:high])
            launching[low:high] = launching[low:high][order]
            counts[thread] = lengths.size
            borders.append(low + np.cumsum(lengths[:-1]))
        first = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))
        return cls(np.unique(np.concatenate(borders)), first)

    def of_threads(self, thread: Ints) -> tuple[Int64s, Int64s]:
        """Return each line of each thread asked for, as the position of the thread and the line."""
        known = np.minimum(thread, self.first.size - 2)
        counts = np.where(thread == known, self.first[known + 1] - self.first[known], 0)
        asked = np.repeat(np.arange(thread.size), counts)
        behind = np.cumsum(counts)
        line: Int64s = np.arange(asked.size) + np.repeat(self.first[known] - behind + counts, counts)
        return asked, line


def _in_lines(start_ns: Int64s, end_ns: Int64s) -> tuple[Int64s, Int64s]:
    """Return the order of the launching calls of a thread line by line, and the length of each line."""
    nesting = np.lexsort((-end_ns, start_ns))
    depth = depths(start_ns[nesting], np.maximum(end_ns, start_ns + 1)[nesting])
    return nesting[np.argsort(depth, kind="stable")], np.bincount(depth)
