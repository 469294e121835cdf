"""Steps: each instance of a range, by process; every trace is drawn in a comment, or checked against plain loops."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, MissingData, summarize
from nsys_digest.errors import UsageInvalid
from nsys_digest.model.step_types import ProcessSteps, RatioPercentiles, RatioSpread, Step, TimeSpread
from oracle_account import _total, _union, _within, read_trace
from support import ROOT, call, the_line
from test_account import class_of
from test_report import FORMATS
from test_sections import communicating, digest_of, lengths, three_steps


def a_step(*values: Any, name: str = "step") -> Step:
    """Return a step of the values of its fields but the name, in their order."""
    return Step(name=name, **dict(zip((field.name for field in fields(Step)[1:]), values, strict=True)))


def test_steps(tmp_path: Path) -> None:
    steps = digest_of(three_steps(), tmp_path, steps="step").steps
    assert steps is not None
    assert (steps.name, steps.count) == ("step", 3)
    # before the first and after the last GPU work is idle time of a step, but of no gap, so that it has no cause
    assert steps.warmup == (a_step(1, 1, 0, 100, 60, 40, 60, 80, 0, 0.6, {"queued": 5, "launch_call": 5, "host": 20}),)
    # the gap of 90 to 120 is cut at 100: only its later part is the second step's
    second = a_step(1, 1, 100, 100, 60, 40, 60, 60, 30, 0.6, {"queued": 8, "launch_call": 4, "sync": 15, "host": 13})
    third = a_step(1, 1, 300, 60, 30, 30, 30, 30, 0, 0.5, {"queued": 6, "launch_call": 2, "host": 2})
    assert steps.slowest == (second, third)
    # the first warms up, and is in none of these
    assert steps.wall == lengths(100, 60)
    assert steps.idle == lengths(40, 30)
    assert steps.exposed_communication == lengths(30, 0)
    assert steps.busy_ratio == RatioPercentiles(p50=0.5, min=0.5)


def test_the_slowest_steps_are_five_and_never_the_first(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 1000)
    for number, wall in enumerate((90, 10, 20, 20, 30, 40, 50)):
        trace.range("step", 100 * number, 100 * number + wall)
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    assert [step.wall_ns for step in steps.warmup] == [90]
    assert [(step.wall_ns, step.start_ns) for step in steps.slowest] == [
        (50, 600),
        (40, 500),
        (30, 400),
        (20, 200),
        (20, 300),
    ]


def test_a_single_step_has_no_steady_state(tmp_path: Path) -> None:
    steps = digest_of(TraceBuilder().kernel(0, 10).range("step", 0, 20), tmp_path, steps="step").steps
    assert steps is not None
    assert len(steps.warmup) == 1
    assert steps.slowest == ()
    assert steps.wall == steps.idle == steps.exposed_communication == lengths()
    assert steps.busy_ratio == RatioPercentiles(None, None)


def test_steps_need_no_other_section(tmp_path: Path) -> None:
    alone = digest_of(three_steps(), tmp_path, steps="step", sections=[])
    assert alone.steps == digest_of(three_steps(), tmp_path, steps="step").steps
    assert alone.idle is None


def test_a_step_in_a_domain_has_its_whole_name(tmp_path: Path) -> None:
    digest = digest_of(three_steps(domain=True), tmp_path, steps="engine:step")
    assert digest.steps is not None
    assert digest.steps.count == 3
    with pytest.raises(MissingData, match=r"names like it: .engine:step"):
        summarize(tmp_path / "trace.sqlite", steps="step")


def test_a_step_that_is_not_there_is_missing_data(tmp_path: Path) -> None:
    path = three_steps().write(tmp_path / "trace.sqlite")
    line = the_line(call("summarize", "--steps", "STEP", path), 4, "missing-data")
    assert line.startswith(f"{path}: no NVTX range or mark is named 'STEP'; names like it: 'step';")
    bare = TraceBuilder().kernel(0, 10).write(tmp_path / "bare.sqlite")
    assert "no range at all" in the_line(call("summarize", "--steps", "step", bare), 4, "missing-data")


def test_exposed_communication_of_a_step_is_over_all_devices_of_its_process(tmp_path: Path) -> None:
    """Device 0 is bare from 100 to 150 and from 210 to 260, device 1 from 0 to 100: 200 in all."""
    trace = communicating().range("step", 0, 1).range("step", 1, 300)
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    assert steps.exposed_communication == lengths(199)


# one letter is ten nanoseconds
# process 1  range  aaaaaaaaaabbbbb         a, b: its steps, a warms up; device 0
#            call    L         L
#            GPU 0    kkkk      kkkk
# process 2  range    aaaaaaaaaabbbbb       the same, two later; device 1
#            call      L         L
#            GPU 1      kk        k


def two_processes() -> TraceBuilder:
    trace = TraceBuilder().gpu(0, "NVIDIA H100").gpu(1, "NVIDIA H100")
    for process, at, first, second in ((1, 0, 40, 40), (2, 20, 20, 10)):
        trace.process(process, f"rank {process - 1}")
        columns = {"process": process, "thread": process}
        trace.range("step", at, at + 100, **columns).range("step", at + 100, at + 150, **columns)
        for number, (start, length) in enumerate(((at + 10, first), (at + 110, second)), 1):
            trace.api("cudaLaunchKernel_v7000", start, start + 5, correlation=number, **columns)
            where = {"process": process, "device": process - 1, "correlation": number}
            trace.kernel(start + 10, start + 10 + length, **where)
    return trace


def test_each_process_warms_up_and_counts_its_own_devices(tmp_path: Path) -> None:
    steps = digest_of(two_processes(), tmp_path, steps="step").steps
    assert steps is not None
    assert (steps.name, steps.names, steps.count) == ("step", ("step",), 4)
    assert [(step.process, step.thread, step.wall_ns, step.gpu_busy_ns) for step in steps.warmup] == [
        (1, 1, 100, 40),
        (2, 2, 100, 20),
    ]
    # the gap of GPU 0 is 60 to 120, that of GPU 1 is 60 to 140; each is cut where the second step begins
    one = a_step(1, 1, 100, 50, 30, 20, 40, 40, 0, 0.6, {"queued": 5, "launch_call": 5, "host": 10})
    two = a_step(2, 2, 120, 50, 10, 40, 10, 10, 0, 0.2, {"queued": 5, "launch_call": 5, "host": 10})
    assert steps.slowest == (one, two)
    assert steps.wall == lengths(50, 50)
    assert steps.busy_ratio == RatioPercentiles(0.2, 0.2)
    assert steps.idle == lengths(20, 40)
    assert steps.launched_busy == lengths(40, 10)
    assert steps.idle_causes_ns == {"queued": 10, "launch_call": 10, "host": 20}
    assert steps.processes == tuple(
        ProcessSteps(
            process=step.process,
            devices=(device,),
            count=2,
            wall=lengths(50),
            busy_ratio=RatioPercentiles(step.busy_ratio, step.busy_ratio),
            idle=lengths(step.gpu_idle_ns or 0),
            launched_busy=lengths(step.launched_busy_ns or 0),
            launched_span=lengths(step.launched_span_ns or 0),
            exposed_communication=lengths(0),
            idle_causes_ns=step.idle_causes_ns,
        )
        for device, step in enumerate((one, two))
    )


@pytest.mark.parametrize("format", FORMATS)
def test_a_report_shows_processes_where_there_are_several(format: str, tmp_path: Path) -> None:
    path = two_processes().write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--full", "--steps", "step", path).out.replace("\\", "")
    assert "the first of each of 2 processes is set apart, the figures are of the other 2" in out
    rows = re.findall(r"^\W*([12])\W+([01])\W+2\W+100 ns\W+50 ns\W+50 ns\W+([\d.]+) %", out, re.MULTILINE)
    assert rows == [("1", "0", "60.0"), ("2", "1", "20.0")]
    slowest = out[out.index("Slowest steps") :]
    assert re.search(r"process\W+start", slowest)
    one = call(
        "summarize", "-q", "-f", format, "--full", "--steps", "step", three_steps().write(tmp_path / "one.sqlite")
    ).out
    assert "Steps by process" not in one
    assert "process" not in one[one.index("Slowest steps") :].splitlines()[1]


def test_launched_work_counts_whenever_it_runs_and_whichever_thread_launched_it(tmp_path: Path) -> None:
    """A host that runs ahead: no step has its own work in it.

    range     aaaabbbbcccc
    thread 1   L   L   L
    thread 2            L
    GPU                   kkkkkkkkkk       4, 3 and 3 of thread 1, the last two of them beside 1 of thread 2
    """
    trace = TraceBuilder().range("step", 0, 40).range("step", 40, 80).range("step", 80, 120)
    for number, (at, start, end) in enumerate(((10, 180, 220), (50, 220, 250), (90, 250, 280)), 1):
        trace.api("cudaLaunchKernel_v7000", at, at + 5, correlation=number).kernel(start, end, correlation=number)
    trace.api("cudaLaunchKernel_v7000", 100, 105, thread=2, correlation=9).kernel(270, 290, stream=8, correlation=9)
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    assert [step.launched_busy_ns for step in (*steps.warmup, *steps.slowest)] == [40, 30, 40]
    assert [step.gpu_busy_ns for step in (*steps.warmup, *steps.slowest)] == [0, 0, 0]


def test_a_step_within_a_step_is_part_of_it(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 10).range("step", 0, 20).range("step", 20, 60).range("step", 30, 40)
    trace.range("step", 25, 55, thread=2)  # on a thread of its own it is one
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    assert [(step.start_ns, step.wall_ns) for step in (*steps.warmup, *steps.slowest)] == [(0, 20), (20, 40), (25, 30)]


def test_a_process_without_gpu_work_has_steps_of_which_nothing_is_known(tmp_path: Path) -> None:
    trace = two_processes()
    for at in (0, 200):
        trace.range("step", at, at + 40, process=3, thread=3)
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    idle = steps.processes[2]
    assert (idle.process, idle.devices, idle.count, idle.wall) == (3, (), 2, lengths(40))
    assert (idle.idle, idle.launched_busy, idle.exposed_communication) == (None, None, None)
    assert idle.idle_causes_ns is None
    assert steps.wall == lengths(50, 50, 40)
    assert steps.idle == lengths(20, 40)  # of those of which it is known


def test_a_document_with_one_warm_up_for_all_is_read(tmp_path: Path) -> None:
    digest = digest_of(three_steps(), tmp_path, steps="step")
    document: dict[str, Any] = digest.to_dict()
    steps = document["steps"]
    new = ("name", "process", "thread", "launched_busy_s", "launched_span_s")
    slowest, warmup = (
        [{key: value for key, value in step.items() if key not in new} for step in steps[name]]
        for name in ("slowest", "warmup")
    )
    kept = ("name", "count", "wall", "busy_ratio", "idle", "exposed_communication")
    document["steps"] = {key: steps[key] for key in kept} | {"first": warmup[0], "slowest": slowest}
    read = Digest.from_dict(document).steps
    assert read is not None
    assert digest.steps is not None
    assert (read.wall, read.idle, read.names) == (digest.steps.wall, digest.steps.idle, ("step",))
    assert read.warmup[0].wall_ns == digest.steps.warmup[0].wall_ns
    assert (read.warmup[0].process, read.launched_busy, read.idle_causes_ns, read.processes) == (None, None, None, ())


def repeated(names: list[str], *, length: int = 10, work: int = 4) -> TraceBuilder:
    """Draw ranges one behind the other, each with a launch at its start and a kernel a nanosecond later."""
    trace = TraceBuilder()
    for number, name in enumerate(names):
        at = length * number
        trace.range(name, at, at + length).api("cudaLaunchKernel_v7000", at, at + 1, correlation=number + 1)
        trace.kernel(at + 1, at + 1 + work, correlation=number + 1)
    return trace


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("step", ["step"]),  # what is there stands for itself
        ("step 1", ["step 1"]),
        ("step #", ["step 1", "step 22"]),
        ("iter", ["iter_3", "iter[4]", "iter5"]),
        ("iter#", ["iter5"]),
        ("*step*", ["step", "step 1", "step 22", "substep"]),
        ("ste? 1", ["step 1"]),
        ("a*b", ["a*b"]),
        ("a\\*b", ["a*b"]),
        ("a*b?", ["axb1"]),
        ("run # of #", ["run 1 of 20", "run 2 of 20"]),
    ],
)
def test_names_that_are_one_kind_of_step(asked: str, wanted: list[str], tmp_path: Path) -> None:
    others = ["step", "step 1", "step 22", "substep", "iter_3", "iter[4]", "iter5", "iteration 6", "iter end"]
    trace = repeated([*others, "a*b", "axb1", "run 1 of 20", "run 2 of 20"])
    steps = digest_of(trace, tmp_path, steps=asked, warmup=0, sections=[]).steps
    assert steps is not None
    assert (steps.name, list(steps.names), steps.count) == (asked, wanted, len(wanted))


def test_a_numbered_step_has_its_own_name(tmp_path: Path) -> None:
    """Ten steps of 10 ms, of which the eighth has 40 ms; the first is set apart."""
    ms = 1_000_000
    trace, at = TraceBuilder(), 0
    for number in range(10):
        length = 40 * ms if number == 7 else 10 * ms
        trace.range(f"training_step_{number}", at, at + length)
        trace.api("cudaLaunchKernel_v7000", at + 100, at + 5_100, correlation=number + 1)
        trace.kernel(at + 6_000, at + 5 * ms, correlation=number + 1)
        at += length
    path = trace.write(tmp_path / "trace.sqlite")
    for asked in ("training_step_*", "training_step_#", "training_step"):
        steps = summarize(path, steps=asked, sections=[]).steps
        assert steps is not None
        assert (steps.count, steps.warmup_count, [step.name for step in steps.warmup]) == (10, 1, ["training_step_0"])
        assert (steps.wall.p50_ns, steps.wall.max_ns, steps.slowest[0].name) == (10 * ms, 40 * ms, "training_step_7")
    assert "training_step_7" in call("summarize", "-q", "-f", "text", "--steps", "training_step", path).out


def test_a_host_that_runs_ahead_is_slow_where_it_launched_most(tmp_path: Path) -> None:
    """Six ranges of 100 us each launch one kernel; they run one after another, of 10 ms each, the fourth of 40 ms."""
    us, ms = 1_000, 1_000_000
    trace, gpu = TraceBuilder(), 10 * us
    for number in range(6):
        at, length = 100 * us * number, 40 * ms if number == 3 else 10 * ms
        trace.range("train_step", at, at + 100 * us)
        trace.api("cudaLaunchKernel_v7000", at + us, at + 6 * us, correlation=number + 1)
        trace.kernel(gpu, gpu + length, correlation=number + 1)
        gpu += length + us
    path = trace.write(tmp_path / "trace.sqlite")
    steps = summarize(path, steps="train_step").steps
    assert steps is not None
    assert steps.wall == lengths(*[100 * us] * 5)
    for found in (steps.launched_busy, steps.launched_span):
        assert found is not None
        assert (found.p50_ns, found.max_ns) == (10 * ms, 40 * ms)
    assert (steps.most_launched[0].start_ns, steps.most_launched[0].launched_span_ns) == (300 * us, 40 * ms)
    assert (
        "Steps that launched most GPU work"
        in call("summarize", "-q", "-f", "text", "--full", "--steps", "train_step", path).out
    )


def test_two_ranks_in_one_file(tmp_path: Path) -> None:
    """Each rank warms up for 100 ms, then has five steps of 10 ms: GPU 0 is busy for 9 of them, GPU 1 for 2."""
    ms = 1_000_000
    trace = TraceBuilder().gpu(0, "NVIDIA H100").gpu(1, "NVIDIA H100")
    for rank, busy in ((0, 9 * ms), (1, 2 * ms)):
        at, where = 2 * ms * rank, {"process": 100 + rank, "thread": 100 + rank}
        for number in range(6):
            length = 10 * ms if number else 100 * ms
            trace.range("train_step", at, at + length, **where)
            begun = at + ms // 10
            trace.api("cudaLaunchKernel_v7000", begun, begun + ms // 10, correlation=number + 1, **where)
            start = at + ms // 2
            trace.kernel(start, start + busy, process=100 + rank, device=rank, correlation=number + 1)
            at += length
    steps = digest_of(trace, tmp_path, steps="train_step").steps
    assert steps is not None
    assert (steps.count, steps.warmup_count, [step.process for step in steps.warmup]) == (12, 2, [100, 101])
    assert steps.wall == lengths(*[10 * ms] * 10)
    assert [(of.process, of.busy_ratio.p50) for of in steps.processes] == [(100, 0.9), (101, 0.2)]
    assert steps.spread is not None
    assert steps.spread.wall == TimeSpread(10 * ms, 10 * ms, 10 * ms, 100, 100)
    assert steps.spread.busy_ratio == RatioSpread(0.2, 0.2, 0.9, 101, 100)
    assert steps.spread.launched_busy == TimeSpread(2 * ms, 2 * ms, 9 * ms, 101, 100)
    assert steps.spread.idle == TimeSpread(1 * ms, 1 * ms, 8 * ms, 100, 101)
    alone = digest_of(three_steps(), tmp_path, steps="step").steps
    assert alone is not None
    assert alone.spread is None


def test_as_many_steps_warm_up_as_asked(tmp_path: Path) -> None:
    # process 1  aaaabbcccd     lengths 40 20 30 10
    # process 2  ee             a single one, of 20
    trace = TraceBuilder().kernel(0, 10)
    for at, end in ((0, 40), (40, 60), (60, 90), (90, 100)):
        trace.range("step", at, end)
    path = trace.range("step", 0, 20, process=2).write(tmp_path / "trace.sqlite")
    for warmup, early, measured in (
        (0, [], [40, 20, 30, 10, 20]),
        (2, [20, 40, 20], [30, 10]),
        (9, [20, 40, 20, 30, 10], []),
    ):
        digest = summarize(path, steps="step", warmup=warmup)
        assert digest.steps is not None
        assert [step.wall_ns for step in digest.steps.warmup] == early
        assert (digest.steps.warmup_count, digest.steps.wall) == (len(early), lengths(*measured))
        assert digest.to_dict()["capture"]["filters"]["warmup"] == warmup
    assert "the first 2 of each of 2 processes are set apart, the figures are of the other 2" in (
        call("summarize", "-q", "-f", "text", "--steps", "step", "--warmup", "2", path).out
    )


def test_nothing_left_to_measure_is_warned_of(tmp_path: Path) -> None:
    digest = digest_of(repeated(["step 1", "step 2", "step 3"]), tmp_path, steps="step 2")
    (said,) = (warn.message for warn in digest.warnings if warn.code == "steps-unmeasured")
    assert said == (
        "no step is left to measure: 1 step of 'step 2' set apart as warm-up; for the 3 names that differ in a number "
        "alone give --steps 'step #'"
    )
    digest = digest_of(repeated(["load", "step"]), tmp_path, steps="load")
    assert ["give --warmup 0, or another name" in warn.message for warn in digest.warnings] == [True]
    digest = digest_of(repeated(["load"]).mark("begin", 3), tmp_path, steps="begin")
    assert digest.steps is not None
    assert (digest.steps.count, digest.steps.kind) == (0, "mark")
    assert ["no second mark follows on a thread" in warn.message for warn in digest.warnings] == [True]


def test_marks_are_steps_up_to_the_next_of_their_thread(tmp_path: Path) -> None:
    """The last mark of a thread has no step; two at once make one without a length.

    thread 1  m1   m2   m3m4      0 20 40 40
    thread 2    m1     m2         10 50
    other          x              25
    """
    trace = TraceBuilder().kernel(0, 100)
    for number, at in enumerate((0, 20, 40, 40)):
        trace.mark(f"iter_{number}", at)
    trace.mark("iter_0", 10, thread=2).mark("iter_1", 50, thread=2).mark("x", 25)
    steps = digest_of(trace, tmp_path, steps="iter_*", warmup=0).steps
    assert steps is not None
    assert (steps.kind, steps.names, steps.count) == ("mark", ("iter_0", "iter_1", "iter_2", "iter_3"), 4)
    assert [(step.name, step.thread, step.start_ns, step.wall_ns) for step in steps.slowest] == [
        ("iter_0", 2, 10, 40),
        ("iter_0", 1, 0, 20),
        ("iter_1", 1, 20, 20),
        ("iter_2", 1, 40, 0),
    ]
    assert steps.slowest[-1].busy_ratio is None


def test_ranges_come_before_marks_of_the_same_name(tmp_path: Path) -> None:
    trace = repeated(["step"] * 3).mark("step", 1).mark("step", 2).mark("step", 9)
    steps = digest_of(trace, tmp_path, steps="step").steps
    assert steps is not None
    assert (steps.kind, steps.count) == ("range", 3)


@pytest.mark.parametrize("by_session", [False, True], ids=["open", "ended by the collector"])
def test_a_step_cut_by_the_end_of_the_capture_is_in_no_figure(by_session: bool, tmp_path: Path) -> None:
    # steps 0-10, 10-20, 20-30, 30-…: nobody ends the last; nsys ends it with the session, at 70
    trace = repeated(["step"] * 3).range("step", 30, 70 if by_session else None).session(70)
    digest = digest_of(trace, tmp_path, steps="step")
    assert digest.steps is not None
    assert (digest.steps.count, digest.steps.cut_count, digest.steps.wall) == (4, 1, lengths(10, 10))
    assert {step.start_ns for step in digest.steps.slowest} == {10, 20}
    (said,) = (warn.message for warn in digest.warnings if warn.code == "steps-cut")
    assert said.startswith("1 step of 'step' still open when the capture ended")


def test_the_nearest_spelling_comes_first(tmp_path: Path) -> None:
    names = ["a long name with train_stp within", "train_step", "train_setup", "validate"]
    path = repeated(names).write(tmp_path / "trace.sqlite")
    line = the_line(call("summarize", "--steps", "train_stp", path), 4, "missing-data")
    assert "names like it: 'train_step', 'train_setup', 'a long name with train_stp within'; give" in line
    assert "none is like it; there are 'a long" in the_line(
        call("summarize", "--steps", "qqq*", path), 4, "missing-data"
    )
    marks = TraceBuilder().kernel(0, 9).mark("begin", 2).write(tmp_path / "marks.sqlite")
    assert "names like it: 'begin'" in the_line(call("summarize", "--steps", "begn", marks), 4, "missing-data")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--steps", ""), "the name of the steps is empty"),
        (("--warmup", "2"), "no steps are named"),
        (("--steps", "step", "--warmup", "-1"), "--warmup"),
    ],
)
def test_options_that_make_no_sense_are_refused(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    path = three_steps().write(tmp_path / "trace.sqlite")
    for before in (("summarize",), ("diff", path)):
        shown = call(*before, path, *words)  # the command line itself refuses -1
        assert (shown.status, said in shown.err, shown.err.count("\n")) == (2, True, 1)
    with pytest.raises(UsageInvalid):
        summarize(path, steps="step", warmup=-1)


@pytest.mark.parametrize("rank", [0, 1])
def test_training_steps_of_real_ranks(rank: int) -> None:
    """Twelve steps; each against the rows of the trace, in which one process ran work on one device."""
    path = ROOT / "fixtures" / "traces" / f"rank_{rank}.sqlite"
    steps = summarize(path, sections=[], steps="train_step").steps
    assert steps is not None
    assert (steps.count, steps.warmup_count, steps.cut_count, steps.kind) == (12, 1, 0, "range")
    trace = read_trace(path, False, class_of)
    assert len({work.device for work in trace.work}) == len({work.process for work in trace.work}) == 1
    busy = _union((work.start, work.end) for work in trace.work)
    notes = sorted((note for note in trace.ranges if note.name == "train_step"), key=lambda note: note.start)
    wanted = []
    for note in notes:
        launched = _union(
            (work.start, work.end)
            for work in trace.work
            if work.launch is not None and note.start <= work.launch.start < note.end
        )
        busy_ns = _total(_within(busy, note.start, note.end))
        wanted.append((note.start, note.end - note.start, busy_ns, _total(launched), launched[-1][1] - launched[0][0]))
    got = {
        (step.start_ns, step.wall_ns, step.gpu_busy_ns, step.launched_busy_ns, step.launched_span_ns)
        for step in (*steps.warmup, *steps.slowest, *steps.most_launched)
    }
    assert got <= set(wanted)
    assert steps.warmup[0].start_ns == wanted[0][0]
    assert steps.wall == lengths(*(one[1] for one in wanted[1:]))
    assert steps.launched_busy == lengths(*(one[3] for one in wanted[1:]))
    assert steps.launched_span == lengths(*(one[4] for one in wanted[1:]))
    assert steps.idle == lengths(*(one[1] - one[2] for one in wanted[1:]))
