"""Warnings about the capture: what its collector reports, which GPU an ordinal is, what its export lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nsys_digest.model.base_types import Warn
from nsys_digest.sections.devices import GpuTime
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import NEWEST_SCHEMA

_TRUNCATED = re.compile(r"not all (?P<what>.+) events might have been collected", re.IGNORECASE)
_OF_INTEREST = re.compile(r"\b(cuda|cupti|nvtx|flush|buffer|gpu|dropped|lost)", re.IGNORECASE)


def diagnostic_warnings(facts: CaptureFacts, *, any_nvtx: bool) -> Iterator[Warn]:
    """Keep what bears on CUDA and NVTX: lost events, and errors of the collector."""
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
            said = diagnostic.text.rstrip().rstrip(".")
            yield Warn("truncated-capture", f"The collector says: {said}. {_reach(lost['what'], any_nvtx=any_nvtx)}")
        elif _OF_INTEREST.search(diagnostic.text) and (
            diagnostic.severity == "error" or "not supported" in diagnostic.text
        ):
            yield Warn("collector-report", f"The collector reports: {diagnostic.text}")


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


def schema_warnings(facts: CaptureFacts, missing: Mapping[str, list[str]]) -> Iterator[Warn]:
    version = re.match(r"(\d+)\.(\d+)", facts.schema_version or "")
    if version and (int(version[1]), int(version[2])) > NEWEST_SCHEMA:
        yield Warn(
            "newer-schema",
            f"Export schema {facts.schema_version} is newer than {NEWEST_SCHEMA[0]}.{NEWEST_SCHEMA[1]}, the newest "
            "that this version was checked against; look for a newer nsys-digest",
        )
    for table, columns in missing.items():
        yield Warn("reduced-schema", f"Table {table} lacks {', '.join(columns)}; figures that need them fall short")


def device_warnings(gpu: GpuTime) -> Iterator[Warn]:
    for ordinal in gpu.guessed:
        yield Warn(
            "gpu-name-guessed",
            f"The export does not say which GPU device {ordinal} of each process is; its name is that of the GPU with "
            "the same CUDA ordinal, which CUDA_VISIBLE_DEVICES can change",
        )
    for ordinal in gpu.shared:
        yield Warn(
            "ordinal-shared",
            f"Device {ordinal} is a different GPU in different processes (CUDA_VISIBLE_DEVICES); each GPU is listed as "
            "a device of its own, told apart by uuid",
        )
