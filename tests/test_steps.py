"""Steps: each instance of a range, by process; every trace is drawn in a comment, or checked against plain loops."""

from __future__ import annotations

import random
import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from builder import VERSIONS, TraceBuilder
from nsys_digest import Digest, MissingData, summarize
from nsys_digest.model.step_types import ProcessSteps, RatioPercentiles, Step, Steps
from oracle_account import expected_steps, random_account_trace
from support import call, the_line
from test_account import class_of
from test_report import FORMATS
from test_sections import communicating, digest_of, lengths, three_steps


def a_step(*values: Any) -> Step:
    """Return a step of the values of its fields, in their order."""
    return Step(**dict(zip((field.name for field in fields(Step)), values, strict=True)))


def test_steps(tmp_path: Path) -> None:
    steps = digest_of(three_steps(), tmp_path, steps="step").steps
    assert steps is not None
    assert (steps.name, steps.count) == ("step", 3)
    # before the first and after the last GPU work is idle time of a step, but of no gap, so that it has no cause
    assert steps.warmup == (a_step(1, 1, 0, 100, 60, 40, 60, 0, 0.6, {"queued": 5, "launch_call": 5, "host": 20}),)
    # the gap of 90 to 120 is cut at 100: only its later part is the second step's
    second = a_step(1, 1, 100, 100, 60, 40, 60, 30, 0.6, {"queued": 8, "launch_call": 4, "sync": 15, "host": 13})
    third = a_step(1, 1, 300, 60, 30, 30, 30, 0, 0.5, {"queued": 6, "launch_call": 2, "host": 2})
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
    assert line.startswith(f"{path}: no NVTX range is named 'STEP'; names like it: 'step';")
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
    one = a_step(1, 1, 100, 50, 30, 20, 40, 0, 0.6, {"queued": 5, "launch_call": 5, "host": 10})
    two = a_step(2, 2, 120, 50, 10, 40, 10, 0, 0.2, {"queued": 5, "launch_call": 5, "host": 10})
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
            exposed_communication=lengths(0),
            idle_causes_ns=step.idle_causes_ns,
        )
        for device, step in enumerate((one, two))
    )


@pytest.mark.parametrize("format", FORMATS)
def test_a_report_shows_processes_where_there_are_several(format: str, tmp_path: Path) -> None:
    path = two_processes().write(tmp_path / "trace.sqlite")
    out = call("summarize", "-q", "-f", format, "--steps", "step", path).out.replace("\\", "")
    assert "the first of each of 2 processes is set apart, the figures are of the other 2" in out
    rows = re.findall(r"^\W*([12])\W+([01])\W+2\W+100 ns\W+50 ns\W+50 ns\W+([\d.]+) %", out, re.MULTILINE)
    assert rows == [("1", "0", "60.0"), ("2", "1", "20.0")]
    slowest = out[out.index("Slowest steps") :]
    assert re.search(r"process\W+start", slowest)
    one = call("summarize", "-q", "-f", format, "--steps", "step", three_steps().write(tmp_path / "one.sqlite")).out
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
    new = ("process", "thread", "launched_busy_s")
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


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_random_traces(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsys_digest.sections.steps.SLOWEST", 10_000)
    monkeypatch.setattr("nsys_digest.sections.step_work._SLICE", 2)
    measured = 0
    for seed in range(15):
        rng = random.Random(f"steps {version} {seed}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        if "forward" not in summarize(path, sections=[]).nvtx:
            continue
        steps = summarize(path, sections=[], steps="forward").steps
        assert steps is not None
        wanted = expected_steps(path, "forward", class_of)
        measured += len(wanted)
        got = sorted((*steps.warmup, *steps.slowest), key=lambda step: (step.start_ns, step.wall_ns, step.thread or 0))
        assert [row_of(step) for step in got] == [
            (
                (one["process"] >> 24) & 0xFFFFFF,
                (one["thread"] or 0) & 0xFFFFFF,
                *(one[key] for key in ("start_ns", "wall_ns", "gpu_busy_ns", "launched_busy_ns", "idle_causes")),
            )
            for one in sorted(wanted, key=lambda one: (one["start_ns"], one["wall_ns"], one["thread"] & 0xFFFFFF))
        ]
        check_whole(steps)
    assert measured > 20


def row_of(step: Step) -> tuple[Any, ...]:
    return (
        step.process,
        step.thread,
        step.start_ns,
        step.wall_ns,
        step.gpu_busy_ns,
        step.launched_busy_ns,
        dict(step.idle_causes_ns),
    )


def check_whole(steps: Steps) -> None:
    """Check that the processes make up the whole, and that each warms up with its first step."""
    assert steps.count == len(steps.warmup) + len(steps.slowest) == sum(of.count for of in steps.processes)
    assert [of.process for of in steps.processes] == sorted({step.process or 0 for step in steps.warmup})
    for first in steps.warmup:
        assert all(first.start_ns <= step.start_ns for step in steps.slowest if step.process == first.process)
    for cause, total in (steps.idle_causes_ns or {}).items():
        assert total == sum(step.idle_causes_ns.get(cause, 0) for step in steps.slowest)
        assert total == sum((of.idle_causes_ns or {}).get(cause, 0) for of in steps.processes)
    if steps.launched_busy is not None:
        assert steps.launched_busy.total_ns == sum(step.launched_busy_ns or 0 for step in steps.slowest)
