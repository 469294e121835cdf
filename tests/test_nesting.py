"""Nested intervals: who is inside whom, and who decides when."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from nsys_digest.algorithms.intervals import Int64s, Intervals, intersect, subtract, union
from nsys_digest.algorithms.nesting import depths, innermost, nesting_order, parents, running_max


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def test_the_innermost_decides() -> None:
    # tick   0    5    10   15   20
    # 0      ████████████████████
    # 1        ████████
    # 2          ███                ends with nothing after it in 1 but 1 itself
    # 3                     ████
    got = innermost(ints(0, 2, 4, 14), ints(20, 10, 7, 18))
    rows = list(zip(got.start_ns.tolist(), got.end_ns.tolist(), got.owner.tolist(), strict=True))
    assert rows == [(0, 2, 0), (2, 4, 1), (4, 7, 2), (7, 10, 1), (10, 14, 0), (14, 18, 3), (18, 20, 0)]


def test_depths_and_parents() -> None:
    start, end = ints(0, 2, 4, 14, 30), ints(20, 10, 7, 18, 31)
    assert depths(start, end).tolist() == [0, 1, 2, 1, 0]
    assert parents(depths(start, end)).tolist() == [-1, 0, 1, 0, -1]


def test_of_equal_starts_the_shorter_is_inside() -> None:
    start, end = ints(5, 5, 5), ints(7, 9, 8)
    assert nesting_order(start, end).tolist() == [1, 2, 0]
    got = innermost(start, end)
    assert list(zip(got.start_ns.tolist(), got.end_ns.tolist(), got.owner.tolist(), strict=True)) == [
        (5, 7, 0),
        (7, 8, 2),
        (8, 9, 1),
    ]


def nested(rng: random.Random, low: int, high: int, depth: int) -> list[tuple[int, int]]:
    """Draw intervals that nest, some of which touch or begin and end with the one around them."""
    found = []
    at = low
    while at < high and rng.random() < 0.8:
        start = rng.randint(at, high - 1)
        end = rng.randint(start + 1, high)
        found.append((start, end))
        if depth:
            found += nested(rng, start, end, depth - 1)
        at = end
    return found


def decides(intervals: list[tuple[int, int]], tick: int) -> tuple[int, int] | None:
    """Return (start, end) of the interval that decides at a tick, by definition."""
    around = [(-start, end) for start, end in intervals if start <= tick < end]
    return (-min(around)[0], min(around)[1]) if around else None


@pytest.mark.parametrize("part", [1, 3, 1 << 17])
def test_innermost_against_single_nanoseconds(part: int) -> None:
    """However few intervals are looked at together."""
    for seed in range(300):
        rng = random.Random(seed)
        rows = nested(rng, 0, 60, 3)
        if seed % 3 == 0:  # intervals that cross
            rows += [(start := rng.randint(0, 50), start + rng.randint(1, 20)) for _ in range(3)]
        rng.shuffle(rows)
        got = innermost(ints(*(row[0] for row in rows)), ints(*(row[1] for row in rows)), at_once=part)
        segments = list(zip(*(column.tolist() for column in got), strict=True))
        assert all(left[1] <= right[0] for left, right in pairwise(segments))
        by_tick = {tick: rows[owner] for start, end, owner in segments for tick in range(start, end)}
        assert by_tick == {tick: who for tick in range(80) if (who := decides(rows, tick)) is not None}


def test_intersection_and_difference_against_single_nanoseconds() -> None:
    rng = random.Random(8)
    for _ in range(300):
        sets = []
        for _ in range(2):
            rows = [(start := rng.randint(-30, 30), start + rng.randint(0, 9)) for _ in range(rng.randint(0, 8))]
            sets.append(union(ints(*(row[0] for row in rows)), ints(*(row[1] for row in rows))))
        one, other = sets

        def ticks(merged: Intervals) -> set[int]:
            pairs = zip(merged.start_ns.tolist(), merged.end_ns.tolist(), strict=True)
            return {tick for start, end in pairs for tick in range(start, end)}

        for got, wanted in (
            (intersect(one, other), ticks(one) & ticks(other)),
            (subtract(one, other), ticks(one) - ticks(other)),
        ):
            assert ticks(got) == wanted
            assert (got.start_ns[1:] > got.end_ns[:-1]).all()


def test_largest_so_far_in_each_run() -> None:
    # run      0     | 1       | 2
    # value    3 1 5 | 2 -9 2  | largest int, smallest int
    most, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    values = np.array([3, 1, 5, 2, -9, 2, most, least])
    begins = np.array([1, 0, 0, 1, 0, 0, 1, 0], bool)
    assert running_max(values, begins).tolist() == [3, 3, 5, 2, 2, 2, most, most]
    assert running_max(values[:0], begins[:0]).size == 0
