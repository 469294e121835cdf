"""The report on a terminal of any width: no line too wide, nothing cut, and a narrow one shows what a wide one does."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from nsys_digest import classify, inspect, summarize
from nsys_digest.render import text
from nsys_digest.render.wrap import NAME_CELLS, shortened, wrapped
from nsys_digest.report.blocks import NAME, Bar, Block, Column, Report, numbers
from nsys_digest.report.categories import categories_report
from nsys_digest.report.digest import digest_report, inspection_report
from test_fixtures import SHARED, TRACES, named

WIDTHS = (40, 60, 80, 100, 119, 120, 200)
MEASURED = re.compile(r"(?<![\w.,-])<?\d[\d,]*(?:\.\d+)? (?:ns|µs|ms|s|%|B|[kMGT]B)(?!\w)")


def trace_of(stem: str) -> Path:
    return next(path for path in TRACES if path.stem == stem)


@cache
def reports(trace: Path) -> dict[str, Report]:
    """Return every report of a trace; with steps where it has a range of that name, and with raw names."""
    return {
        "summarize": digest_report(summarize(trace, steps="train_step" if "rank_" in trace.stem else None), top=20),
        "raw names": digest_report(summarize(trace, raw_nvtx_names=True), top=20),
        "categories": categories_report(classify(trace), top=40),
        "inspect": inspection_report(inspect(trace)),
    }


def shown(report: Report, width: int) -> str:
    return text.render(report, width=width, color=False)


def squeezed(words: str) -> str:
    return re.sub(r"\s", "", words)


def small(*blocks: Block, bars: tuple[Bar, ...] = (), facts: tuple[tuple[str, str], ...] = ()) -> Report:
    return Report("trace.sqlite", facts, bars, blocks, (), "")


@pytest.mark.parametrize("trace", [*TRACES, *SHARED], ids=named)
@pytest.mark.slow
def test_no_line_is_wider_than_the_terminal(trace: Path) -> None:
    for kind, report in reports(trace).items():
        for width in WIDTHS:
            for line in shown(report, width).splitlines():
                assert cell_len(line) <= width, (kind, width)
                assert line == line.rstrip(), (kind, width)


@pytest.mark.parametrize("trace", [*TRACES, *SHARED], ids=named)
@pytest.mark.slow
def test_every_width_shows_the_same(trace: Path) -> None:
    """The characters of a report are the same ones at every width, but for blanks, bars, rules and one kind of head."""
    for kind, report in reports(trace).items():
        found = [Counter(re.sub(r"[\s─█░]|\bname\b", "", shown(report, width))) for width in WIDTHS]
        assert all(each == found[0] for each in found), kind


@pytest.mark.parametrize("trace", [*TRACES, *SHARED], ids=named)
@pytest.mark.slow
def test_no_measured_value_is_parted(trace: Path) -> None:
    """Each length of time, size and share stands whole on one line, at each width from 60."""
    for kind, report in reports(trace).items():
        cells = [cell for block in report.blocks for row in block.rows for cell in row]
        words = " ; ".join([*cells, *(value for _, value in report.facts)])
        values = set(MEASURED.findall(re.sub(r"[^\x20-\x7eµ]", "?", words)))
        for width in (60, 80, 100, 120):
            lines = set(MEASURED.findall(shown(report, width).replace("\n", " ; ")))
            assert values <= lines, (kind, width)


@pytest.mark.slow
def test_words_of_our_own_are_never_cut() -> None:
    for stem in ("serve", "rank_0", "mixed"):
        for kind in ("summarize", "inspect"):
            for width in WIDTHS:
                assert "…" not in shown(reports(trace_of(stem))[kind], width)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_rules_show_every_kernel(width: int) -> None:
    trace = trace_of("rank_0")
    words = squeezed(shown(reports(trace)["categories"], width))
    kernels = [kernel.name for kernel in classify(trace).kernels]
    assert len(kernels) == 28
    for kernel in kernels:
        assert squeezed(kernel[:100]) in words
        assert squeezed(kernel[-100:]) in words


def test_gaps_show_what_came_before_and_after() -> None:
    page = shown(reports(trace_of("serve"))["summarize"], 80)
    gaps = page[page.index("\nLongest gaps\n") : page.index("\nLaunches")]
    assert gaps.count("vectorized_elementwise_kernel") == 4
    assert "NVTX" not in gaps  # no gap of this trace is in a range
    assert "NVTX" in shown(reports(trace_of("rank_0"))["summarize"], 80).partition("Longest gaps")[2][:200]


def test_a_row_that_does_not_fit_goes_on_below() -> None:
    block = Block("Table", (*numbers("total", "count"), NAME), (("1.000 ms", "12", "kernel_" * 12),))
    assert shown(small(block), 30).splitlines()[2:] == [
        "Table",
        "     total  count",
        "  " + "─" * 28,
        "  1.000 ms     12",
        *["      kernel_kernel_kernel_"] * 4,
    ]
    assert shown(small(block), 60).splitlines()[3:] == [
        "     total  count  name",
        "  " + "─" * 58,
        "  1.000 ms     12  kernel_kernel_kernel_kernel_kernel_",
        "                   kernel_kernel_kernel_kernel_kernel_",
        "                   kernel_kernel_",
    ]


def test_numbers_that_do_not_fit_side_by_side_go_on_below() -> None:
    block = Block("Table", numbers("first", "second", "third"), (("1.000 ms", "22.00 ms", "333.0 ms"),))
    assert shown(small(block), 20).splitlines()[3:] == [
        "     first    second",
        "         third",
        "  " + "─" * 18,
        "  1.000 ms  22.00 ms",
        "      333.0 ms",
    ]


def test_a_label_of_any_length_keeps_within_the_terminal() -> None:
    block = Block("Table", (Column("mode", "label"), *numbers("steps")), (("mode " * 30, "1"),))
    assert max(map(len, shown(small(block), 60).splitlines())) <= 60


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["  0 NVIDIA RTX 5000 Ada  " + "█" * 10 + "░" * 30 + "  25.0 % busy"]),
        (60, ["  0 NVIDIA RTX 5000 Ada  " + "█" * 6 + "░" * 16 + "  25.0 % busy"]),
        (40, ["  0 NVIDIA RTX 5000 Ada", "    " + "█" * 6 + "░" * 17 + "  25.0 % busy"]),
    ],
)
def test_bars_shrink_with_the_terminal(width: int, lines: list[str]) -> None:
    bar = Bar("0 NVIDIA RTX 5000 Ada", 0.25, "25.0 % busy")
    assert shown(small(bars=(bar,)), width).splitlines()[2:] == lines


def test_what_goes_on_keeps_its_indent() -> None:
    report = small(facts=(("kernels", "one two three four five six"), ("x", "y")))
    assert shown(report, 30).splitlines()[1:] == [
        "  kernels  one two three four",
        "           five six",
        "  x        y",
    ]
    warned = shown(digest_report(summarize(trace_of("graph_graph")), top=5), 60)
    _, _, warnings = warned.partition("\nWarnings\n")
    lines = warnings.partition("\n\n")[0].splitlines()
    assert lines[0].startswith("  ! 40 CUDA graph launches")
    assert len(lines) > 2
    assert all(re.match(r" {4}\S", line) for line in lines[1:])


def test_long_names_lose_their_middle_only() -> None:
    name = "a" * 300 + "b" * 300
    (short,) = shortened([name])
    assert (cell_len(short), short[:100], short[-100:]) == (NAME_CELLS - 1, "a" * 100, "b" * 100)
    assert shortened(["a" * NAME_CELLS]) == ["a" * NAME_CELLS]


def test_names_that_would_read_the_same_are_whole() -> None:
    alike = ["a" * 300 + middle + "b" * 300 for middle in "xy"]
    assert shortened([*alike, "c" * 600]) == [*alike, *shortened(["c" * 600])]
    assert len(set(shortened([alike[0], alike[0]]))) == 1


@settings(max_examples=300)
@given(st.text("ab_:<>() 12µ数", max_size=60), st.integers(4, 30))
def test_wrapping_loses_nothing(words: str, width: int) -> None:
    lines = wrapped(words, width)
    assert squeezed("".join(lines)) == squeezed(re.sub(r"(?:^|(?<=[ :])):(?=:)", r"\\x3a", words))
    assert max(map(cell_len, lines)) <= width
    assert not [line for line in lines if line.lstrip().startswith("::")]


def test_lines_end_where_nothing_is_torn() -> None:
    assert wrapped("host 876.6 µs, launch_call 414.2 µs, queued 1.000 ms", 24) == [
        "host 876.6 µs,",
        "launch_call 414.2 µs,",
        "queued 1.000 ms",
    ]
    assert wrapped("more overlap -36.54 ms", 20) == ["more", "overlap -36.54 ms"]
    assert wrapped("launch_call 414.2 µs", 12) == ["launch_call", "414.2 µs"]
    assert wrapped("at::native::reduce_kernel", 13) == ["at::native::", "reduce_kernel"]
    assert wrapped("ncclDevKernelArgsStorage", 20) == ["ncclDevKernelArgs", "Storage"]
