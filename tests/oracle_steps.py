"""What a digest must say of steps: single nanoseconds are counted, one after another."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from oracle_account import (
    _THREAD_BITS,
    Classify,
    Note,
    Trace,
    Work,
    _first_of_tied,
    _innermost,
    cause_of_call,
    read_trace,
)


def expected_steps(
    path: Path,
    is_step: Callable[[str], bool],
    *,
    classify: Classify = cause_of_call,
    warmup: int = 1,
    window: Iterable[int] | None = None,
) -> list[dict[str, Any]]:
    """Return every step by start, end and thread; ``window`` are the nanoseconds that are looked at, None for all.

    Ranges are steps, unless no range has such a name: then each mark is one, up to the next of its thread.
    """
    trace = read_trace(path, False, classify)
    looked_at = None if window is None else frozenset(window)
    ranges = [note for note in trace.ranges if is_step(note.name)]
    steps = _outer(ranges) if ranges else _from_mark_to_mark([note for note in trace.marks if is_step(note.name)])
    steps.sort(key=lambda step: (step["start_ns"], step["end_ns"], step["thread"]))
    causes = {device: _causes(trace, device) for device in {work.device for work in trace.work}}
    seen: dict[int, int] = defaultdict(int)
    found = []
    for step in steps:
        process = step["process"] = step["thread"] & ~_THREAD_BITS
        step["warms_up"] = seen[process] < warmup
        seen[process] += 1
        times = range(step["start_ns"], step["end_ns"])
        own = [at for at in times if looked_at is None or at in looked_at]
        if own or (not times and (looked_at is None or step["start_ns"] in looked_at)):
            found.append(step | _measured(trace, step, own, looked_at, causes))
    return found


def _outer(notes: list[Note]) -> list[dict[str, Any]]:
    """Return the ranges that lie within no other of them on their thread; of equal ones with a length one."""
    outer: list[Note] = []
    for note in sorted(notes, key=lambda note: (note.thread or 0, note.start, -note.end)):
        if not any(one.thread == note.thread and note.start < one.end and note.end <= one.end for one in outer):
            outer.append(note)
    return [_step(note, note.end) | {"cut": note.is_open} for note in outer]


def _from_mark_to_mark(notes: list[Note]) -> list[dict[str, Any]]:
    threads: dict[int, list[Note]] = defaultdict(list)
    for note in sorted(notes, key=lambda note: (note.start, note.name)):
        threads[note.thread or 0].append(note)
    steps = []
    for marks in threads.values():
        for index in range(len(marks) - 1):
            steps.append(_step(marks[index], marks[index + 1].start) | {"cut": False})
    return steps


def _step(note: Note, end: int) -> dict[str, Any]:
    return {"name": note.name, "thread": note.thread or 0, "start_ns": note.start, "end_ns": end}


def _runs(work: Work, at: int) -> bool:
    return work.start <= at < work.end


def _causes(trace: Trace, device: int) -> dict[int, str]:
    """Return why the device was idle in each nanosecond of its gaps."""
    own = [work for work in trace.work if work.device == device and work.start < work.end]
    if not own:
        return {}
    causes = {}
    busy = {at for work in own for at in range(work.start, work.end)}
    after = None
    for at in range(max(busy), min(busy), -1):
        if at in busy:
            if at - 1 not in busy:
                after = min((work for work in own if work.start == at), key=_first_of_tied)
        else:
            assert after is not None
            causes[at] = _cause(trace, after, at)
    return causes


def _cause(trace: Trace, after: Work, at: int) -> str:
    if after.launch is None:
        return "unattributed"
    if at >= after.launch.end:
        return "queued"
    inside = [call for call in trace.calls if call.thread == after.launch.thread and call.start <= at < call.end]
    return _innermost(inside).cause if inside else "host"


def _measured(
    trace: Trace,
    step: dict[str, Any],
    own: list[int],
    looked_at: frozenset[int] | None,
    causes: dict[int, dict[int, str]],
) -> dict[str, Any]:
    process = step["process"]
    devices = sorted({work.device for work in trace.work if work.process in (process, None, 0)})
    idle: dict[str, int] = defaultdict(int)
    for device in devices:
        for at in own:
            if at in causes[device]:
                idle[causes[device][at]] += 1
    launched = {
        at
        for work in trace.work
        if work.launch is not None
        and (work.launch.thread or 0) & ~_THREAD_BITS == process
        and step["start_ns"] <= work.launch.start < step["end_ns"]
        for at in range(work.start, work.end)
        if looked_at is None or at in looked_at
    }
    on_own = [work for work in trace.work if work.device in devices]
    known = bool(devices)
    busy = sum(any(_runs(work, at) for work in on_own) for at in own)
    return {
        "gpu_busy_ns": busy if known else None,
        "gpu_idle_ns": len(own) - busy if known else None,
        "launched_busy_ns": len(launched) if known else None,
        "launched_span_ns": (max(launched) + 1 - min(launched) if launched else 0) if known else None,
        "exposed_ns": sum(any(_is_exposed(on_own, device, at) for device in devices) for at in own) if known else None,
        "idle_causes": dict(idle),
    }


def _is_exposed(work: list[Work], device: int, at: int) -> bool:
    """Tell whether a collective ran on the device, and no other kernel did."""
    running = ["nccl" in one.name for one in work if one.device == device and one.kind == "kernel" and _runs(one, at)]
    return bool(running) and all(running)
