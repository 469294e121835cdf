"""What a trace says of itself: product, GPUs, processes, diagnostics. Nothing here reads an event table.

Exports also hold the environment, the user and the output of the profiled program; none of that is ever read.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import Final

from nsys_digest.errors import ValueUnreadable
from nsys_digest.trace.nsys.tables import DIAGNOSTICS, SEVERITIES
from nsys_digest.trace.nsys.traced import TracedFacts, log_of, read_traced
from nsys_digest.trace.source import Source, Value


@dataclass(frozen=True, slots=True)
class GpuFact:
    """A GPU of the machine: nsys' own id, CUDA ordinal (None when not CUDA's), name, uuid (None when all zero)."""

    gpu_id: int | None
    ordinal: int | None
    name: str | None
    uuid: str | None


@dataclass(frozen=True, slots=True)
class DiagnosticFact:
    """A line of the collector's own log, of severity warning or error, and how often it is there."""

    severity: str
    text: str
    count: int


@dataclass(frozen=True, slots=True)
class CaptureFacts:
    """What the small tables of an export say; None or empty where the export does not say it."""

    product: str | None
    product_version: str | None
    schema_version: str | None
    session_ns: int | None
    graph_trace_mode: str | None
    gpus: tuple[GpuFact, ...]
    gpu_of: dict[tuple[int, int], GpuFact]
    """(pid, CUDA ordinal) to GPU, where the export maps them: nsys 2025.1 and newer, and before 2022."""
    process_names: dict[int, str]
    """globalPid to the file name of the program."""
    diagnostics: tuple[DiagnosticFact, ...]
    range_begun_by: str | None
    """What began the capture, in the words of nsys; None where it is not of a range."""
    traced: TracedFacts
    recorded_at_ns: int | None
    """When the trace's clock began, in nanoseconds since 1970, UTC."""


_LONGEST_SESSION_NS: Final = 2**62
_MOST_GPUS: Final = 1024


def read_capture(source: Source) -> CaptureFacts:
    """Read the small tables of an export."""
    export = _pairs(source, "META_DATA_EXPORT") or _pairs(source, "EXPORT_META_DATA")
    gpus, gpu_of = _gpus(source)
    return CaptureFacts(
        product=export.get("EXPORT_PRODUCT_NAME"),
        product_version=export.get("EXPORT_PRODUCT_VERSION"),
        schema_version=export.get("EXPORT_SCHEMA_VERSION"),
        session_ns=_session_ns(source),
        graph_trace_mode=_graph_trace_mode(source),
        gpus=gpus,
        gpu_of=gpu_of,
        process_names=_process_names(source),
        diagnostics=_diagnostics(source),
        range_begun_by=_range_begun_by(source),
        traced=read_traced(source, log_of(source)),
        recorded_at_ns=_recorded_at_ns(source),
    )


def _range_begun_by(source: Source) -> str | None:
    """Return what the collector's log says of a capture range: "Profiling started due to cudaProfilerStart API …"."""
    for (text,) in source.rows(DIAGNOSTICS, ("text",)):
        before, due, begun_by = str(text).partition(" started due to ")
        if due and before == "Profiling":
            return begun_by.rstrip(". ")
    return None


def _pairs(source: Source, table: str) -> dict[str, str]:
    rows = source.rows(table, ("name", "value"))
    return {str(name): str(value) for name, value in rows if value is not None}


def _session_ns(source: Source) -> int | None:
    for (duration,) in source.rows("ANALYSIS_DETAILS", ("duration",)):
        if isinstance(duration, int) and 0 <= duration < _LONGEST_SESSION_NS:
            return duration
    return None


def _recorded_at_ns(source: Source) -> int | None:
    """Return the earliest start of a session (one a machine); None where no time is one of this era."""
    times = [epoch for (epoch,) in source.rows("TARGET_INFO_SESSION_START_TIME", ("utcEpochNs",))]
    return min((epoch for epoch in times if isinstance(epoch, int) and 0 < epoch < 2**63), default=None)


def _graph_trace_mode(source: Source) -> str | None:
    """Return "graph", "node" or what else the capture settings say; they name it once a profiled process."""
    modes = {
        str(value).lower()
        for name, value in source.rows("META_DATA_CAPTURE", ("name", "value"))
        if str(name).endswith("CUDA_GRAPH_TRACE_OPTIONS:MODE")
    }
    return ", ".join(sorted(modes)) or None


def _process_names(source: Source) -> dict[int, str]:
    names = {}
    for global_pid, name in source.rows("PROCESSES", ("globalPid", "name")):
        if isinstance(global_pid, int) and name is not None:
            text = str(name)
            names[global_pid] = (PureWindowsPath(text) if "\\" in text else PurePosixPath(text)).name or text
    return names


def _diagnostics(source: Source) -> tuple[DiagnosticFact, ...]:
    lines = Counter(
        (severity, str(text))
        for severity, text in source.rows(DIAGNOSTICS, ("severity", "text"))
        if isinstance(severity, int) and severity in SEVERITIES
    )
    return tuple(DiagnosticFact(SEVERITIES[severity], text, count) for (severity, text), count in lines.items())


def _gpus(source: Source) -> tuple[tuple[GpuFact, ...], dict[tuple[int, int], GpuFact]]:
    """Return the CUDA GPUs of the machine and which of them each (pid, ordinal) is.

    TARGET_INFO_GPU also lists GPUs of other makers; those have no multiprocessors (smCount) and, like old exports'
    real ones, an all-zero uuid. Before 2022, TARGET_INFO_CUDA_GPU maps a process's ordinals itself.
    """
    columns = ("id", "deviceId", "cuDevice", "name", "uuid", "smCount")
    by_id: dict[int, GpuFact] = {}
    for gpu_id, device, ordinal, name, uuid, sm_count in source.rows("TARGET_INFO_GPU", columns):
        key = _int(gpu_id) if gpu_id is not None else _int(device)
        if key is None or sm_count == 0:
            continue
        if len(by_id) >= _MOST_GPUS:
            raise ValueUnreadable(
                f"{source.path}: table TARGET_INFO_GPU names more than {_MOST_GPUS:,} GPUs, so that it is damaged; "
                f"export the report again with: {source.made_by}"
            )
        by_id[key] = GpuFact(key, _int(ordinal) if ordinal is not None else _int(device), _text(name), _uuid(uuid))
    gpu_of: dict[tuple[int, int], GpuFact] = {}
    for gpu_id, ordinal, pid, uuid in source.rows("TARGET_INFO_CUDA_DEVICE", ("gpuId", "cudaId", "pid", "uuid")):
        if isinstance(gpu_id, int) and isinstance(ordinal, int) and isinstance(pid, int) and gpu_id in by_id:
            gpu = by_id[gpu_id]  # the uuid of a process's device is that of its MIG instance, where it has one
            gpu_of[pid, ordinal] = replace(gpu, uuid=_uuid(uuid) or gpu.uuid)
    old: dict[int, GpuFact] = {}
    by_ordinal = {gpu.ordinal: gpu for gpu in reversed(by_id.values())}
    for ordinal, pid, name in source.rows("TARGET_INFO_CUDA_GPU", ("deviceId", "pid", "name")):
        if isinstance(ordinal, int) and isinstance(pid, int):
            fact = old.setdefault(ordinal, by_ordinal.get(ordinal) or GpuFact(None, ordinal, _text(name), None))
            gpu_of.setdefault((pid, ordinal), fact)
    gpus = tuple(by_id.values()) or tuple(old.values())
    return tuple(sorted(gpus, key=_gpu_order)), gpu_of


def _gpu_order(gpu: GpuFact) -> tuple[bool, int, int]:
    return gpu.ordinal is None, gpu.ordinal or 0, gpu.gpu_id or 0


def _int(value: Value) -> int | None:
    return value if isinstance(value, int) else None


def _text(value: Value) -> str | None:
    return None if value is None else str(value)


def _uuid(value: Value) -> str | None:
    text = _text(value)
    return text if text and text.strip("0-") else None


class GpuGuesses:
    """Which GPU an ordinal is where no map names the process: worked out once for each ordinal."""

    def __init__(self, facts: CaptureFacts) -> None:
        """Sort the GPUs by what they may be called."""
        self._single = len(facts.gpus) == 1 and len(set(facts.gpu_of.values())) <= 1
        self._called: defaultdict[int, set[GpuFact]] = defaultdict(set)
        for (_, ordinal), gpu in facts.gpu_of.items():
            self._called[ordinal].add(gpu)
        self._by_ordinal = {gpu.ordinal: gpu for gpu in reversed(facts.gpus)}
        self._by_id = {gpu.gpu_id: gpu for gpu in reversed(facts.gpus)}

    def gpu(self, ordinal: int) -> tuple[GpuFact | None, bool]:
        """Return the GPU of an ordinal, None where the trace names none, and whether it may be another.

        It is the GPU that other processes call so, where they agree; else the one with that CUDA ordinal; else the one
        with that id of nsys. On a machine of one GPU this is sure; of more, CUDA_VISIBLE_DEVICES may have renumbered
        them.
        """
        agreed = self._called.get(ordinal, set())
        if len(agreed) == 1:
            return next(iter(agreed)), not self._single
        return self._by_ordinal.get(ordinal) or self._by_id.get(ordinal), not self._single
