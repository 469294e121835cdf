"""Draw small Nsight Systems traces and write them as the SQLite files of one nsys age.

The column lists are those of real exports; nothing else of a real trace is in here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal, Self

Value = int | float | str | bytes | None
Row = dict[str, Value]
RangeKind = Literal["pushpop", "startend", "nvtxt_pushpop", "nvtxt_startend"]
MarkKind = Literal["nvtx", "nvtxt"]

VERSIONS = ("2021", "2022.2", "2023.3", "2025.3", "2026.1")
KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH_TRACE = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNCHRONIZATION = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
NVTX = "NVTX_EVENTS"
OS_CALLS = "OSRT_API"
SCHEDULING = "SCHED_EVENTS"
SAMPLES = "COMPOSITE_EVENTS"
CALL_STACKS = "SAMPLING_CALLCHAINS"

# Hardware id 1 (bits 56 to 63) and VM id 1 (bits 48 to 55): global ids that no double can hold.
_MACHINE = (1 << 56) | (1 << 48)
_RANGE_TYPES: dict[RangeKind, int] = {
    "pushpop": 59,
    "startend": 60,
    "nvtxt_pushpop": 70,
    "nvtxt_startend": 71,
}
_MARK_TYPES: dict[MarkKind, int] = {"nvtx": 34, "nvtxt": 65}

_RELEASES = {
    "2022.2": ("2022.2.1.31", "2.9.1"),
    "2023.3": ("2023.3.1.92", "3.4.0"),
    "2025.3": ("2025.3.2.0", "3.20.3"),
    "2026.1": ("2026.1.3.425", "3.24.18"),
}

# A column is NAME[:TYPE][!][>=FIRST VERSION][<END VERSION]; INTEGER is the type left out, ! is NOT NULL.
# A table is a key of the same form. Versions compare as text.
_OPERATION = "start! end! deviceId! contextId! greenContextId>=2025.3 streamId! correlationId globalPid "
_TABLES: dict[str, str] = {
    "StringIds": "id! value:TEXT!",
    "ProcessStreams": "globalPid! filenameId! contentId!",
    "TARGET_INFO_SESSION_START_TIME>=2022.2": ("utcEpochNs utcTime:TEXT localTime:TEXT systemClockNs>=2026.1"),
    "ANALYSIS_DETAILS>=2022.2": "globalVid! duration! startTime! stopTime!",
    "PROCESSES>=2022.2": "globalPid pid name:TEXT",
    "DIAGNOSTIC_EVENT>=2025.3": "timestamp! timestampType! source! severity! text:TEXT! globalPid",
    "PROFILER_OVERHEAD": (
        "start! end! globalTid correlationId<2022.2 nameId! returnValue!<2026.1 overheadType!>=2026.1"
    ),
    "CUPTI_ACTIVITY_KIND_OVERHEAD>=2026.1": ("start! end! eventClass! globalTid correlationId nameId overheadType!"),
    OS_CALLS: "start! end! eventClass! globalTid nameId! returnValue! nestingLevel callchainId!",
    SCHEDULING: "start! cpu! isSchedIn! globalTid threadState>=2025.3 threadBlock>=2025.3",
    SAMPLES: "id! start! cpu threadState globalTid cpuCycles!",
    CALL_STACKS: (
        "id! symbol! module! kernelMode thumbCode unresolved specialEntry originalIP unwindMethod stackDepth!"
    ),
    NVTX: (
        "start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId "
        "uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId "
        "jsonText:TEXT binaryData:TEXT>=2025.3"
    ),
    RUNTIME: "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId",
    KERNEL: (
        _OPERATION + "demangledName! shortName! mangledName>=2022.2 launchType cacheConfig "
        "registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! "
        "dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! sharedMemoryExecuted "
        "graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone>=2026.1 qmdPreexitDone>=2026.1 "
        "qmdLastCtaDone>=2026.1 graphId>=2026.1 clusterX>=2026.1 clusterY>=2026.1 clusterZ>=2026.1 "
        "clusterSchedulingPolicy>=2026.1 maxPotentialClusterSize>=2026.1 maxActiveClusters>=2026.1 "
        "sharedMemoryRequestedPercentage>=2026.1 tensorSizeMinusOneElements:TEXT!>=2026.1"
    ),
    MEMCPY: (
        _OPERATION + "bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId "
        "dstDeviceId dstContextId migrationCause graphNodeId virtualAddress>=2022.2 copyCount>=2025.3"
    ),
    MEMSET: _OPERATION + "value! bytes! graphNodeId memKind",
    GRAPH_TRACE + ">=2022.2": _OPERATION + "graphId! graphExecId!",
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": "start! globalPid address! originalFaultPc module sourceFile sourceLine",
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": "start! end! globalPid deviceId! address! numberOfPageFaults! faultAccessType!",
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": (
        "timestamp>=2026.1 deviceId! contextId! greenContextId>=2025.3 streamId! correlationId globalPid eventId! "
        "eventSyncId>=2025.3"
    ),
    SYNCHRONIZATION: _OPERATION + "deprecatedSyncType>=2025.3 syncType! eventId! eventSyncId>=2025.3",
    "CUDA_GRAPH_EVENTS>=2025.3": ("start! end! eventClass! globalTid nameId! graphId originalGraphId graphExecId"),
    "CUDA_GRAPH_NODE_EVENTS>=2025.3": ("start! end! eventClass! globalTid nameId! graphNodeId! originalGraphNodeId"),
    "ThreadNames": "nameId! priority globalTid",
    "TARGET_INFO_CUDA_GPU<2022.2": (
        "vmId! name:TEXT! pciBusId:TEXT globalMemoryBandwidth! globalMemorySize! constantMemorySize! "
        "l2CacheSize! numThreadsPerWarp! coreClockRate! numMemcpyEngines! numMultiprocessors! maxIPC! "
        "maxWarpsPerMultiprocessor! maxBlocksPerMultiprocessor! maxRegistersPerBlock! "
        "maxSharedMemoryPerBlock! maxThreadsPerBlock! maxBlockDimX! maxBlockDimY! maxBlockDimZ! "
        "maxGridDimX! maxGridDimY! maxGridDimZ! computeCapabilityMajor! computeCapabilityMinor! deviceId! "
        "pid maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor"
    ),
    "TARGET_INFO_GPU": (
        "vmId! deviceId!<2022.2 id!>=2022.2 name:TEXT busLocation:TEXT isDiscrete l2CacheSize>=2022.2 "
        "totalMemory>=2022.2 memoryBandwidth>=2022.2 clockRate>=2022.2 smCount>=2022.2 pwGpuId>=2022.2 "
        "uuid:TEXT>=2022.2 luid>=2022.2 chipName:TEXT>=2022.2 cuDevice>=2022.2 ctxswDevPath:TEXT>=2022.2 "
        "ctrlDevPath:TEXT>=2022.2 revision>=2022.2 nodeMask>=2022.2 constantMemory>=2022.2 maxIPC>=2022.2 "
        "maxRegistersPerBlock>=2022.2 maxShmemPerBlock>=2022.2 maxShmemPerBlockOptin>=2022.2 "
        "maxShmemPerSm>=2022.2 maxRegistersPerSm>=2022.2 threadsPerWarp>=2022.2 asyncEngines>=2022.2 "
        "maxWarpsPerSm>=2022.2 maxBlocksPerSm>=2022.2 maxThreadsPerBlock>=2022.2 maxBlockDimX>=2022.2 "
        "maxBlockDimY>=2022.2 maxBlockDimZ>=2022.2 maxGridDimX>=2022.2 maxGridDimY>=2022.2 "
        "maxGridDimZ>=2022.2 computeMajor>=2022.2 computeMinor>=2022.2 smMajor>=2022.2 smMinor>=2022.2"
    ),
    "TARGET_INFO_CUDA_DEVICE>=2025.3": ("gpuId cudaId! pid! uuid:TEXT>=2026.1 numMultiprocessors>=2026.1"),
    "ENUM_NSYS_EVENT_TYPE>=2023.3": "id! name:TEXT label:TEXT",
    "ENUM_NSYS_EVENT_CLASS>=2023.3": "id! name:TEXT label:TEXT",
    "ENUM_CUDA_MEMCPY_OPER>=2023.3": "id! name:TEXT label:TEXT",
    "ENUM_CUDA_MEM_KIND>=2023.3": "id! name:TEXT label:TEXT",
    "META_DATA_CAPTURE>=2023.3": "name:TEXT! value:TEXT",
    "META_DATA_EXPORT>=2023.3": "name:TEXT! value:TEXT",
    "EXPORT_META_DATA>=2022.2<2023.3": "name:TEXT! value:TEXT",
}

# The rows of the ENUM tables that say what the drawn events are: id -> (name, label).
_ENUMS: dict[str, dict[int, tuple[str, str]]] = {
    "ENUM_NSYS_EVENT_TYPE": {
        number: (name, name)
        for number, name in {
            33: "NvtxCategory",
            34: "NvtxMark",
            39: "NvtxThread",
            59: "NvtxPushPopRange",
            60: "NvtxStartEndRange",
            65: "NvtxtMark",
            70: "NvtxtPushPopRange",
            71: "NvtxtStartEndRange",
            75: "NvtxDomainCreate",
        }.items()
    },
    "ENUM_NSYS_EVENT_CLASS": {
        0: ("TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"),
        1: ("TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"),
        67: ("TRACE_PROCESS_EVENT_CUDABACKTRACE", "CUDA backtrace"),
    },
    "ENUM_CUDA_MEMCPY_OPER": {
        1: ("CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        2: ("CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        8: ("CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
        10: ("CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer"),
        11: ("CUDA_MEMCPY_KIND_UVM_HTOD", "Unified Host-to-Device"),
        12: ("CUDA_MEMCPY_KIND_UVM_DTOH", "Unified Device-to-Host"),
    },
    "ENUM_CUDA_MEM_KIND": {
        0: ("CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        1: ("CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        2: ("CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
        4: ("CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed"),
    },
}

_ALWAYS_WRITTEN = frozenset({"StringIds", "ProcessStreams", *_ENUMS})
_INSERT = "INSERT INTO {} VALUES ({})"


def global_pid(process: int) -> int:
    """Return the globalPid of a process id: machine bits, then the pid in bits 24 to 47."""
    return _MACHINE | process << 24


def global_tid(process: int, thread: int) -> int:
    """Return the globalTid of a thread: the globalPid with the thread id in bits 0 to 23."""
    return global_pid(process) | thread


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table as its CREATE TABLE text declares it."""

    name: str
    type: str
    not_null: bool

    def declaration(self) -> str:
        """Return the text that declares the column."""
        return f"{self.name} {self.type}{' NOT NULL' if self.not_null else ''}"

    def default(self) -> Value:
        """Return what stands for a value that was not given: NULL where it may."""
        if not self.not_null:
            return None
        if self.name == "tensorSizeMinusOneElements":
            return "[]"
        return "" if self.type == "TEXT" else 0


def _parse(token: str, version: str) -> tuple[str, bool]:
    """Split the versions off a token; the flag says whether the version has what it names."""
    token, _, end = token.partition("<")
    token, _, first = token.partition(">=")
    return token, first <= version and (not end or version < end)


@cache
def columns_of(table: str, version: str) -> tuple[Column, ...]:
    """Return the columns of a table in one version, in their order; none where it has no such table."""
    columns: list[Column] = []
    for key, tokens in _TABLES.items():
        name, present = _parse(key, version)
        if name != table or not present:
            continue
        for token in tokens.split():
            text, present = _parse(token, version)
            bare, _, kind = text.rstrip("!").partition(":")
            # The oldest exports hold 0 where later ones hold NULL.
            zeroed = version < "2022.2" and bare in {"graphNodeId", "correlationId"}
            if present:
                columns.append(Column(bare, kind or "INTEGER", text.endswith("!") or zeroed))
    return tuple(columns)


def tables_of(version: str) -> tuple[str, ...]:
    """Return the tables that a version knows, in the order in which they are written."""
    return tuple(name for name, present in (_parse(key, version) for key in _TABLES) if present)


@cache
def _known_columns(table: str) -> set[str]:
    """Return the names of the columns that a table has in any version."""
    return {column.name for version in VERSIONS for column in columns_of(table, version)}


class TraceBuilder:
    """A trace to be: each method adds an event or a fact and returns the builder, `write` makes the file.

    Times are nanoseconds on the trace's clock, `process` is a pid, `thread` a thread id. A name is text,
    or an integer for a row of StringIds that the test made itself with `string`, or that is missing.
    Further keyword arguments set columns by their own names. What an nsys of the chosen version could
    not record (a table or column that it did not have) is left out of the file.
    """

    def __init__(self, version: str = "2025.3", *, lazy: bool = True) -> None:
        """Choose one of VERSIONS; with `lazy` a table without rows is missing, else it is empty."""
        if version not in VERSIONS:
            raise ValueError(f"version {version!r} is not one of {', '.join(VERSIONS)}")
        self.version = version
        self.lazy = lazy
        self._rows: dict[str, list[Row]] = {}
        self._strings: dict[int, str] = {}
        self._string_ids: dict[str, int] = {}
        self._range_count = 0
        self._dropped_columns: dict[str, set[str]] = {}
        self._dropped_tables: set[str] = set()
        self._sql: list[str] = []
        self._export_meta: dict[str, str | None] = {}
        if version in _RELEASES:
            product, schema = _RELEASES[version]
            lazy_key = "EXPORT_LAZY" if version < "2023.3" else "EXPORT_PARAM_LAZY"
            self._export_meta = {
                "EXPORT_PRODUCT_VERSION": product,
                "EXPORT_SCHEMA_VERSION": schema,
                lazy_key: str(lazy).lower(),
            }

    def row(self, table: str, **values: Value) -> Self:
        """Add a row to any known table; a column that no version of the table has is a ValueError."""
        unknown = values.keys() - _known_columns(table)
        if unknown:
            raise ValueError(f"no version of {table} has a column {', '.join(sorted(unknown))}")
        self._rows.setdefault(table, []).append(values)
        return self

    def string(self, string_id: int, value: str) -> Self:
        """Add a row to StringIds under an id of the test's own; values may repeat."""
        if string_id in self._strings:
            raise ValueError(f"string id {string_id} is in use")
        self._strings[string_id] = value
        return self

    def _string_id(self, name: str | int) -> int:
        """Return the id of a text, new where needed; an integer is an id already."""
        if isinstance(name, int):
            return name
        if name not in self._string_ids:
            fresh = next(number for number in range(1, len(self._strings) + 2) if number not in self._strings)
            self._strings[fresh] = name
            self._string_ids[name] = fresh
        return self._string_ids[name]

    def kernel(
        self,
        start: int,
        end: int,
        *,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        process: int = 1,
        correlation: int | None = 1,
        name: str | int = "k",
        demangled: str | int | None = None,
        graph_node: int | None = None,
        **columns: Value,
    ) -> Self:
        """Add a kernel; `name` is its short name, and its demangled one where none is given."""
        row: Row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": context,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_pid(process),
            "shortName": self._string_id(name),
            "demangledName": self._string_id(name if demangled is None else demangled),
            "graphNodeId": graph_node,
        }
        return self.row(KERNEL, **(row | columns))

    def memcpy(
        self,
        start: int,
        end: int,
        *,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        process: int = 1,
        correlation: int | None = 1,
        kind: int = 1,
        bytes: int = 1024,
        source_kind: int | None = None,
        destination_kind: int | None = None,
        graph_node: int | None = None,
        **columns: Value,
    ) -> Self:
        """Add a copy; `kind` is its copyKind (1 host to device, 2 device to host, 8 device to device)."""
        row: Row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": context,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_pid(process),
            "bytes": bytes,
            "copyKind": kind,
            "srcKind": source_kind,
            "dstKind": destination_kind,
            "graphNodeId": graph_node,
            "copyCount": 1,
        }
        return self.row(MEMCPY, **(row | columns))

    def memset(
        self,
        start: int,
        end: int,
        *,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        process: int = 1,
        correlation: int | None = 1,
        bytes: int = 1024,
        graph_node: int | None = None,
        **columns: Value,
    ) -> Self:
        """Add a memory set."""
        row: Row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": context,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_pid(process),
            "bytes": bytes,
            "graphNodeId": graph_node,
        }
        return self.row(MEMSET, **(row | columns))

    def graph(
        self,
        start: int,
        end: int,
        *,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        process: int = 1,
        correlation: int | None = 1,
        graph: int = 1,
        graph_exec: int = 1,
        **columns: Value,
    ) -> Self:
        """Add the run of a whole CUDA graph, as traced in graph mode."""
        row: Row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": context,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_pid(process),
            "graphId": graph,
            "graphExecId": graph_exec,
        }
        return self.row(GRAPH_TRACE, **(row | columns))

    def sync(
        self,
        start: int,
        end: int,
        *,
        kind: int = 3,
        device: int = 0,
        context: int = 1,
        stream: int = 7,
        process: int = 1,
        correlation: int | None = 1,
        **columns: Value,
    ) -> Self:
        """Add a wait of the host; `kind` is its syncType (1 event, 2 stream wait, 3 stream, 4 context)."""
        row: Row = {
            "start": start,
            "end": end,
            "deviceId": device,
            "contextId": context,
            "streamId": stream,
            "correlationId": correlation,
            "globalPid": global_pid(process),
            "syncType": kind,
        }
        return self.row(SYNCHRONIZATION, **(row | columns))

    def api(
        self,
        name: str | int,
        start: int,
        end: int,
        *,
        process: int = 1,
        thread: int = 1,
        correlation: int | None = 1,
        event_class: int = 0,
        **columns: Value,
    ) -> Self:
        """Add a CUDA call; event class 0 is the runtime, 1 the driver, 67 a backtrace copy."""
        row: Row = {
            "start": start,
            "end": end,
            "eventClass": event_class,
            "globalTid": global_tid(process, thread),
            "correlationId": correlation,
            "nameId": self._string_id(name),
        }
        return self.row(RUNTIME, **(row | columns))

    def os_call(self, name: str | int, start: int, end: int, *, process: int = 1, thread: int = 1) -> Self:
        """Add a call of the OS runtime libraries."""
        return self.row(
            OS_CALLS,
            start=start,
            end=end,
            eventClass=27,
            globalTid=global_tid(process, thread),
            nameId=self._string_id(name),
        )

    def scheduled(self, at: int, *, on: bool, process: int = 1, thread: int = 1) -> Self:
        """Say that a thread came onto a CPU, or left it."""
        return self.row(SCHEDULING, start=at, cpu=0, isSchedIn=int(on), globalTid=global_tid(process, thread))

    def sample(self, at: int, frames: Sequence[tuple[str | None, str]], *, process: int = 1, thread: int = 1) -> Self:
        """Add a sampled call stack: function and module of each frame, what ran first; None is but an address."""
        number = len(self._rows.get(SAMPLES, [])) + 1
        self.row(SAMPLES, id=number, start=at, globalTid=global_tid(process, thread))
        for depth, (function, module) in enumerate(frames):
            self.row(
                CALL_STACKS,
                id=number,
                stackDepth=depth,
                symbol=self._string_id(function or f"0x7f{depth:04x}"),
                module=self._string_id(module),
                unresolved=None if function else 1,
            )
        return self

    def overhead(
        self,
        name: str | int,
        start: int,
        end: int,
        *,
        process: int = 1,
        thread: int = 1,
        kind: int | None = None,
        driver: bool = False,
    ) -> Self:
        """Add a row of overhead: of nsys itself, or of the CUDA driver; `kind` is its overheadType."""
        row: Row = {
            "start": start,
            "end": end,
            "globalTid": global_tid(process, thread),
            "nameId": self._string_id(name),
            "overheadType": kind,
        }
        return self.row("CUPTI_ACTIVITY_KIND_OVERHEAD" if driver else "PROFILER_OVERHEAD", **row)

    def _nvtx(
        self,
        event_type: int,
        name: str | int | None,
        start: int,
        end: int | None,
        *,
        process: int,
        thread: int,
        domain: int | None,
        registered: bool,
        columns: Row,
    ) -> Self:
        """Add an NVTX row whose text is inline, or an id into StringIds where it is registered."""
        by_id = registered or isinstance(name, int)
        row: Row = {
            "start": start,
            "end": end,
            "eventType": event_type,
            "globalTid": global_tid(process, thread),
            "domainId": domain,
            "text": None if by_id else name,
            "textId": self._string_id(name) if by_id and name is not None else None,
        }
        return self.row(NVTX, **(row | columns))

    def range(
        self,
        name: str | int | None,
        start: int,
        end: int | None,
        *,
        process: int = 1,
        thread: int = 1,
        domain: int | None = 0,
        registered: bool = False,
        kind: RangeKind = "pushpop",
        end_thread: int | None = None,
        **columns: Value,
    ) -> Self:
        """Add an NVTX range; an end of None is a range still open when the capture stopped."""
        if kind.endswith("startend"):
            self._range_count += 1
            columns = {"rangeId": self._range_count} | columns
        if end_thread is not None:
            columns = {"endGlobalTid": global_tid(process, end_thread)} | columns
        return self._nvtx(
            _RANGE_TYPES[kind],
            name,
            start,
            end,
            process=process,
            thread=thread,
            domain=domain,
            registered=registered,
            columns=columns,
        )

    def mark(
        self,
        name: str | int | None,
        at: int,
        *,
        process: int = 1,
        thread: int = 1,
        domain: int | None = 0,
        registered: bool = False,
        kind: MarkKind = "nvtx",
        **columns: Value,
    ) -> Self:
        """Add an NVTX mark."""
        return self._nvtx(
            _MARK_TYPES[kind],
            name,
            at,
            None,
            process=process,
            thread=thread,
            domain=domain,
            registered=registered,
            columns=columns,
        )

    def domain(
        self,
        domain_id: int,
        name: str | int | None,
        *,
        process: int = 1,
        thread: int = 1,
        at: int = 0,
        registered: bool = False,
    ) -> Self:
        """Add the row that names an NVTX domain of one process."""
        return self._nvtx(
            75,
            name,
            at,
            None,
            process=process,
            thread=thread,
            domain=domain_id,
            registered=registered,
            columns={},
        )

    def category(
        self,
        category_id: int,
        name: str | int,
        *,
        process: int = 1,
        thread: int = 1,
        domain: int = 0,
        at: int = 0,
        registered: bool = False,
    ) -> Self:
        """Add the row that names an NVTX category of one domain."""
        return self._nvtx(
            33,
            name,
            at,
            None,
            process=process,
            thread=thread,
            domain=domain,
            registered=registered,
            columns={"category": category_id},
        )

    def thread_name(self, name: str, *, process: int = 1, thread: int = 1, nvtx: bool = False, at: int = 0) -> Self:
        """Name a thread: a row of ThreadNames, or with `nvtx` an NVTX thread name row at a time."""
        if nvtx:
            return self._nvtx(
                39, name, at, None, process=process, thread=thread, domain=0, registered=False, columns={}
            )
        return self.row("ThreadNames", nameId=self._string_id(name), globalTid=global_tid(process, thread))

    def diagnostic(
        self, text: str, severity: int = 2, *, at: int = 0, source: int = 1, process: int | None = None
    ) -> Self:
        """Add a message of nsys itself; severity 1 is info, 2 warning, 3 error, 4 verbose."""
        return self.row(
            "DIAGNOSTIC_EVENT",
            timestamp=at,
            timestampType=1,
            source=source,
            severity=severity,
            text=text,
            globalPid=None if process is None else global_pid(process),
        )

    def gpu(
        self,
        ordinal: int,
        name: str,
        *,
        uuid: str | None = None,
        id: int | None = None,
        cu_device: int | None = None,
        processes: Sequence[int] = (1,),
        **columns: Value,
    ) -> Self:
        """Add a GPU that the processes see under a CUDA ordinal.

        `id` (its row in TARGET_INFO_GPU) and `cu_device` are the ordinal where they are not given. The
        mapping of each process is a row of TARGET_INFO_CUDA_DEVICE, or of TARGET_INFO_CUDA_GPU in 2021.
        """
        gpu_id = ordinal if id is None else id
        row: Row = {
            "vmId": _MACHINE,
            "id": gpu_id,
            "deviceId": gpu_id,
            "name": name,
            "isDiscrete": 1,
            "uuid": uuid,
            "cuDevice": ordinal if cu_device is None else cu_device,
        }
        self.row("TARGET_INFO_GPU", **(row | columns))
        for process in processes:
            self.row("TARGET_INFO_CUDA_DEVICE", gpuId=gpu_id, cudaId=ordinal, pid=process, uuid=uuid)
            self.row("TARGET_INFO_CUDA_GPU", vmId=_MACHINE, deviceId=ordinal, pid=process, name=name)
        return self

    def process(self, pid: int, name: str) -> Self:
        """Add a process to the list of those of the machine."""
        return self.row("PROCESSES", globalPid=global_pid(pid), pid=pid, name=name)

    def session(self, duration: int, *, utc_epoch: int = 1_700_000_000_000_000_000) -> Self:
        """Say how long the session was and when, in nanoseconds since 1970, its clock began."""
        self.row(
            "ANALYSIS_DETAILS",
            globalVid=_MACHINE,
            duration=duration,
            startTime=utc_epoch,
            stopTime=utc_epoch + duration,
        )
        return self.row("TARGET_INFO_SESSION_START_TIME", utcEpochNs=utc_epoch)

    def meta(self, key: str, value: str | None, *, capture: bool = False) -> Self:
        """Set a key of the export's metadata table, or with `capture` add one to META_DATA_CAPTURE."""
        if capture:
            return self.row("META_DATA_CAPTURE", name=key, value=value)
        self._export_meta[key] = value
        return self

    def drop_columns(self, table: str, *names: str) -> Self:
        """Leave columns out of the file, as in exports that people have cut down."""
        unknown = set(names) - _known_columns(table)
        if unknown:
            raise ValueError(f"no version of {table} has a column {', '.join(sorted(unknown))}")
        self._dropped_columns.setdefault(table, set()).update(names)
        return self

    def drop_table(self, table: str) -> Self:
        """Leave a table out of the file, whatever rows it has."""
        self._dropped_tables.add(table)
        return self

    def sql(self, text: str) -> Self:
        """Run SQL on the finished file, for what the builder has no word for."""
        self._sql.append(text)
        return self

    def _all_rows(self) -> dict[str, list[Row]]:
        """Return the rows of every table, those that other methods than `row` keep included."""
        rows = {table: list(events) for table, events in self._rows.items()}
        rows.setdefault("StringIds", []).extend(
            {"id": number, "value": value} for number, value in self._strings.items()
        )
        for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
            rows.setdefault(table, []).extend({"name": key, "value": value} for key, value in self._export_meta.items())
        for table, labels in _ENUMS.items():
            rows.setdefault(table, []).extend(
                {"id": number, "name": name, "label": label} for number, (name, label) in labels.items()
            )
        return rows

    def write(self, path: Path, *, shuffle: Random | None = None) -> Path:
        """Write the file, over any that is there, and return its path.

        The rows of a table come in the order in which they were added, or in a random order.
        """
        path.unlink(missing_ok=True)
        rows = self._all_rows()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # what a crash would lose is drawn again
            connection.execute("PRAGMA journal_mode = OFF")
            for table in tables_of(self.version):
                events = rows.get(table, [])
                wanted = bool(events) or table in _ALWAYS_WRITTEN or not self.lazy
                if not wanted or table in self._dropped_tables:
                    continue
                if shuffle is not None:
                    shuffle.shuffle(events)
                self._write_table(connection.execute, table, events)
            connection.commit()
            for text in self._sql:
                connection.executescript(text)
        return path

    def _write_table(self, execute: Callable[[str, Sequence[Value]], object], table: str, events: list[Row]) -> None:
        """Create one table and fill it, without the columns that were dropped."""
        dropped = self._dropped_columns.get(table, set())
        columns = [column for column in columns_of(table, self.version) if column.name not in dropped]
        declarations = [column.declaration() for column in columns]
        if columns[0].name == "id" and table != CALL_STACKS:
            declarations[0] += " PRIMARY KEY"
        execute(f"CREATE TABLE {table} ({', '.join(declarations)})", ())
        insert = _INSERT.format(table, ", ".join("?" * len(columns)))
        filled = [(column.name, column.default()) for column in columns]
        for event in events:
            execute(insert, [default if (value := event.get(name)) is None else value for name, default in filled])
