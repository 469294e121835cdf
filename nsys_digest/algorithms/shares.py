"""Time in which several things run at once, shared out among them so that the shares add up exactly."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, Intervals
from nsys_digest.algorithms.streaming import windows_of_sorted


class _Stretches(NamedTuple):
    """Stretches in which the same intervals are open, of positive length, in order; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    open_count: Int64s
    """How many intervals are open in each, at least one."""
    group_sum: Int64s
    """The sum of their groups."""
    square_sum: Int64s
    """The sum of the squares of their groups."""
    place: Int64s
    """Index of the change that each begins with."""

    def some(self, chosen: Int64s) -> _Stretches:
        """Return those of these indices."""
        return _Stretches(*(column[chosen] for column in self))


class _Changes(NamedTuple):
    """Starts (1) and ends (-1) in order of time, with the group of each."""

    time_ns: Int64s
    sign: Int64s
    group: Int64s


def shares(start_ns: Int64s, end_ns: Int64s, group: Int64s, groups: int, window: Intervals | None = None) -> Int64s:
    """Return each group's share of the union of intervals in order of start, all of positive length; shape (groups,).

    Time is cut into stretches wherever an interval starts or ends. Where k intervals are open, each has length // k of
    the stretch, and what is left over goes to the lowest group among them. So the shares add up to the union.

    In a window each has what lies in it when the nanoseconds of a stretch are dealt out one by one, to the open
    intervals in order of their groups, and what is left over comes last: the shares of windows that partition time add
    up to the whole.
    """
    found = np.zeros(groups, np.int64)
    for piece in windows_of_sorted(start_ns, end_ns, group):
        # a piece ends where an interval starts, so that no stretch is cut in two
        _add_shares(found, piece, window)
    return found


def _add_shares(found: Int64s, piece: GroupedIntervals, window: Intervals | None) -> None:
    changes = _changes(piece)
    stretches = _stretches(changes)
    # equal values are those whose squares add up to the square of their sum over their number
    alike = stretches.open_count * stretches.square_sum == stretches.group_sum**2
    own = np.flatnonzero(alike)
    group = stretches.group_sum[own] // stretches.open_count[own]
    for low_ns, high_ns, at in _in_window(stretches.start_ns[own], stretches.end_ns[own], window):
        np.add.at(found, group[at], high_ns - low_ns)
    pairs = np.flatnonzero(~alike & (stretches.open_count == 2))
    _deal_pairs(found, stretches.some(pairs), window)
    mixed = np.flatnonzero(~alike & (stretches.open_count > 2))
    if mixed.size:
        _deal(found, changes, stretches.some(mixed), window)


def _changes(piece: GroupedIntervals) -> _Changes:
    time_ns = np.concatenate((piece.start_ns, piece.end_ns))
    sign = np.repeat(np.array((1, -1), np.int64), piece.start_ns.size)
    order = np.argsort(time_ns, kind="stable")
    return _Changes(time_ns[order], sign[order], np.concatenate((piece.group, piece.group))[order])


def _stretches(changes: _Changes) -> _Stretches:
    time_ns, sign, group = changes
    open_count, group_sum, square_sum = (np.cumsum(column) for column in (sign, sign * group, sign * group**2))
    place = np.flatnonzero((time_ns[1:] > time_ns[:-1]) & (open_count[:-1] > 0))
    return _Stretches(time_ns[place], time_ns[place + 1], open_count[place], group_sum[place], square_sum[place], place)


def _deal_pairs(found: Int64s, mixed: _Stretches, window: Intervals | None) -> None:
    """Add the shares of stretches in which intervals of two groups are open: these follow from the sums."""
    apart = np.sqrt(2 * mixed.square_sum - mixed.group_sum**2).astype(np.int64)
    lower = (mixed.group_sum - apart) // 2
    for low_ns, high_ns, at in _in_window(mixed.start_ns, mixed.end_ns, window):
        first_ns = _dealt(high_ns, mixed, at, 0, 1) - _dealt(low_ns, mixed, at, 0, 1)
        np.add.at(found, lower[at], first_ns)
        np.add.at(found, lower[at] + apart[at], high_ns - low_ns - first_ns)


def _deal(found: Int64s, changes: _Changes, mixed: _Stretches, window: Intervals | None) -> None:
    """Add the shares of stretches in which intervals of several groups are open."""
    before = np.zeros(mixed.place.size, np.int64)
    """Open intervals of the groups below."""
    parts = [*_in_window(mixed.start_ns, mixed.end_ns, window)]
    for group in np.unique(changes.group).tolist():
        own = np.cumsum(np.where(changes.group == group, changes.sign, 0))[mixed.place]
        for low_ns, high_ns, at in parts:
            until, since = (_dealt(time_ns, mixed, at, before[at], own[at]) for time_ns in (high_ns, low_ns))
            found[group] += int((until - since).sum())
        before += own


def _dealt(time_ns: Int64s, mixed: _Stretches, at: Int64s, before: Int64s | int, own: Int64s | int) -> Int64s:
    """Return how much of each stretch before a time a group has that is at places ``[before, before + own)``.

    The nanoseconds are dealt out in rounds, one to each place; those of the round that is not full go to the first.
    """
    count = mixed.open_count[at]
    until_ns = time_ns - mixed.start_ns[at]
    in_rounds = (mixed.end_ns[at] - mixed.start_ns[at]) // count * count
    dealt = np.minimum(until_ns, in_rounds)
    got: Int64s = dealt // count * own + np.clip(dealt % count - before, 0, own)
    got += np.where(np.logical_and(before == 0, own != 0), until_ns - dealt, 0)
    return got


def _in_window(start_ns: Int64s, end_ns: Int64s, window: Intervals | None) -> Iterator[tuple[Int64s, Int64s, Int64s]]:
    """Yield the parts of disjoint stretches in order that lie in a window, with the index of each part's stretch."""
    if window is None:
        yield start_ns, end_ns, np.arange(start_ns.size)
        return
    first = np.searchsorted(window.end_ns, start_ns, side="right")
    counts = np.maximum(np.searchsorted(window.start_ns, end_ns, side="left") - first, 0)
    at = np.repeat(np.arange(counts.size), counts)
    part = np.arange(at.size) - np.repeat(np.cumsum(counts) - counts, counts) + first[at]
    yield np.maximum(start_ns[at], window.start_ns[part]), np.minimum(end_ns[at], window.end_ns[part]), at
