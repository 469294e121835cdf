"""Range names: domains, folding, and what happens when there are too many."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.trace import adbc
from nsys_digest.trace.collect.name_folds import fold_name
from nsys_digest.trace.source import Reader
from oracle import expected


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("aten::mm, seq = 2510, op_id = 12", "aten::mm"),
        ("aten::mm, op_id = 3, sizes = [[2, 3], []], input_op_ids = [(1,0), (2,1)]", "aten::mm"),
        ("aten::mm, seq = -1", "aten::mm"),
        ("aten::mm, seq = 5, more", "aten::mm, seq = 5, more"),
        ("step, seq = 5 ", "step, seq = 5 "),
        ("step, seq = 5\n", "step, seq = 5\n"),
        ("step, seq = \u0665", "step, seq = \u0665"),
        ("a, b, c", "a, b, c"),
        (", seq = 5", ""),
        ("", ""),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold_name(text) == folded


def test_both_readers_fold_alike(tmp_path: Path) -> None:
    """The fast reader folds in RE2 once a batch has many texts; Python's pattern must mean the same there."""
    odd = ["a, seq = 1\n", "a, seq = \u0661", "a, seq = 1, op_id = 2 ", "b, sizes = [[1], x]"]
    texts = ["a, seq = 1", *odd, "é, op_id = 7"]
    trace = TraceBuilder()
    for index, text in enumerate(texts):
        trace.range(text, index, index + 1)
    few = summarize(trace.write(tmp_path / "few.sqlite"), reader="adbc").nvtx
    assert list(few) == ["a", *odd, "é"]
    for index in range(300):
        trace.range(f"c, op_id = {index}", 100, 101)
    path = trace.write(tmp_path / "many.sqlite")
    many = summarize(path, reader="adbc").nvtx
    assert many == summarize(path, reader="stdlib").nvtx
    assert list(many) == [*few, "c"]
    assert [many[name].sum_ns for name in few] == [ranges.sum_ns for ranges in few.values()]


@pytest.mark.parametrize("domain", [63, 2**31, 2**31 + 5, 2**62, -1])
def test_domain_ids_of_any_size_are_kept_apart(domain: int, tmp_path: Path) -> None:
    trace = TraceBuilder().domain(domain, "lib").domain(domain, "other", process=2).domain(64, "last")
    trace.range("r", 0, 1, domain=domain).range("r", 1, 2, domain=domain, process=2).range("r", 2, 3, domain=64)
    counts = {name: ranges.count for name, ranges in summarize(trace.write(tmp_path / "t.sqlite")).nvtx.items()}
    assert counts == {"lib:r": 1, "other:r": 1, "last:r": 1}


def test_equal_domain_names_of_two_processes_are_one_name(tmp_path: Path) -> None:
    # process 1  lib:r  ██████
    # process 2  lib:r     ██████      domain 1 there is domain 5 here
    trace = TraceBuilder().domain(1, "lib").domain(5, "lib", process=2)
    trace.range("r", 0, 6, domain=1).range("r", 3, 9, domain=5, process=2)
    (ranges,) = summarize(trace.write(tmp_path / "t.sqlite")).nvtx.values()
    assert (ranges.count, ranges.sum_ns, ranges.union_ns) == (2, 12, 9)


def many_names(rng: random.Random) -> TraceBuilder:
    """Draw 40 names with different times, some registered, some open, some in a domain, and dispatch ranges."""
    trace = TraceBuilder().domain(1, "lib").kernel(100, 900)
    for index in range(40):
        for _ in range(rng.randint(1, 3)):
            start = rng.randint(0, 900)
            end = None if rng.random() < 0.1 else start + rng.randint(0, 60)
            trace.range(f"request-{index}", start, end, registered=rng.random() < 0.3, domain=rng.choice([0, 0, 1]))
    return trace.range("CG_DISPATCH:a=1", 5, 6).mark("CG_DISPATCH:a=2", 7)


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
def test_names_beyond_the_limit_become_one_honest_row(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names that are kept have all their rows, the row of the others has all of theirs, merged."""
    monkeypatch.setattr(adbc, "BATCH_ROWS", 7)
    for seed in range(10):
        rng = random.Random(seed)
        path = many_names(rng).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        whole = expected(path)
        digest = summarize(path, max_nvtx_names=12, reader=reader, threads=1 + seed % 2)
        kept = {name: ranges for name, ranges in digest.nvtx.items() if name != "(other)"}
        bare = {name.removeprefix("lib:") for name in kept}
        assert len(bare - {"CG_DISPATCH:a=1"}) <= 12
        for name, ranges in kept.items():
            assert [ranges.count, ranges.sum_ns, ranges.union_ns, ranges.gpu_overlap_ns] == list(
                whole["nvtx"][name].values()
            )
        others = {name: row for name, row in whole["nvtx"].items() if name.removeprefix("lib:") not in bare}
        other = digest.nvtx["(other)"]
        assert other.count == sum(row["count"] for row in others.values())
        assert other.sum_ns == sum(row["sum_ns"] for row in others.values())
        assert max(row["union_ns"] for row in others.values()) <= other.union_ns <= other.sum_ns
        assert digest.dispatch == whole["dispatch"]
        assert digest.to_json() == summarize(path, max_nvtx_names=12, reader="stdlib").to_json()


def test_the_names_with_most_time_are_kept(tmp_path: Path) -> None:
    # a ██████████   b ████   c ████ (later)   d █
    trace = TraceBuilder().range("d", 0, 1).range("c", 50, 54).range("b", 30, 34).range("a", 10, 20)
    path = trace.write(tmp_path / "t.sqlite")
    assert list(summarize(path, max_nvtx_names=2).nvtx) == ["(other)", "a", "b"]
    assert list(summarize(path, max_nvtx_names=3).nvtx) == ["(other)", "a", "b", "c"]
    assert list(summarize(path, max_nvtx_names=4).nvtx) == ["d", "a", "b", "c"]


def test_names_that_tie_at_the_limit_are_left_out_together(tmp_path: Path) -> None:
    trace = TraceBuilder().range("a", 0, 9).range("b", 3, 5).range("c", 3, 5).range("d", 0, 1)
    digest = summarize(trace.write(tmp_path / "t.sqlite"), max_nvtx_names=2)
    assert {name: (ranges.count, ranges.union_ns) for name, ranges in digest.nvtx.items()} == {
        "(other)": (3, 3),
        "a": (1, 9),
    }


def test_open_ranges_have_time_when_names_are_ranked(tmp_path: Path) -> None:
    # tick     0    10                                990 1000
    # A        ████
    # open            ├──────────────────────────────────┤   still open at the last time stamp
    # B                                                ███
    trace = TraceBuilder().range("A", 0, 10).range("open", 20, None).range("B", 990, 995).kernel(0, 1000)
    nvtx = summarize(trace.write(tmp_path / "t.sqlite"), max_nvtx_names=1).nvtx
    assert {name: ranges.union_ns for name, ranges in nvtx.items()} == {"(other)": 15, "open": 980}
