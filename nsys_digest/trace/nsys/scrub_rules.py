"""What a scrubbed copy of an export keeps: tables, and of each the columns, and how each column is treated.

These are lists of what stays. A table or column that is not in them goes, so that what a later nsys adds goes as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from nsys_digest.trace.nsys.tables import API, DIAGNOSTICS, GPU_TABLES, NVTX, STRINGS, WAITS


class Treatment(StrEnum):
    """What becomes of a column's values."""

    number = "number"
    """Stays; what is no number goes."""
    text = "text"
    """A text of those that nsys itself writes, or one that was changed already."""
    uuid = "uuid"
    """Another, made of the salt; all zeros stay."""
    program = "program"
    """The file name of a program, without its folder."""
    gpu = "gpu"
    """The model of a GPU: the user's words go."""
    log = "log"
    """A line of the collector's log: words that are not the collector's own go."""
    # The following are ids into the table of strings, or the text itself; each is a role that a string has.
    kernel = "kernel"
    range = "range"
    call = "call"
    system = "system"
    own = "own"
    thread = "thread"
    function = "function"
    module = "module"


ROLES: Final = frozenset(
    {
        *(Treatment.kernel, Treatment.range, Treatment.call, Treatment.system, Treatment.own, Treatment.thread),
        *(Treatment.function, Treatment.module),
    }
)
"""Treatments of columns that hold the id of a string."""

_NUMBER_COLUMNS: Final = """
    start end timestamp deviceId contextId greenContextId streamId correlationId globalPid globalTid endGlobalTid
    eventClass eventType returnValue graphNodeId originalGraphNodeId graphId originalGraphId graphExecId launchType
    cacheConfig registersPerThread gridX gridY gridZ blockX blockY blockZ staticSharedMemory dynamicSharedMemory
    localMemoryPerThread localMemoryTotal gridId sharedMemoryExecuted sharedMemoryLimitConfig
    sharedMemoryRequestedPercentage qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone clusterX clusterY clusterZ
    clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters bytes copyKind deprecatedSrcId srcKind dstKind
    srcDeviceId srcContextId dstDeviceId dstContextId migrationCause copyCount value memKind syncType deprecatedSyncType
    eventId eventSyncId overheadType rangeId category color domainId uint64Value int64Value doubleValue uint32Value
    int32Value floatValue address memoryOperationType localMemoryPoolAddress localMemoryPoolReleaseThreshold
    localMemoryPoolSize localMemoryPoolUtilizedSize importedMemoryPoolAddress importedMemoryPoolProcessId
    numberOfPageFaults faultAccessType accessType nestingLevel cpu isSchedIn threadState threadBlock cpuCycles id
    stackDepth unresolved kernelMode priority
"""
_NUMBERS: Final = frozenset(_NUMBER_COLUMNS.split())
_EVENTS: Final[Mapping[str, Mapping[str, Treatment]]] = {
    GPU_TABLES["kernel"]: dict.fromkeys(("demangledName", "shortName", "mangledName"), Treatment.kernel),
    GPU_TABLES["memcpy"]: {},
    GPU_TABLES["memset"]: {},
    GPU_TABLES["graph"]: {},
    API: {"nameId": Treatment.call},
    WAITS: {},
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": {},
    "CUDA_GRAPH_EVENTS": {"nameId": Treatment.call},
    "CUDA_GRAPH_NODE_EVENTS": {"nameId": Treatment.call},
    "CUDA_GPU_MEMORY_USAGE_EVENTS": {},
    "CUDA_UM_CPU_PAGE_FAULT_EVENTS": {},
    "CUDA_UM_GPU_PAGE_FAULT_EVENTS": {},
    NVTX: {"textId": Treatment.range, "text": Treatment.range},
    "OSRT_API": {"nameId": Treatment.system},
    "CUPTI_ACTIVITY_KIND_OVERHEAD": {"nameId": Treatment.own},
    "PROFILER_OVERHEAD": {"nameId": Treatment.own},
}
"""Of processes that were traced, and of no others."""
_OF_ALL_PROCESSES: Final[Mapping[str, Mapping[str, Treatment]]] = {
    "SCHED_EVENTS": {},
    "COMPOSITE_EVENTS": {},
    "ThreadNames": {"nameId": Treatment.thread},
}
_SAMPLES: Final = {"SAMPLING_CALLCHAINS": {"symbol": Treatment.function, "module": Treatment.module}}

_REALS: Final = frozenset({"doubleValue", "floatValue"})
_TEXTS: Final = frozenset({(NVTX, "text")})


def _numbers(names: str) -> dict[str, Treatment]:
    return dict.fromkeys(names.split(), Treatment.number)


_FACTS: Final[Mapping[str, Mapping[str, Treatment]]] = {
    "PROCESSES": _numbers("globalPid pid") | {"name": Treatment.program},
    DIAGNOSTICS: _numbers("timestamp timestampType source severity globalPid") | {"text": Treatment.log},
    "ANALYSIS_DETAILS": _numbers("globalVid duration startTime stopTime"),
    "TARGET_INFO_SESSION_START_TIME": _numbers("utcEpochNs systemClockNs"),
    "TARGET_INFO_GPU": _numbers(
        "vmId id deviceId isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate smCount cuDevice constantMemory "
        "maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm "
        "threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY "
        "maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor"
    )
    | {"name": Treatment.gpu, "uuid": Treatment.uuid},
    "TARGET_INFO_CUDA_GPU": _numbers(
        "vmId deviceId pid globalMemoryBandwidth globalMemorySize constantMemorySize l2CacheSize numThreadsPerWarp "
        "coreClockRate numMemcpyEngines numMultiprocessors maxIPC maxWarpsPerMultiprocessor maxBlocksPerMultiprocessor "
        "maxRegistersPerBlock maxSharedMemoryPerBlock maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ "
        "maxGridDimX maxGridDimY maxGridDimZ computeCapabilityMajor computeCapabilityMinor "
        "maxSharedMemoryPerMultiprocessor maxRegistersPerMultiprocessor"
    )
    | {"name": Treatment.gpu},
    "TARGET_INFO_CUDA_DEVICE": _numbers("gpuId cudaId pid numMultiprocessors") | {"uuid": Treatment.uuid},
    "TARGET_INFO_CUDA_CONTEXT_INFO": _numbers(
        "nullStreamId hwId vmId processId deviceId contextId parentContextId isGreenContext numMultiprocessors numTpcs"
    ),
    "TARGET_INFO_CUDA_NULL_STREAM": _numbers("streamId hwId vmId processId deviceId contextId"),
    "TARGET_INFO_CUDA_STREAM": _numbers("streamId hwId vmId processId contextId priority flag"),
}
SETTINGS: Final = ("META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA")
"""Tables of (name, value), of which only rows of known names and forms of value stay; see :func:`setting_stays`."""

_SETTING: Final = re.compile(
    r"(?:PROCESS_\d{1,4}:)?(?:CUDA_GRAPH_TRACE_OPTIONS:(?:MODE|TRACE_DEVICE_GRAPH_LAUNCH)|CAPTURE_EVENT_TYPE|"
    r"CUDA_SKIP_SOME_API_CALLS|CUDA_TRACE_SCOPE|CUDA_FLUSH_(?:PERIODICALLY|PERIOD|ON_CUDA_PROFILER_STOP)|START_TRIGGER|STOP_TRIGGER|RUN_DURATION_MS|"
    r"COLLECT_(?:CUDA|NVTX)_TRACE|COLLECT_GPU_MEMORY_USAGE|COLLECT_UVM_[CG]PU_PAGE_FAULTS|"
    r"LINUX_PERF_OPTIONS:(?:COLLECT_CPU_CTXSW_TRACE|COLLECT_EVENT_COUNTS|COLLECT_IP_BACKTRACE_SAMPLES|SAMPLING_PERIOD)|"
    r"OS_RUNTIME_OPTIONS:(?:BACKTRACES_THRESHOLD_NS|COLLECT_BACKTRACES|DURATION_THRESHOLD_NS)|"
    r"EXPORT_(?:PARAM_)?(?:LAZY|TIME_SHIFT|TIME_NORMALIZE|INCLUDE_BLOBS|INCLUDE_JSON)|EXPORT_PLATFORM|EXPORT_ARCH|"
    r"EXPORT_PRODUCT_(?:NAME|VERSION|DATE)|EXPORT_SCHEMA_VERSION(?:_MAJOR|_MINOR|_MICRO)?)"
)
_VALUE: Final = re.compile(
    r"true|false|-?\d{1,12}|\d{1,4}(?:\.\d{1,6}){1,4}|NVIDIA Nsight Systems|(?:linux|windows|mac)-[a-z0-9]{1,12}|"
    r"x64|a64|x86|arm64|aarch64|ProcessTree|SystemWide|Immediate|Delayed|Manual|Hotkey|CudaProfilerApi|Cuda|Nvtx|"
    r"NvtxEvents|OSRuntime|Graphics|Node|Graph|Host-?And-?Device|Software|Hardware|"
    r"GpuMetrics|GpuContextSwitch|CudaGpuTrace|OpenGL|OpenACC|OpenMP|Vulkan|MPI|Sampling|ContextSwitch|CpuSched",
    re.IGNORECASE,
)

_ENUMS: Final[Mapping[str, tuple[str, Mapping[int, tuple[str, str]]]]] = {
    "ENUM_CUDA_MEMCPY_OPER": (
        "CUDA_MEMCPY_KIND_",
        {
            number: (name, label)
            for number, (name, label) in enumerate(
                [
                    *(("UNKNOWN", "Unknown"), ("HTOD", "Host-to-Device"), ("DTOH", "Device-to-Host")),
                    *(("HTOA", "Host-to-Array"), ("ATOH", "Array-to-Host"), ("ATOA", "Array-to-Array")),
                    *(("ATOD", "Array-to-Device"), ("DTOA", "Device-to-Array"), ("DTOD", "Device-to-Device")),
                    *(("HTOH", "Host-to-Host"), ("PTOP", "Peer-to-Peer"), ("UVM_HTOD", "Unified Host-to-Device")),
                    *(("UVM_DTOH", "Unified Device-to-Host"), ("UVM_DTOD", "Unified Device-to-Device")),
                ]
            )
        },
    ),
    "ENUM_CUDA_MEM_KIND": (
        "CUDA_MEMOPR_MEMORY_KIND_",
        {
            number: (label.upper().replace(" ", "_"), label)
            for number, label in enumerate(
                ("Pageable", "Pinned", "Device", "Array", "Managed", "Device Static", "Managed Static", "Unknown")
            )
        },
    ),
}

_THREAD_OR_PROCESS: Final = ("globalTid", "globalPid")
_NUMBERED: Final = re.compile(r"_V[0-9]{1,9}$")
_KIND_OF_TABLE: Final = (
    (re.compile(r"TARGET_INFO_SYSTEM_ENV"), "environment"),
    (re.compile(r"ProcessStreams"), "program output"),
    (re.compile(r"ANALYSIS_FILE|OSRT_FILE_"), "files"),
    (re.compile(r"\w{0,60}CALLCHAINS|UnwindMethodType"), "call stacks"),
    (re.compile(r"NET_|TARGET_INFO_N(?:IC|ET)|\w{0,60}(?:NIC|IB)_"), "network"),
    (re.compile(r"TARGET_INFO_PROCESS"), "processes"),
    (re.compile(r"GENERIC_EVENT|NVTX_PAYLOAD"), "payloads"),
    (re.compile(r"ENUM_"), "names of numbers"),
    (re.compile(r"TARGET_INFO_"), "machine"),
)
_KIND_OF_COLUMN: Final = (
    (re.compile(r"json|binaryData", re.IGNORECASE), "payloads"),
    (re.compile(r"callchain|originalIP|thumbCode|specialEntry|unwind|^pc$", re.IGNORECASE), "call stacks"),
    (re.compile(r"argumentsId"), "arguments of calls"),
    (re.compile(r"^name$"), "names"),
    (re.compile(r"address", re.IGNORECASE), "address"),
    (re.compile(r"Time$"), "local time"),
    (re.compile(r"path|busLocation|pciBusId|luid|uuid|nodeMask|revision|pwGpuId|chipName", re.IGNORECASE), "machine"),
)
_KIND_OF_SETTING: Final = (
    ("ENVIRONMENT", "environment"),
    ("COMMAND", "command line"),
    ("ARGUMENT", "command line"),
    ("USER", "user"),
    ("HOST", "host"),
    ("DISPLAY_NAME", "host"),
    ("DIR", "path"),
    ("PATH", "path"),
    ("FILE", "path"),
)


def family_of(table: str) -> str:
    """Return the name of a table without its number: ``NAME_V2`` is one of ``NAME``."""
    return _NUMBERED.sub("", table)


def treatments(table: str, columns: tuple[str, ...]) -> dict[str, Treatment] | None:
    """Return how each column of a table that stays is treated; None of a table that has no such rule."""
    family = family_of(table)
    rule = _FACTS.get(family)
    if rule is not None:
        return {column: rule[column] for column in columns if column in rule}
    named = _EVENTS.get(family, _OF_ALL_PROCESSES.get(family, _SAMPLES.get(family)))
    if named is None:
        return None
    chosen = {column: named.get(column, Treatment.number) for column in columns}
    return {column: treatment for column, treatment in chosen.items() if column in named or column in _NUMBERS}


def type_of(column: str, treatment: Treatment | None) -> str:
    """Return the SQL type of a column of a copy; none of one that is copied as it is."""
    if column in _REALS:
        return " REAL"
    if treatment is None:
        return ""
    return " INTEGER" if treatment is Treatment.number or (treatment in ROLES and column != "text") else " TEXT"


def sample_table(table: str) -> str | None:
    """Return the table of samples, whose ids are those of the call stacks in this table; None of another."""
    return "COMPOSITE_EVENTS" if family_of(table) in _SAMPLES else None


def is_text(table: str, column: str) -> bool:
    """Tell whether a column with a role holds the text itself and not the id of one."""
    return (family_of(table), column) in _TEXTS


def is_ruled(table: str) -> bool:
    """Tell whether a table is always copied, by rules of its own."""
    family = family_of(table)
    return family == STRINGS or family in SETTINGS or family in _ENUMS or treatments(table, ()) is not None


def is_traced(table: str) -> bool:
    """Tell whether the rows of a table are of processes that were traced alone."""
    return family_of(table) in _EVENTS


def process_column(columns: tuple[str, ...]) -> str | None:
    """Return the column that says the process of a row, alone or with the thread."""
    return next((column for column in _THREAD_OR_PROCESS if column in columns), None)


def only_of_traced(table: str) -> bool:
    """Tell whether a table lists every process of the machine, so that those that were not traced go."""
    return table == "PROCESSES" or family_of(table) in _OF_ALL_PROCESSES


def enum_rows(table: str) -> dict[int, tuple[str, str]] | None:
    """Return (name, label) of each number of an enumeration as nsys writes them; None of another table."""
    if table not in _ENUMS:
        return None
    prefix, rows = _ENUMS[table]
    return {number: (prefix + name, label) for number, (name, label) in rows.items()}


def setting_stays(name: str, value: str | None) -> bool:
    """Tell whether a row of a table of settings stays: a known name with a number, a truth value or a known word."""
    return bool(_SETTING.fullmatch(name)) and (value is None or bool(_VALUE.fullmatch(value)))


def kind_of_setting(name: str) -> str:
    """Return what kind of thing a row of settings tells that goes."""
    return next((kind for part, kind in _KIND_OF_SETTING if part in name.upper()), "setting")


def kind_of_column(column: str) -> str:
    """Return what kind of thing a column tells that goes."""
    return next((kind for pattern, kind in _KIND_OF_COLUMN if pattern.search(column)), "unknown column")


def kind_of_table(table: str) -> str:
    """Return what kind of thing a table tells that goes."""
    return next((kind for pattern, kind in _KIND_OF_TABLE if pattern.match(table)), "unknown table")
