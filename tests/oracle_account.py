"""What a digest must say of where the time of a trace went: idle causes, launches, memory, NVTX, dispatch steps.

Time is cut into stretches at every change, and each stretch is looked at by itself: slow, plain, and usable
both on drawn traces and on real ones of some ten thousand rows. All times are integer nanoseconds.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar

from builder import RUNTIME, TraceBuilder
from oracle import _GPU_TABLES, _MARKS, _RANGES, _SERIALS, Record, _domain, _last_instant, _own_text, _read_tables

Stretch = tuple[int, int]
Classify = Callable[[str], str]

CAUSES = ("queued", "launch_call", "sync", "memory_call", "module_call", "other_call", "host", "unattributed")
KINDS = tuple(_GPU_TABLES)
NO_RANGE = "(none)"

_PUSH_POP = (59, 70)
_THREAD_BITS = 0xFFFFFF
_ABI_VERSION = re.compile(r"_v[0-9]{4,5}\Z")
_STREAM_VARIANT = re.compile(r"_pt(sz|ds)\Z")
_DIRECTIONS = {
    1: "HtoD",
    2: "DtoH",
    3: "HtoA",
    4: "AtoH",
    5: "AtoA",
    6: "AtoD",
    7: "DtoA",
    8: "DtoD",
    9: "HtoH",
    10: "PtoP",
    11: "UVM HtoD",
    12: "UVM DtoH",
    13: "UVM DtoD",
}

_GRAPH_LAUNCHES = frozenset({"cudaGraphLaunch", "cuGraphLaunch"})
# A name that ends in * stands for all that begin so.
_CALLS = {
    "launch_call": (
        "cudaLaunch cudaLaunchKernel cudaLaunchKernelExC cudaLaunchCooperativeKernel "
        "cudaLaunchCooperativeKernelMultiDevice cudaGraphLaunch cuLaunch cuLaunchGrid cuLaunchGridAsync cuLaunchKernel "
        "cuLaunchKernelEx cuLaunchCooperativeKernel cuLaunchCooperativeKernelMultiDevice cuGraphLaunch "
        "cudaMemcpyAsync cudaMemsetAsync cuMemcpyHtoDAsync* cuMemcpyDtoHAsync* cuMemcpyDtoDAsync* cuMemsetD8Async "
        "cuMemsetD32Async"
    ),
    "sync": (
        "cudaDeviceSynchronize cudaStreamSynchronize cudaEventSynchronize cudaThreadSynchronize cuCtxSynchronize "
        "cuStreamSynchronize cuEventSynchronize cudaMemcpy cudaMemcpy2D cudaMemcpy3D cudaMemcpyToSymbol "
        "cudaMemcpyFromSymbol cuMemcpy cuMemcpyHtoD cuMemcpyHtoD_v2 cuMemcpyDtoH cuMemcpyDtoH_v2 cuMemcpyDtoD "
        "cuMemcpyDtoD_v2"
    ),
    "memory_call": (
        "cudaMalloc* cudaFree* cudaHostAlloc cudaHostRegister cudaHostUnregister cuMemAlloc* cuMemFree* cuMemHostAlloc "
        "cuMemHostRegister* cuMemHostUnregister cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemMap "
        "cuMemMapArrayAsync cuMemUnmap cuMemSetAccess cuMemExportToShareableHandle cuMemImportFromShareableHandle "
        "cuMemRetainAllocationHandle"
    ),
    "module_call": (
        "cuModuleLoad* cuModuleGetFunction cuModuleGetLoadingMode cuLibraryLoadData cuLibraryLoadFromFile "
        "cuLibraryGetKernel cuLibraryGetModule cuKernelGetFunction cuKernelGetName cuFuncLoad cuLinkCreate* "
        "cuLinkAddData* cuLinkAddFile* cuLinkComplete cuLinkDestroy cudaGetFuncBySymbol cudaGetKernel cudaLibraryLoad* "
        "cudaLibraryGetKernel"
    ),
}


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One CUDA call; one that ends before it starts has no length."""

    name: str
    cause: str
    thread: int | None
    correlation: int | None
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """One row of GPU activity, and the call that launched it where there is one."""

    kind: str
    device: int
    process: int | None
    correlation: int
    name: str
    start: int
    end: int
    launch: Call | None
    row: Record


@dataclass(frozen=True, slots=True, eq=False)
class Note:
    """One NVTX mark or range; an open range has been closed, one that ends before it starts has no length."""

    own_text: str
    name: str
    thread: int | None
    domain: int
    kind: int
    start: int
    end: int
    is_open: bool
    one_thread: bool


@dataclass(frozen=True, slots=True)
class Trace:
    """The events of a file that the account looks at."""

    calls: list[Call]
    work: list[Work]
    ranges: list[Note]
    marks: list[Note]


class _Event(Protocol):
    """What has a name, a start and an end."""

    @property
    def name(self) -> str: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


E = TypeVar("E", bound=_Event)
T = TypeVar("T")


def bare_name(name: str) -> str:
    """Return the name of a call without its ABI version and the suffix of its default stream."""
    return _STREAM_VARIANT.sub("", _ABI_VERSION.sub("", name))


def cause_of_call(name: str) -> str:
    """Return the cause that a call stands for where time is lost in it."""
    bare = bare_name(name)
    for cause, patterns in _CALLS.items():
        for pattern in patterns.split():
            if bare == pattern or (pattern.endswith("*") and bare.startswith(pattern[:-1])):
                return cause
    return "other_call"


def expected_account(
    path: Path,
    dispatch_prefix: str = "CG_DISPATCH",
    *,
    raw_nvtx_names: bool = False,
    classify: Classify = cause_of_call,
) -> dict[str, Any]:
    """Return the account of a trace in integer nanoseconds.

    Lists of values are sorted, so that a percentile can be read off them. The keys of `memory.copies` are
    (direction, source kind, destination kind).
    """
    trace = read_trace(path, raw_nvtx_names, classify)
    return {
        "idle": _idle(trace),
        "launch": _launch(trace),
        "memory": _memory(trace),
        "nvtx": _nvtx(trace),
        "dispatch_steps": _dispatch_steps(trace, dispatch_prefix),
        "api_lengths": _lengths(trace.calls),
        "kernel_lengths": _lengths(work for work in trace.work if work.kind == "kernel"),
    }


# Reading


def read_trace(path: Path, raw_nvtx_names: bool = False, classify: Classify = cause_of_call) -> Trace:
    """Return the events of a file."""
    tables = _read_tables(path)
    strings = {row["id"]: str(row["value"]) for row in tables.get("StringIds", [])}
    calls = _calls(tables, strings, classify)
    notes = _notes(tables, raw_nvtx_names)
    return Trace(
        calls,
        _work(tables, strings, calls),
        [note for note in notes if note.kind in _RANGES],
        [note for note in notes if note.kind in _MARKS],
    )


def _string(strings: dict[int, str], string_id: int) -> str:
    """Return a string of the file, or a placeholder that shows the id of one that is missing."""
    return strings.get(string_id, f"[string {string_id}]")


def _calls(tables: dict[str, list[Record]], strings: dict[int, str], classify: Classify) -> list[Call]:
    """Return the runtime and driver calls."""
    calls: list[Call] = []
    causes: dict[str, str] = {}
    for row in tables.get(RUNTIME, []):
        if row.get("eventClass", 0) not in (0, 1):
            continue
        name = _string(strings, row["nameId"])
        if name not in causes:
            causes[name] = classify(name)
        end = max(row["start"], row["end"])
        calls.append(Call(name, causes[name], row.get("globalTid"), row.get("correlationId"), row["start"], end))
    return calls


def _work(tables: dict[str, list[Record]], strings: dict[int, str], calls: list[Call]) -> list[Work]:
    """Return all GPU activity, rows without a length included, each with its launch."""
    launches = _launches(calls)
    work: list[Work] = []
    callers = {call.thread & ~_THREAD_BITS for call in calls if call.thread is not None}
    rows = [row for table in _GPU_TABLES.values() for row in tables.get(table, [])]
    nobody = callers.pop() if len(callers) == 1 and not any(row.get("globalPid") for row in rows) else None
    for kind, table in _GPU_TABLES.items():
        for row in tables.get(table, []):
            name = f"[{kind}]"
            if kind == "kernel":
                name = _string(strings, row["shortName"])
            elif kind == "memcpy":
                name = f"[memcpy {_direction(row)}]"
            process, correlation = row.get("globalPid") or nobody, row.get("correlationId") or 0
            launch = _launch_of(launches.get((process, correlation), []), row["start"])
            work.append(Work(kind, row["deviceId"], process, correlation, name, row["start"], row["end"], launch, row))
    return work


def _launches(calls: list[Call]) -> dict[tuple[int | None, int], list[Call]]:
    """Return the calls by process and correlation id, without those inside another of the same id and thread."""
    launches: dict[tuple[int | None, int], list[Call]] = defaultdict(list)
    for call in calls:
        if call.thread is not None and call.correlation:
            launches[call.thread & ~_THREAD_BITS, call.correlation].append(call)
    for key, sharing in launches.items():
        launches[key] = [call for call in sharing if not any(_holds(other, call, sharing) for other in sharing)]
    return launches


def _holds(outer: Call, inner: Call, calls: list[Call]) -> bool:
    """Tell whether one call runs inside the other; of two with equal times the first in the file is the outer."""
    if outer is inner or outer.thread != inner.thread or not outer.start <= inner.start < outer.end:
        return False
    if (outer.start, outer.end) == (inner.start, inner.end):
        return calls.index(outer) < calls.index(inner)
    return outer.start < inner.start or outer.end > inner.end


def _launch_of(sharing: list[Call], start: int) -> Call | None:
    """Return the call that launched work which starts then: the last that had begun; the first where none had."""
    by_time = sorted(sharing, key=lambda call: (call.start, call.end))
    begun = [call for call in by_time if call.start <= start]
    return begun[-1] if begun else next(iter(by_time), None)


def _direction(row: Record) -> str:
    """Return where a copy went."""
    return _DIRECTIONS.get(row["copyKind"], "unknown")


def _notes(tables: dict[str, list[Record]], raw_nvtx_names: bool) -> list[Note]:
    """Return every NVTX mark and range, under its name with the domain in front."""
    last = _last_instant(tables)
    notes: list[Note] = []
    for row in tables.get("NVTX_EVENTS", []):
        kind = row["eventType"]
        if kind not in (*_RANGES, *_MARKS):
            continue
        text = _own_text(tables, row)
        text = text if raw_nvtx_names else _SERIALS.sub("", text)
        domain = _domain(tables, row)
        name = f"{domain}:{text}" if domain else text
        start, end, thread = row["start"], row["end"], row.get("globalTid")
        is_open = kind in _RANGES and end is None
        closed = last if is_open else end
        end = start if closed is None else max(start, closed)
        one_thread = row.get("endGlobalTid") in (None, 0, thread)
        domain_id = row.get("domainId") or 0
        notes.append(Note(text, name, thread, domain_id, kind, start, end, is_open, one_thread))
    return notes


# Stretches of time


def _union(stretches: Iterable[Stretch]) -> list[Stretch]:
    """Return the union of half-open stretches, merged and in order; those without a length are no part."""
    merged: list[Stretch] = []
    for start, end in sorted(stretches):
        if end <= start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def _total(union: Iterable[Stretch]) -> int:
    """Return the length of stretches that do not overlap."""
    return sum(end - start for start, end in union)


def _within(union: Sequence[Stretch], start: int, end: int) -> list[Stretch]:
    """Return the part of a union that lies in [start, end)."""
    first = bisect_right(union, (start,)) - 1
    parts: list[Stretch] = []
    for index in range(max(first, 0), len(union)):
        if union[index][0] >= end:
            break
        part = (max(start, union[index][0]), min(end, union[index][1]))
        if part[0] < part[1]:
            parts.append(part)
    return parts


def _common(one: Sequence[Stretch], other: Sequence[Stretch]) -> int:
    """Return the length of what is in both unions."""
    return sum(_total(_within(other, start, end)) for start, end in one)


def _spans(events: Iterable[_Event]) -> list[Stretch]:
    """Return the stretches of events."""
    return [(event.start, event.end) for event in events]


def _innermost(open_events: list[E]) -> E:
    """Return the event that lies within the others: latest start, then earliest end, then last name."""
    return max(open_events, key=lambda event: (event.start, -event.end, event.name))


def _segments(events: Iterable[E]) -> list[tuple[int, int, E]]:
    """Cut time wherever an event starts or ends; return each piece that has an open event, with the innermost."""
    solid = [event for event in events if event.start < event.end]
    starting = _by(solid, lambda event: event.start)
    cuts = sorted({event.start for event in solid} | {event.end for event in solid})
    segments: list[tuple[int, int, E]] = []
    open_events: list[E] = []
    for start, end in pairwise(cuts):
        open_events = [event for event in open_events if event.end > start] + starting.get(start, [])
        if open_events:
            segments.append((start, end, _innermost(open_events)))
    return segments


def _pieces(segments: list[tuple[int, int, E]], start: int, end: int) -> Iterator[tuple[int, int, E | None]]:
    """Yield the pieces that make up [start, end), with None where no event is open."""
    at = start
    first = bisect_right(segments, start, key=lambda segment: segment[0]) - 1
    for index in range(max(first, 0), len(segments)):
        segment_start, segment_end, event = segments[index]
        if segment_start >= end:
            break
        if segment_end <= at:
            continue
        if segment_start > at:
            yield at, segment_start, None
            at = segment_start
        stop = min(segment_end, end)
        yield at, stop, event
        at = stop
    if at < end:
        yield at, end, None


def _by(events: Iterable[E], key: Callable[[E], T]) -> dict[T, list[E]]:
    """Return events in groups."""
    groups: dict[T, list[E]] = {}
    for event in events:
        groups.setdefault(key(event), []).append(event)
    return groups


# The idle account


def _idle(trace: Trace) -> dict[str, Any]:
    """Return the idle time of each device that was ever busy, by cause, and every gap, the longest first."""
    threads = _Threads(trace)
    devices = _by((work for work in trace.work if work.start < work.end), lambda work: work.device)
    gaps: list[dict[str, Any]] = []
    accounts: list[dict[str, Any]] = []
    for device in sorted(devices):
        pairs = [_gap(device, devices[device], stretch, threads) for stretch in _gaps(_union(_spans(devices[device])))]
        mine = [gap for gap, _ in pairs]
        gaps += mine
        by_range: dict[str, int] = {}
        for _, host in pairs:
            for name, length in host.items():
                by_range[name] = by_range.get(name, 0) + length
        accounts.append(
            {
                "device": device,
                "idle_ns": sum(gap["length_ns"] for gap in mine),
                "gap_count": len(mine),
                "causes": {cause: _cause([gap["causes"].get(cause, 0) for gap in mine]) for cause in CAUSES},
                "host_by_nvtx": by_range,
                "histogram": _histogram([gap["length_ns"] for gap in mine]),
            }
        )
    gaps.sort(key=lambda gap: (-gap["length_ns"], gap["device"], gap["start_ns"]))
    return {"devices": accounts, "gaps": gaps}


class _Threads:
    """What each thread was in at any time: the segments of its calls and of its push/pop ranges."""

    def __init__(self, trace: Trace) -> None:
        self.nested = [note for note in trace.ranges if note.kind in _PUSH_POP]
        calls = _by(trace.calls, lambda call: call.thread)
        ranges = _by(self.nested, lambda note: note.thread)
        self.calls = {thread: _segments(events) for thread, events in calls.items()}
        self.ranges = {thread: _segments(events) for thread, events in ranges.items()}


def _gaps(busy: list[Stretch]) -> list[Stretch]:
    """Return the stretches between those of a union."""
    return [(one[1], other[0]) for one, other in pairwise(busy)]


def _gap(device: int, work: list[Work], stretch: Stretch, threads: _Threads) -> tuple[dict[str, Any], dict[str, int]]:
    """Return a gap with its causes, and its host time by range name."""
    start, end = stretch
    before = min(
        (one for one in work if one.end == start),
        key=lambda one: (KINDS.index(one.kind), -one.start, one.name),
    )
    after = min(
        (one for one in work if one.start == end),
        key=_first_of_tied,
    )
    causes: dict[str, int] = defaultdict(int)
    host: dict[str, int] = defaultdict(int)
    call = after.launch
    if call is None:
        causes["unattributed"] = end - start
    else:
        causes["queued"] = max(0, end - max(start, call.end))
        for piece_start, piece_end, inside in _pieces(
            threads.calls.get(call.thread, []), start, max(start, min(end, call.end))
        ):
            if inside is not None:
                causes[inside.cause] += piece_end - piece_start
                continue
            causes["host"] += piece_end - piece_start
            for part_start, part_end, note in _pieces(threads.ranges.get(call.thread, []), piece_start, piece_end):
                host[NO_RANGE if note is None else note.name] += part_end - part_start
    gap = {
        "device": device,
        "start_ns": start,
        "length_ns": end - start,
        "before": before.name,
        "after": after.name,
        "causes": {cause: causes[cause] for cause in CAUSES if causes[cause]},
        "nvtx": _ranges_of_gap(
            [] if call is None else [n for n in threads.nested if n.thread == call.thread], start, end
        ),
    }
    return gap, host


def _first_of_tied(one: Work) -> tuple[Any, ...]:
    """Return what tells operations apart that end a gap together; the least decides."""
    return one.end, one.launch is None, KINDS.index(one.kind), one.correlation, one.process or 0, one.name


def _ranges_of_gap(nested: list[Note], start: int, end: int) -> list[str]:
    """Return the names whose ranges cover more than half of a gap, outer ones first.

    Where none does, the one that covers most of it, if that is more than what lies in no range.
    """
    covered: dict[str, int] = {}
    longest: dict[str, Stretch] = {}
    for note in sorted(nested, key=lambda note: (note.start, -note.end)):
        part = (max(start, note.start), min(end, note.end))
        if part[0] >= part[1] or (note.name in longest and part[1] - part[0] <= longest[note.name][1]):
            continue
        longest[note.name] = (nested.index(note), part[1] - part[0])
    order = sorted(nested, key=lambda note: (note.start, -note.end))
    place = {name: order.index(nested[at]) for name, (at, _) in longest.items()}
    for name in longest:
        covered[name] = _total(_within(_union(_spans(n for n in nested if n.name == name)), start, end))
    most = [name for name in covered if 2 * covered[name] > end - start]
    if most or not covered:
        return sorted(most, key=place.__getitem__)
    best = min(covered, key=lambda name: (-covered[name], place[name]))
    outside = end - start - _total(_within(_union(_spans(nested)), start, end))
    return [best] if covered[best] > outside else []


def _cause(lengths: list[int]) -> dict[str, int]:
    """Return the numbers of one cause from what each gap has of it."""
    return {
        "sum_ns": sum(lengths),
        "gaps": sum(1 for length in lengths if length > 0),
        "longest_ns": max(lengths, default=0),
    }


def _histogram(lengths: list[int]) -> list[dict[str, int]]:
    """Return the gaps by length, a bin for each power of ten up to that of the longest."""
    bins: list[dict[str, int]] = []
    low, high = 0, 1000
    while low <= max(lengths, default=-1):
        inside = [length for length in lengths if low <= length < high]
        bins.append({"from_ns": low, "to_ns": high, "gaps": len(inside), "sum_ns": sum(inside)})
        low, high = high, high * 10
    return bins


# The other sections


def _launch(trace: Trace) -> dict[str, Any]:
    """Return what launches of kernels and graphs cost, by name of the call and for all of either kind."""
    first_starts: dict[Call, int] = {}
    for work in trace.work:
        call = work.launch
        if work.kind not in ("kernel", "graph") or work.end < work.start or call is None:
            continue
        if call.cause == "launch_call":
            first_starts[call] = min(work.start, first_starts.get(call, work.start))
    groups: dict[str, list[Call]] = defaultdict(list)
    for call in first_starts:
        groups[call.name].append(call)
        groups["graphs" if bare_name(call.name) in _GRAPH_LAUNCHES else "kernels"].append(call)
    by_api: dict[str, Any] = {}
    for name, calls in groups.items():
        delays = [first_starts[call] - call.end for call in calls]
        by_api[name] = {
            "api": sorted(call.end - call.start for call in calls),
            "queue_delay": sorted(max(0, delay) for delay in delays),
            "latency": sorted(max(0, first_starts[call] - call.start) for call in calls),
            "started_before_return_count": sum(1 for delay in delays if delay < 0),
        }
    unmatched = sum(1 for work in trace.work if work.kind == "kernel" and work.launch is None)
    return {"by_api": by_api, "unmatched_kernel_count": unmatched}


def _moved(rows: list[Work]) -> dict[str, int]:
    """Return the count, bytes and time of copies or sets."""
    return {
        "count": len(rows),
        "bytes": sum(work.row["bytes"] for work in rows),
        "sum_ns": sum(max(0, work.end - work.start) for work in rows),
    }


def _memory(trace: Trace) -> dict[str, Any]:
    """Return copies by direction and kinds of memory, sets, and the time in which copies ran beside kernels."""
    copies = [work for work in trace.work if work.kind == "memcpy"]
    groups = _by(copies, lambda work: (_direction(work.row), work.row.get("srcKind"), work.row.get("dstKind")))
    by_direction: dict[tuple[str, int | None, int | None], Any] = {}
    for key, rows in groups.items():
        timed = [(work.row["bytes"], work.end - work.start) for work in rows if work.start < work.end]
        by_direction[key] = {**_moved(rows), "timed": sorted(timed)}
    overlapped = 0
    for device in {work.device for work in copies}:
        mine = [work for work in trace.work if work.device == device]
        overlapped += _common(
            _union(_spans(work for work in mine if work.kind == "memcpy")),
            _union(_spans(work for work in mine if work.kind == "kernel")),
        )
    return {
        "copies": by_direction,
        "sets": _moved([work for work in trace.work if work.kind == "memset"]),
        "overlapped_with_kernels_ns": overlapped,
    }


def _nvtx(trace: Trace) -> dict[str, dict[str, Any]]:
    """Return what is told of the ranges of each name besides their count and their union."""
    busy = _union(_spans(trace.work))
    calls = {
        thread: sorted(events, key=lambda call: call.start)
        for thread, events in _by(trace.calls, lambda call: call.thread).items()
    }
    launched = _launched(trace)
    result: dict[str, dict[str, Any]] = {}
    for name, ranges in _by(trace.ranges, lambda note: note.name).items():
        union = _union(_spans(ranges))
        started: set[Work] = set()
        for note in ranges:
            if not note.one_thread or note.thread is None:
                continue
            thread_calls = calls.get(note.thread, [])
            first = bisect_left(thread_calls, note.start, key=lambda call: call.start)
            stop = bisect_right(thread_calls, note.end, key=lambda call: call.start)
            for call in thread_calls[first:stop]:
                if call.end <= note.end:
                    started.update(launched.get(call, []))
        in_span = _total(_within(union, busy[0][0], busy[-1][1])) if busy else 0
        result[name] = {
            "threads": len({note.thread for note in ranges if note.thread is not None}),
            "open_count": sum(1 for note in ranges if note.is_open),
            "lengths": sorted(note.end - note.start for note in ranges),
            "self_ns": _self_time(ranges, trace),
            "launched_kernel_count": sum(1 for work in started if work.kind == "kernel"),
            "launched_op_count": len(started),
            "launched_busy_ns": _total(_union(_spans(started))) if busy else None,
            "gpu_idle_ns": in_span - _common(union, busy) if busy else None,
        }
    return result


def _launched(trace: Trace) -> dict[Call, list[Work]]:
    """Return the operations that each call launched."""
    launched: dict[Call, list[Work]] = defaultdict(list)
    for work in trace.work:
        if work.launch is not None:
            launched[work.launch].append(work)
    return launched


def _self_time(ranges: list[Note], trace: Trace) -> int | None:
    """Return the union, over all threads, of the time in which one of these ranges is the innermost.

    Push/pop ranges nest by thread and domain; None where none of these is one.
    """
    own = [note for note in ranges if note.kind in _PUSH_POP]
    stretches: list[Stretch] = []
    for key in {(note.thread, note.domain) for note in own}:
        line = [note for note in trace.ranges if note.kind in _PUSH_POP and (note.thread, note.domain) == key]
        stretches += [(start, end) for start, end, note in _segments(line) if note.name == own[0].name]
    return _total(_union(stretches)) if own else None


def _dispatch_steps(trace: Trace, prefix: str) -> list[dict[str, Any]]:
    """Return each dispatch mark or range with what came until the next one on its thread, by thread and start.

    The last one of a thread has no next one, so nothing is known of its length.
    """
    busy = _union(_spans(trace.work))
    notes = [note for note in (*trace.ranges, *trace.marks) if note.own_text.startswith(prefix)]
    steps: list[dict[str, Any]] = []
    threads = _by(notes, lambda note: note.thread)
    for thread in sorted(threads, key=lambda thread: (thread is not None, thread or 0)):
        marks = sorted(threads[thread], key=lambda note: (note.start, note.own_text))
        for index, mark in enumerate(marks):
            step: dict[str, Any] = {
                "thread": thread,
                "start_ns": mark.start,
                "name": mark.own_text,
                "wall_ns": None,
                "gpu_overlap_ns": None,
                "launched_busy_ns": None,
                "graph_launch_count": None,
            }
            if index + 1 < len(marks):
                step |= _step(trace, busy, thread, mark.start, marks[index + 1].start)
            steps.append(step)
    return steps


def _step(trace: Trace, busy: list[Stretch], thread: int | None, start: int, end: int) -> dict[str, int | None]:
    """Return the numbers of a step that is [start, end) on one thread."""

    def is_within(call: Call | None) -> bool:
        return call is not None and thread is not None and call.thread == thread and start <= call.start < end

    return {
        "wall_ns": end - start,
        "gpu_overlap_ns": _total(_within(busy, start, end)) if busy else None,
        "launched_busy_ns": _total(_union(_spans(work for work in trace.work if is_within(work.launch))))
        if busy
        else None,
        "graph_launch_count": sum(
            1 for call in trace.calls if is_within(call) and bare_name(call.name) in _GRAPH_LAUNCHES
        ),
    }


def _lengths(events: Iterable[_Event]) -> dict[str, list[int]]:
    """Return the lengths of events by name, sorted."""
    lengths: dict[str, list[int]] = {}
    for event in events:
        lengths.setdefault(event.name, []).append(max(0, event.end - event.start))
    return {name: sorted(values) for name, values in lengths.items()}


# Random traces

_PROCESSES = (101, 202)
_THREADS = (1, 2)
_LOST_PROCESS = 303
_LAUNCH_NAMES = (
    "cudaLaunchKernel_v7000",
    "cudaLaunchKernel_ptsz_v7000",
    "cudaLaunchKernelExC_v11060",
    "cuLaunchKernel",
    "cuLaunchKernelEx",
)
_GRAPH_NAMES = ("cudaGraphLaunch_v10000", "cudaGraphLaunch_ptsz_v10000", "cuGraphLaunch")
_COPY_NAMES = ("cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoH_v2")
_SET_NAMES = ("cudaMemsetAsync_v3020", "cudaMemset_v3020")
_PLAIN_NAMES = (
    "cudaDeviceSynchronize_v3020",
    "cudaStreamSynchronize_v3020",
    "cudaEventSynchronize_v3020",
    "cudaMalloc_v3020",
    "cudaFree_v3020",
    "cudaHostAlloc_v3020",
    "cuModuleLoadData",
    "cudaGetFuncBySymbol_v11000",
    "cudaEventRecord_v3020",
    "cudaStreamIsCapturing_v10000",
    "cudaLaunchHostFunc_v10000",
    "cudaLaunchKernel_v7000",
)
_DRIVER_NAMES = (
    "cuLaunchKernel",
    "cuLaunchKernelEx",
    "cuStreamSynchronize",
    "cuMemAlloc_v2",
    "cuMemMap",
    "cuLibraryLoadData",
    "cuFuncLoad",
    "cuGetProcAddress_v2",
    "cuKernelGetAttribute",
)
_KERNEL_NAMES = ("gemm", "softmax", "reduce", "ncclDevKernel_AllReduce", "élan")
_RANGE_NAMES = ("step", "forward", "élan", "", "aten::mul", "aten::mul, seq = 5", "aten::mul, seq = 6, op_id = 12")
_DISPATCH_NAMES = (
    "CG_DISPATCH actual=3 mode=FULL padded=4",
    "CG_DISPATCH actual=1 mode=NONE padded=1",
    "CG_DISPATCH, seq = 7",
)
_MEMORY_KINDS = (None, 0, 1, 2, 4)


class _Drawing:
    """A random trace while it is drawn: its ids, and the stretches of each thread that are taken."""

    def __init__(self, rng: Random, version: str) -> None:
        self.rng = rng
        self.trace = TraceBuilder(version, lazy=rng.random() < 0.7)
        self.correlations = dict.fromkeys(_PROCESSES, 0)
        self.backtraces = rng.random() < 0.5
        self.devices = rng.choice(((0,), (0, 1), (0, 1, 3)))
        self.taken: set[tuple[object, ...]] = set()

    def claim(self, *stretch: object) -> bool:
        """Say whether a stretch is new: which of two equal ones lies within the other nobody can tell."""
        new = stretch not in self.taken
        self.taken.add(stretch)
        return new

    def next_correlation(self, process: int) -> int:
        """Return a new id; each process counts from 1, so that all ids of one are ids of the others too."""
        self.correlations[process] += 1
        return self.correlations[process]

    def inside(self, start: int, end: int) -> Iterator[Stretch]:
        """Yield disjoint stretches in [start, end), at times touching one another or the border."""
        at = start
        while True:
            at += self.rng.choice((0, 0, self.rng.randint(1, 40), self.rng.randint(1, 400)))
            stop = at + self.rng.choice((self.rng.randint(1, 30), self.rng.randint(1, 300)))
            if stop > end:
                return
            yield at, stop
            at = stop

    def where(self, process: int, correlation: int | None) -> dict[str, Any]:
        """Draw where an operation runs."""
        return {
            "device": self.rng.choice(self.devices),
            "context": self.rng.choice((1, 1, 2)),
            "stream": self.rng.choice((7, 7, 13)),
            "process": process,
            "correlation": correlation,
        }

    def extent(self, start: int) -> Stretch:
        """Draw the extent of an operation: mostly forward, at times of no length or reversed."""
        long = self.rng.randint(1, 200)
        return start, start + self.rng.choice((long, long, long, self.rng.randint(1, 40), 0, -5))


def _draw_work(drawing: _Drawing, kind: str, start: int, process: int, correlation: int | None) -> None:
    """Add one operation."""
    rng, trace = drawing.rng, drawing.trace
    where = drawing.where(process, correlation)
    start, end = drawing.extent(start)
    if kind == "kernel":
        trace.kernel(start, end, **where, name=rng.choice(_KERNEL_NAMES))
    elif kind == "node":
        trace.kernel(start, end, **where, name=rng.choice(_KERNEL_NAMES), graph_node=rng.randint(1, 9))
    elif kind == "memcpy":
        trace.memcpy(
            start,
            end,
            **where,
            kind=rng.choice((0, 1, 2, 8, 10, 99)),
            bytes=rng.randint(0, 1 << 20),
            source_kind=rng.choice(_MEMORY_KINDS),
            destination_kind=rng.choice(_MEMORY_KINDS),
        )
    elif kind == "memset":
        trace.memset(start, end, **where, bytes=rng.randint(0, 1 << 20))
    else:
        trace.graph(start, end, **where)


def _draw_launched(drawing: _Drawing, name: str, stretch: Stretch, process: int, correlation: int) -> None:
    """Add what a call launches: mostly one operation, several for a graph, at times none."""
    rng = drawing.rng
    start, end = stretch
    kinds = ["kernel"]
    if name in _GRAPH_NAMES:
        kinds = rng.choice((["graph"], ["node"] * rng.randint(1, 4), ["node", "memcpy", "node"]))
    elif name in _COPY_NAMES:
        kinds = ["memcpy"]
    elif name in _SET_NAMES:
        kinds = ["memset"]
    if rng.random() < 0.05:
        return
    for kind in kinds:
        began = rng.choice((rng.randint(start, end), end, end + rng.randint(0, 50), end + rng.randint(0, 900)))
        _draw_work(drawing, kind, began, process, correlation)


def _draw_calls(
    drawing: _Drawing, start: int, end: int, process: int, thread: int, outer: int | None = None, depth: int = 0
) -> None:
    """Add the calls of a thread in [start, end), those within them included.

    `outer` is the correlation id of the call around them: at times a call within it bears the same.
    """
    rng = drawing.rng
    for call_start, call_end in drawing.inside(start, end):
        if not drawing.claim("call", process, thread, call_start, call_end):
            continue
        name = rng.choice(_DRIVER_NAMES if depth else rng.choice((_LAUNCH_NAMES, _PLAIN_NAMES, _DRIVER_NAMES)))
        if not depth and rng.random() < 0.3:
            name = rng.choice(rng.choice((_GRAPH_NAMES, _COPY_NAMES, _SET_NAMES)))
        shared = outer is not None and rng.random() < 0.4
        correlation = outer if shared else drawing.next_correlation(process)
        driver = not name.startswith("cuda")
        columns = {"process": process, "thread": thread}
        recorded = rng.choice((0, None)) if rng.random() < 0.06 else correlation
        drawing.trace.api(name, call_start, call_end, **columns, correlation=recorded, event_class=int(driver))
        if drawing.backtraces and rng.random() < 0.4:
            drawing.trace.api(
                bare_name(name), call_start - 1, call_end, **columns, correlation=recorded, event_class=67
            )
        launches = name in (*_LAUNCH_NAMES, *_GRAPH_NAMES, *_COPY_NAMES, *_SET_NAMES)
        if launches and correlation is not None and not shared:
            _draw_launched(drawing, name, (call_start, call_end), process, correlation)
        if depth < 2 and rng.random() < 0.35:
            _draw_calls(drawing, call_start, call_end, process, thread, correlation, depth + 1)


def _draw_nested(
    drawing: _Drawing, start: int, end: int, process: int, thread: int, domain: int | None, depth: int = 0
) -> None:
    """Add the push/pop ranges of a thread and domain in [start, end), those within them included."""
    rng = drawing.rng
    at = start
    while at < end:
        stop = min(end, at + rng.randint(1, max(1, (end - start) // 2)))
        if rng.random() < 0.7 and drawing.claim("range", process, thread, at, stop):
            drawing.trace.range(
                rng.choice(_RANGE_NAMES + _DISPATCH_NAMES[:1]),
                at,
                stop,
                process=process,
                thread=thread,
                domain=domain,
                registered=rng.random() < 0.3,
                kind=rng.choice(("pushpop", "pushpop", "nvtxt_pushpop")),
            )
            if depth < 3:
                _draw_nested(drawing, at, stop, process, thread, domain, depth + 1)
        at = stop + rng.choice((0, rng.randint(0, 300)))


def _draw_crossing(drawing: _Drawing, end: int) -> None:
    """Add a start/end range, at times one that ends on another thread, without a length, or never."""
    rng = drawing.rng
    start = rng.randint(0, end)
    drawing.trace.range(
        rng.choice(_RANGE_NAMES),
        start,
        rng.choice((None, start, rng.randint(start, end), rng.randint(start, end), rng.randint(start, end))),
        process=rng.choice(_PROCESSES),
        thread=rng.choice(_THREADS),
        domain=rng.choice((0, 1)),
        kind=rng.choice(("startend", "startend", "nvtxt_startend")),
        end_thread=rng.choice((None, None, *_THREADS)),
    )


def _draw_thread(drawing: _Drawing, end: int, process: int, thread: int) -> None:
    """Add the calls, push/pop ranges and dispatch marks of one thread."""
    rng, trace = drawing.rng, drawing.trace
    _draw_calls(drawing, rng.randint(-50, 400), rng.randint(end // 4, end), process, thread)
    for domain in (rng.choice((0, None)), 1):
        if rng.random() < 0.5:
            _draw_nested(drawing, rng.randint(-50, end // 2), end, process, thread, domain)
    if rng.random() < 0.3:
        # Around all others of its thread and domain, or after them.
        start = rng.choice((-60, end + rng.randint(0, 50)))
        trace.range(rng.choice(_RANGE_NAMES), start, None, process=process, thread=thread, domain=0)
    for _ in range(rng.choice((0, 0, 1, 3, 6))):
        trace.mark(
            rng.choice(_DISPATCH_NAMES),
            rng.randint(0, end),
            process=process,
            thread=thread,
            domain=rng.choice((0, 0, 1)),
            kind=rng.choice(("nvtx", "nvtx", "nvtxt")),
        )


def random_account_trace(rng: Random, version: str = "2025.3") -> TraceBuilder:
    """Draw a small trace in which launches, calls and ranges hang together as in a real one.

    Calls nest within each thread, and push/pop ranges within each thread and domain. No two calls, and no two
    push/pop ranges, of a thread have both ends in common. Operations follow from calls by process and
    correlation id; some begin before their call returns, some have no launch. Times are within some 10,000 ns.
    """
    drawing = _Drawing(rng, version)
    trace = drawing.trace
    end = rng.choice((600, 2500, 5000))
    for process in _PROCESSES:
        trace.process(process, f"worker {process}")
    for ordinal in drawing.devices:
        trace.gpu(ordinal, "NVIDIA Test GPU", processes=_PROCESSES)
    trace.domain(1, "lib", process=101, at=-50)
    for process in _PROCESSES:
        for thread in _THREADS:
            if rng.random() < 0.8:
                _draw_thread(drawing, end, process, thread)
    for _ in range(rng.randint(0, 5)):
        _draw_crossing(drawing, end)
    for _ in range(rng.randint(0, 4)):
        process, correlation = rng.choice(((101, 0), (202, None), (101, 9999), (_LOST_PROCESS, 1)))
        kind = rng.choice(("kernel", "kernel", "memcpy", "memset", "graph"))
        _draw_work(drawing, kind, rng.randint(-50, end + 800), process, correlation)
    if rng.random() < 0.3:
        start = rng.randint(0, end)
        where = drawing.where(rng.choice(_PROCESSES), 0)
        trace.memcpy(start, start + 60, **where, kind=rng.choice((11, 12, 13)), bytes=4096)
    if rng.random() < 0.2:
        late = end + rng.randint(3000, 4000)
        trace.kernel(late, late + 10, **drawing.where(101, rng.choice((0, 1))), name="late")
    if not drawing.backtraces and rng.random() < 0.2:
        trace.drop_columns(RUNTIME, "eventClass")
    return trace
