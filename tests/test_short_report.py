"""The report on one screen: what it holds, how long it is, and the whole tables of ``--full`` and ``--sections``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from builder import TraceBuilder
from nsys_digest import UsageInvalid, summarize
from nsys_digest.model.views import Shown
from nsys_digest.render import markdown, text
from nsys_digest.report.blocks import ARROW, Block, Column, Report
from nsys_digest.report.chosen import chosen_report
from nsys_digest.report.findings import first_findings
from nsys_digest.report.sections import section_blocks
from support import ROOT, call
from test_fixtures import TRACES

SHARED = ROOT.parent / "shared" / "traces"
REAL = sorted((*SHARED.glob("h200/*.sqlite"), *SHARED.glob("public/*.sqlite")))
SCREEN = 55
"""Lines at 120 columns at most; of most traces it is 45 or fewer."""


def drawn() -> TraceBuilder:
    """Draw ten kernel names of 1 to 10 µs, launched 2 µs before each, in ten ranges; the session lasts 1 s.

    kernel_1 [10, 11) µs, kernel_2 [20, 22), … kernel_10 [100, 110); kernel_10 once more [200, 203)
    """
    trace = TraceBuilder().gpu(0, "H100")
    for number in range(1, 11):
        at = number * 10_000
        trace.kernel(at, at + number * 1_000, name=f"kernel_{number}", correlation=number)
        trace.api("cudaLaunchKernel", at - 2_000, at - 1_000, correlation=number)
        trace.range(f"range_{number}", at - 3_000, at + number * 100)
    trace.kernel(200_000, 203_000, name="kernel_10", correlation=11)
    return trace.api("cudaLaunchKernel", 198_000, 199_000, correlation=11)


def parts(shown: str) -> list[list[str]]:
    """Return what stands between empty lines."""
    return [part.splitlines() for part in shown.strip().split("\n\n")]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_a_fixture_fits_on_a_screen(trace: Path) -> None:
    digest = summarize(trace)
    assert len(digest.to_text().splitlines()) <= SCREEN
    assert len(digest.to_text(full=True).splitlines()) >= len(digest.to_text().splitlines())


@pytest.mark.slow
def test_real_traces_fit_on_a_screen() -> None:
    """Without the folder there is nothing to see."""
    long = {}
    for trace in REAL:
        if trace.stat().st_size < 40_000_000:
            lines = len(summarize(trace).to_text().splitlines())
            long |= {trace.name: lines} if lines > SCREEN else {}
    assert not long


def test_what_stands_on_the_screen(tmp_path: Path) -> None:
    shown = parts(call("summarize", "-q", "-f", "text", drawn().write(tmp_path / "trace.sqlite")).out)
    kernels = next(part for part in shown if part[0].endswith("Kernels, most GPU time first"))
    # 1 + 2 + … + 10 = 55, and 3 more: 58 µs; kernel_10 took 10 and 3
    assert [" ".join(line.split()) for line in kernels] == [
        "total share count mean min p50 max Kernels, most GPU time first",
        "13.00 µs 22.4 % 2 6.500 µs 3.000 µs 3.000 µs 10.00 µs kernel_10",
        "9.000 µs 15.5 % 1 9.000 µs 9.000 µs 9.000 µs 9.000 µs kernel_9",
        "8.000 µs 13.8 % 1 8.000 µs 8.000 µs 8.000 µs 8.000 µs kernel_8",
        "7.000 µs 12.1 % 1 7.000 µs 7.000 µs 7.000 µs 7.000 µs kernel_7",
        "6.000 µs 10.3 % 1 6.000 µs 6.000 µs 6.000 µs 6.000 µs kernel_6",
    ]
    calls = next(part for part in shown if part[0].endswith("CUDA API calls, most time first"))
    assert " ".join(calls[1].split()) == "11.00 µs 11 1.000 µs 1.000 µs 1.000 µs 1.000 µs cudaLaunchKernel"
    ranges = next(part for part in shown if part[0].endswith("NVTX ranges, longest union first"))
    # range_10 lasts 3 µs and 10 times 100 ns
    assert ranges[1].split()[:2] == ["4.000", "µs"]
    assert [line.split()[-1] for line in ranges[1:]] == [f"range_{number}" for number in (10, 9, 8, 7, 6)]


def test_busy_and_idle_stand_beside_the_session(tmp_path: Path) -> None:
    digest = summarize(drawn().session(1_000_000).write(tmp_path / "trace.sqlite"))
    facts = dict(chosen_report(digest, Shown()).facts)
    # from 10 to 203 µs
    assert facts["GPU span"] == "193.0 µs of a session of 1.000 ms, first start to last end over all devices"
    assert facts["busy"] == "58.00 µs (30.1 %), any GPU at work; idle 135.0 µs (69.9 %)"


def test_causes_of_several_devices_are_added_up(tmp_path: Path) -> None:
    """Draw two devices that work, wait and work; nothing says who launched it.

    0 [0, 10) [30, 40)    idle 20 ns
    1 [0, 10) [50, 60)    idle 40 ns
    """
    trace = TraceBuilder()
    for device, at in ((0, 30), (1, 50)):
        trace.kernel(0, 10, device=device, correlation=0).kernel(at, at + 10, device=device, correlation=0)
    report = chosen_report(summarize(trace.write(tmp_path / "trace.sqlite")), Shown())
    idle = next(block for block in report.blocks if block.title.startswith("Why"))
    assert idle.title.startswith("Why the 2 GPUs were idle")
    assert idle.rows == (("60 ns", "100.0 %", "2", "40 ns", "unattributed: the trace does not say"),)
    assert [bar.text for bar in report.bars] == ["50.0 % busy", "33.3 % busy"]


def test_what_was_left_out_is_said(tmp_path: Path) -> None:
    path = drawn().write(tmp_path / "trace.sqlite")
    shown = call("summarize", "-q", "-f", "text", path).out
    left_out = " ".join(parts(shown)[-1])
    assert left_out.startswith("Left out: ")
    assert "--full" in left_out
    named = re.search(r"--sections NAMES for whole tables: ([\w, ]+)\.", left_out)
    assert named is not None
    for name in named[1].split(", "):
        assert len(parts(call("summarize", "-q", "-f", "text", "--sections", name, path).out)) >= 2, name


def test_steps_stand_on_the_screen() -> None:
    trace = next(path for path in TRACES if path.stem == "rank_0")
    shown = call("summarize", "-q", "-f", "text", "--steps", "train_step", trace).out
    assert re.search("^Steady state: train_step$", shown, re.MULTILINE)
    assert len(shown.splitlines()) <= SCREEN


def test_named_sections_are_shown_whole_and_alone(tmp_path: Path) -> None:
    path = drawn().write(tmp_path / "trace.sqlite")
    shown = call("summarize", "-q", "-f", "text", "--sections", "kernel_durations", path).out
    assert re.findall(r"kernel_\d+", shown) == [
        "kernel_10",
        *(f"kernel_{n}" for n in range(9, 0, -1)),
    ]
    assert "p99" in shown
    assert "CUDA API calls" not in shown
    assert "NVTX" not in shown
    few = call("summarize", "-q", "-f", "text", "--sections", "kernel_durations", "--top", "2", path).out
    assert re.findall(r"kernel_\d+", few) == ["kernel_10", "kernel_9"]
    assert "8 more" in few
    base = call("summarize", "-q", "-f", "text", "--sections", "base", path).out
    assert "Devices" in base
    assert "Launches" not in base


def test_a_section_that_is_not_there_is_said(tmp_path: Path) -> None:
    digest = summarize(drawn().write(tmp_path / "trace.sqlite"))
    assert "Nothing to show of graphs." in digest.to_text(sections=["graphs"])
    with pytest.raises(UsageInvalid, match="no section lunch; there are base, nvtx"):
        digest.to_text(sections=["lunch"])


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 160, 200])
def test_no_line_is_wider_than_the_terminal(width: int, tmp_path: Path) -> None:
    long = "at::native::" + "x" * 300
    trace = drawn().kernel(300_000, 400_000, name=long + "_1", correlation=12)
    trace.kernel(400_000, 500_000, name=long + "_2", correlation=13).range("数据" * 60, 0, 600_000)
    shown = summarize(trace.write(tmp_path / "trace.sqlite")).to_text(width=width)
    assert max(map(cell_len, shown.splitlines())) <= width
    # the middle is left out, or the name goes on: never its end
    assert re.search(r"x_1$", shown, re.MULTILINE)
    assert re.search(r"x_2$", shown, re.MULTILINE)


def test_a_hostile_name_stays_on_its_line(tmp_path: Path) -> None:
    trace = drawn().kernel(300_000, 900_000, name="evil\n\x1b[2J::error::", correlation=12)
    shown = summarize(trace.write(tmp_path / "trace.sqlite")).to_text()
    assert "\x1b" not in shown
    assert r"evil\x0a\x1b[2J::error::" in shown


def test_names_that_would_read_the_same_are_whole() -> None:
    """Both names have the same ends, and differ where the middle would be left out."""
    names = [f"{'a' * 60}{middle}{'z' * 60}" for middle in "12"]
    block = Block(
        "Names", (Column("count"), Column("name", "name")), tuple(("1", name) for name in names), look="brief"
    )
    shown = text.render(Report("t", (), (), (block,), (), ""), width=80, color=False)
    joined = re.sub(r"\s", "", shown)
    assert all(name in joined for name in names)
    alone = Block("Names", block.columns, block.rows[:1], look="brief")
    shown = text.render(Report("t", (), (), (alone,), (), ""), width=80, color=False)
    assert shown.splitlines()[-1].endswith("z" * 30)
    assert "…" in shown


@pytest.mark.parametrize("length", [10, 300, 9_000, 30_000])
def test_an_arrow_is_never_lost(length: int) -> None:
    block = Block("Gaps", (Column("before → after", "name", ARROW),), ((f"a{'b' * length}c{ARROW}d{'e' * length}f",),))
    report = Report("t", (), (), (block,), (), "")
    for width in (40, 120):
        shown = re.sub(r"\s", "", text.render(report, width=width, color=False).partition("─\n")[2])
        assert re.fullmatch(r"ab+.*c→d.*e+f", shown)
    assert re.search(r"c → d", markdown.render(report))


def test_one_stop_ends_a_sentence(tmp_path: Path) -> None:
    for trace in TRACES:
        for line in first_findings(summarize(trace)):
            assert not re.search(r"[.?!]\.( |$)", line), line


def test_bandwidth_is_all_bytes_over_all_time(tmp_path: Path) -> None:
    """Draw copies of 1,000 bytes in 100 ns (10 GB/s) and 1,000 bytes in 900 ns (1.11 GB/s): 2,000 in 1,000 is 2."""
    trace = TraceBuilder().memcpy(0, 100, bytes=1_000).memcpy(200, 1_100, bytes=1_000)
    digest = summarize(trace.write(tmp_path / "trace.sqlite"))
    memory = next(block for name, block in section_blocks(digest, 20) if name == "memory")
    titles = [column.title for column in memory.columns]
    assert memory.rows[0][titles.index("bandwidth")] == "2 GB/s"
    assert memory.rows[0][titles.index("max")] == "10 GB/s"


def test_queue_and_latency_are_of_the_same_launches(tmp_path: Path) -> None:
    """Draw graph launches whose work begins before and after the call returned.

    call  [0, 100)  [1000, 1100)
    work     [40, 400)         [1150, 1300)
    queue 0 and 50, latency 40 and 150
    """
    trace = TraceBuilder()
    for number, (call_ns, start_ns, end_ns) in enumerate(((0, 40, 400), (1_000, 1_150, 1_300)), 1):
        trace.api("cudaGraphLaunch_v10000", call_ns, call_ns + 100, correlation=number)
        trace.graph(start_ns, end_ns, correlation=number)
    digest = summarize(trace.write(tmp_path / "trace.sqlite"))
    assert digest.launch is not None
    cost = digest.launch.by_api["cudaGraphLaunch_v10000"]
    assert (cost.queue_delay.count, cost.latency.count, cost.api.count) == (2, 2, 2)
    assert (cost.queue_delay.min_ns, cost.queue_delay.max_ns) == (0, 50)
    assert (cost.latency.min_ns, cost.latency.max_ns) == (40, 150)
