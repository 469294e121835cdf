"""What is kept while rows stream by, against plain Python."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nsys_digest.algorithms.accumulators import Firsts, Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.members import by_value, members
from nsys_digest.algorithms.streaming import StreamingUnion


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def test_codes_number_values_in_order_of_first_sight_of_a_batch() -> None:
    codes = Codes()
    assert codes.encode(ints(70, 70)).tolist() == [0, 0]
    assert codes.encode(ints(2**60, 70, -5, 2**60)).tolist() == [2, 0, 1, 2]
    assert codes.encode(ints(-5, 2**60, 9)).tolist() == [1, 2, 3]
    assert codes.values == [70, -5, 2**60, 9]
    assert codes.encode(ints()).tolist() == []


def test_codes_agree_with_a_dictionary() -> None:
    rng = random.Random(3)
    pool = [rng.choice([rng.randint(0, 50), rng.randint(-(2**63), 2**63 - 1), 2**20 - 1, 2**20]) for _ in range(300)]
    codes = Codes()
    for _ in range(50):
        batch = rng.choices(pool, k=rng.randint(1, 40))
        encoded = codes.encode(ints(*batch)).tolist()
        assert [codes.values[code] for code in encoded] == batch
    assert len(set(codes.values)) == len(codes)


def test_pair_codes_agree_with_a_dictionary() -> None:
    rng = random.Random(4)
    pairs = PairCodes()
    for _ in range(50):
        batch = [(rng.randint(0, 3), rng.randint(0, 99)) for _ in range(rng.randint(1, 30))]
        encoded = pairs.encode(ints(*(pair[0] for pair in batch)), ints(*(pair[1] for pair in batch))).tolist()
        assert [pairs.pairs[code] for code in encoded] == batch
    assert len(set(pairs.pairs)) == len(pairs)


def test_codes_given_in_order_agree_with_a_dictionary() -> None:
    rng = random.Random(5)
    pool = [rng.choice([rng.randint(0, 50), rng.randint(-(2**63), 2**63 - 1), 2**20 - 1, 2**20]) for _ in range(300)]
    codes = Codes()
    expected: dict[int, int] = {}
    for _ in range(50):
        batch = rng.choices(pool, k=rng.randint(1, 40))
        codes.encode_in_order(ints(*batch))
        for value in batch:
            expected.setdefault(value, len(expected))
        assert codes.values == list(expected)
        assert codes.encode(ints(*batch)).tolist() == [expected[value] for value in batch]


def test_pairs_keep_their_ids_where_the_table_is_given_up_and_are_moved_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """1,000 pairs have ids when a pair comes whose table would have more than 2**20 entries: they are sorted once."""
    sorts = []
    argsort = np.argsort
    monkeypatch.setattr(np, "argsort", lambda values, **options: sorts.append(1) or argsort(values, **options))
    pairs = PairCodes()
    firsts = np.arange(1_000)
    assert pairs.encode(firsts, firsts[::-1].copy()).tolist() == list(range(1_000))
    assert pairs.encode(ints(0, 5, 3), ints(999, 2**20, 996)).tolist() == [0, 1_000, 3]
    assert pairs.encode(firsts, firsts[::-1].copy()).tolist() == list(range(1_000))
    assert pairs.pairs[998:] == [(998, 1), (999, 0), (5, 2**20)]
    assert len(sorts) < 10


@pytest.mark.parametrize("count", [1, 3, 1 << 17])
def test_members_of_groups_agree_with_a_loop(count: int) -> None:
    rng = random.Random(6)
    for size in (0, 1, 50):
        group = [rng.choice([0, count // 2, count - 1]) for _ in range(size)]
        found = members(ints(*group), count)
        for one in {0, count // 3, count // 2, count - 1}:
            assert found.of(one).tolist() == [at for at, value in enumerate(group) if value == one]


def test_each_value_has_its_positions() -> None:
    found = {value: rows.tolist() for value, rows in by_value(ints(7, -2, 7, 2**62, -2, 7))}
    assert list(found.items()) == [(-2, [1, 4]), (7, [0, 2, 5]), (2**62, [3])]
    assert list(by_value(ints())) == []


def test_totals_are_exact_beyond_what_a_double_holds() -> None:
    totals = Totals()
    totals.add(ints(3, 3, 200), ints(2**53, 1, 7))
    totals.add(ints(3), ints(2**53))
    totals.add(ints(), ints())
    assert totals.sum(201)[[3, 200]].tolist() == [2**54 + 1, 7]
    assert totals.count(201)[[0, 3, 200]].tolist() == [0, 3, 1]


def test_firsts_keep_the_smallest() -> None:
    firsts = Firsts()
    firsts.add(ints(1, 1, 90), ints(5, -3, 8))
    firsts.add(ints(1), ints(0))
    assert firsts.values(91)[[1, 90]].tolist() == [-3, 8]
    assert firsts.values(2)[0] == 2**63 - 1


@pytest.mark.parametrize(("seal_at", "window"), [(1, 1), (7, 8), (50, 4), (1 << 17, 1 << 17)])
def test_streaming_union_is_the_union(seal_at: int, window: int) -> None:
    """However the rows are cut into runs and windows, every nanosecond of every group is there, in order of time."""
    rng = random.Random(seal_at)
    for _ in range(60):
        union = StreamingUnion(seal_at=seal_at, window=window, samples=min(window, 2))
        expected: set[tuple[int, int]] = set()
        for _ in range(rng.randint(0, 8)):
            size = rng.randint(1, 9)
            starts = [rng.randint(-60, 60) for _ in range(size)]
            ends = [start + rng.randint(-3, 12) for start in starts]
            groups = [rng.choice([0, 0, 0, 1, 2, 9]) for _ in range(size)]
            union.add(ints(*starts), ints(*ends), ints(*groups))
            for start, end, group in zip(starts, ends, groups, strict=True):
                expected.update((group, tick) for tick in range(start, end))
        got: set[tuple[int, int]] = set()
        reached = -(2**60)
        for piece in union.windows():
            assert int(piece.start_ns.min()) >= reached
            reached = int(piece.end_ns.max())
            for start, end, group in zip(*(column.tolist() for column in piece), strict=True):
                got.update((group, tick) for tick in range(start, end))
        assert got == expected
