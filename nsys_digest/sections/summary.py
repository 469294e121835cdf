"""From a trace to its digest: opened, read once, linked, and each section made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from nsys_digest import __version__
from nsys_digest.model.base_types import RunFacts, Window
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.kernel_categories import KernelCategories, load_kernel_categories
from nsys_digest.model.section_types import NEED_CATEGORIES
from nsys_digest.model.selection_options import SelectionOptions
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.base import BaseFigures, base_figures
from nsys_digest.sections.capture import capture, rows_by_process
from nsys_digest.sections.category_use import category_use
from nsys_digest.sections.choose import Choice, choose, nothing_held
from nsys_digest.sections.failed_calls import failed_calls
from nsys_digest.sections.looked_at import LookedAt
from nsys_digest.sections.nvtx import dispatch_counts
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.warnings import is_incomplete, warnings
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.gpu import Place
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import EventRows, Extras, Scanned
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.gpu_span import gpu_span
from nsys_digest.trace.inspection import inspect_source
from nsys_digest.trace.link import link
from nsys_digest.trace.nsys.capture import CaptureFacts, read_capture
from nsys_digest.trace.nsys.tables import API_RESULT, STRINGS, missing_columns
from nsys_digest.trace.open import TraceFile, opened, read_trace
from nsys_digest.trace.scan import Reading, scan, scan_kernels
from nsys_digest.trace.source import Source
from nsys_digest.trace.threads import Progress, default_threads, values_in_range
from nsys_digest.units import utc_text

if TYPE_CHECKING:
    from nsys_digest.sections.registry import MadeSections
    from nsys_digest.sections.section import Context

_NEED_ALL_ROWS: Final = frozenset({"by_device", "host"})
"""Sections that ask of all rows, whatever the window: of which device a call is that launched nothing is told by all
that its thread launched, and when scheduling was recorded by all of it."""


def summarize_trace(trace: Path | TraceFile, options: SummarizeOptions) -> Digest:
    """Digest a trace; see :func:`nsys_digest.summarize`."""
    job = _job(trace, options)
    return read_trace(trace, options.reader, partial(_summarize, job))


def select_figures(trace: Path, selection: Selection, options: SummarizeOptions) -> BaseFigures:
    """Return the base figures of a part of a trace.

    Raises:
        What :func:`nsys_digest.summarize` raises.

    """
    job = replace(_job(trace, options), selection=selection)
    return read_trace(trace, options.reader, lambda source: _read(source, read_capture(source), job).base)


def summarize_selection(
    trace: Path, selection: Selection, options: SummarizeOptions, reading: Reading = "auto"
) -> Digest:
    """Digest a part of a trace that was looked up already; the document does not say which."""
    job = replace(_job(trace, options), selection=selection, reading=reading)

    def work(source: Source) -> Digest:
        facts = read_capture(source)
        return _digest(source, facts, _read(source, facts, job), job)

    return read_trace(trace, options.reader, work)


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
        options.selection,
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
    asked: SelectionOptions
    selection: Selection = WHOLE
    window: Window | None = None
    reading: Reading = "auto"
    for_tables: bool = False
    """Whether the events themselves are the product: what each has is kept, and every range around one."""


@dataclass(frozen=True, slots=True)
class _Read:
    """What was read of a trace, added up and linked; ``looked`` is None where no section needs them."""

    scanned: Scanned
    strings: Mapping[int, str]
    base: BaseFigures
    looked: LookedAt | None
    group: Ints | None = None
    """The group of the totals of each operation, where tables are made."""


def _summarize(job: _Job, source: Source) -> Digest:
    facts = read_capture(source)
    read, job = _read_chosen(source, facts, job)
    return _digest(source, facts, read, job)


def _read_chosen(source: Source, facts: CaptureFacts, job: _Job) -> tuple[_Read, _Job]:
    """Look up what is asked for, and read it."""
    choice = choose(source, facts, job.asked, job.sections.step, job.nvtx, _threads(source, job))
    job = replace(job, selection=choice.selection, window=choice.window)
    read = _read(source, facts, job)
    if not job.selection.is_whole and not _holds_something(source, read, job):
        raise nothing_held(source, facts, _every_place(source, job), job.asked)
    return read, job


@dataclass(frozen=True, slots=True)
class LinkedTrace:
    """The events of a trace, read, linked and looked at; the file is closed."""

    context: Context
    facts: CaptureFacts
    group: Ints
    """Index into the groups of the totals of each operation of all that were read."""
    window: Window | None
    """What was looked at; None for all of time."""


def link_trace(trace: Path | TraceFile, options: SummarizeOptions) -> LinkedTrace:
    """Read and link the events of a trace, for tables of them; sections of the options must need events.

    Raises:
        What :func:`nsys_digest.summarize` raises.

    """
    job = replace(_job(trace, options), for_tables=True)

    def work(source: Source) -> LinkedTrace:
        facts = read_capture(source)
        read, chosen = _read_chosen(source, facts, job)
        assert read.looked is not None
        assert read.group is not None
        return LinkedTrace(_context(read, read.looked, facts, chosen), facts, read.group, chosen.window)

    return read_trace(trace, options.reader, work)


def _holds_something(source: Source, read: _Read, job: _Job) -> bool:
    """Tell whether anything counts, and whether there is GPU work, ever, where devices or streams are asked for.

    A window within the GPU span in which nothing happened is all idle, which is something.
    """
    scanned, selection = read.scanned, job.selection
    if (selection.devices is not None or selection.streams is not None) and not any(scanned.gpu.looked_at):
        return False
    totals = (scanned.gpu.counts, scanned.api.counts, scanned.nvtx.counts)
    if any(bool(counts.any()) for counts in totals) or read.base.dispatch_timeline:
        return True
    window, span = selection.window, gpu_span(source, selection.chosen, _threads(source, job))
    return window is not None and span is not None and window.start_ns[0] < span[1] and window.end_ns[-1] > span[0]


def _every_place(source: Source, job: _Job) -> tuple[Place, ...]:
    """Return where there is GPU work in the whole trace."""
    scanned, _, _ = scan(source, job.nvtx, session_ns=None, threads=_threads(source, job))
    return scanned.gpu.places


def _threads(source: Source, job: _Job) -> int:
    return job.threads or default_threads(source.size_bytes)


def _chosen(job: _Job) -> Chosen | None:
    """Return what is asked of rows; which instance of a step is the first of its process is asked of all ranges."""
    chosen = job.selection.chosen
    if chosen is None:
        return None
    return replace(chosen, every_range=job.sections.step is not None or job.for_tables)


def _read(source: Source, facts: CaptureFacts, job: _Job) -> _Read:
    scanned, activity, rows = scan(
        source,
        job.nvtx,
        session_ns=facts.session_ns,
        threads=_threads(source, job),
        detail=job.sections.needs_events,
        extras=Extras(
            graphs="graphs" in job.sections.sections,
            payloads="nvtx_payload" in job.sections.sections,
            host="host" in job.sections.sections,
        ),
        chosen=_chosen(job),
        progress=job.progress,
        reading="whole" if _NEED_ALL_ROWS & set(job.sections.sections) else job.reading,
    )
    if job.when_read is not None:
        job.when_read()
    labels = () if rows is None else rows.operations.kernel_labels
    names = {*scanned.gpu.kernel_names, *(full for _, full in labels), *(name for _, name in scanned.api.groups)}
    names |= set() if rows is None else rows.name_ids
    strings = source.strings(STRINGS, names)
    with values_in_range(source, "the GPU activity"):
        base = base_figures(scanned, activity, facts, strings, job.selection)
    if rows is None:
        return _Read(scanned, strings, base, None)
    counts = _counting(rows, scanned, base, job.selection)
    events = link(rows, scanned, strings, base.gpu.device_of_place, counts)
    group = rows.operations.group if job.for_tables else None
    return _Read(scanned, strings, base, LookedAt(events, job.selection, counts), group)


def _counting(rows: EventRows, scanned: Scanned, base: BaseFigures, selection: Selection) -> Bools | None:
    """Tell which operations are looked at and have a part in the window; None is all."""
    if selection.is_whole:
        return None
    operations = rows.operations
    device = np.array(base.gpu.device_of_place, np.int64)
    looked_at = device[np.array([place for _, place in scanned.gpu.groups], np.int64)] >= 0
    return looked_at[operations.group] & selection.counts(operations.start_ns, operations.end_ns)


def _digest(source: Source, facts: CaptureFacts, read: _Read, job: _Job) -> Digest:
    scanned, strings, base = read.scanned, read.strings, read.base
    gpu = base.gpu
    rows = rows_by_process(scanned)
    missing = missing_columns(source)
    failed = failed_calls(scanned.api, strings)
    made = _made(read, facts, job)
    sections = {} if made is None else dict(made.values)
    details = sections.pop("nvtx", {})
    if "host" in sections:
        splits = zip(sections["idle"].devices, sections.pop("host"), strict=True)
        split = tuple(replace(device, host=of_device) for device, of_device in splits)
        sections["idle"] = replace(sections["idle"], devices=split)
    told = None if made is None else made.warnings
    warned = warnings(scanned, facts, gpu, rows, strings, missing, failed, told, whole=job.selection.is_whole)
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
            incomplete=is_incomplete(scanned, facts, strings, warned, gpu),
            asked=job.asked,
            window=job.window,
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
    if read.looked is None:
        return None
    # what makes them takes time to import, which a digest of the base alone is spared
    from nsys_digest.sections.registry import make_sections

    return make_sections(_context(read, read.looked, facts, job))


def _context(read: _Read, looked: LookedAt, facts: CaptureFacts, job: _Job) -> Context:
    from nsys_digest.sections.section import Context

    base = read.base
    return Context(looked, read.scanned, base.gpu, read.strings, base.range_idle_ns, facts.session_ns, job.sections)


def inspect_trace(trace: Path | TraceFile) -> Inspection:
    """Say what is in a trace; see :func:`nsys_digest.inspect`."""
    with opened(trace, "stdlib") as source:
        return inspect_source(source)


def classify_trace(
    trace: Path | TraceFile, kernel_categories: KernelCategories, options: SummarizeOptions
) -> CategoryUse:
    """Say which category each kernel of a trace is in; see :func:`nsys_digest.classify`."""
    job = _job(trace, options)

    def classify(source: Source) -> CategoryUse:
        threads = _threads(source, job)
        facts = None if job.asked.is_whole else read_capture(source)
        choice = Choice() if facts is None else choose(source, facts, job.asked, job.sections.step, job.nvtx, threads)
        kernels = scan_kernels(source, threads=threads, chosen=choice.selection.chosen)
        if facts is not None and not kernels.counts.any():
            raise nothing_held(source, facts, _every_place(source, job), job.asked)
        strings = source.strings(STRINGS, {name for label in kernels.labels for name in label})
        return category_use(source.path.name, kernels, strings, kernel_categories)

    return read_trace(trace, options.reader, classify)
