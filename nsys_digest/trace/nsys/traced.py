"""What was traced, as far as an export tells, and what to do where nothing came of it.

Tables are made for events alone, so a table that is not there does not tell "not traced" from "traced, and nothing
happened". These tell: the settings of the capture (META_DATA_CAPTURE, since 2023.1), the collector's own log
(DIAGNOSTIC_EVENT, since 2024.4), and the names of nsys' own work in the traced processes (PROFILER_OVERHEAD).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from nsys_digest.trace.nsys.tables import API, DIAGNOSTICS, GPU_TABLES, NVTX, STRINGS, find_table
from nsys_digest.trace.source import Source

_SETTINGS: Final = "META_DATA_CAPTURE"
_OVERHEAD: Final = "PROFILER_OVERHEAD"
_STARTED_TABLES: Final = ("TARGET_INFO_CUDA_CONTEXT_INFO", "TARGET_INFO_CUDA_NULL_STREAM", "TARGET_INFO_CUDA_STREAM")
"""Tables that nsys fills when a process that it traces makes a CUDA context."""
_STARTED_LOG: Final = "CUDA injection initialized"
_STARTED_WORK: Final = ("CUDA profiling initialization", "libcupti")
_NVTX_WORK: Final = frozenset({"NVTX early profiling initialization", "NVTX profiling initialization"})
_COLLECTS: Final = {"COLLECT_CUDA_TRACE": "Cuda", "COLLECT_NVTX_TRACE": "NvtxEvents"}
_NOT_LISTED: Final = ""
"""Among the kinds that were asked for: there may be others."""
_LOST: Final = "events might have been collected"


@dataclass(frozen=True, slots=True)
class TracedFacts:
    """Whether CUDA and NVTX were traced; None where the export does not tell.

    ``cuda_started`` tells that a traced process started CUDA. ``reasons`` are the collector's own words on a trace of
    CUDA without events, each once, with how often it said so.
    """

    cuda: bool | None
    nvtx: bool | None
    cuda_started: bool
    reasons: tuple[str, ...]


def read_traced(source: Source, log: Mapping[str, int]) -> TracedFacts:
    """Find out what was traced; ``log`` is every line of the collector's log, and how often it is there."""
    filled = {name for name in (*GPU_TABLES.values(), API, NVTX) if _has_rows(source, name)}
    asked = _asked_for(source)
    any_cuda = bool(filled - {NVTX})
    own_work = set() if any_cuda and NVTX in filled else _own_work(source)
    started = any_cuda or (
        any(_has_rows(source, table) for table in _STARTED_TABLES)
        or any(_STARTED_LOG in text for text in log)
        or any(word in name for name in own_work for word in _STARTED_WORK)
    )
    reasons = tuple(
        repeated(text, count)
        for text, count in log.items()
        if "CUDA" in text and _LOST not in text and ("might have not been started" in text or "No CUDA" in text)
    )
    return TracedFacts(
        cuda=True if started else _told(asked, "Cuda", log, "CUDA"),
        nvtx=True if NVTX in filled or own_work & _NVTX_WORK else _told(asked, "NvtxEvents", log, "NVTX"),
        cuda_started=started,
        reasons=reasons,
    )


def _asked_for(source: Source) -> set[str] | None:
    """Return the kinds of events that the settings ask for; None where they do not say.

    CAPTURE_EVENT_TYPE lists them. Beside it, or alone, each process has PROCESS_0:COLLECT_CUDA_TRACE and the like, of
    which only "true" tells: newer ways to trace CUDA are set elsewhere and leave it at "false".
    """
    settings = [(str(name), str(value)) for name, value in source.rows(_SETTINGS, ("name", "value"))]
    asked = {value for name, value in settings if name == "CAPTURE_EVENT_TYPE"}
    listed = bool(asked)
    for name, value in settings:
        kind = _COLLECTS.get(name.rpartition(":")[2])
        if kind is not None and value.lower() == "true":
            asked.add(kind)
    return asked if listed else ({*asked, _NOT_LISTED} if asked else None)


def repeated(text: str, count: int) -> str:
    """Return what the collector said, and how often where that is more than once."""
    said = text.rstrip().rstrip(".")
    return said if count == 1 else f"{said} ({count:,} times)"


def _told(asked: set[str] | None, setting: str, log: Iterable[str], word: str) -> bool | None:
    """Return what the settings say; where they do not, True where the log speaks of events of that kind."""
    if asked is not None and (setting in asked or _NOT_LISTED not in asked):
        return setting in asked
    speaks = (f"No {word} events", f"Not all {word} events", f"Number of {word} events", f"{word} profiling")
    return True if any(text.startswith(speaks) for text in log) else None


def _has_rows(source: Source, name: str) -> bool:
    table = find_table(source, name)
    return table is not None and source.row_count(table, exact=False)[0] > 0


def _own_work(source: Source) -> set[str]:
    """Return the names of what nsys itself did in the traced processes."""
    ids = {value for (value,) in source.rows(_OVERHEAD, ("nameId",)) if isinstance(value, int)}
    return set(source.strings(STRINGS, ids).values())


def log_of(source: Source) -> dict[str, int]:
    """Return every line of the collector's log in its order, and how often it is there."""
    lines: dict[str, int] = {}
    for (text,) in source.rows(DIAGNOSTICS, ("text",)):
        lines[str(text)] = lines.get(str(text), 0) + 1
    return lines


def why_no_cuda(traced: TracedFacts) -> str:
    """Say why a trace has neither GPU work nor CUDA calls, as far as it tells, and what to do, without a full stop."""
    if traced.cuda is None:
        return (
            "The export does not say whether CUDA was traced: if not, profile with -t cuda,nvtx; if it was, no process "
            "that was traced called CUDA while the capture ran"
        )
    if not traced.cuda:
        return "CUDA was not traced: profile with -t cuda,nvtx"
    if traced.cuda_started:
        why = (
            "CUDA was traced and a process started it, but no event of it arrived: the program or the capture ended "
            "before they were delivered, or the driver withheld them. Let the program end on its own, after "
            "cudaDeviceSynchronize, and see that nsys is as new as the driver"
        )
    else:
        why = (
            "CUDA was traced, but nothing shows that a traced process started it: the program failed or ended first, "
            "the capture missed it, or the GPU is used by a process that nsys did not start. Profile that process, and "
            "check in its output that it ran"
        )
    return why


def why_no_nvtx(traced: TracedFacts) -> str:
    """Say why a trace has no NVTX event, and what to do, without a full stop."""
    if traced.nvtx is None:
        return (
            "the export does not say whether NVTX was traced: if not, profile with -t cuda,nvtx; if it was, the "
            "program made no range or mark"
        )
    if not traced.nvtx:
        return "NVTX was not traced; profile with -t cuda,nvtx"
    return "NVTX was traced, but the program made no range or mark; add ranges to it where phases matter"


_FACTS_OF_EXPORT: Final = (
    (("META_DATA_EXPORT", "EXPORT_META_DATA"), "no export metadata: the nsys version is unknown (about 2021 or older)"),
    ((_SETTINGS,), "no capture settings: the CUDA graph trace mode is unknown"),
    (("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU"), "no GPU table: devices have no name"),
)


def missing_tables(tables: Iterable[str], with_rows: Iterable[str], traced: TracedFacts) -> list[str]:
    """Return what an export lacks, and why it matters or what to do, one line each."""
    present = set(with_rows)
    no_kernels = not present.intersection((GPU_TABLES["kernel"], GPU_TABLES["graph"]))
    no_gpu_work = not present.intersection(GPU_TABLES.values())
    missing = []
    if no_gpu_work and API not in present:
        missing.append(f"no kernels, copies, sets or graphs and no CUDA API calls. {why_no_cuda(traced)}")
    elif API not in present:
        missing.append("no CUDA API calls, though GPU work was traced: launches cannot be explained")
    elif no_kernels:
        missing.append(
            "no kernels and no CUDA graphs, though CUDA API calls were traced: nothing was launched, or the driver, "
            "missing permissions or an early end kept it from nsys"
        )
    if NVTX not in present:
        missing.append(f"no NVTX events, so that time cannot be told apart by phase: {why_no_nvtx(traced)}")
    missing += [why for group, why in _FACTS_OF_EXPORT if not present.intersection(group)]
    if DIAGNOSTICS not in tables:
        missing.append("no table of diagnostics, which nsys writes since 2024.4: lost events would go unseen")
    elif DIAGNOSTICS not in present:
        missing.append("the table of diagnostics is empty: lost events would go unseen")
    return missing
