"""Nested intervals on one line, as calls and push/pop ranges of a thread are: who is inside whom, and who decides when.

Of several open intervals the innermost decides: the one that began last, and of these the one that ends first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s

_PART = 1 << 17


class Segments(NamedTuple):
    """Stretches of time in order, disjoint, each with the index of the interval that decides in it; shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    owner: Int64s


def nesting_order(start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return the order in which outer intervals come before inner ones: by start, the longer one first."""
    if np.all(start_ns[1:] > start_ns[:-1]):
        return np.arange(start_ns.size)
    return np.lexsort((-end_ns, start_ns))


def depths(start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return how many intervals are open around each; intervals in nesting order, all of positive length.

    Before the i-th interval, i others have begun, and those of them have ended that end at or before its start.
    """
    ended = np.searchsorted(np.sort(end_ns, kind="stable"), start_ns, side="right")
    return np.arange(start_ns.size) - ended


def parents(depth: Int64s) -> Int64s:
    """Return the index of the interval directly around each, -1 for none; intervals in nesting order."""
    parent = np.full(depth.size, -1, np.int64)
    above = np.flatnonzero(depth == 0)
    for level in range(1, int(depth.max(initial=0)) + 1):
        here = np.flatnonzero(depth == level)
        parent[here] = above[np.searchsorted(above, here) - 1]
        above = here
    return parent


def innermost(start_ns: Int64s, end_ns: Int64s) -> Segments:
    """Return the segments in which each interval decides; intervals of any order, all of positive length."""
    if (end_ns[:-1] <= start_ns[1:]).all():
        return Segments(start_ns, end_ns, np.arange(start_ns.size))
    order = nesting_order(start_ns, end_ns)
    pieces = []
    for part in _closed_parts(start_ns, end_ns, order):
        found = _innermost_of_part(start_ns[part], end_ns[part])
        pieces.append(found._replace(owner=part[found.owner]))
    return Segments(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))


def running_max(values: Int64s, begins: npt.NDArray[np.bool_]) -> Int64s:
    """Return the largest value so far in each run of rows; a run starts where ``begins`` is true, as at row 0."""
    if not values.size:
        return values
    order = np.argsort(values, kind="stable")
    rank = np.empty(values.size, np.int64)
    rank[order] = np.arange(values.size)
    run = np.cumsum(begins) * values.size  # ranks in place of values: no sum of those can overflow
    largest: Int64s = values[order[np.maximum.accumulate(run + rank) - run]]
    return largest


def _closed_parts(start_ns: Int64s, end_ns: Int64s, order: Int64s) -> Iterator[Int64s]:
    """Cut intervals in nesting order into parts of which none reaches into the next, where that can be done."""
    low, reach = 0, -1
    for at in range(0, order.size, _PART):
        part = order[at : at + _PART]
        starts = start_ns[part]
        reached = np.maximum.accumulate(np.maximum(end_ns[part], reach))
        closed = np.flatnonzero(starts[1:] >= reached[:-1])
        reach = int(reached[-1])
        if closed.size:
            cut = at + int(closed[-1]) + 1
            yield order[low:cut]
            low = cut
    yield order[low:]


def _innermost_of_part(start_ns: Int64s, end_ns: Int64s) -> Segments:
    """Do the same for intervals in nesting order."""
    depth = depths(start_ns, end_ns)
    parent = parents(depth)
    inner = np.flatnonzero(parent >= 0)
    if (end_ns[inner] > end_ns[parent[inner]]).any():
        return _innermost_of_crossing(start_ns, end_ns)
    # An interval decides from its start to the next start, or to its end when nothing begins in it ...
    following = np.append(start_ns[1:], np.iinfo(np.int64).max)
    first = Segments(start_ns, np.minimum(end_ns, following), np.arange(start_ns.size))
    # ... and where an inner one ends, the one around it decides again, until the next start or its own end.
    after = end_ns[inner]
    position = np.searchsorted(start_ns, after, side="left")
    next_start = np.append(start_ns, np.iinfo(np.int64).max)[position]
    again = Segments(after, np.minimum(end_ns[parent[inner]], next_start), parent[inner])
    starts, ends, owners = (np.concatenate(columns) for columns in zip(first, again, strict=True))
    real = np.flatnonzero(ends > starts)
    real = real[np.argsort(starts[real], kind="stable")]
    return Segments(starts[real], ends[real], owners[real])


def _innermost_of_crossing(start_ns: Int64s, end_ns: Int64s) -> Segments:
    """Do the same for intervals that cross, one event at a time; nothing that nsys records on a thread does."""
    events = sorted({*start_ns.tolist(), *end_ns.tolist()})
    intervals = list(zip(start_ns.tolist(), end_ns.tolist(), range(0, -start_ns.size, -1), strict=True))
    opened: list[tuple[int, int, int]] = []
    found: list[tuple[int, int, int]] = []
    position = 0
    for low, high in pairwise(events):
        while position < len(intervals) and intervals[position][0] <= low:
            start, end, minus_index = intervals[position]
            heapq.heappush(opened, (-start, end, minus_index))
            position += 1
        while opened and opened[0][1] <= low:
            heapq.heappop(opened)
        if opened:
            found.append((low, high, -opened[0][2]))
    columns = np.array(found, np.int64).reshape(-1, 3)
    return Segments(columns[:, 0], columns[:, 1], columns[:, 2])
