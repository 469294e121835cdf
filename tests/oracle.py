"""What a digest must say of a small trace, found by counting single nanoseconds.

A stretch of time is the set of its nanoseconds, so a union is a set union and a length is a set's size:
slow, and right at a glance. Only for traces that span some thousands of nanoseconds.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from builder import MarkKind, RangeKind, TraceBuilder

Record = dict[str, Any]

_READ = "SELECT * FROM {}"
_GPU_TABLES = {
    "kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "memset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
}
_RANGES = (59, 60, 70, 71)
_MARKS = (34, 65)
_DOMAIN_CREATE = 75
# The serial numbers that PyTorch's emit_nvtx puts behind an operator's name.
_SERIALS = re.compile(
    r"(, seq = -?[0-9]+|, op_id = -?[0-9]+|, sizes = \[[][()0-9, -]*\]"
    r"|, input_op_ids = \[[][()0-9, -]*\])+\Z"
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of GPU activity."""

    kind: str
    device: int
    process: int | None
    context: int | None
    stream: int | None
    start: int
    end: int

    def instants(self) -> set[int]:
        """Return the nanoseconds in which it ran: [start, end), none where end <= start."""
        return set(range(self.start, self.end))


@dataclass(frozen=True, slots=True)
class Annotation:
    """One NVTX mark or range; `end` is None for a mark, and an open range has been closed."""

    own_text: str
    name: str
    start: int
    end: int | None


def expected(
    path: Path, dispatch_prefix: str = "CG_DISPATCH", raw_nvtx_names: bool = False, top: int = 20
) -> dict[str, Any]:
    """Return the digest's numbers of a trace, in integer nanoseconds.

    The keys are the frozen ones without `file` and `notes`, with `_ns` for `_s`, then `devices` and
    `api_backtrace_rows`. Span, busy and idle are None where no GPU row has a length.
    """
    tables = _read_tables(path)
    operations = _operations(tables)
    busy = _union(operation.instants() for operation in operations)
    kernels = tables.get(_GPU_TABLES["kernel"], [])
    annotations = _annotations(tables, raw_nvtx_names)
    dispatches = sorted(
        (annotation.start, annotation.own_text)
        for annotation in annotations
        if annotation.own_text.startswith(dispatch_prefix)
    )
    return {
        "gpu_activity_span_ns": _span(busy),
        "gpu_busy_union_ns": _busy(busy),
        "gpu_idle_within_span_ns": _idle(busy),
        "kernel_count": len(kernels),
        "graph_node_kernel_count": sum(1 for kernel in kernels if kernel.get("graphNodeId")),
        "api": _api(tables),
        "nvtx": _nvtx(annotations, busy),
        "dispatch": _count([name for _, name in dispatches]),
        "dispatch_timeline": [[start, name] for start, name in dispatches],
        "top_kernels": _top_kernels(tables)[:top],
        "devices": _devices(operations),
        "api_backtrace_rows": len(_api_rows(tables, backtrace=True)),
    }


def _read_tables(path: Path) -> dict[str, list[Record]]:
    """Return every row of every table by the table's name."""
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        connection.row_factory = sqlite3.Row
        names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [dict(row) for row in connection.execute(_READ.format(name))] for name in names}


def _pid(global_id: int | None) -> int | None:
    """Return the process id in a globalPid or globalTid."""
    return None if global_id is None else (global_id >> 24) & 0xFFFFFF


def _text(tables: dict[str, list[Record]], string_id: int) -> str:
    """Return a string of the file, or a placeholder that shows the id of one that is missing."""
    for row in tables.get("StringIds", []):
        if row["id"] == string_id:
            return str(row["value"])
    return f"[string {string_id}]"


def _operations(tables: dict[str, list[Record]]) -> list[Operation]:
    """Return all GPU activity, zero-length and reversed rows included."""
    return [
        Operation(
            kind,
            row["deviceId"],
            _pid(row.get("globalPid")),
            row.get("contextId"),
            row.get("streamId"),
            row["start"],
            row["end"],
        )
        for kind, table in _GPU_TABLES.items()
        for row in tables.get(table, [])
    ]


def _union(sets: Iterable[set[int]]) -> set[int]:
    """Return what is in any of the sets."""
    return set().union(*sets)


def _count(names: list[str]) -> dict[str, int]:
    """Count equal names, in order of first appearance."""
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts


def _span(busy: set[int]) -> int | None:
    """Return last end minus first start."""
    return max(busy) + 1 - min(busy) if busy else None


def _busy(busy: set[int]) -> int | None:
    """Return the busy time, None where none was measured."""
    return len(busy) or None


def _idle(busy: set[int]) -> int | None:
    """Return the nanoseconds within the span that are not busy."""
    return len(set(range(min(busy), max(busy) + 1)) - busy) if busy else None


def _api_rows(tables: dict[str, list[Record]], *, backtrace: bool) -> list[Record]:
    """Return the runtime and driver calls, or the rows of all other event classes."""
    rows = tables.get("CUPTI_ACTIVITY_KIND_RUNTIME", [])
    return [row for row in rows if (row.get("eventClass", 0) not in (0, 1)) == backtrace]


def _ranked(totals: dict[str, list[int]]) -> list[tuple[str, list[int]]]:
    """Order names of [count, total] by most total, then by name."""
    return sorted(totals.items(), key=lambda item: (-item[1][1], item[0]))


def _totals(named: list[tuple[str, int]]) -> dict[str, list[int]]:
    """Return [count, total length] by name."""
    totals: dict[str, list[int]] = {}
    for name, length in named:
        entry = totals.setdefault(name, [0, 0])
        entry[0] += 1
        entry[1] += length
    return totals


def _length(start: int, end: int) -> int:
    """Return the length of [start, end), 0 where it is reversed."""
    return max(0, end - start)


def _api(tables: dict[str, list[Record]]) -> dict[str, list[int]]:
    """Return [calls, total] by name as recorded, most total first."""
    calls = _api_rows(tables, backtrace=False)
    named = [(_text(tables, row["nameId"]), _length(row["start"], row["end"])) for row in calls]
    return dict(_ranked(_totals(named)))


def _top_kernels(tables: dict[str, list[Record]]) -> list[list[Any]]:
    """Return [short name, [count, total]] of all kernels, most total first."""
    kernels = tables.get(_GPU_TABLES["kernel"], [])
    named = [(_text(tables, row["shortName"]), _length(row["start"], row["end"])) for row in kernels]
    return [[name, totals] for name, totals in _ranked(_totals(named))]


def _last_instant(tables: dict[str, list[Record]]) -> int | None:
    """Return the largest start or end among GPU activity, API calls and NVTX events."""
    names = [*_GPU_TABLES.values(), "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"]
    rows = [row for name in names for row in tables.get(name, [])]
    return max((time for row in rows for time in (row["start"], row["end"]) if time is not None), default=None)


def _own_text(tables: dict[str, list[Record]], row: Record) -> str:
    """Return the text of an NVTX row: the registered one, else the inline one, else none."""
    text_id = row.get("textId")
    if text_id is not None:
        return _text(tables, text_id)
    return row.get("text") or ""


def _domain(tables: dict[str, list[Record]], row: Record) -> str:
    """Return the name of an NVTX row's domain, "" for the default one.

    Its name is the text of the first domain-create row with the same process and domain id.
    """
    domain_id = row.get("domainId")
    if not domain_id:
        return ""
    creations = [
        (creation["start"], _own_text(tables, creation))
        for creation in tables["NVTX_EVENTS"]
        if creation["eventType"] == _DOMAIN_CREATE
        and creation["domainId"] == domain_id
        and _pid(creation.get("globalTid")) == _pid(row.get("globalTid"))
    ]
    return min(creations)[1] if creations else ""


def _annotations(tables: dict[str, list[Record]], raw_names: bool) -> list[Annotation]:
    """Return every NVTX mark and range, under its name with the domain in front."""
    last = _last_instant(tables)
    annotations: list[Annotation] = []
    for row in tables.get("NVTX_EVENTS", []):
        if row["eventType"] not in (*_RANGES, *_MARKS):
            continue
        text = _own_text(tables, row)
        text = text if raw_names else _SERIALS.sub("", text)
        domain = _domain(tables, row)
        name = f"{domain}:{text}" if domain else text
        end = None
        if row["eventType"] in _RANGES:
            end = last if row["end"] is None else row["end"]
        annotations.append(Annotation(text, name, row["start"], end))
    return annotations


def _nvtx(annotations: list[Annotation], busy: set[int]) -> dict[str, dict[str, int]]:
    """Return the numbers of the ranges of each name, in order of first start, then name."""
    ranges = [(a.start, a.name, a.end) for a in annotations if a.end is not None]
    names = _count([name for _, name, _ in sorted(ranges)])
    result: dict[str, dict[str, int]] = {}
    for name, count in names.items():
        stretches = [(start, end) for start, other, end in ranges if other == name]
        union = _union(set(range(start, end)) for start, end in stretches)
        result[name] = {
            "count": count,
            "sum_ns": sum(_length(start, end) for start, end in stretches),
            "union_ns": len(union),
            "gpu_overlap_ns": len(union & busy),
        }
    return result


def _devices(operations: list[Operation]) -> list[dict[str, Any]]:
    """Return one object a device that has any GPU row, in order of the device."""
    devices = sorted({operation.device for operation in operations})
    return [_device(device, [o for o in operations if o.device == device]) for device in devices]


def _device(device: int, operations: list[Operation]) -> dict[str, Any]:
    """Return the numbers of one device; streams and processes in order, one without a pid first."""
    busy = _union(operation.instants() for operation in operations)
    of_kind = {kind: [o for o in operations if o.kind == kind] for kind in _GPU_TABLES}
    streams = {(o.process, o.context, o.stream) for o in operations}
    return {
        "device": device,
        "span_ns": _span(busy),
        "busy_ns": _busy(busy),
        "idle_ns": _idle(busy),
        "union_ns": {kind: len(_union(o.instants() for o in rows)) for kind, rows in of_kind.items()},
        "sum_ns": {kind: sum(len(o.instants()) for o in rows) for kind, rows in of_kind.items()},
        "count": {kind: len(rows) for kind, rows in of_kind.items()},
        "streams": [_stream(key, operations) for key in sorted(streams, key=_none_first)],
        "processes": sorted({o.process for o in operations if o.process is not None}),
    }


def _none_first(key: tuple[int | None, ...]) -> list[tuple[bool, int]]:
    """Return a key that sorts integers, with None before all of them."""
    return [(part is not None, part or 0) for part in key]


def _stream(key: tuple[int | None, ...], operations: list[Operation]) -> dict[str, Any]:
    """Return the numbers of one stream of a device; the key is (process, context, stream)."""
    mine = [o for o in operations if (o.process, o.context, o.stream) == key]
    return {
        "process": key[0],
        "context": key[1],
        "stream": key[2],
        "busy_ns": len(_union(o.instants() for o in mine)),
        "count": len(mine),
    }


_PROCESSES = (101, 202, 303)
_OWN_STRINGS = {900: "gemm", 901: "gemm", 902: "step", 903: "step", 904: "cudaLaunchKernel_v7000"}
_MISSING_STRING = 999
_KERNEL_NAMES: tuple[str | int, ...] = ("k", "gemm", "reduce", "élan", 900, 901, _MISSING_STRING)
_API_NAMES: tuple[str | int, ...] = (
    "cudaLaunchKernel_v7000",
    "cuLaunchKernelEx",
    "cudaGraphLaunch_v10000",
    "cudaStreamSynchronize_v3020",
    "cuGetProcAddress_v2",
    904,
    _MISSING_STRING,
)
_NVTX_NAMES: tuple[str | int | None, ...] = (
    "step",
    902,
    903,
    "lib:step",
    "élan",
    "",
    None,
    "aten::mul",
    "aten::mul, seq = 5",
    "aten::mul, seq = 6, op_id = 12",
    "aten::mul, op_id = 13, sizes = [[2, 3], []], input_op_ids = [(12,0), (5,1)]",
    "seq = 5",
    "aten::add, seq = 5, then more",
    "CG_DISPATCH actual=3 mode=FULL padded=4",
    "CG_DISPATCH actual=1 mode=NONE padded=1",
    "CG_DISPATCH, seq = 7",
    "not CG_DISPATCH",
    _MISSING_STRING,
)
_RANGE_KINDS: tuple[RangeKind, ...] = ("pushpop", "pushpop", "startend", "nvtxt_pushpop", "nvtxt_startend")
_MARK_KINDS: tuple[MarkKind, ...] = ("nvtx", "nvtx", "nvtxt")


def _interval(rng: Random) -> tuple[int, int]:
    """Draw a start and an end: mostly forward, at times of no length or reversed."""
    start = rng.randint(-50, 2700)
    length = rng.choice((rng.randint(1, 20), rng.randint(1, 300), rng.randint(1, 300), 0, -rng.randint(1, 40)))
    return start, start + length


def _random_gpu(rng: Random, trace: TraceBuilder) -> None:
    """Add one GPU operation of any kind."""
    start, end = _interval(rng)
    where = {
        "device": rng.choice((0, 0, 1, 3)),
        "context": rng.choice((1, 1, 2)),
        "stream": rng.choice((7, 7, 13)),
        "process": rng.choice(_PROCESSES),
        "correlation": rng.randint(0, 9),
    }
    node = rng.choice((None, 0, 4_294_967_297))
    kind = rng.choice(("kernel", "kernel", "kernel", "memcpy", "memset", "graph"))
    if kind == "kernel":
        trace.kernel(start, end, **where, name=rng.choice(_KERNEL_NAMES), graph_node=node)
    elif kind == "memcpy":
        trace.memcpy(start, end, **where, kind=rng.choice((1, 2, 8, 10, 11)), graph_node=node)
    elif kind == "memset":
        trace.memset(start, end, **where, graph_node=node)
    else:
        trace.graph(start, end, **where)


def _random_api(rng: Random, trace: TraceBuilder) -> None:
    """Add one CUDA call, at times as the copy that a backtrace makes of it."""
    start, end = _interval(rng)
    trace.api(
        rng.choice(_API_NAMES),
        start,
        end,
        process=rng.choice(_PROCESSES),
        thread=rng.choice((1, 2)),
        correlation=rng.randint(0, 9),
        event_class=rng.choice((0, 0, 1, 67)),
    )


def _random_nvtx(rng: Random, trace: TraceBuilder) -> None:
    """Add one NVTX range, open at times, or one mark."""
    name = rng.choice(_NVTX_NAMES)
    process = rng.choice(_PROCESSES)
    thread = rng.choice((1, 2))
    domain = rng.choice((0, 0, 0, None, 1, 2, 5))
    registered = rng.random() < 0.4
    start, end = _interval(rng)
    if rng.random() < 0.25:
        mark_kind = rng.choice(_MARK_KINDS)
        trace.mark(
            name,
            start,
            process=process,
            thread=thread,
            domain=domain,
            registered=registered,
            kind=mark_kind,
        )
    else:
        trace.range(
            name,
            start,
            None if rng.random() < 0.1 else end,
            process=process,
            thread=thread,
            domain=domain,
            registered=registered,
            kind=rng.choice(_RANGE_KINDS),
        )


def random_trace(rng: Random, version: str = "2025.3") -> TraceBuilder:
    """Draw a small trace in which everything that ids and times can do to a digest happens.

    Up to about 60 events between -50 and 3000 ns; any of GPU activity, calls and annotations may be
    absent. Domain 1 is another one in each process, domain 5 has no name, and process 303 names none.
    """
    trace = TraceBuilder(version, lazy=rng.random() < 0.7)
    for string_id, text in _OWN_STRINGS.items():
        trace.string(string_id, text)
    for ordinal in (0, 1, 3):
        trace.gpu(ordinal, "NVIDIA Test GPU", processes=_PROCESSES)
    for process in _PROCESSES:
        trace.process(process, f"worker {process}")
        trace.sync(*_interval(rng), process=process)
    if rng.random() < 0.85:
        trace.domain(1, "lib", process=101, at=-50).domain(1, "other", process=202, registered=True)
        trace.domain(2, "lib", process=202).domain(0, "never shown", process=101)
        trace.category(1, "CG_DISPATCH category", process=101).thread_name("main", process=101, nvtx=True)
        for _ in range(rng.randint(0, 24)):
            _random_nvtx(rng, trace)
    if rng.random() < 0.85:
        for _ in range(rng.randint(1, 24)):
            _random_gpu(rng, trace)
    if rng.random() < 0.85:
        for _ in range(rng.randint(1, 12)):
            _random_api(rng, trace)
    return trace
