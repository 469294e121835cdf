"""What the reports say in words: order, missing values, points in time; the same in text and Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.report.digest import digest_report
from support import call
from test_fixtures import TRACES

FORMATS = ["text", "markdown"]


def trace_of(stem: str) -> Path:
    return next(path for path in TRACES if path.stem == stem)


def block_of(trace: Path, title: str, **options: object) -> list[tuple[str, ...]]:
    """Return the rows of the block whose title begins so."""
    report = digest_report(summarize(trace, **options), top=20)  # type: ignore[arg-type]
    return list(next(block.rows for block in report.blocks if block.title.startswith(title)))


@pytest.fixture
def ranges(tmp_path: Path) -> Path:
    """Draw a short range before a long one, and two kinds of marks, the rare one first.

    small  =
    large     ======
    marks  r  c c c
    """
    drawn = TraceBuilder().range("small", 0, 10).range("large", 30, 90).mark("CG_DISPATCH rare", 0)
    for at in (30, 40, 50):
        drawn.mark("CG_DISPATCH common", at)
    return drawn.write(tmp_path / "trace.sqlite")


@pytest.mark.parametrize("format", FORMATS)
def test_a_list_that_is_cut_has_the_most(ranges: Path, format: str) -> None:
    out = call("summarize", "-q", "-f", format, "--top", "1", "--full", "--sections", "nvtx", ranges).out
    assert "NVTX ranges, longest union first" in out
    assert "Dispatch marks, most first" in out
    assert "large" in out
    assert "small" not in out
    assert "rare" not in out
    document = json.loads(call("summarize", "-q", "--top", "1", ranges).out)
    assert list(document["nvtx"]) == ["small", "large"]
    assert list(document["dispatch"]) == ["CG_DISPATCH rare", "CG_DISPATCH common"]


@pytest.mark.parametrize("format", FORMATS)
def test_the_longest_dispatch_steps_are_kept_in_their_order(format: str, tmp_path: Path) -> None:
    drawn = TraceBuilder()
    for padded, at in ((1, 0), (2, 100), (3, 100_000), (4, 100_100)):  # 2 lasts longest, then 4, which has no end
        drawn.mark(f"CG_DISPATCH:actual=1:mode=FULL:padded={padded}", at)
    path = drawn.kernel(0, 50).range("all", 0, 200_000).write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--top", "2", "--full", path).out
    assert "those of most wall time" in out.replace("\\", "")
    rows = re.findall(r"FULL\W+(all|\d)", out)
    assert rows[:1] == ["all"]
    assert rows[1:] == ["2"]


def test_a_point_in_time_can_be_found() -> None:
    digest = summarize(trace_of("serve"))
    assert digest.idle is not None
    rows = block_of(trace_of("serve"), "Longest gaps")
    assert [row[1] for row in rows] == [
        f"{gap.start_ns // 10**9}.{gap.start_ns % 10**9:09d} s" for gap in digest.idle.longest
    ]
    steps = block_of(trace_of("rank_0"), "Slowest steps", steps="train_step")
    assert all(re.fullmatch(r"13\.\d{9} s", row[0]) for row in steps)


@pytest.mark.parametrize("format", FORMATS)
def test_one_operation_is_no_busy_device(format: str, tmp_path: Path) -> None:
    path = TraceBuilder().gpu(0, "H100").memset(100, 1_572).write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--full", path).out
    assert "that of the only GPU operation" in out
    assert "one operation, of 1.472 µs" in out
    assert "█" not in out
    assert "%" not in out


@pytest.mark.parametrize("format", FORMATS)
def test_unknown_is_not_zero(format: str) -> None:
    out = call("summarize", "-q", "-f", format, trace_of("nogpu")).out
    assert "cpu only" in out
    assert "0 ns" not in out
    assert "n/a" not in out


@pytest.mark.parametrize("format", FORMATS)
def test_steps_without_a_steady_state_say_so(format: str, tmp_path: Path) -> None:
    path = TraceBuilder().range("step", 0, 100).kernel(10, 90).write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--steps", "step", path).out
    steady = out[out.index("Steady state") :]
    assert "1: the first is set apart, and no other is left to measure" in steady
    assert "p95" not in steady.partition("Kernels")[0]
    assert "n/a" not in out


@pytest.mark.parametrize("format", FORMATS)
def test_a_name_that_cannot_be_seen_is_told(format: str, tmp_path: Path) -> None:
    drawn = TraceBuilder()
    for at, name in enumerate(("", "-", " ")):
        drawn.kernel(10 * at, 10 * at + 5, name=name, correlation=at + 1)
        drawn.api("cudaLaunchKernel", 10 * at - 5, 10 * at - 4, correlation=at + 1)
    out = call("summarize", "-q", "-f", format, "--full", drawn.write(tmp_path / "trace.sqlite")).out
    assert {cells[-1] for cells in block_of(tmp_path / "trace.sqlite", "Kernels, most")} == {"(no name)", '"-"', '" "'}
    assert '(no name) → "-"' in out
    assert '"-" → " "' in out


@pytest.mark.parametrize(
    ("drawn", "kernels"),
    [
        (TraceBuilder().memset(0, 5).memset(7, 9), "0"),
        (TraceBuilder().kernel(0, 5).kernel(7, 9), "2, none in CUDA graphs"),
        (TraceBuilder().kernel(0, 5, graph_node=4).kernel(7, 9), "2, of these 1 in CUDA graphs"),
        (TraceBuilder().kernel(0, 5).graph(7, 9), "1 outside of CUDA graphs; 1 CUDA graph launch traced as a whole"),
        (TraceBuilder().graph(0, 5).graph(7, 9), "0; 2 CUDA graph launches traced as a whole"),
    ],
    ids=["none", "plain", "nodes", "both", "graphs"],
)
def test_kernels_are_counted_in_words(drawn: TraceBuilder, kernels: str, tmp_path: Path) -> None:
    facts = dict(digest_report(summarize(drawn.write(tmp_path / "trace.sqlite")), top=5).facts)
    assert facts["kernels"] == kernels


@pytest.mark.slow
def test_no_column_of_a_report_is_empty() -> None:
    for trace in TRACES:
        for block in digest_report(summarize(trace), top=20).blocks:
            assert not [column for column in zip(*block.rows, strict=True) if set(column) <= {"-", ""}], block.title


@pytest.mark.parametrize("format", FORMATS)
def test_sentences_of_an_inspection_stand_under_no_name(format: str) -> None:
    out = call("inspect", "-f", format, trace_of("nogpu")).out
    missing = out[out.index("Missing, and why it matters") :]
    assert "what is missing" in missing
    assert "name" not in missing.partition("no kernels")[0]


def test_missing_diagnostics_are_told_by_what_the_file_has(tmp_path: Path) -> None:
    from nsys_digest import inspect

    drawn = {
        "absent": TraceBuilder().kernel(0, 5).drop_table("DIAGNOSTIC_EVENT"),
        "empty": TraceBuilder(lazy=False).kernel(0, 5),
        "there": TraceBuilder().kernel(0, 5).diagnostic("fine", severity=1),
    }
    found = {
        name: [line for line in inspect(trace.write(tmp_path / f"{name}.sqlite")).missing if "diagnostics" in line]
        for name, trace in drawn.items()
    }
    assert found == {
        "absent": ["no table of diagnostics, which nsys writes since 2024.4: lost events would go unseen"],
        "empty": ["the table of diagnostics is empty: lost events would go unseen"],
        "there": [],
    }


def test_the_help_says_that_small_files_are_read() -> None:
    out = " ".join(call("inspect", "--help").out.split())
    assert "without reading" not in out
    assert "Of 64 MB and more, only the ends of the event tables are read" in out


@pytest.mark.parametrize("group", [(), ("workload",), ("baseline",)])
def test_the_list_of_commands_is_whole_at_80_columns(group: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    listed = call(*group, "--help").out.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


@pytest.mark.parametrize("format", FORMATS)
def test_both_sides_of_a_gap_are_told_however_long_their_names(format: str, tmp_path: Path) -> None:
    before, after = (f"{side}_{'x' * 300}_{end}" for side, end in (("left", "1"), ("right", "2")))
    drawn = TraceBuilder().kernel(0, 10, name=before).kernel(50, 60, name=after, correlation=2)
    drawn.api("cudaLaunchKernel", 40, 45, correlation=2).range("outer_" + "y" * 300, 5, 55).range("z" * 300, 6, 54)
    path = drawn.write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--full", path).out.replace("\\", "")
    gaps = out[out.index("Longest gaps") :].partition("Launches")[0]
    shown = re.sub(r"\s+", "", gaps)
    assert re.search(r"left_x+…?x+_1→right_x+…?x+_2", shown)
    assert re.search(r"outer_y+…?y+/z+…?z+", shown)
