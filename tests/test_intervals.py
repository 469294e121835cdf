"""Interval algebra, against drawn timelines and against sets of single nanoseconds."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from nsys_digest.algorithms import intervals
from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, grouped_union, union, union_lengths


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def pairs(merged: Intervals) -> list[tuple[int, int]]:
    return list(zip(merged.start_ns.tolist(), merged.end_ns.tolist(), strict=True))


def test_union_joins_what_overlaps_or_touches() -> None:
    # tick   0    5    10   15   20
    #        █████
    #          ████████
    #                    █████          touches the second: joins
    #                           █████   does not
    assert pairs(union(ints(0, 12, 19, 2), ints(5, 17, 24, 12))) == [(0, 17), (19, 24)]


def test_union_drops_empty_and_reversed_intervals() -> None:
    assert pairs(union(ints(3, 9, 4), ints(3, 5, 6))) == [(4, 6)]
    assert pairs(union(ints(7), ints(7))) == []
    assert pairs(union(ints(), ints())) == []


def test_union_leaves_its_arguments_alone() -> None:
    start, end = ints(5, 1), ints(6, 9)
    union(start, end)
    assert start.tolist() == [5, 1]
    assert end.tolist() == [6, 9]


def test_groups_never_merge_with_each_other() -> None:
    # group 0  ████████
    # group 2      ████████     overlaps group 0 in time only
    # group 0          ████     touches its first
    grouped = grouped_union(ints(0, 4, 8), ints(8, 12, 12), ints(0, 2, 0))
    assert grouped.start_ns.tolist() == [0, 4]
    assert grouped.end_ns.tolist() == [12, 12]
    assert grouped.group.tolist() == [0, 2]


def test_groups_far_apart_in_time_need_no_common_line() -> None:
    """Times near both ends of int64 leave no room to move groups apart; each is merged alone."""
    edge = 2**62
    grouped = grouped_union(
        ints(-edge, edge - 2, -edge, edge - 3), ints(-edge + 5, edge, -edge + 2, edge), ints(1, 1, 0, 1)
    )
    rows = zip(grouped.group.tolist(), grouped.start_ns.tolist(), grouped.end_ns.tolist(), strict=True)
    assert list(rows) == [(0, -edge, -edge + 2), (1, -edge, -edge + 5), (1, edge - 3, edge)]


@pytest.mark.parametrize("far", [[], [(2**61, 2**61 + 5, 5)]], ids=["near", "far"])
def test_grouped_union_against_single_nanoseconds(far: list[tuple[int, int, int]]) -> None:
    """Both ways to merge groups agree with sets, whatever the order of the rows: with one far away, each is alone."""
    rng = random.Random(11)
    for _ in range(200):
        rows = [(rng.randint(-30, 30), rng.randint(-30, 40), rng.randint(0, 4)) for _ in range(rng.randint(0, 25))]
        rows += far
        grouped = grouped_union(*(ints(*column) for column in zip(*rows, strict=True))) if rows else None
        for group in range(5):
            instants = {tick for start, end, of in rows if of == group for tick in range(start, end)}
            if grouped is None:
                assert not instants
                continue
            chosen = grouped.group == group
            got = list(zip(grouped.start_ns[chosen].tolist(), grouped.end_ns[chosen].tolist(), strict=True))
            assert {tick for start, end in got for tick in range(start, end)} == instants
            assert all(left[1] < right[0] for left, right in pairwise(got))


def test_coverage_of_drawn_ranges() -> None:
    # tick     0    5    10   15   20
    # busy       ████      ██████
    # range    ███████                 3 .. in the first
    # range         ██                 none
    # range     ████████████████████   all
    coverage = Coverage(Intervals(ints(2, 12), ints(6, 18)))
    assert coverage.within(ints(0, 7, -5, 4, 13), ints(5, 9, 40, 13, 15)).tolist() == [3, 0, 10, 3, 2]


def test_coverage_of_nothing_is_zero() -> None:
    assert Coverage(intervals.empty()).within(ints(0, 5), ints(9, 5)).tolist() == [0, 0]


def test_coverage_against_single_nanoseconds() -> None:
    rng = random.Random(5)
    for _ in range(100):
        rows = [(start := rng.randint(-40, 40), start + rng.randint(0, 9)) for _ in range(rng.randint(0, 12))]
        busy = {tick for start, end in rows for tick in range(start, end)}
        merged = union(ints(*(row[0] for row in rows)), ints(*(row[1] for row in rows)))
        assert merged.total_ns == len(busy)
        asked = [(start := rng.randint(-50, 50), start + rng.randint(0, 30)) for _ in range(20)]
        got = Coverage(merged).within(ints(*(row[0] for row in asked)), ints(*(row[1] for row in asked)))
        assert got.tolist() == [len(busy & set(range(*row))) for row in asked]


@pytest.mark.parametrize("with_order", [False, True])
def test_union_lengths_slice_by_slice(with_order: bool) -> None:
    """However the rows are cut into slices, each nanosecond of a group counts once."""
    rng = random.Random(21)
    for _ in range(200):
        rows = [(start := rng.randint(-20, 20), start + rng.randint(-2, 15), rng.randint(0, 2)) for _ in range(12)]
        rows.sort()
        start, end, group = (ints(*column) for column in zip(*rows, strict=True))
        order = None
        if with_order:  # the same rows, kept elsewhere in another order
            order = ints(*rng.sample(range(12), 12))
            start, end = (column[np.argsort(order)] for column in (start, end))
        wanted = [len({tick for low, high, of in rows if of == one for tick in range(low, high)}) for one in range(3)]
        assert union_lengths(start, end, group, 3, order, at_once=3).tolist() == wanted


def test_joined_pieces_touch_no_more() -> None:
    # piece 0  ███   ████
    # piece 1            ██  ██     touches: joins
    pieces = [Intervals(ints(0, 6), ints(3, 10)), Intervals(ints(10, 14), ints(12, 16))]
    assert pairs(intervals.joined(pieces)) == [(0, 3), (6, 12), (14, 16)]
    assert pieces == []
    assert pairs(intervals.joined([])) == []
