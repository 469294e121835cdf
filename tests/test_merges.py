"""What is kept while rows stream by, cut into parts that each saw some of them: merged they say what plain Python does.

Every part sees rows, and each case is cut in many ways; parts merge in any order, one into the other or the other way.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from random import Random
from typing import Any, TypeVar

import numpy as np

from nsys_digest.algorithms.accumulators import Firsts, Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.streaming import StreamingUnion
from nsys_digest.trace.collect.domains import Domains
from nsys_digest.trace.collect.names import NameRanking
from nsys_digest.trace.collect.waits import WaitPart

Part = TypeVar("Part")
Row = tuple[int, ...]
LARGE = 2**48
"""More than a table of small ids has room for, as global process ids of nsys are."""


def columns(rows: list[Row]) -> list[Int64s]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


def cut(rng: Random, rows: list[Row]) -> list[list[Row]]:
    """Cut rows into two to five stretches, none empty."""
    count = rng.randint(2, 5)
    edges = [0, *sorted(rng.sample(range(1, len(rows)), count - 1)), len(rows)]
    return [rows[low:high] for low, high in pairwise(edges)]


def in_parts(rng: Random, rows: list[Row], make: Callable[[], Part], add: Callable[[Part, list[Row]], Any]) -> Part:
    """Give each part a share of the rows in several batches, and merge the parts."""
    parts = []
    for share in cut(rng, rows):
        parts.append(make())
        middle = rng.randint(1, len(share))
        for batch in (share[:middle], share[middle:]):
            if batch:
                add(parts[-1], batch)
    while len(parts) > 1:
        one, other = rng.sample(parts, 2)
        one.merge(other)  # type: ignore[attr-defined]
        parts.remove(other)
    return parts[0]


class Waits:
    """A batch of the table of waits."""

    def __init__(self, rows: list[Row]) -> None:
        self._columns = dict(zip(("process", "correlation", "context", "stream", "event"), columns(rows), strict=True))

    def ints(self, name: str) -> Int64s:
        """Return a column."""
        return self._columns[name]


def test_waits() -> None:
    for seed in range(60):
        rng = Random(seed)
        rows = [  # a correlation id is of one call, and 0 of none
            (
                rng.choice([3, 4, LARGE, LARGE + 7]),
                rng.choice([0, 100 + at]),
                rng.randint(0, 2),
                rng.randint(0, 40),
                rng.randint(0, 3),
            )
            for at in range(rng.randint(8, 40))
        ]
        rng.shuffle(rows)
        wanted = defaultdict(list)
        for process, *wait in rows:
            if wait[0]:
                wanted[process].append(tuple(wait))
        found = in_parts(rng, rows, lambda: WaitPart(0), lambda part, batch: part.add(Waits(batch))).finish()
        told = {
            process: list(
                zip(*(column.tolist() for column in (w.correlation, w.context, w.stream, w.event)), strict=True)
            )
            for process, w in found.items()
        }
        assert {process: waits for process, waits in told.items() if waits} == {
            process: sorted(waits) for process, waits in wanted.items()
        }


def test_the_ranking_of_names() -> None:
    for seed in range(60):
        rng = Random(seed)
        last_ns = 1000
        rows = [
            (rng.randint(-5, 5), start := rng.randint(0, 900), rng.choice([-1, rng.randint(0, 90)]))
            for _ in range(rng.randint(8, 40))
        ]

        def add(ranking: NameRanking, batch: list[Row]) -> None:
            for name, start, length in batch:
                if length < 0:
                    ranking.add_open(*columns([(name, start)]))
                else:
                    ranking.add(*columns([(name, length, start)]))

        total: Counter[int] = Counter()
        first = dict.fromkeys((row[0] for row in rows), last_ns)
        for name, start, length in rows:
            total[name] += last_ns - start if length < 0 else length
            first[name] = min(first[name], start)
        compact_at = rng.choice([1, 10, 1 << 20])
        ranking = in_parts(rng, rows, partial(NameRanking, compact_at), add)
        assert ranking.name_count == len(first)
        for limit in (1, 3, 20):
            order = sorted(first, key=lambda name: (-total[name], first[name]))
            beyond = {(total[name], first[name]) for name in order[limit : limit + 1]}
            kept = {name for name in order[:limit] if (total[name], first[name]) not in beyond}
            assert ranking.kept(limit, last_ns) == kept


class Named:
    """Values by name, as every part keeps them: numbered as they are seen, in each part for itself."""

    def __init__(self) -> None:
        self.codes, self.totals, self.firsts = Codes(), Totals(), Firsts()
        self.union = StreamingUnion(seal_at=7, window=4, samples=2)

    def add(self, batch: list[Row]) -> None:
        """Take rows of name, start and end."""
        name, start_ns, end_ns = columns(batch)
        group = self.codes.encode(name)
        self.totals.add(group, end_ns - start_ns)
        self.firsts.add(group, start_ns)
        self.union.add(start_ns, end_ns, group)

    def merge(self, other: Named) -> None:
        """Take what another part has."""
        group = self.codes.merge(other.codes)
        self.totals.merge(other.totals, group)
        self.firsts.merge(other.firsts, group)
        self.union.merge(other.union, group)


def test_totals_firsts_and_unions_by_name() -> None:
    for seed in range(60):
        rng = Random(seed)
        rows = [
            (rng.choice([0, 5, LARGE, -LARGE]), start := rng.randint(-50, 50), start + rng.randint(0, 9))
            for _ in range(rng.randint(8, 40))
        ]
        found = in_parts(rng, rows, Named, Named.add)
        assert sorted(found.codes.values) == sorted({row[0] for row in rows})
        size = len(found.codes)
        covered = defaultdict(set)
        for window in found.union.windows():
            for start, end, group in zip(*(column.tolist() for column in window), strict=True):
                covered[found.codes.values[group]] |= set(range(start, end))
        counts, sums, firsts = found.totals.count(size), found.totals.sum(size), found.firsts.values(size)
        for group, name in enumerate(found.codes.values):
            own = [(start, end) for one, start, end in rows if one == name]
            assert counts[group] == len(own)
            assert sums[group] == sum(end - start for start, end in own)
            assert firsts[group] == min(start for start, _ in own)
            assert covered[name] == {tick for start, end in own for tick in range(start, end)}


class Pairs:
    """Pairs of numbered values, and how often each occurs."""

    def __init__(self) -> None:
        self.first, self.second, self.pairs, self.totals = Codes(), Codes(), PairCodes(), Totals()

    def add(self, batch: list[Row]) -> None:
        """Take pairs."""
        first, second = columns(batch)
        ids = self.pairs.encode(self.first.encode(first), self.second.encode(second))
        self.totals.add(ids, np.ones_like(ids))

    def merge(self, other: Pairs) -> None:
        """Take what another part has."""
        ids = self.pairs.merge(other.pairs, self.first.merge(other.first), self.second.merge(other.second))
        self.totals.merge(other.totals, ids)

    def counted(self) -> Iterator[tuple[Row, int]]:
        """Yield each pair, and how often it occurs."""
        counts = self.totals.count(len(self.pairs)).tolist()
        for (first, second), count in zip(self.pairs.pairs, counts, strict=True):
            yield (self.first.values[first], self.second.values[second]), count


def test_pairs() -> None:
    for seed in range(60):
        rng = Random(seed)
        rows = [(rng.choice([1, 2, LARGE]), rng.choice([0, 9, -LARGE])) for _ in range(rng.randint(8, 40))]
        assert dict(in_parts(rng, rows, Pairs, Pairs.add).counted()) == Counter(rows)


class Scopes:
    """The domains of processes that are numbered as they are seen."""

    def __init__(self) -> None:
        self.processes, self.domains = Codes(), Domains()
        self.seen: dict[Row, int] = {}

    def add(self, batch: list[Row]) -> None:
        """Take rows of process, domain, start, and whether the row names the domain."""
        process, domain = columns(batch)[:2]
        code = self.processes.encode(process)
        for one, row in zip(code.tolist(), batch, strict=True):
            if row[3]:
                self.domains.note(one, row[1], row[2], f"named at {row[2]}")
        scope = self.domains.scopes(code, domain)
        self.seen |= {row[:2]: own for row, own in zip(batch, scope.tolist(), strict=True)}

    def merge(self, other: Scopes) -> None:
        """Take what another part has."""
        scope = self.domains.merge(other.domains, self.processes.merge(other.processes))
        self.seen |= {key: int(scope[own]) for key, own in other.seen.items()}


def test_domains() -> None:
    for seed in range(60):
        rng = Random(seed)
        rows = [
            (rng.choice([1, LARGE]), rng.choice([0, 1, LARGE + 2]), rng.randint(0, 50), rng.randint(0, 1))
            for _ in range(rng.randint(8, 40))
        ]
        found = in_parts(rng, rows, Scopes, Scopes.add)
        for process, domain, *_ in rows:
            named = [start for one, other, start, is_name in rows if (one, other) == (process, domain) and is_name]
            wanted = f"named at {min(named)}:" if named and domain else ""
            assert found.domains.prefix(found.seen[process, domain]) == wanted
