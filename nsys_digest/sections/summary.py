"""From a trace to its digest: opened, read once, linked, and each section made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from nsys_digest import __version__
from nsys_digest.algorithms.at_once import both
from nsys_digest.model.base_types import RunFacts
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.kernel_categories import KernelCategories, load_kernel_categories
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.capture import capture, rows_by_process
from nsys_digest.sections.categories import category_use
from nsys_digest.sections.devices import gpu_time
from nsys_digest.sections.failed_calls import failed_calls
from nsys_digest.sections.nvtx import dispatch_counts, dispatch_timeline, nvtx_ranges
from nsys_digest.sections.registry import AccountOptions, account
from nsys_digest.sections.totals import api_totals, kernel_totals
from nsys_digest.sections.warnings import AccountLimits, is_incomplete, warnings
from nsys_digest.trace.adbc import ReaderUnfitError
from nsys_digest.trace.collect.nvtx import NvtxOptions
from nsys_digest.trace.inspection import inspect_source
from nsys_digest.trace.link import order_calls
from nsys_digest.trace.nsys.capture import CaptureFacts, read_capture
from nsys_digest.trace.nsys.tables import API_RESULT, STRINGS, missing_columns
from nsys_digest.trace.open import opened
from nsys_digest.trace.scan import Progress, Scanned, default_threads, scan, scan_kernels, values_in_range
from nsys_digest.trace.source import Reader, Source
from nsys_digest.units import utc_text


def summarize_trace(trace: Path, options: SummarizeOptions) -> Digest:
    """Digest a trace; see :func:`nsys_digest.summarize`."""
    chosen = options.sections
    classified = (
        options.categories is not None or options.steps is not None or {"communication", "categories"} & set(chosen)
    )
    ordered = load_kernel_categories(options.categories) if classified else KernelCategories(())
    job = _Job(
        trace,
        os.fspath(trace),
        dict(options.labels),
        options.top,
        NvtxOptions(options.dispatch_prefix, options.raw_nvtx_names, options.max_nvtx_names),
        AccountOptions(chosen, options.gaps, ordered, options.steps),
        options.threads,
        options.progress,
        options.when_read,
    )
    try:
        return _summarize(job, options.reader)
    except ReaderUnfitError:
        return _summarize(job, "stdlib")


@dataclass(frozen=True, slots=True)
class _Job:
    """What was asked for."""

    path: Path
    given_path: str
    labels: Mapping[str, str]
    top: int
    nvtx: NvtxOptions
    account: AccountOptions
    threads: int | None
    progress: Progress | None
    when_read: Callable[[], None] | None


def _summarize(job: _Job, reader: Reader) -> Digest:
    with opened(job.path, reader) as source:
        facts = read_capture(source)
        scanned = scan(
            source,
            job.nvtx,
            session_ns=facts.session_ns,
            threads=job.threads or default_threads(job.path.stat().st_size),
            detail=job.account.needs_events,
            progress=job.progress,
        )
        if job.when_read is not None:
            job.when_read()
        return _digest(source, facts, scanned, job)


def _digest(source: Source, facts: CaptureFacts, scanned: Scanned, job: _Job) -> Digest:
    names = {*scanned.gpu.kernel_names.values, *scanned.gpu.full_names.values}
    names |= set(scanned.api.names.values if scanned.api else ())
    strings = source.strings(STRINGS, names)
    with values_in_range(source, "the GPU activity"):
        calls, gpu = both(
            lambda: order_calls(scanned.api, strings) if job.account.needs_events else None,
            lambda: gpu_time(scanned.gpu, facts),
        )
    kernels = kernel_totals(scanned.gpu, strings)
    rows = rows_by_process(scanned)
    timeline = dispatch_timeline(scanned.nvtx)
    ranges, idle_ns = nvtx_ranges(scanned.nvtx, gpu.busy)
    missing = missing_columns(source)
    failed = failed_calls(scanned.api, strings)
    found = None if calls is None else account(scanned, gpu, calls, strings, idle_ns, facts.session_ns, job.account)
    limits = AccountLimits() if found is None else found.limits
    warned = warnings(scanned, facts, gpu, rows, strings, missing, failed, limits)
    return Digest(
        file=source.path.name,
        gpu_activity_span_ns=gpu.span_ns,
        gpu_busy_union_ns=gpu.busy_ns,
        kernel_count=sum(total.count for _, total in kernels),
        graph_node_kernel_count=scanned.gpu.graph_node_kernel_count,
        api=api_totals(scanned.api, strings),
        nvtx=ranges if found is None else {name: replace(ranges[name], detail=found.nvtx.get(name)) for name in ranges},
        dispatch=dispatch_counts(timeline),
        dispatch_timeline=timeline,
        top_kernels=kernels[: job.top],
        capture=capture(
            facts,
            rows,
            job.nvtx,
            job.account.sections,
            categories=job.account.kernel_categories.file,
            steps=job.account.step,
            incomplete=is_incomplete(scanned, facts, strings, warned),
        ),
        warnings=warned,
        devices=gpu.devices,
        api_backtrace_rows=scanned.api.backtrace_count if scanned.api else 0,
        tool_version=__version__,
        failed_calls=None if any(API_RESULT in columns for columns in missing.values()) else failed,
        path=job.given_path,
        run=RunFacts(utc_text(facts.recorded_at_ns), job.labels),
        **({} if found is None else found.sections),
    )


def inspect_trace(path: Path) -> Inspection:
    """Say what is in a trace; see :func:`nsys_digest.inspect`."""
    with opened(path, "stdlib") as source:
        return inspect_source(source)


def classify_trace(path: Path, kernel_categories: KernelCategories, reader: Reader) -> CategoryUse:
    """Say which category each kernel of a trace is in; see :func:`nsys_digest.classify`."""
    try:
        return _classify(path, kernel_categories, reader)
    except ReaderUnfitError:
        return _classify(path, kernel_categories, "stdlib")


def _classify(path: Path, kernel_categories: KernelCategories, reader: Reader) -> CategoryUse:
    with opened(path, reader) as source:
        gpu = scan_kernels(source, threads=default_threads(path.stat().st_size))
        strings = source.strings(STRINGS, {*gpu.kernel_names.values, *gpu.full_names.values})
        return category_use(path.name, gpu, strings, kernel_categories)
