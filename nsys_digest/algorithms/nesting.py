"""Nested intervals on one line, as calls and push/pop ranges of a thread are: who is inside whom, and who decides when.

Of several open intervals the innermost decides: the one that began last, and of these the one that ends first.
"""

from __future__ import annotations

from collections.abc import Iterator
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
    """Return the index of the interval directly around each, -1 for none; intervals in nesting order.

    It is the last one before it of the depth above: found for all at once among keys of (depth, index), however deep.
    """
    index = np.arange(depth.size)
    keys = depth * np.int64(depth.size) + index
    by_level = np.sort(keys)
    inner = np.flatnonzero(depth > 0)
    parent = np.full(depth.size, -1, np.int64)
    above = np.searchsorted(by_level, keys[inner] - depth.size) - 1
    parent[inner] = by_level[above] % max(depth.size, 1)
    return parent


def enclosing(end_ns: Int64s) -> Int64s:
    """Return the index of the innermost interval that holds each whole, -1 for none; intervals in nesting order."""
    return _last_reaching(end_ns, end_ns)


def innermost(start_ns: Int64s, end_ns: Int64s, *, at_once: int = _PART) -> Segments:
    """Return the segments in which each interval decides; intervals of any order, all of positive length.

    They are looked at so many at once, or more where none of these ends before the next begins.
    """
    if (end_ns[:-1] <= start_ns[1:]).all():
        return Segments(start_ns, end_ns, np.arange(start_ns.size))
    order = nesting_order(start_ns, end_ns)
    pieces = []
    for part in _closed_parts(start_ns, end_ns, order, at_once):
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


def _closed_parts(start_ns: Int64s, end_ns: Int64s, order: Int64s, at_once: int) -> Iterator[Int64s]:
    """Cut intervals in nesting order into parts of which none reaches into the next, where that can be done."""
    low, reach = 0, -1
    for at in range(0, order.size, at_once):
        part = order[at : at + at_once]
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
    ended, around = _decides_after(start_ns, end_ns)
    # An interval decides from its start to the next start, or to its end when nothing begins in it ...
    following = np.append(start_ns, np.iinfo(np.int64).max)
    first = Segments(start_ns, np.minimum(end_ns, following[1:]), np.arange(start_ns.size))
    # ... and where one ends that decided, the one behind it decides again, until the next start or its own end.
    after = end_ns[ended]
    next_start = following[np.searchsorted(start_ns, after, side="left")]
    again = Segments(after, np.minimum(end_ns[around], next_start), around)
    starts, ends, owners = (np.concatenate(columns) for columns in zip(first, again, strict=True))
    real = np.flatnonzero(ends > starts)
    real = real[np.argsort(starts[real], kind="stable")]
    return Segments(starts[real], ends[real], owners[real])


def _decides_after(start_ns: Int64s, end_ns: Int64s) -> tuple[Int64s, Int64s]:
    """Return intervals that decide until they end, and for each the one that decides from there on.

    Where intervals nest these are the inner ones and what is directly around each. Where they cross, as ranges of
    two domains on one thread may, an interval hands over to the last one before it that ends no earlier, unless one
    that began later is still open.
    """
    parent = parents(depths(start_ns, end_ns))
    inner = np.flatnonzero(parent >= 0)
    if (end_ns[inner] <= end_ns[parent[inner]]).all():
        return inner, parent[inner]
    around = _last_reaching(end_ns, end_ns)
    # the first one after it that ends later: the same search backwards
    later = end_ns.size - 1 - _last_reaching(end_ns[::-1], end_ns[::-1] + 1)
    begun = np.searchsorted(start_ns, end_ns, side="right")
    chosen = np.flatnonzero((around >= 0) & (later[::-1] >= begun))
    return chosen, around[chosen]


def _last_reaching(values: Int64s, least: Int64s) -> Int64s:
    """Return for each position the last one before it whose value is at least ``least`` of the position, else -1.

    A tree of maxima over stretches of two, four, eight … values is climbed for all positions at once, and descended.
    """
    levels = [values]
    while levels[-1].size > 1:
        below = levels[-1]
        below = np.append(below, np.iinfo(np.int64).min) if below.size % 2 else below
        levels.append(np.maximum(below[::2], below[1::2]))
    found = np.full(values.size, -1, np.int64)
    searching, node = np.arange(values.size), np.arange(values.size)
    for level, maxima in enumerate(levels):
        left = np.maximum(node - 1, 0)
        hit = (node % 2 == 1) & (maxima[left] >= least[searching])
        found[searching[hit]] = _descended(levels[:level], left[hit], least[searching[hit]])
        searching, node = searching[~hit], node[~hit] // 2
    return found


def _descended(levels: list[Int64s], node: Int64s, least: Int64s) -> Int64s:
    """Return the last position below each node of the level above ``levels`` with a value of at least ``least``."""
    for maxima in reversed(levels):
        right = np.minimum(2 * node + 1, maxima.size - 1)
        node = np.where((maxima[right] >= least) & (right > 2 * node), right, 2 * node)
    return node
