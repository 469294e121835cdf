"""Columns that several tables share."""

from __future__ import annotations

from typing import Final

from nsys_digest.model.idle_causes import IDLE_CAUSES
from nsys_digest.tables.table import Column

TIMES: Final = (
    Column("start_ns", "int64", "ns", "when it began, on the trace's own clock"),
    Column("end_ns", "int64", "ns", "when it ended; its time is `[start_ns, end_ns)`"),
    Column("duration_ns", "int64", "ns", "its length; 0 where the trace has its end before its start"),
    Column("part_ns", "int64", "ns", "how much of it is within what is looked at: its length, without a window"),
)
PROCESS: Final = (
    Column("process_id", "int64", "-", "id of the process; null where the trace does not say"),
    Column("process", "text", "-", "file name of the program; null where the trace does not say"),
)
THREAD: Final = (Column("thread_id", "int64", "-", "id of the thread; null where the trace does not say"),)
DEVICE: Final = (
    Column("device", "int64", "-", "CUDA ordinal of the GPU"),
    Column("device_name", "text", "-", "name of the GPU; null where the trace does not say"),
    Column("device_uuid", "text", "-", "uuid of the GPU: tells apart what shares an ordinal; null where not known"),
)
PLACE: Final = (
    *DEVICE,
    Column("context_id", "int64", "-", "CUDA context"),
    Column("stream_id", "int64", "-", "CUDA stream"),
    *PROCESS,
)
RANGE: Final = (
    Column(
        "range_id",
        "int64",
        "-",
        "`id` in table `nvtx` of the innermost push/pop range open on that thread when it began; null where none was",
    ),
    Column("range", "text", "-", "name of that range, as in the digest"),
)
CALL: Final = (
    Column("correlation_id", "int64", "-", "correlation id; null for none"),
    Column("call_id", "int64", "-", "`id` in table `api` of the call that launched it; null where the trace has none"),
    Column("call", "text", "-", "recorded name of that call"),
    Column("call_start_ns", "int64", "ns", "when that call began"),
    Column("call_end_ns", "int64", "ns", "when that call returned"),
    Column("call_thread_id", "int64", "-", "id of the thread that made that call"),
    Column(
        "range_id",
        "int64",
        "-",
        "`id` in table `nvtx` of the innermost push/pop range open on its thread when the call began; null for none",
    ),
    Column("range", "text", "-", "name of that range, as in the digest"),
)
CAUSES: Final = tuple(
    Column(f"{name}_ns", "int64", "ns", f"idle time of cause `{name}`: {cause.meaning}")
    for name, cause in IDLE_CAUSES.items()
)
