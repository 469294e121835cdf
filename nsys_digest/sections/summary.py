"""From a trace to its digest: opened, read once, linked, and each section made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from nsys_digest import __version__
from nsys_digest.model.base_types import RunFacts
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.kernel_categories import KernelCategories, load_kernel_categories
from nsys_digest.model.section_types import NEED_CATEGORIES
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.base import BaseFigures, base_figures
from nsys_digest.sections.capture import capture, rows_by_process
from nsys_digest.sections.category_use import category_use
from nsys_digest.sections.failed_calls import failed_calls
from nsys_digest.sections.nvtx import dispatch_counts
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.warnings import is_incomplete, warnings
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import Extras, Scanned
from nsys_digest.trace.events import Events
from nsys_digest.trace.inspection import inspect_source
from nsys_digest.trace.link import link
from nsys_digest.trace.nsys.capture import CaptureFacts, read_capture
from nsys_digest.trace.nsys.tables import API_RESULT, STRINGS, missing_columns
from nsys_digest.trace.open import TraceFile, opened, read_trace
from nsys_digest.trace.scan import scan, scan_kernels
from nsys_digest.trace.source import Reader, Source
from nsys_digest.trace.threads import Progress, default_threads, values_in_range
from nsys_digest.units import utc_text

if TYPE_CHECKING:
    from nsys_digest.sections.registry import MadeSections


def summarize_trace(trace: Path | TraceFile, options: SummarizeOptions) -> Digest:
    """Digest a trace; see :func:`nsys_digest.summarize`."""
    job = _job(trace, options)
    return read_trace(trace, options.reader, partial(_summarize, job))


def select_figures(trace: Path, selection: Selection, options: SummarizeOptions) -> BaseFigures:
    """Return the base figures of a part of a trace.

    Raises:
        UsageInvalid: sections or steps are asked for, which are of the whole trace; or the trace has more range names
            than are kept apart, and a window is looked at.
        What :func:`nsys_digest.summarize` raises.

    """
    job = replace(_job(trace, options), selection=selection)
    return read_trace(trace, options.reader, lambda source: _read(source, read_capture(source), job).base)


def _job(trace: Path | TraceFile, options: SummarizeOptions) -> _Job:
    given = trace if isinstance(trace, Path) else trace.given
    chosen = options.made_sections
    classified = options.categories is not None or options.steps is not None or NEED_CATEGORIES & set(chosen)
    ordered = load_kernel_categories(options.categories) if classified else KernelCategories(())
    return _Job(
        given,
        os.fspath(given),
        dict(options.labels),
        options.top,
        NvtxOptions(options.dispatch_prefix, options.raw_nvtx_names, options.max_nvtx_names, options.folds),
        SectionOptions(chosen, options.gaps, ordered, options.steps, options.warmup_steps),
        options.threads,
        options.progress,
        options.when_read,
    )


@dataclass(frozen=True, slots=True)
class _Job:
    """What was asked for."""

    path: Path
    given_path: str
    labels: Mapping[str, str]
    top: int
    nvtx: NvtxOptions
    sections: SectionOptions
    threads: int | None
    progress: Progress | None
    when_read: Callable[[], None] | None
    selection: Selection = WHOLE


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a trace, added up and linked; ``events`` is None where no section needs them."""

    scanned: Scanned
    strings: Mapping[int, str]
    base: BaseFigures
    events: Events | None


def _summarize(job: _Job, source: Source) -> Digest:
    facts = read_capture(source)
    return _digest(source, facts, _read(source, facts, job), job)


def _read(source: Source, facts: CaptureFacts, job: _Job) -> _Read:
    scanned, activity, rows = scan(
        source,
        job.nvtx,
        session_ns=facts.session_ns,
        threads=job.threads or default_threads(source.size_bytes),
        detail=job.sections.needs_events,
        extras=Extras(graphs="graphs" in job.sections.sections, payloads="nvtx_payload" in job.sections.sections),
        chosen=job.selection.chosen,
        progress=job.progress,
    )
    if job.when_read is not None:
        job.when_read()
    labels = () if rows is None else rows.operations.kernel_labels
    names = {*scanned.gpu.kernel_names, *(full for _, full in labels), *(name for _, name in scanned.api.groups)}
    strings = source.strings(STRINGS, names)
    with values_in_range(source, "the GPU activity"):
        base = base_figures(scanned, activity, facts, strings, job.selection)
    events = None if rows is None else link(rows, scanned, strings, base.gpu.device_of_place)
    return _Read(scanned, strings, base, events)


def _digest(source: Source, facts: CaptureFacts, read: _Read, job: _Job) -> Digest:
    scanned, strings, base = read.scanned, read.strings, read.base
    gpu = base.gpu
    rows = rows_by_process(scanned)
    missing = missing_columns(source)
    failed = failed_calls(scanned.api, strings)
    made = _made(read, facts, job)
    sections = {} if made is None else dict(made.values)
    details = sections.pop("nvtx", {})
    warned = warnings(scanned, facts, gpu, rows, strings, missing, failed, None if made is None else made.warnings)
    return Digest(
        file=source.path.name,
        gpu_activity_span_ns=gpu.span_ns,
        gpu_busy_union_ns=gpu.busy_ns,
        kernel_count=base.kernel_count,
        graph_node_kernel_count=base.graph_node_kernel_count,
        api=base.api,
        nvtx={name: replace(one, detail=details.get(name)) for name, one in base.nvtx.items()},
        dispatch=dispatch_counts(base.dispatch_timeline),
        dispatch_timeline=base.dispatch_timeline,
        top_kernels=base.kernels[: job.top],
        capture=capture(
            facts,
            rows,
            job.nvtx,
            job.sections.sections,
            categories=job.sections.kernel_categories.file,
            steps=job.sections.step,
            warmup=None if job.sections.step is None else job.sections.warmup,
            incomplete=is_incomplete(scanned, facts, strings, warned),
        ),
        warnings=warned,
        devices=base.devices,
        api_backtrace_rows=scanned.api.backtrace_count,
        tool_version=__version__,
        failed_calls=None if any(API_RESULT in columns for columns in missing.values()) else failed,
        path=job.given_path,
        run=RunFacts(utc_text(facts.recorded_at_ns), job.labels),
        **sections,
    )


def _made(read: _Read, facts: CaptureFacts, job: _Job) -> MadeSections | None:
    """Make the sections; None where none is asked for."""
    if read.events is None:
        return None
    # what makes them takes time to import, which a digest of the base alone is spared
    from nsys_digest.sections.registry import make_sections
    from nsys_digest.sections.section import Context

    base = read.base
    return make_sections(
        Context(
            read.events,
            read.scanned,
            base.gpu,
            read.strings,
            base.range_idle_ns,
            facts.session_ns,
            job.sections,
            job.selection,
        )
    )


def inspect_trace(trace: Path | TraceFile) -> Inspection:
    """Say what is in a trace; see :func:`nsys_digest.inspect`."""
    with opened(trace, "stdlib") as source:
        return inspect_source(source)


def classify_trace(trace: Path | TraceFile, kernel_categories: KernelCategories, reader: Reader) -> CategoryUse:
    """Say which category each kernel of a trace is in; see :func:`nsys_digest.classify`."""

    def classify(source: Source) -> CategoryUse:
        kernels = scan_kernels(source, threads=default_threads(source.size_bytes))
        strings = source.strings(STRINGS, {name for label in kernels.labels for name in label})
        return category_use(source.path.name, kernels, strings, kernel_categories)

    return read_trace(trace, reader, classify)
