"""Parts of a trace that add, merge and finish: however rows are cut and in whatever order parts merge, one digest."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pytest

from builder import VERSIONS, TraceBuilder
from nsys_digest import summarize
from nsys_digest.sections import summary
from nsys_digest.trace import cursor
from nsys_digest.trace.collect.kernels import KernelPart, KernelTotals
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import Extras, TracePart
from nsys_digest.trace.nsys.tables import gpu_query
from nsys_digest.trace.source import Batch, Source
from oracle import random_trace
from oracle_account import random_account_trace
from test_fixtures import TRACES

Scan = Callable[..., Any]


def batches_of(source: Source, part: TracePart, *, ranges_alone: bool) -> list[tuple[int, Batch]]:
    """Return every batch of every table, with the number of the table."""
    tables = part.tables_of_ranges() if ranges_alone else part.tables()
    return [(number, batch) for number, table in enumerate(tables) for batch in source.batches(table.query)]


def read_in_parts(rng: Random, parts: list[TracePart], source: Source, *, ranges_alone: bool) -> TracePart:
    """Give each batch to any of the parts, in any order, and merge the parts in any order."""
    found = batches_of(source, parts[0], ranges_alone=ranges_alone)
    rng.shuffle(found)
    takers = [[*(part.tables_of_ranges() if ranges_alone else part.tables())] for part in parts]
    for number, batch in found:
        rng.choice(takers)[number].take(batch)
    left = list(parts)
    while len(left) > 1:  # neighbours or not, one into the other or the other way round
        one, other = rng.sample(left, 2)
        one.merge(other)
        left.remove(other)
    return left[0]


def scan_in_parts(rng: Random, count: int) -> Scan:
    """Return what stands for the scan: the same rows, read by so many parts of their own."""

    def scan(
        source: Source,
        options: NvtxOptions,
        *,
        session_ns: int | None,
        detail: bool,
        extras: Extras,
        **_ignored: object,
    ) -> Any:
        def parts() -> list[TracePart]:
            return [TracePart(source, options, session_ns, detail=detail, extras=extras) for _ in range(count)]

        whole = read_in_parts(rng, parts(), source, ranges_alone=False)
        if whole.ranking is None:
            return whole.finish(None)
        name_count, kept = whole.ranking.name_count, whole.ranking.kept(options.max_names, whole.last_ns)
        again = parts()
        for part in again:
            part.keep_names(kept)
        whole.keep_names(kept)
        whole.merge(read_in_parts(rng, again, source, ranges_alone=True))
        return whole.finish(name_count)

    return scan


def check(path: Path, rng: Random, monkeypatch: pytest.MonkeyPatch, *, batch_rows: int, **options: Any) -> None:
    """Compare the digest of some parts with that of the whole, with events and without."""
    for sections in (None, ()):
        whole = summarize(path, reader="stdlib", threads=1, sections=sections, **options).to_json()
        with monkeypatch.context() as patched:
            patched.setattr(cursor, "BATCH_ROWS", batch_rows)
            patched.setattr(summary, "scan", scan_in_parts(rng, rng.randint(2, 6)))
            assert summarize(path, reader="stdlib", threads=1, sections=sections, **options).to_json() == whole


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.stem)
def test_fixtures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check(path, Random(path.stem), monkeypatch, batch_rows=300)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_random_traces(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(12):
        rng = Random(f"parts {version} {seed}")
        drawn = random_trace if seed % 2 else random_account_trace
        path = drawn(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        check(path, rng, monkeypatch, batch_rows=rng.choice([1, 2, 7]))


@pytest.mark.slow
def test_names_beyond_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some parts see more names than are kept, others do not, or none does and all together do."""
    for seed in range(12):
        rng = Random(seed)
        trace = TraceBuilder().domain(1, "lib").kernel(0, 900)
        for name in range(30):
            start = rng.randint(0, 900)
            end = None if rng.random() < 0.1 else start + rng.randint(0, 60)
            trace.range(f"request {name}", start, end, registered=rng.random() < 0.3, domain=rng.choice([0, 0, 1]))
        trace.range("CG_DISPATCH:a=1", 5, 6).mark("CG_DISPATCH:a=2", 7)
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        check(path, rng, monkeypatch, batch_rows=4, max_nvtx_names=rng.choice([3, 12, 25]))


def test_kernels_alone(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for at in range(20):
        trace.kernel(10 * at, 10 * at + 1 + at % 3, name=f"k{at % 4}")
    with summary.opened(trace.write(tmp_path / "t.sqlite"), "stdlib") as source:
        query = gpu_query(source, "kernel", detail=True)
        assert query is not None
        one, other = KernelPart(), KernelPart()
        for number, rows in enumerate(pairwise(range(1, 21, 3))):
            for batch in source.batches(query, (rows[0], rows[1] - 1)):
                (one, other)[number % 2].add(batch)
        other.merge(one)
        whole = KernelPart()
        for batch in source.batches(query, (1, 18)):
            whole.add(batch)
        assert totals(other.finish()) == totals(whole.finish())


def totals(kernels: KernelTotals) -> dict[tuple[int, int], tuple[int, int]]:
    rows = zip(kernels.counts.tolist(), kernels.sums_ns.tolist(), strict=True)
    return dict(zip(kernels.labels, rows, strict=True))
