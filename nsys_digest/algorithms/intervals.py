"""Interval algebra on int64 arrays: the one home of union, gaps and overlap.

Intervals are half-open, ``[start, end)``, in nanoseconds. Two arrays of equal shape ``(n,)`` hold the starts and
the ends. A *merged* set is sorted, disjoint and without touching neighbours.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Int64s: TypeAlias = npt.NDArray[np.int64]

_KEY_LIMIT = 2**62
_SLICE = 1 << 18


class Intervals(NamedTuple):
    """A merged set of half-open intervals: two int64 arrays of shape (n,), sorted, disjoint, not touching."""

    start_ns: Int64s
    end_ns: Int64s

    @property
    def total_ns(self) -> int:
        """Sum of the lengths."""
        return int((self.end_ns - self.start_ns).sum())


class GroupedIntervals(NamedTuple):
    """Merged intervals of several groups: int64 arrays of shape (n,), ordered by group, then by start."""

    start_ns: Int64s
    end_ns: Int64s
    group: Int64s


def empty() -> Intervals:
    """Return a set without intervals."""
    return Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def union(start_ns: Int64s, end_ns: Int64s) -> Intervals:
    """Merge intervals in any order; touching ones join, empty and reversed ones vanish."""
    real = end_ns > start_ns
    return _union_of_real(start_ns[real], end_ns[real])


def _union_of_real(start_ns: Int64s, end_ns: Int64s) -> Intervals:
    """Merge intervals that all have a positive length; sorts both arguments in place.

    Starts and ends are sorted apart: a gap precedes the i-th smallest start exactly when the i-th smallest end lies
    before it. Stable sort is timsort, four times as fast as the default on rows that are nearly in order.
    """
    if not start_ns.size:
        return Intervals(start_ns, end_ns)
    start_ns.sort(kind="stable")
    end_ns.sort(kind="stable")
    opens = np.flatnonzero(start_ns[1:] > end_ns[:-1])
    return Intervals(
        np.concatenate((start_ns[:1], start_ns[1:][opens])),
        np.concatenate((end_ns[:-1][opens], end_ns[-1:])),
    )


def grouped_union(start_ns: Int64s, end_ns: Int64s, group: Int64s) -> GroupedIntervals:
    """Merge the intervals of each group for themselves; groups are integers from 0.

    Each group is moved to its own stretch of the number line, so that one merge serves all of them. Where the line
    is too short for that (2**62), every group is merged alone.
    """
    real = end_ns > start_ns
    start_ns, end_ns, group = start_ns[real], end_ns[real], group[real]
    if not start_ns.size:
        return GroupedIntervals(start_ns, end_ns, group)
    origin = int(start_ns.min())
    width = int(end_ns.max()) - origin + 1
    if width * (int(group.max()) + 1) < _KEY_LIMIT:
        shift = group * width - origin
        merged = _union_of_real(start_ns + shift, end_ns + shift)
        group = merged.start_ns // width
        shift = group * width - origin
        return GroupedIntervals(merged.start_ns - shift, merged.end_ns - shift, group)
    order = np.argsort(group, kind="stable")
    start_ns, end_ns, group = start_ns[order], end_ns[order], group[order]
    edges = np.flatnonzero(np.diff(group)) + 1
    parts = [_union_of_real(s, e) for s, e in zip(np.split(start_ns, edges), np.split(end_ns, edges), strict=True)]
    firsts = group[np.concatenate((np.zeros(1, np.int64), edges))]
    return GroupedIntervals(
        np.concatenate([part.start_ns for part in parts]),
        np.concatenate([part.end_ns for part in parts]),
        np.repeat(firsts, [part.start_ns.size for part in parts]),
    )


def union_lengths(
    start_ns: Int64s,
    end_ns: Int64s,
    group: npt.NDArray[np.signedinteger],
    groups: int,
    order: npt.NDArray[np.signedinteger] | None = None,
    *,
    at_once: int = _SLICE,
) -> Int64s:
    """Return the length of the union of each group 0 … groups - 1, looking at so many rows at once.

    The intervals of a group must be in order of start: then what lies between the start of an interval and the reach
    of those before it is covered already, and only what lies beyond counts. With ``order`` the i-th interval is that
    at ``order[i]``, of group ``group[i]``.
    """
    lengths = np.zeros(groups, np.int64)
    reach = np.full(groups, np.iinfo(np.int64).min)
    for low in range(0, group.size, at_once):
        part = slice(low, low + at_once)
        rows = part if order is None else order[part]
        merged = grouped_union(start_ns[rows], end_ns[rows], group[part].astype(np.int64))
        begin_ns = np.maximum(merged.start_ns, reach[merged.group])
        np.add.at(lengths, merged.group, np.maximum(merged.end_ns - begin_ns, 0))
        np.maximum.at(reach, merged.group, merged.end_ns)
    return lengths


def joined(pieces: list[Intervals]) -> Intervals:
    """Put merged sets that follow each other in time into one, and empty the list; touching neighbours join."""
    if not pieces:
        return empty()
    start_ns = np.concatenate([piece.start_ns for piece in pieces])
    end_ns = np.concatenate([piece.end_ns for piece in pieces])
    pieces.clear()
    opens = start_ns[1:] > end_ns[:-1]
    if opens.all():
        return Intervals(start_ns, end_ns)
    return Intervals(start_ns[np.concatenate(([True], opens))], end_ns[np.concatenate((opens, [True]))])


class Coverage:
    """How much of a merged set lies before a time, and hence within any interval."""

    def __init__(self, merged: Intervals) -> None:
        """Keep the merged set and the running sum of its lengths."""
        self._start_ns, self._end_ns = merged
        self._covered_ns = np.concatenate(
            (np.zeros(1, np.int64), np.cumsum(merged.end_ns - merged.start_ns, dtype=np.int64))
        )

    def before(self, time_ns: Int64s) -> Int64s:
        """Return the covered time before each of the times; shape (n,) in, shape (n,) out."""
        index = np.searchsorted(self._start_ns, time_ns, side="right")
        covered = self._covered_ns[index]
        inside = np.flatnonzero(index)
        beyond = self._end_ns[index[inside] - 1] - time_ns[inside]
        covered[inside] -= np.maximum(beyond, 0)
        return covered

    def within(self, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """Return the covered time inside each interval ``[start, end)``, which must not be reversed."""
        return self.before(end_ns) - self.before(start_ns)


def exact_sum(values: Int64s) -> int:
    """Return the sum of int64 values, shape (n,), however large it is; up to 2**31 of them."""
    return (int((values >> 32).sum()) << 32) + int((values & 0xFFFFFFFF).sum())


def gaps(merged: Intervals) -> Intervals:
    """Return the stretches between consecutive intervals of a merged set, shape (n - 1,)."""
    return Intervals(merged.end_ns[:-1], merged.start_ns[1:])


def intersect(one: Intervals, other: Intervals) -> Intervals:
    """Return what two merged sets share, itself merged.

    At most two intervals are open at once, so both are from the (i+1)-th start to the i-th end where these are in
    that order.
    """
    start_ns = np.sort(np.concatenate((one.start_ns, other.start_ns)), kind="stable")[1:]
    end_ns = np.sort(np.concatenate((one.end_ns, other.end_ns)), kind="stable")[:-1]
    both = start_ns < end_ns
    return Intervals(start_ns[both], end_ns[both])


def subtract(one: Intervals, other: Intervals) -> Intervals:
    """Return what the first merged set does not share with the second, itself merged."""
    if not one.start_ns.size or not other.start_ns.size:
        return one
    low = min(int(one.start_ns[0]), int(other.start_ns[0])) - 1
    high = max(int(one.end_ns[-1]), int(other.end_ns[-1])) + 1
    outside = Intervals(np.append(low, other.end_ns), np.append(other.start_ns, high))
    return intersect(one, outside)
