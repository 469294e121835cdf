"""The event tables of an export and how each is read.

Tables are made lazily ("SQLite Export Schema Reference"), so a missing table means the same as an empty one. Columns
come and go between versions; what a table lacks is read as its absent value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.errors import NotATrace
from nsys_digest.trace.source import Column, Query, Source

STRINGS: Final = "StringIds"
API: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
NVTX: Final = "NVTX_EVENTS"
WAITS: Final = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
DIAGNOSTICS: Final = "DIAGNOSTIC_EVENT"
GPU_TABLES: Final[Mapping[str, str]] = {
    "kernel": "CUPTI_ACTIVITY_KIND_KERNEL",
    "memcpy": "CUPTI_ACTIVITY_KIND_MEMCPY",
    "memset": "CUPTI_ACTIVITY_KIND_MEMSET",
    "graph": "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",  # one row a launch, in place of its kernels, in graph mode
}
GPU_KINDS: Final = tuple(GPU_TABLES)

_SMALL_TABLES: Final = frozenset(
    {
        *(STRINGS, DIAGNOSTICS, "ANALYSIS_DETAILS", "EXPORT_META_DATA", "META_DATA_CAPTURE", "META_DATA_EXPORT"),
        *("PROCESSES", "TARGET_INFO_CUDA_DEVICE", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_GPU"),
    }
)

_FAMILY = re.compile(
    r"^(CUPTI_ACTIVITY_KIND_|NVTX_|TARGET_INFO_|META_DATA_|EXPORT_META_DATA|ANALYSIS_|OSRT_|PROFILER_OVERHEAD|"
    r"DIAGNOSTIC_EVENT|PROCESSES$|ProcessStreams$|ThreadNames$|ENUM_NSYS_|ENUM_CUDA_|CUDA_|SCHED_|GPU_METRICS)"
)

NEWEST_SCHEMA: Final = (3, 25)
"""The newest export schema (major, minor) that this version was checked against: nsys 2026.2."""

# ENUM_NSYS_EVENT_TYPE; the same numbers in every file that has the table (2022.4 to 2026.2).
NVTX_PUSH_POP_RANGES: Final = (59, 70)
NVTX_START_END_RANGES: Final = (60, 71)
NVTX_RANGES: Final = NVTX_PUSH_POP_RANGES + NVTX_START_END_RANGES
NVTX_MARKS: Final = (34, 65)
NVTX_DOMAIN_CREATE: Final = 75

# ENUM_NSYS_EVENT_CLASS: 0 CUDA runtime, 1 CUDA driver; 67 is a second row of a call, with its call chain.
API_CLASSES: Final = (0, 1)
API_RESULT: Final = "returnValue"

SEVERITIES: Final = {2: "warning", 3: "error"}

THREAD_BITS: Final = 0xFFFFFF
"""The bits of a globalTid that name the thread; without them it is the globalPid."""

OPEN: Final = -(2**63)
"""Stands for the end of a range that was open when the collection stopped."""
UNSIGNED_PAYLOAD: Final = "uint64_payload"
INT_PAYLOADS: Final[Mapping[str, str]] = {
    UNSIGNED_PAYLOAD: "uint64Value",
    "int64_payload": "int64Value",
    "uint32_payload": "uint32Value",
    "int32_payload": "int32Value",
}
FLOAT_PAYLOADS: Final[Mapping[str, str]] = {"double_payload": "doubleValue", "float_payload": "floatValue"}
"""The numbers that an event can carry; at most one of them is set."""
NO_FLOAT: Final = float("-inf")
NO_STRING: Final = -1
"""Stands for a text that is not registered."""


def process_of(global_id: int) -> int:
    """Return the process id in a globalPid or globalTid (bits 24 to 47; Analysis Guide, "Common SQLite Examples")."""
    return (global_id >> 24) & 0xFFFFFF


def processes_of(global_ids: Int64s) -> Int64s:
    """Return the process id in each globalPid or globalTid, shape (n,)."""
    return (global_ids >> 24) & 0xFFFFFF


def name_of(string_id: int, strings: Mapping[int, str]) -> str:
    """Return the text of a string id, also of one that the trace has no text for: it is called by its number."""
    return strings.get(string_id, "(unnamed)" if string_id == NO_STRING else f"[string {string_id}]")


def known_process_of(global_id: int) -> int | None:
    """Return the process id; None for 0, which stands for an export that does not name the process."""
    return process_of(global_id) if global_id else None


def check_is_trace(source: Source) -> None:
    """Raise :class:`NotATrace` unless the tables are those of an nsys export."""
    tables = source.tables()
    family = [name for name in tables if _FAMILY.match(name)]
    source.refuse_other(STRINGS)
    if family and STRINGS not in tables:
        raise NotATrace(
            f"{source.path}: this is {source.kind} of nsys, but table {STRINGS} is missing in it, which every export "
            f"has; copy it whole, or make one with: {source.made_by}"
        )
    if not family:
        shown = ", ".join(sorted(tables)[:4]) or "none"
        raise NotATrace(
            f"{source.path}: this is {source.kind}, but no nsys export (its tables: {shown}); make one with: "
            f"{source.made_by}"
        )


def find_table(source: Source, name: str) -> str | None:
    """Return the table of that name, or its newest numbered form (``NAME_V2``), or None."""
    tables = source.tables()
    if name in tables:
        return name
    source.refuse_other(name)
    numbered = [table for table in tables if re.fullmatch(re.escape(name) + r"_V[0-9]{1,9}", table)]
    return max(numbered, key=lambda table: int(table.rpartition("_V")[2]), default=None)


def _first_of(present: Iterable[str], names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in present), None)


KERNEL_NAME_COLUMNS: Final = ("shortName", "demangledName", "mangledName")
FULL_NAME_COLUMNS: Final = ("demangledName", "mangledName", "shortName")
NO_MEMORY_KIND: Final = -1

# ENUM_CUDA_MEMCPY_OPER and ENUM_CUDA_MEM_KIND; 11 to 13 are page migrations of unified memory, which no call launches.
COPY_KINDS: Final = {
    1: "HtoD", 2: "DtoH", 3: "HtoA", 4: "AtoH", 5: "AtoA", 6: "AtoD", 7: "DtoA", 8: "DtoD", 9: "HtoH", 10: "PtoP",
    11: "UVM HtoD", 12: "UVM DtoH", 13: "UVM DtoD",
}  # fmt: skip
MIGRATION_KINDS: Final = frozenset({11, 12, 13})
"""Copy kinds of unified memory that the driver moves on its own: no call launches them."""
MEMORY_KINDS: Final = {
    0: "pageable",
    1: "pinned",
    2: "device",
    3: "array",
    4: "managed",
    5: "device static",
    6: "managed static",
}
_GPU_COLUMNS: Final = {
    "start_ns": "start",
    "end_ns": "end",
    "device": "deviceId",
    "context": "contextId",
    "stream": "streamId",
    "process": "globalPid",
}


def gpu_query(source: Source, kind: str, *, detail: bool = False) -> Query | None:
    """Return the columns of one kind of GPU activity; None without a table.

    ``graph_node`` is 0 for none, ``short_name`` of a kernel the id of its name. With ``detail`` come the correlation id
    (0 for none), the id of a kernel's full name, the kind of a copy, the kinds of memory it is from and to, the
    bytes of a copy or set, and the id of the executable graph of a graph launch (0 for none).
    """
    table = find_table(source, GPU_TABLES[kind])
    if table is None:
        return None
    present = source.tables()[table]
    columns = {name: Column(theirs) for name, theirs in _GPU_COLUMNS.items()}
    columns["graph_node"] = Column("graphNodeId")
    if kind == "kernel":
        columns["short_name"] = Column(_first_of(present, KERNEL_NAME_COLUMNS), NO_STRING)
    if detail:
        columns["correlation"] = Column("correlationId")
        columns |= _GPU_DETAIL[kind](present)
    return Query(table, columns)


_GPU_DETAIL: Final[Mapping[str, Callable[[Iterable[str]], dict[str, Column]]]] = {
    "kernel": lambda present: {"full_name": Column(_first_of(present, FULL_NAME_COLUMNS), NO_STRING)},
    "memcpy": lambda _: {
        "copy_kind": Column("copyKind"),
        "source_kind": Column("srcKind", NO_MEMORY_KIND),
        "destination_kind": Column("dstKind", NO_MEMORY_KIND),
        "bytes": Column("bytes"),
    },
    "memset": lambda _: {"bytes": Column("bytes")},
    "graph": lambda present: {"graph": Column(_first_of(present, ("graphExecId", "graphId")))},
}


def api_query(source: Source, *, detail: bool = False) -> Query | None:
    """Return the columns of CUDA API calls; None without a table.

    ``name`` is the id of the name. The return value is a ``cudaError_t`` or ``CUresult``, 0 for success and where the
    export does not say. With ``detail`` comes the correlation id (0 for none).
    """
    table = find_table(source, API)
    if table is None:
        return None
    columns = {
        "start_ns": Column("start"),
        "end_ns": Column("end"),
        "name": Column("nameId", NO_STRING),
        "event_class": Column("eventClass", API_CLASSES[0]),
        "thread": Column("globalTid"),
        "return_value": Column(API_RESULT),
    }
    if detail:
        columns["correlation"] = Column("correlationId")
    return Query(table, columns)


def nvtx_query(source: Source, *, detail: bool = False, payloads: bool = False) -> Query | None:
    """Return the columns of NVTX events; None without a table.

    ``string`` is the id of a registered text (``NO_STRING`` for none), ``text`` the inline one. The end is ``OPEN``
    where there is none. With ``detail`` comes the thread that ended a range (0 for the one that began it), with
    ``payloads`` the numbers that it may carry: ``OPEN`` or minus infinity for none.
    """
    table = find_table(source, NVTX)
    if table is None:
        return None
    columns = {
        "start_ns": Column("start"),
        "end_ns": Column("end", OPEN),
        "event_type": Column("eventType", NVTX_PUSH_POP_RANGES[0]),
        "string": Column("textId", NO_STRING),
        "domain": Column("domainId"),
        "thread": Column("globalTid"),
        "text": Column("text", ""),
    }
    if detail:
        columns["end_thread"] = Column("endGlobalTid")
    if payloads:
        columns |= {name: Column(theirs, OPEN) for name, theirs in INT_PAYLOADS.items()}
        columns |= {name: Column(theirs, NO_FLOAT) for name, theirs in FLOAT_PAYLOADS.items()}
    return Query(table, columns)


def wait_query(source: Source) -> Query | None:
    """Return process, correlation id, context, stream of every wait of the host; None without a table or one of these.

    Other columns mislead: ``syncType`` is numbered otherwise by each version, and ``deviceId`` is 0 for all.
    """
    table = find_table(source, WAITS)
    names = {"process": "globalPid", "correlation": "correlationId", "context": "contextId", "stream": "streamId"}
    if table is None or not set(names.values()) <= set(source.tables()[table]):
        return None
    return Query(table, {name: Column(theirs) for name, theirs in names.items()})


def gpu_tables(source: Source) -> list[str]:
    """Return the tables of GPU activity."""
    return [table for name in GPU_TABLES.values() if (table := find_table(source, name)) is not None]


def event_tables(source: Source) -> list[str]:
    """Return the tables whose rows bound the trace in time: GPU activity, API calls, NVTX events."""
    names = (*GPU_TABLES.values(), API, NVTX)
    return [table for name in names if (table := find_table(source, name)) is not None]


def is_read(source: Source, table: str) -> bool:
    """Tell whether a digest needs that table."""
    return table in _SMALL_TABLES or table in (*event_tables(source), find_table(source, WAITS))


def missing_columns(source: Source) -> dict[str, list[str]]:
    """Return the columns that every nsys version writes and this file lacks, by table: a cut-down export."""
    expected = {
        **dict.fromkeys(GPU_TABLES.values(), (*_GPU_COLUMNS.values(), "correlationId")),
        API: ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", API_RESULT),
        NVTX: ("start", "end", "eventType", "text", "globalTid", "textId", "domainId"),
    }
    missing = {}
    for name, columns in expected.items():
        table = find_table(source, name)
        if table is not None:
            lacking = [column for column in columns if column not in source.tables()[table]]
            if lacking:
                missing[table] = lacking
    return missing
