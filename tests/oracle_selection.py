"""What every section must say of a part of a trace, found by looking at single nanoseconds.

Work is linked to calls on the whole trace, by the reference account; then each nanosecond of the window is asked for
itself what ran, what did not, and why.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import oracle_account as account
from nsys_digest.selection import Selection
from oracle import _read_tables
from oracle_account import CAUSES, KINDS, NO_RANGE, Call, Classify, Note, Trace, Work, read_trace

Ticks = frozenset[int]
_FULL = "~2"
"""The name that the reference account gives to rows of a full queue."""
_DRIVER = {"module_call": "loading", "launch_call": "queue_full"}
_PAGE_FAULTS = {"cpu": "CUDA_UM_CPU_PAGE_FAULT_EVENTS", "gpu": "CUDA_UM_GPU_PAGE_FAULT_EVENTS"}


@dataclass(frozen=True)
class Part:
    """The events of a selection, whole, and the nanoseconds of its window; None for all of time."""

    trace: Trace
    window: Ticks | None

    def ticks(self, start: int, end: int) -> set[int]:
        """Return the nanoseconds of an event that lie in the window."""
        own = range(start, end)
        return set(own) if self.window is None else {tick for tick in own if tick in self.window}

    def counts(self, event: Any) -> bool:
        """Tell whether an event has a part in the window, one without length whether it starts in it."""
        if self.window is None:
            return True
        return event.start in self.window if event.end <= event.start else bool(self.ticks(event.start, event.end))

    def union(self, events: Any) -> set[int]:
        """Return the nanoseconds of the window in which any of the events was going on."""
        return set().union(*(self.ticks(event.start, event.end) for event in events))


def pid_of(global_id: int | None) -> int:
    """Return the process id within a globalPid or globalTid."""
    return ((global_id or 0) >> 24) & 0xFFFFFF


def part_of(path: Path, selection: Selection, classify: Classify) -> Part:
    """Return what a selection looks at."""
    trace = read_trace(path, False, classify)
    window = None
    if selection.stretches is not None:
        window = frozenset(tick for start, end in selection.stretches for tick in range(start, end))

    def looked_at(global_id: int | None) -> bool:
        return selection.processes is None or pid_of(global_id) in selection.processes

    work = [
        one
        for one in trace.work
        if looked_at(one.row.get("globalPid"))
        and (selection.devices is None or one.device in selection.devices)
        and (selection.streams is None or one.row.get("streamId", 0) in selection.streams)
    ]
    of_threads: tuple[list[Any], ...] = (trace.calls, trace.overheads, trace.ranges, trace.marks)
    kept = ([one for one in events if looked_at(one.thread)] for events in of_threads)
    calls, overheads, ranges, marks = kept
    return Part(Trace(calls, overheads, work, ranges, marks), window)


def expected_sections(path: Path, selection: Selection, classify: Classify = account.cause_of_call) -> dict[str, Any]:
    """Return every section of a selection in integer nanoseconds, in the shapes of the reference account."""
    part = part_of(path, selection, classify)
    trace = part.trace
    counted = [call for call in trace.calls if part.counts(call)]
    kernels = [work for work in trace.work if work.kind == "kernel" and part.counts(work)]
    by_call = account._launch(Trace([], [], [work for work in trace.work if work.launch in counted], [], []))
    return {
        "idle": account._idle(trace) if part.window is None else _idle(part),
        "launch": by_call | {"unmatched_kernel_count": sum(work.launch is None for work in kernels)},
        "memory": _memory(part),
        "overhead": _driver_overhead(part, path),
        "page_faults": _page_faults(part, path, selection),
        "nvtx": _nvtx(part),
        "dispatch_steps": _dispatch_steps(part, "CG_DISPATCH"),
        "api_lengths": account._lengths(counted),
        "kernel_lengths": account._lengths(kernels),
        "kernels": {
            name: (len(rows), sum(len(part.ticks(one.start, one.end)) for one in rows), len(part.union(rows)))
            for name, rows in account._by(kernels, lambda one: one.name).items()
        },
    }


def _idle(part: Part) -> dict[str, Any]:
    assert part.window is not None
    nested = [note for note in part.trace.ranges if note.kind in account._PUSH_POP]
    gaps: list[dict[str, Any]] = []
    accounts = []
    for device in sorted({work.device for work in part.trace.work}):
        work = [one for one in part.trace.work if one.device == device]
        real = [one for one in work if one.start < one.end]
        idle = sorted(part.window - part.union(real))
        mine = []
        hosts: dict[str, int] = defaultdict(int)
        full = 0
        for start, end in _runs(idle):
            causes: dict[str, int] = defaultdict(int)
            after = _next(real, end)
            for tick in range(start, end):
                cause, name = _why(part, nested, after, tick)
                causes[cause] += 1
                if cause == "host":
                    hosts[name] += 1
                full += name == _FULL
            mine.append(_gap(device, real, nested, (start, end), after, causes))
        gaps += mine
        lengths = [gap["length_ns"] for gap in mine]
        accounts.append(
            {
                "device": device,
                "idle_ns": len(idle),
                "gap_count": len(mine),
                "causes": {cause: account._cause([gap["causes"].get(cause, 0) for gap in mine]) for cause in CAUSES},
                "host_by_nvtx": dict(hosts),
                "histogram": account._histogram(lengths),
                "queue_full": full,
            }
        )
    gaps.sort(key=lambda gap: (-gap["length_ns"], gap["device"], gap["start_ns"]))
    return {"devices": accounts, "gaps": gaps}


def _runs(ticks: list[int]) -> list[tuple[int, int]]:
    """Return the stretches of nanoseconds that follow each other."""
    cuts = [0, *(at + 1 for at, (one, other) in enumerate(pairwise(ticks)) if other > one + 1), len(ticks)]
    return [(ticks[low], ticks[high - 1] + 1) for low, high in pairwise(cuts) if high > low]


def _next(real: list[Work], end: int) -> Work | None:
    later = [one for one in real if one.start >= end]
    first = min((one.start for one in later), default=None)
    return min((one for one in later if one.start == first), key=account._first_of_tied, default=None)


def _why(part: Part, nested: list[Note], after: Work | None, tick: int) -> tuple[str, str]:
    """Return the cause of one nanosecond, with the innermost range of the host's, or that the queue was full."""
    call = None if after is None else after.launch
    if call is None:
        return ("unattributed" if after is None else account._without_launch(after)), ""
    if tick >= call.end:
        return "queued", ""

    def around(events: Any) -> list[Any]:
        return [one for one in events if one.thread == call.thread and one.start <= tick < one.end]

    if inside := around((*part.trace.calls, *part.trace.overheads)):
        one = account._innermost(inside)
        return one.cause, _FULL if one.name == _FULL else ""
    ranges = around(nested)
    return "host", account._innermost(ranges).name if ranges else NO_RANGE


def _gap(
    device: int, real: list[Work], nested: list[Note], stretch: tuple[int, int], after: Work | None, causes: Any
) -> dict[str, Any]:
    start, end = stretch
    before = min(
        (one for one in real if one.end == start),
        key=lambda one: (KINDS.index(one.kind), -one.start, one.name),
        default=None,
    )
    call = None if after is None else after.launch
    on_thread = [] if call is None else [note for note in nested if note.thread == call.thread]
    return {
        "device": device,
        "start_ns": start,
        "length_ns": end - start,
        "before": "[window]" if before is None else before.name,
        "after": "[window]" if after is None or after.start != end else after.name,
        "causes": {cause: causes[cause] for cause in CAUSES if causes[cause]},
        "nvtx": account._ranges_of_gap(on_thread, start, end),
    }


def _driver_overhead(part: Part, path: Path) -> dict[str, tuple[int, int]] | None:
    """Return count and time of the driver's rows by kind; None where the trace has none, of any process."""
    if not any(row.cause in _DRIVER for row in read_trace(path).overheads):
        return None
    rows = [row for row in part.trace.overheads if part.counts(row)]
    found = {kind: [row for row in rows if row.cause == cause] for cause, kind in _DRIVER.items()}
    return {kind: (len(own), sum(len(part.ticks(row.start, row.end)) for row in own)) for kind, own in found.items()}


def _page_faults(part: Part, path: Path, selection: Selection) -> tuple[int | None, ...]:
    """Return the faults of the CPU and of GPUs, of all devices and streams; None where they were not traced."""
    tables = _read_tables(path)
    found: list[int | None] = []
    for table in _PAGE_FAULTS.values():
        rows = [
            row
            for row in tables.get(table, [])
            if selection.processes is None or pid_of(row["globalPid"]) in selection.processes
        ]
        counted = [row for row in rows if part.counts(_Fault(row["start"], row.get("end") or row["start"]))]
        count = sum(row.get("numberOfPageFaults", 1) for row in counted)
        found.append(count if table in tables else None)
    return tuple(found)


@dataclass(frozen=True)
class _Fault:
    start: int
    end: int


def _memory(part: Part) -> dict[str, Any]:
    counted = [work for work in part.trace.work if part.counts(work)]

    def moved(rows: list[Work]) -> dict[str, int]:
        return {
            "count": len(rows),
            "bytes": sum(work.row["bytes"] for work in rows),
            "sum_ns": sum(len(part.ticks(work.start, work.end)) for work in rows),
        }

    copies = [work for work in counted if work.kind == "memcpy"]
    groups = account._by(
        copies, lambda work: (account._direction(work.row), work.row.get("srcKind"), work.row.get("dstKind"))
    )
    by_direction = {}
    for key, rows in groups.items():
        timed = [(work.row["bytes"], work.end - work.start) for work in rows if work.start < work.end]
        by_direction[key] = {**moved(rows), "timed": sorted(timed)}
    overlapped = 0
    for device in {work.device for work in counted}:
        of_kind = [
            part.union(work for work in counted if work.device == device and work.kind == kind)
            for kind in ("memcpy", "kernel")
        ]
        overlapped += len(of_kind[0] & of_kind[1])
    return {
        "copies": by_direction,
        "sets": moved([work for work in counted if work.kind == "memset"]),
        "overlapped_with_kernels_ns": overlapped,
    }


def _nvtx(part: Part) -> dict[str, dict[str, Any]]:
    trace = part.trace
    busy = part.union(trace.work)
    has_work = bool(trace.work) if part.window is not None else any(one.start < one.end for one in trace.work)
    span = part.window if part.window is not None else set(range(min(busy, default=0), max(busy, default=-1) + 1))
    launched = account._launched(trace)
    ranges = [note for note in trace.ranges if part.counts(note)]
    result = {}
    for name, own in account._by(ranges, lambda note: note.name).items():
        started: set[Work] = set()
        for note in own:
            if note.one_thread and note.thread is not None:
                for call in trace.calls:
                    if call.thread == note.thread and note.start <= call.start and call.end <= note.end:
                        started.update(launched.get(call, []))
        union = part.union(own)
        result[name] = {
            "threads": len({note.thread for note in own if note.thread is not None}),
            "open_count": sum(note.is_open for note in own),
            "lengths": sorted(note.end - note.start for note in own),
            "self_ns": _self_time(part, own),
            "launched_kernel_count": sum(work.kind == "kernel" and part.counts(work) for work in started),
            "launched_busy_ns": len(part.union(started)) if has_work else None,
            "gpu_idle_ns": len(union & set(span)) - len(union & busy) if has_work else None,
        }
    return result


def _self_time(part: Part, ranges: list[Note]) -> int | None:
    own = [note for note in ranges if note.kind in account._PUSH_POP]
    if not own:
        return None
    ticks: set[int] = set()
    for key in {(note.thread, note.domain) for note in own}:
        line = [
            note for note in part.trace.ranges if note.kind in account._PUSH_POP and (note.thread, note.domain) == key
        ]
        for start, end, note in account._segments(line):
            if note.name == own[0].name:
                ticks |= part.ticks(start, end)
    return len(ticks)


_STEP = ("wall_ns", "gpu_overlap_ns", "launched_busy_ns", "graph_launch_count")


def _launches_graph(call: Call) -> bool:
    return account.bare_name(call.name) in account._GRAPH_LAUNCHES


def _dispatch_steps(part: Part, prefix: str) -> list[dict[str, Any]]:
    trace = part.trace
    busy = part.union(trace.work)
    has_work = bool(trace.work) if part.window is not None else bool(busy)
    notes = [note for note in (*trace.ranges, *trace.marks) if note.own_text.startswith(prefix)]
    steps = []
    for thread, of_thread in account._by(notes, lambda note: note.thread).items():
        marks = sorted(of_thread, key=lambda note: (note.start, note.own_text))
        for mark, after in [*pairwise(marks), (marks[-1], None)]:
            end = mark.start if after is None else after.start
            step: dict[str, Any] = dict.fromkeys(
                ("wall_ns", "gpu_overlap_ns", "launched_busy_ns", "graph_launch_count")
            )

            def is_within(call: Call | None, start: int = mark.start, end: int = end, thread: Any = thread) -> bool:
                return call is not None and thread is not None and call.thread == thread and start <= call.start < end

            own = part.ticks(mark.start, end)
            if not (own or (end == mark.start and (part.window is None or mark.start in part.window))):
                continue
            if after is not None:
                step = {
                    "wall_ns": end - mark.start,
                    "gpu_overlap_ns": len(own & busy) if has_work else None,
                    "launched_busy_ns": len(part.union(work for work in trace.work if is_within(work.launch)))
                    if has_work
                    else None,
                    "graph_launch_count": sum(
                        is_within(call)
                        and part.counts(call)
                        and account.bare_name(call.name) in account._GRAPH_LAUNCHES
                        for call in trace.calls
                    ),
                }
            steps.append(step)
    return steps
