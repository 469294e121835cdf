"""A log beside a trace: drawn traces whose ranges are known, and the command."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.workloads.phases.comparison import Comparison, Tolerance, compare_phases
from nsys_digest.workloads.phases.reader import parse_lines
from support import call, command, environment, the_line, untouched

US = 1_000
MS = 1_000_000

# 0 ms      1            4      5           9         10
# opd_step  ├────────────────────────────────────────┤
# forward    ├───────────┤                              launches k1 and k2
# backward                ├────────────────┤ at 4.5    of 4 ms, and another of 0.5 ms before it
# GPU          ██k1██(2..3)        ██k2██(6..8)   ██k3██(8.5..9.5), launched by backward
LOG = """\
step_summary loss=1e-5 rollout_len=12 total_step_seconds=0.010050
phase_summary rank=1 phase=backward seconds=0.004400 pct_total=43.781
phase_summary rank=2 phase=forward seconds=0.003050 pct_total=30.348
phase_summary rank=3 phase=unattributed seconds=0.002400 pct_total=23.881
phase_summary rank=4 phase=optimizer seconds=0.000200 pct_total=1.990
"""


def drawn() -> TraceBuilder:
    return (
        TraceBuilder()
        .gpu(0, "NVIDIA H200")
        .range("warmup/opd_step", 100 * MS, 190 * MS)
        .range("warmup/forward", 110 * MS, 120 * MS)
        .range("opd_step", 0, 10 * MS)
        .range("forward", 1 * MS, 4 * MS)
        .range("backward", 4 * MS, 4 * MS + 500 * US)
        .range("backward", 5 * MS, 9 * MS)
        .api("cudaLaunchKernel", 1100 * US, 1200 * US, correlation=1)
        .kernel(2 * MS, 3 * MS, correlation=1)
        .api("cudaLaunchKernel", 1300 * US, 1400 * US, correlation=2)
        .kernel(6 * MS, 8 * MS, correlation=2)
        .api("cudaLaunchKernel", 5100 * US, 5200 * US, correlation=3)
        .kernel(8500 * US, 9500 * US, correlation=3)
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return drawn().write(tmp_path / "trace.sqlite")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "step.log"
    file.write_text(LOG, encoding="utf-8")
    return file


def compared(trace: Path, text: str = LOG, tolerance: Tolerance | None = None) -> Comparison:
    return compare_phases(
        parse_lines(text, "log"), summarize(trace, sections=["nvtx"]), name="log", tolerance=tolerance
    )


def test_times_of_each_phase(trace: Path) -> None:
    found = {times.phase: times for times in (compared(trace).step, *compared(trace).phases)}
    forward = found["forward"]
    assert (forward.range_count, forward.range_ns) == (1, 3 * MS)
    # k1 ran within it; of what it launched k2 too; the GPU span begins at 2 ms, so 3 to 4 ms is idle
    assert (forward.gpu_busy_ns, forward.gpu_launched_ns, forward.gpu_idle_ns) == (1 * MS, 3 * MS, 1 * MS)
    backward = found["backward"]
    assert (backward.range_count, backward.range_ns) == (2, 4 * MS + 500 * US)
    # k2 whole and the first half of k3; launched k3 only; idle 4..4.5, 5..6 and 8..8.5
    assert (backward.gpu_busy_ns, backward.gpu_launched_ns, backward.gpu_idle_ns) == (2500 * US, 1 * MS, 2 * MS)
    assert found["opd_step"].range_ns == 10 * MS
    # 10 ms less 3 and 4.5
    assert found["unattributed"].range_ns == 2500 * US


def test_verdicts_and_differences(trace: Path) -> None:
    found = compared(trace)
    told = [(times.phase, times.difference_ns, times.verdict) for times in (found.step, *found.phases)]
    assert told == [
        ("opd_step", -50 * US, "agrees"),
        ("backward", 100 * US, "agrees"),  # 2 % of 4.4 ms is 88 us; 100 us is allowed anyway
        ("forward", -50 * US, "agrees"),
        ("unattributed", 100 * US, "not judged"),  # the rest of the others, whose errors add up in it
        ("optimizer", None, "no range"),
    ]
    assert found.step.difference_ratio == -50 / 10050
    assert not found.agrees
    assert found.other_ranges == ("warmup/forward", "warmup/opd_step")


@pytest.mark.parametrize(
    ("log_ns", "trace_ns", "agrees"),
    [
        (0, 100_000, True),
        (0, 100_001, False),
        (4_999_999, 5_099_999, True),
        (4_999_999, 5_100_000, False),  # below 5 ms the floor decides
        (100_000_000, 102_000_000, True),
        (100_000_000, 102_000_001, False),  # above it the share
        (100_000_000, 97_999_999, False),
    ],
)
def test_tolerance_is_two_percent_or_a_tenth_of_a_millisecond(log_ns: int, trace_ns: int, agrees: bool) -> None:
    assert Tolerance().allows(log_ns, trace_ns) is agrees


def test_without_a_range_of_the_step_its_rest_is_unknown(tmp_path: Path) -> None:
    trace = TraceBuilder().range("forward", 0, 3 * MS).write(tmp_path / "trace.sqlite")
    found = compared(trace)
    assert [(times.phase, times.verdict) for times in (found.step, *found.phases)] == [
        ("opd_step", "no range"),
        ("backward", "no range"),
        ("forward", "agrees"),
        ("unattributed", "not judged"),
        ("optimizer", "no range"),
    ]
    # no GPU activity: not measured is not zero
    assert found.phases[1].gpu_busy_ns is None


def test_the_command_as_json(log: Path, trace: Path, tmp_path: Path) -> None:
    with untouched(tmp_path):
        ran = call("workload", "phases", log, trace)
    assert (ran.status, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document == compared(trace).to_dict() | {"log": "step.log"}
    assert document["phases"][1] == {
        "phase": "forward",
        "log_s": 0.00305,
        "range_count": 1,
        "range_s": 0.003,
        "difference_s": -5e-05,
        "difference_ratio": -50 / 3050,
        "gpu_busy_s": 0.001,
        "gpu_launched_s": 0.003,
        "gpu_idle_s": 0.001,
        "verdict": "agrees",
    }
    assert document["agrees"] is False


def test_the_command_as_text_and_markdown(log: Path, trace: Path) -> None:
    ran = call("workload", "phases", "--format", "text", log, trace)
    rows = [" ".join(line.split()) for line in ran.out.splitlines()]
    assert "3.050 ms 3.000 ms -50.00 µs -1.64 % 1 1.000 ms 3.000 ms 1.000 ms agrees forward" in rows
    assert "do not agree: 3 of 4 times" in ran.out
    assert "warmup/opd_step" in ran.out
    ran = call("workload", "phases", "--format", "markdown", "--top", "1", log, trace)
    assert "`forward`" in ran.out
    assert "1 more" in ran.out


def test_the_notes_tell_of_event_times(log: Path, trace: Path) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write("timing_summary phase_timing=events clock_reads=6 idle_cost_seconds=0.000001\n")
    assert "timed its phases with events" in call("workload", "phases", "--format", "text", log, trace).out


def test_check_ends_with_status_5_behind_the_table(log: Path, trace: Path) -> None:
    ran = call("workload", "phases", "--check", log, trace)
    assert ran.status == 5
    assert json.loads(ran.out)["agrees"] is False
    assert ran.err == (
        "nsys-digest: step.log: 1 of 4 times do not agree with trace.sqlite; optimizer: no range of the trace has its "
        "name; see the table for the others [phases-disagree]\n"
    )
    log.write_text(LOG.replace("phase_summary rank=4", "other rank=4"), encoding="utf-8")
    assert call("workload", "phases", "--check", log, trace).status == 0
    strict = call("workload", "phases", "--check", "--floor-us", "0", "--tolerance", "2.2", log, trace)
    assert strict.status == 5
    # 100 of 4400 us is more than 2.2 %; 100 of 2400 is too, but is the rest
    assert "1 of 3 times do not agree with trace.sqlite; backward: the log has 0.004400 s, the trace 0.004500 s" in (
        strict.err
    )


def test_another_trace_is_one_line(log: Path, tmp_path: Path) -> None:
    trace = TraceBuilder().range("step", 0, 10).write(tmp_path / "other.sqlite")
    line = the_line(call("workload", "phases", log, trace), 4, "missing-data")
    assert line.startswith("other.sqlite: no NVTX range has the name of a phase of step.log, such as backward")


def test_bad_inputs(log: Path, trace: Path, tmp_path: Path) -> None:
    the_line(call("workload", "phases", trace, trace), 3, "log-invalid")
    the_line(call("workload", "phases", log, log), 3, "not-a-trace")
    the_line(call("workload", "phases", log, tmp_path / "none.sqlite"), 3, "trace-unreadable")
    the_line(call("workload", "phases", "--tolerance", "-1", log, trace), 2, "usage-invalid")
    the_line(call("workload", "phases", "-o", trace, log, trace), 2, "usage-invalid")
    with untouched(tmp_path):
        line = the_line(call("workload", "phases", "-o", log, log, trace), 2, "usage-invalid")
    assert "step.log" in line


def test_hostile_names_are_escaped(tmp_path: Path, trace: Path) -> None:
    file = tmp_path / "step.log"
    file.write_text(LOG.replace("phase=optimizer", "phase=\\x1b[31m|`x"), encoding="utf-8")
    for chosen in ("text", "markdown"):
        assert "\x1b" not in call("workload", "phases", "--format", chosen, file, trace).out


@pytest.mark.slow
def test_disagreement_is_told_without_a_reader(log: Path, trace: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("workload", "phases", "--check", log, trace),
        env=environment(),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 5
    assert done.stderr.endswith(b" [phases-disagree]\n")
