"""What a digest must say of host code: every nanosecond of idle time looked at by itself, slow and plain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from builder import TraceBuilder
from nsys_digest.selection import WHOLE, Selection
from oracle import _read_tables
from oracle_account import (
    _PUSH_POP,
    Call,
    Classify,
    Trace,
    Work,
    _by,
    _gaps,
    _spans,
    _union,
    cause_of_call,
)
from oracle_selection import Part, _next, _runs, part_of

NO_RANGE = "(none)"
_STATES = {
    "pthread_mutex_lock": "blocked",
    "sem_wait": "blocked",
    "read": "io",
    "poll": "io",
    "nanosleep": "sleep",
    "ioctl": "other_os_call",
    "pthread_mutex_lock_of_mine": "other_os_call",
}
_LIBC, _PYTHON, _KERNEL, _MINE = "/lib/libc.so.6", "/usr/bin/python3.12", "[kernel.kallsyms]", "/opt/app/libmine.so"
_FRAMES = (
    ("memcpy", _LIBC),
    (None, _KERNEL),
    ("_PyEval_EvalFrameDefault", _PYTHON),
    ("work", _MINE),
    (None, _MINE),
    ("train", "/home/a/train.py"),
)
_BELOW = {_LIBC, _PYTHON, _KERNEL}


@dataclass(frozen=True, slots=True)
class _Os:
    """What threads did, by globalTid."""

    calls: dict[int, list[Call]]
    scheduling: dict[int, list[tuple[int, int]]]
    first: int
    last: int
    traced: set[int]
    samples: dict[int, list[dict[str, Any]]]
    frames: dict[int, list[dict[str, Any]]]


def expected_host(path: Path, classify: Classify = cause_of_call, selection: Selection = WHOLE) -> list[dict[str, Any]]:
    """Return the split of the host time of each device that has a span; states without time are left out."""
    part, tables = part_of(path, selection, classify), _read_tables(path)
    trace = part.trace
    strings = {row["id"]: str(row["value"]) for row in tables.get("StringIds", [])}
    os = _read_os(tables, strings)
    windowed = part.window is not None
    devices = _by((work for work in trace.work if windowed or work.start < work.end), lambda work: work.device)
    return [_device(trace, _stretches(part, devices[device]), os, strings) for device in sorted(devices)]


def _stretches(part: Part, work: list[Work]) -> list[tuple[int, int, Call | None]]:
    """Return the gaps of a device, each with the call that ended it."""
    real = [one for one in work if one.start < one.end]
    idle = _gaps(_union(_spans(real))) if part.window is None else _runs(sorted(part.window - part.union(real)))
    ended = ((start, end, _next(real, end)) for start, end in idle)
    return [(start, end, None if after is None else after.launch) for start, end, after in ended]


def _read_os(tables: dict[str, list[dict[str, Any]]], strings: dict[int, str]) -> _Os:
    rows = [row for row in tables.get("OSRT_API", []) if row["end"] > row["start"]]
    calls = [Call(strings[row["nameId"]], "", row["globalTid"], None, row["start"], row["end"]) for row in rows]
    switches = tables.get("SCHED_EVENTS", [])
    times = [row["start"] for row in switches] or [0]
    by_thread: dict[int, list[tuple[int, int]]] = {}
    for row in switches:
        by_thread.setdefault(row["globalTid"], []).append((row["start"], row["isSchedIn"]))
    frames: dict[int, list[dict[str, Any]]] = {}
    for row in tables.get("SAMPLING_CALLCHAINS", []):
        frames.setdefault(row["id"], []).append(row)
    return _Os(
        _by(calls, lambda call: call.thread or 0),
        {thread: sorted(found) for thread, found in by_thread.items()},
        min(times),
        max(times),
        {row["globalTid"] >> 24 for row in rows},
        _by_row(tables.get("COMPOSITE_EVENTS", []), lambda row: row["globalTid"]),
        frames,
    )


def _by_row(rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], int]) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return found


def _device(trace: Trace, gaps: list[tuple[int, int, Call | None]], os: _Os, strings: dict[int, str]) -> dict[str, Any]:
    states: Counter[str] = Counter()
    by_range: dict[str, Counter[str]] = {}
    calls: Counter[str] = Counter()
    functions: Counter[tuple[str, str]] = Counter()
    leaves: Counter[tuple[str, str]] = Counter()
    for start, end, launch in gaps:
        if launch is None:
            continue
        thread = launch.thread or 0
        busy = [call for call in (*trace.calls, *trace.overheads) if call.thread == thread]
        notes = [note for note in trace.ranges if note.kind in _PUSH_POP and note.thread == thread]
        for instant in range(start, min(end, launch.end)):
            if any(call.start <= instant < call.end for call in busy):
                continue
            state, call = _state(os, thread, instant)
            states[state] += 1
            if call:
                calls[call] += 1
            around = [note for note in notes if note.start <= instant < note.end]
            name = max(around, key=lambda one: (one.start, -one.end, one.name)).name if around else NO_RANGE
            by_range.setdefault(name, Counter())[state] += 1
            for sample in os.samples.get(thread, []):
                if sample["start"] == instant:
                    frames = sorted(os.frames.get(sample["id"], []), key=lambda row: row["stackDepth"])
                    leaf, outside = _frames(frames, strings)
                    functions[outside] += 1
                    leaves[leaf] += 1
    return {"states": states, "by_range": by_range, "calls": calls, "functions": functions, "leaves": leaves}


def _state(os: _Os, thread: int, instant: int) -> tuple[str, str]:
    """Return what a thread did in one nanosecond, and in which call."""
    around = [call for call in os.calls.get(thread, []) if call.start <= instant < call.end]
    if around:
        name = max(around, key=lambda call: (call.start, -call.end)).name
        return _STATES[name], name
    switches = os.scheduling.get(thread, [])
    if switches and os.first <= instant < os.last:
        before = [on for at, on in switches if at <= instant]
        on = before[-1] if before else not switches[0][1]
        return ("running" if on else "descheduled"), ""
    return ("running" if thread >> 24 in os.traced else "unknown"), ""


def _frames(frames: list[dict[str, Any]], strings: dict[int, str]) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return function and file name of the module of the frame that ran, and of the first of the program."""
    if not frames:
        return ("(no call stack)",) * 2, ("(no call stack)",) * 2
    own = [row for row in frames if strings[row["module"]] not in _BELOW]
    leaf, outside = (
        ("(unresolved)" if row["unresolved"] else strings[row["symbol"]], strings[row["module"]].split("/")[-1])
        for row in (frames[0], (own or frames)[0])
    )
    return leaf, outside


def draw_host(rng: Random, trace: TraceBuilder, processes: tuple[int, ...], threads: tuple[int, ...]) -> None:
    """Add calls of the OS runtime libraries, scheduling and samples to a drawn trace, or only some of these."""
    end = 5000
    tables = [rng.random() < 0.8 for _ in range(3)]
    for process in processes:
        for thread in threads:
            where = {"process": process, "thread": thread}
            if tables[0] and rng.random() < 0.8:
                taken: set[tuple[int, int]] = set()
                for _ in range(rng.randint(0, 25)):
                    start = rng.randint(-100, end)
                    stop = start + rng.choice((0, -2, rng.randint(1, 40), rng.randint(1, 900), rng.randint(1, 9000)))
                    if (start, stop) not in taken:
                        trace.os_call(rng.choice(list(_STATES)), start, stop, **where)
                    taken.add((start, stop))
            if tables[1] and rng.random() < 0.8:
                for _ in range(rng.randint(1, 30)):
                    trace.scheduled(
                        rng.randint(rng.choice((-200, 1000)), end // 2 * rng.randint(1, 3)),
                        on=rng.random() < 0.5,
                        **where,
                    )
            if tables[2]:
                for _ in range(rng.randint(0, 60)):
                    frames = [rng.choice(_FRAMES) for _ in range(rng.randint(0, 5))]
                    trace.sample(rng.randint(-100, end), frames, **where)
