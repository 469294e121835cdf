"""The tables of an nsys 2025.3 SQLite export, and the facts that it states about itself."""

from __future__ import annotations

import sqlite3
from typing import Any

from tests.bench.activity import BRANCH, COMMUNICATION, COMPUTE, COPY, PIDS, global_pid


def columns(names: str) -> dict[str, str]:
    """Return column declarations: INTEGER, or what follows a colon; NOT NULL where the name ends in ``!``."""
    out = {}
    for word in names.split():
        name, _, kind = word.partition(":")
        out[name.rstrip("!")] = (kind or "INTEGER") + (" NOT NULL" if name.endswith("!") else "")
    return out


_PLACE = "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
TABLES = {
    "CUPTI_ACTIVITY_KIND_RUNTIME": columns(
        "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": columns(
        _PLACE + "demangledName! shortName! mangledName launchType cacheConfig registersPerThread! "
        "gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! dynamicSharedMemory! "
        "localMemoryPerThread! localMemoryTotal! gridId! sharedMemoryExecuted graphNodeId "
        "sharedMemoryLimitConfig"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": columns(
        _PLACE + "bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId dstDeviceId "
        "dstContextId migrationCause graphNodeId virtualAddress copyCount"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": columns(_PLACE + "value! bytes! graphNodeId memKind"),
    "NVTX_EVENTS": columns(
        "start! end eventType! rangeId category color text:TEXT globalTid endGlobalTid textId domainId "
        "uint64Value int64Value doubleValue:REAL uint32Value int32Value floatValue:REAL jsonTextId "
        "jsonText:TEXT binaryData:TEXT"
    ),
}
"""The event tables, with the columns that nsys 2025.3 gives them."""

_GPU = columns(
    "vmId! id! name:TEXT busLocation:TEXT isDiscrete l2CacheSize totalMemory memoryBandwidth clockRate "
    "smCount pwGpuId uuid:TEXT luid chipName:TEXT cuDevice ctxswDevPath:TEXT ctrlDevPath:TEXT revision "
    "nodeMask constantMemory maxIPC maxRegistersPerBlock maxShmemPerBlock maxShmemPerBlockOptin "
    "maxShmemPerSm maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm "
    "maxThreadsPerBlock maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ "
    "computeMajor computeMinor smMajor smMinor"
)
_TEXTS = columns("name!:TEXT value:TEXT")
_LABELS = {"id": "INTEGER NOT NULL PRIMARY KEY", "name": "TEXT", "label": "TEXT"}
_EXPORT = {
    "EXPORT_PRODUCT_NAME": "NVIDIA Nsight Systems",
    "EXPORT_PRODUCT_VERSION": "2025.3.2.0",
    "EXPORT_PRODUCT_DATE": "2025.3",
    "EXPORT_SCHEMA_VERSION": "3.20.3",
    "EXPORT_SCHEMA_VERSION_MAJOR": "3",
    "EXPORT_SCHEMA_VERSION_MINOR": "20",
    "EXPORT_SCHEMA_VERSION_MICRO": "3",
    "EXPORT_PARAM_LAZY": "true",
}
_CAPTURE = [
    ("CAPTURE_EVENT_TYPE", "NvtxEvents"),
    ("CAPTURE_EVENT_TYPE", "Cuda"),
    ("PROCESS_0:CUDA_SKIP_SOME_API_CALLS", "true"),
    ("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node"),
]
_ENUMS = {
    "ENUM_NSYS_EVENT_CLASS": [
        (0, "TRACE_PROCESS_EVENT_CUDA_RUNTIME", "CUDA runtime"),
        (1, "TRACE_PROCESS_EVENT_CUDA_DRIVER", "CUDA driver"),
    ],
    "ENUM_NSYS_EVENT_TYPE": [
        (33, "NvtxCategory", "NvtxCategory"),
        (34, "NvtxMark", "NvtxMark"),
        (39, "NvtxThread", "NvtxThread"),
        (59, "NvtxPushPopRange", "NvtxPushPopRange"),
        (60, "NvtxStartEndRange", "NvtxStartEndRange"),
        (75, "NvtxDomainCreate", "NvtxDomainCreate"),
        (76, "NvtxDomainDestroy", "NvtxDomainDestroy"),
    ],
    "ENUM_CUDA_MEMCPY_OPER": [
        (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
        (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
        (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
    ],
    "ENUM_CUDA_MEM_KIND": [
        (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
        (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
        (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
    ],
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE": [(1, "CUDA_KERNEL_LAUNCH_TYPE_REGULAR", "Regular")],
}


def create(db: sqlite3.Connection, table: str, declared: dict[str, str]) -> None:
    """Create a table."""
    wanted = ", ".join(f'"{name}" {kind}' for name, kind in declared.items())
    db.execute(f"CREATE TABLE {table} ({wanted})")


def write_facts(db: sqlite3.Connection, end_ns: int) -> None:
    """Write what an export says of itself: versions, session, processes, devices, labels of its numbers."""
    streams = (COMPUTE, COMMUNICATION, COPY, BRANCH)
    session = (1_750_000_000_000_000_000, "2025-06-15T15:06:40", "2025-06-15T15:06:40")
    analysis = (1 << 48, end_ns + 500_000_000, 771_004_228, end_ns + 1_271_004_228)
    facts: dict[str, tuple[dict[str, str], list[tuple[Any, ...]]]] = {
        "META_DATA_EXPORT": (_TEXTS, [*_EXPORT.items()]),
        "META_DATA_CAPTURE": (_TEXTS, [*_CAPTURE]),
        "ANALYSIS_DETAILS": (columns("globalVid! duration! startTime! stopTime!"), [analysis]),
        "TARGET_INFO_SESSION_START_TIME": (columns("utcEpochNs utcTime:TEXT localTime:TEXT"), [session]),
        "PROCESSES": (
            columns("globalPid pid name:TEXT"),
            [(global_pid(i), pid, "python3") for i, pid in enumerate(PIDS)],
        ),
        "TARGET_INFO_CUDA_DEVICE": (
            columns("gpuId cudaId! pid!"),
            [(gpu, gpu, pid) for pid in PIDS for gpu in range(len(PIDS))],
        ),
        "TARGET_INFO_CUDA_STREAM": (
            columns("streamId! hwId! vmId! processId! contextId! priority! flag!"),
            [(stream, 0, 1, pid, 1, 0, 1) for pid in PIDS for stream in streams],
        ),
        **{table: (_LABELS, [*rows]) for table, rows in _ENUMS.items()},
    }
    for table, (declared, rows) in facts.items():
        create(db, table, declared)
        db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(declared))})", rows)
    create(db, "TARGET_INFO_GPU", _GPU)
    db.executemany(
        'INSERT INTO TARGET_INFO_GPU ("vmId", "id", "name", "busLocation", "isDiscrete", "totalMemory", '
        '"memoryBandwidth", "clockRate", "smCount", "uuid", "chipName", "cuDevice", "computeMajor", '
        '"computeMinor") VALUES '
        "(?, ?, 'NVIDIA H200', ?, 1, 150109880320, 4814304000000, 1980000000, 132, ?, 'GH100', ?, 9, 0)",
        [(1 << 48, i, f"0000:{i:02x}:00.0", f"00000000-0000-0000-0000-{i:012x}", i) for i in range(len(PIDS))],
    )
