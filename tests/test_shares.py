"""Time shared out among what runs at once: drawn, and against nanoseconds that are dealt out one by one."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from nsys_digest.algorithms import streaming
from nsys_digest.algorithms.intervals import Intervals, union
from nsys_digest.algorithms.shares import shares

Interval = tuple[int, int, int]
"""Start, end, group."""


def dealt(intervals: list[Interval], groups: int) -> dict[int, int]:
    """Return the group of each single nanosecond, dealt out in rounds; the definition, written down."""
    owner: dict[int, int] = {}
    changes = sorted({time for start, end, _ in intervals for time in (start, end)})
    for low, high in pairwise(changes):
        places = sorted(group for start, end, group in intervals if start <= low and high <= end)
        rounds = (high - low) // len(places) if places else 0
        for offset in range(high - low if places else 0):
            owner[low + offset] = places[offset % len(places)] if offset < rounds * len(places) else places[0]
    return owner


def of(intervals: list[Interval], groups: int, window: Intervals | None = None) -> list[int]:
    rows = sorted(intervals, key=lambda one: one[0])
    start, end, group = (np.array([row[at] for row in rows], np.int64) for at in range(3))
    return shares(start, end, group, groups, window).tolist()


def test_a_drawn_timeline() -> None:
    # ns      0         10        20        30
    # 0       ██████████                       [0, 10)
    # 0            ██████████                  [5, 15)
    # 1              █████████████             [7, 20)
    # 2                          ████          [23, 27)
    #         aaaaaAABBBCCCCC11111   2222
    # [0, 5) and [5, 7) are of 0 alone; [7, 10): 3 // 3 = 1 each, so 2 to group 0 and 1 to group 1;
    # [10, 15): 5 // 2 = 2 each, and the odd one to 0; [15, 20) is of 1 alone; [23, 27) of 2
    found = of([(0, 10, 0), (5, 15, 0), (7, 20, 1), (23, 27, 2)], 4)
    assert found == [5 + 2 + 2 + 3, 1 + 2 + 5, 4, 0]


def test_fewer_nanoseconds_than_intervals_go_to_the_first() -> None:
    # five intervals in a stretch of 3 ns: 3 // 5 = 0 each, and 3 left over for the lowest group, which is 1
    assert of([(0, 3, group) for group in (4, 3, 1, 2, 4)], 5) == [0, 3, 0, 0, 0]


def test_nothing() -> None:
    assert of([], 3) == [0, 0, 0]
    assert of([(0, 5, 1)], 3, Intervals(np.zeros(0, np.int64), np.zeros(0, np.int64))) == [0, 0, 0]


@pytest.mark.parametrize("window_rows", [1, 3, 1 << 17])
def test_single_nanoseconds(window_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random intervals, in windows of rows of any size, and random windows of time, which add up to the whole."""
    monkeypatch.setattr(streaming, "_WINDOW", window_rows)
    for seed in range(150):
        rng = random.Random(seed)
        groups, length = rng.randint(1, 5), rng.choice([8, 30, 90])
        intervals = []
        for _ in range(rng.randint(0, 14)):
            start = rng.randint(0, length)
            intervals.append((start, start + rng.randint(1, rng.choice([2, 20])), rng.randrange(groups)))
        owner = dealt(intervals, groups)
        found = of(intervals, groups)
        assert found == [list(owner.values()).count(group) for group in range(groups)]
        start, end = (np.array([row[at] for row in intervals], np.int64) for at in range(2))
        assert sum(found) == union(start, end).total_ns
        cuts = sorted({-5, length + 50, *(rng.randint(-2, length + 20) for _ in range(rng.randint(0, 6)))})
        stretches = [*pairwise(cuts)]
        rng.shuffle(stretches)
        whole = [0] * groups
        for part in (stretches[::2], stretches[1::2]):
            window = union(*np.array(sorted(part), np.int64).reshape(-1, 2).T.copy())
            inside = [0] * groups
            for time, group in owner.items():
                inside[group] += any(low <= time < high for low, high in part)
            assert of(intervals, groups, window) == inside
            whole = [one + other for one, other in zip(whole, inside, strict=True)]
        assert whole == found
