"""The tables of a digest are headed and written as their fields declare; nothing in ``report/`` does it by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

import pytest

from nsys_digest.compare.span_breakdown import Term
from nsys_digest.compare.tables import Split
from nsys_digest.model.base_types import CountTotal, NvtxRange
from nsys_digest.model.catalogue import figure, keys_of, label, result
from nsys_digest.model.figures import known_figures
from nsys_digest.model.memory_types import Bandwidth, Copies
from nsys_digest.model.section_types import Cause, DeviceIdle, LaunchCost
from nsys_digest.report.figure_columns import NAME_OF_ROW, line, mean, of, ratio, share, table
from nsys_digest.workloads.phases.comparison import PhaseTimes
from support import ROOT

REPORT: Final = ROOT / "nsys_digest" / "report"
OF_RESULTS: Final = (
    "sections.py",
    "digest.py",
    "short.py",
    "totals.py",
    "categories.py",
    "baseline.py",
    "../workloads/phases/report.py",
)
"""The files with tables of declared results; those of a comparison and a check write figures by their unit too."""
OF_COMPARISONS: Final = ("diff.py", "check.py")
BESIDE: Final = (Term, Split, PhaseTimes)
"""Results that are in no digest, and have columns of their own."""
FORMATS: Final = {"duration", "size", "percent", "instant", "points", "to_seconds"}
LABELS: Final = {known.label for known in known_figures().values()} | {
    key.declared.label for cls in BESIDE for key in keys_of(cls) if key.declared.label
}
HEADS: Final = {"Column", "numbers", "made"}


def by_hand(source: str) -> Iterator[str]:
    """Yield what a module does by hand: a unit, a number that is all of a cell, a head that a field declares."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module == "nsys_digest.units":
            yield from (alias.name for alias in node.names if alias.name in FORMATS)
        elif isinstance(node, ast.JoinedStr) and [type(one) for one in node.values] == [ast.FormattedValue]:
            yield ast.unparse(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in HEADS:
            words = [one.value for one in node.args if isinstance(one, ast.Constant)]
            yield from (str(word) for word in words[: None if node.func.id == "numbers" else 1] if word in LABELS)


@pytest.mark.parametrize("name", OF_RESULTS)
def test_tables_follow_from_their_fields(name: str) -> None:
    allowed = ["duration"] if "phases" in name else []  # it says what is tolerated
    assert list(by_hand((REPORT / name).read_text(encoding="utf-8"))) == allowed


@pytest.mark.parametrize("name", OF_COMPARISONS)
def test_heads_of_comparisons_follow_from_their_fields(name: str) -> None:
    assert not LABELS & set(by_hand((REPORT / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ("from nsys_digest.units import MISSING, duration", "duration"),
        ('rows = ((f"{cause.gaps:,}", name),)', "f'{cause.gaps:,}'"),
        ('head = Column("longest")', "longest"),
        ('head = numbers("device", "GPU busy")', "GPU busy"),
        ('column = made("exposed", "s", lambda row: row[0].exposed_ns)', "exposed"),
    ],
)
def test_what_is_written_by_hand_is_found(planted: str, found: str) -> None:
    source = (REPORT / "sections.py").read_text(encoding="utf-8")
    assert list(by_hand(f"{source}\n{planted}\n")) == [found]


@result
class Sample:
    """One figure of every unit."""

    name: str | None = label("which")
    at_ns: int = label("position", counts="ns")
    wait_ns: int | None = figure("s", "a wait", label="waiting")
    moved: int = figure("bytes", "bytes", label="moved")
    rate: float | None = figure("gbps", "bandwidth", label="rate")
    part: float = figure("ratio", "a share", label="part")
    at_once: float = figure("count", "a mean", label="at once")
    rows: int = figure("count", "rows", label="rows")


SAMPLE: Final = Sample("a", 4_600_123_456, 1_500, 1_500_000, 0.0109, 0.25, 2.0, 12_345)


@pytest.mark.parametrize(
    ("path", "title", "kind", "cell"),
    [
        ("name", "name", "label", "a"),
        ("at_ns", "at_ns", "number", "4.600123456 s"),
        ("wait_ns", "waiting", "number", "1.500 µs"),
        ("moved", "moved", "number", "1.5 MB"),
        ("rate", "rate", "number", "0.0109 GB/s"),
        ("part", "part", "number", "25.0 %"),
        ("at_once", "at once", "number", "2.00"),
        ("rows", "rows", "number", "12,345"),
    ],
)
def test_a_column_is_headed_and_written_as_declared(path: str, title: str, kind: str, cell: str) -> None:
    column = of(Sample, path)
    assert (column.head.title, column.head.kind) == (title, kind)
    assert column.cell((SAMPLE,)) == cell


@pytest.mark.parametrize("path", ["name", "wait_ns", "rate"])
def test_what_is_not_known_is_a_dash(path: str) -> None:
    assert of(Sample, path).cell((replace(SAMPLE, name=None, wait_ns=None, rate=None),)) == "-"


def test_a_path_leads_through_parts_and_a_part_that_is_not_there_is_a_dash() -> None:
    column = of(Copies, "gbps.p50")
    copies = Copies("HtoD", None, None, 1, 10, 5, Bandwidth(2.0, 2.0, 2.0, 2.0))
    assert column.head.title == "p50"
    assert column.cell((copies,)) == "2 GB/s"
    # the percentiles of a name are of an inline part, which is left out where section nvtx is
    assert of(NvtxRange, "p50_ns").cell((NvtxRange(1, 10, 10, 0, None),)) == "-"


def test_a_row_gives_each_column_its_result_and_a_mapping_the_value_of_the_name() -> None:
    idle = DeviceIdle(3, 100, 2, {}, {"load": 40}, ())
    cause = Cause(25, 2, 20)
    columns = (of(DeviceIdle, "device"), of(Cause, "longest_ns"), share(of(Cause, "sum_ns"), of(DeviceIdle, "idle_ns")))
    block = table("Idle", (*columns, of(DeviceIdle, "host_by_nvtx_ns"), NAME_OF_ROW), [(idle, cause, "load")])
    assert [column.title for column in block.columns] == ["device", "longest", "share", "idle", "name"]
    assert block.rows == (("3", "20 ns", "25.0 %", "40 ns", "load"),)


def test_a_table_gives_a_title_only_where_it_says_something_else() -> None:
    assert of(LaunchCost, "queue_delay.p50_ns", "queue p50").head.title == "queue p50"
    with pytest.raises(ValueError, match=r"Cause\.gaps is declared as 'gaps': give no title"):
        of(Cause, "gaps", "gaps")
    with pytest.raises(KeyError):
        of(Cause, "holes")


def test_means_and_shares_of_nothing_are_dashes() -> None:
    total, count = of(CountTotal, "total_ns"), of(CountTotal, "count")
    assert mean(total, count).cell((CountTotal(3, 11),)) == "3 ns"
    assert mean(total, count).cell((CountTotal(0, 0),)) == "-"
    assert [ratio(1, 0), ratio(None, 5), ratio(1, None)] == ["-"] * 3
    assert [ratio(1, 10**6), ratio(10**6 - 1, 10**6), ratio(5, 5), ratio(0, 5)] == [
        "<0.1 %",
        ">99.9 %",
        "100.0 %",
        "0.0 %",
    ]


def test_several_figures_of_one_row_are_a_line() -> None:
    assert line((Cause(25, 2, 20),), of(Cause, "sum_ns", "idle of it"), of(Cause, "longest_ns")) == (
        "idle of it, longest",
        "25 ns, 20 ns",
    )
