"""Warnings about the capture: what its collector reports, which GPU an ordinal is, what its export lacks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nsys_digest.model.base_types import Warn
from nsys_digest.sections.devices import MOST_STREAMS, GpuTime
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import NEWEST_SCHEMA
from nsys_digest.trace.nsys.traced import repeated, why_no_cuda, why_no_nvtx
from nsys_digest.units import NS_PER_S, counted, duration

_TRUNCATED = re.compile(r"not all (?P<what>.{1,200}) events might have been collected", re.IGNORECASE)
_SHORT_NS: Final = NS_PER_S
"""A session this short may have ended before the program began its work."""
_MOST: Final = 4
"""How many devices or processes a message names."""
_MOST_REPORTS: Final = 20
"""How many different lines of the collector are told under one code."""
_OF_INTEREST = re.compile(r"\b(cuda|cupti|nvtx|flush|buffer|gpu|dropped|lost)", re.IGNORECASE)


def diagnostic_warnings(facts: CaptureFacts, *, any_nvtx: bool) -> Iterator[Warn]:
    """Keep what bears on CUDA and NVTX, each once, with how often; of very many lines those that come first."""
    told: Counter[str] = Counter()
    for warn in _diagnostics(facts, any_nvtx=any_nvtx):
        told[warn.code] += 1
        if told[warn.code] <= _MOST_REPORTS:
            yield warn
    for code, count in told.items():
        if count > _MOST_REPORTS:
            rest = counted(count - _MOST_REPORTS, "further line")
            yield Warn(code, f"The collector has {rest} of this kind; nsys-digest inspect lists all")


def _diagnostics(facts: CaptureFacts, *, any_nvtx: bool) -> Iterator[Warn]:
    """Find lost events, and errors of the collector."""
    if facts.range_begun_by:
        yield Warn(
            "range-captured",
            f"A range of the program was captured, begun by {facts.range_begun_by}. What ran before and after it "
            "is in no figure, and work that crosses its edges may be missing",
        )
    for diagnostic in facts.diagnostics:
        lost = _TRUNCATED.search(diagnostic.text)
        if lost and facts.range_begun_by:
            continue  # nsys says so of every range, since the program goes on
        if lost and _OF_INTEREST.search(lost["what"]):
            said = repeated(diagnostic.text, diagnostic.count)
            yield Warn("truncated-capture", f"The collector says: {said}. {_reach(lost['what'], any_nvtx=any_nvtx)}")
        elif _OF_INTEREST.search(diagnostic.text) and (
            diagnostic.severity == "error" or "not supported" in diagnostic.text
        ):
            yield Warn("collector-report", f"The collector reports: {repeated(diagnostic.text, diagnostic.count)}")


def loses_gpu_rows(facts: CaptureFacts) -> bool:
    """Tell whether the collector says that other events than those of NVTX are missing; of a range it always does."""
    told = (_TRUNCATED.search(diagnostic.text) for diagnostic in facts.diagnostics if not facts.range_begun_by)
    return any(lost and _OF_INTEREST.search(lost["what"]) and "nvtx" not in lost["what"].lower() for lost in told)


def _reach(lost: str, *, any_nvtx: bool) -> str:
    """Say which figures lost events of a kind touch, and what helps."""
    cure = "capture a shorter stretch, and let the program end on its own"
    if "nvtx" not in lost.lower():
        return f"Counts, sums and busy time are lower bounds: {cure}"
    if any_nvtx:
        return (
            f"Counts and times of NVTX ranges and marks are lower bounds, GPU and API figures are not touched: {cure}"
        )
    return (
        "The trace has no NVTX range or mark: none is missing unless the program makes some. GPU and API figures are "
        "not touched"
    )


def nothing_recorded(facts: CaptureFacts) -> Warn:
    """Say that a trace has no event of CUDA or NVTX, why as far as it tells, and what to do."""
    traced = facts.traced
    parts = ["No GPU activity, CUDA API call or NVTX range or mark was recorded", why_no_cuda(traced)]
    if traced.cuda and traced.nvtx is False:
        parts.append(f"And {why_no_nvtx(traced)}")
    if traced.cuda and traced.reasons:
        parts.append(f"The collector says: {_few(traced.reasons, '; ')}")
    if facts.session_ns is not None and facts.session_ns < _SHORT_NS:
        parts.append(f"The session lasted {duration(facts.session_ns)}")
    return Warn("nothing-recorded", ". ".join(parts))


def schema_warnings(facts: CaptureFacts, missing: Mapping[str, list[str]]) -> Iterator[Warn]:
    """Warn of an export that is newer than what was checked, or cut down."""
    version = re.match(r"([0-9]+)\.([0-9]+)", facts.schema_version or "")
    if version and tuple(int(part[:9]) for part in version.groups()) > NEWEST_SCHEMA:
        yield Warn(
            "newer-schema",
            f"Export schema {version[0][:40]} is newer than {NEWEST_SCHEMA[0]}.{NEWEST_SCHEMA[1]}, the newest "
            "that this version was checked against; look for a newer nsys-digest",
        )
    for table, columns in missing.items():
        yield Warn("reduced-schema", f"Table {table} lacks {', '.join(columns)}; figures that need them fall short")


def device_warnings(gpu: GpuTime, facts: CaptureFacts) -> Iterator[Warn]:
    """Warn of ordinals that are not surely one GPU."""
    if gpu.guessed:
        yield Warn(
            "gpu-name-guessed",
            f"The export does not say which GPU {_devices(gpu.guessed)} of each process is; its name is that of the "
            "GPU with the same CUDA ordinal, which CUDA_VISIBLE_DEVICES can change",
        )
    known = f"a machine of {counted(len(facts.gpus), 'GPU')}" if facts.gpus else "a machine whose GPUs it does not name"
    for device in gpu.ambiguous[:_MOST]:
        yield Warn(
            "device-ambiguous",
            f"{len(device.processes):,} processes ({_few([str(pid) for pid in device.processes])}) call a GPU device "
            f"{device.ordinal}, and the export, of {known}, does not say which GPU each means: with "
            f"CUDA_VISIBLE_DEVICES they may be as many GPUs. Busy and idle of device {device.ordinal} hold only if it "
            "is one; by_process has what each process did alone. An nsys of 2025 or newer writes which GPU it was",
        )
    if len(gpu.ambiguous) > _MOST:
        rest = [device.ordinal for device in gpu.ambiguous[_MOST:]]
        yield Warn("device-ambiguous", f"The same holds of {_devices(rest)}")
    crowded = [device for device in gpu.devices if device.other_streams is not None]
    if crowded:
        left_out = sum(device.stream_count - len(device.streams) for device in crowded)
        yield Warn(
            "streams-capped",
            f"{counted(left_out, 'stream')} of {_devices([device.device for device in crowded])} left out: of more "
            f"than {MOST_STREAMS:,} those with most busy time are listed, and the rest are added up as other_streams",
        )
    if gpu.shared:
        yield Warn(
            "ordinal-shared",
            f"Different processes have different GPUs or MIG instances as {_devices(gpu.shared)} "
            "(CUDA_VISIBLE_DEVICES); each is listed as a device of its own, told apart by uuid",
        )


def _devices(ordinals: Sequence[int]) -> str:
    return f"device{'s' if len(ordinals) > 1 else ''} {_few([str(ordinal) for ordinal in ordinals])}"


def _few(words: Sequence[str], between: str = ", ") -> str:
    """Name the first few of many."""
    named = between.join(words[:_MOST])
    return named if len(words) <= _MOST else f"{named} and {len(words) - _MOST:,} more"
