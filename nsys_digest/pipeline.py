"""The public functions: a trace in, a digest out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from nsys_digest import __version__
from nsys_digest.algorithms.at_once import both
from nsys_digest.errors import DigestError, UsageInvalid
from nsys_digest.model.base_types import RunFacts
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.json_schema import DOCUMENTS, schema_text
from nsys_digest.model.kernel_categories import KernelCategories, load_kernel_categories
from nsys_digest.options import SummarizeKeywords, SummarizeOptions, options_of
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
from nsys_digest.trace.nsys.tables import API_RESULT, STRINGS, check_is_trace, missing_columns
from nsys_digest.trace.scan import Progress, Scanned, default_threads, scan, scan_kernels, values_in_range
from nsys_digest.trace.source import Reader, Source
from nsys_digest.trace.sqlite import SqliteSource, open_sqlite
from nsys_digest.units import utc_text


def summarize(trace: str | os.PathLike[str], **options: Unpack[SummarizeKeywords]) -> Digest:
    """Digest an nsys SQLite export. The file is opened read-only; nothing is written beside it.

    Args:
        trace: path of the ``.sqlite`` file.
        options: these keywords.
        top: how many kernels ``top_kernels`` holds, 20.
        dispatch_prefix: how the text of a dispatch mark begins, "CG_DISPATCH".
        raw_nvtx_names: keep the serial numbers that PyTorch appends to range names.
        max_nvtx_names: how many range names are kept apart; the rest, with least time, become one ``(other)``; 100,000.
        sections: which of ``SECTIONS`` to make; all by default, none for the base alone, which is faster.
        gaps: how many of the longest gaps ``idle`` lists, 10.
        categories: a TOML file of kernel categories, before or in place of the shipped ones; see docs/categories.md.
        steps: the whole name of an NVTX range whose instances are steps; adds the section ``steps``.
        labels: what else to say of the run, for example its commit; kept in ``run.labels``.
        threads: reader threads; by default as many as pay off for the size of the file.
        reader: "adbc" (fast), "stdlib" (needs no driver), or "auto": adbc where it is installed and fits the file.
        progress: called with (rows read, rows in all) about ten times a second, from the calling thread.
        when_read: called once between reading the tables and the work on what was read.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read.
        TypeError: there is no such option.
        UsageInvalid: an argument is out of range. CategoriesInvalid: the categories file is wrong.
        MissingData: no range has the name of the step.

    """
    return summarize_with(Path(trace), options_of(options))


def summarize_with(trace: Path, options: SummarizeOptions) -> Digest:
    """Digest an export with options that were read; see :func:`summarize`."""
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
    with _opened(job.path, reader) as source:
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


@contextmanager
def _opened(path: Path, reader: Reader) -> Iterator[SqliteSource]:
    """Open a trace and close it again; after Ctrl-C it stays open, since a reader thread may still be inside it."""
    source = open_sqlite(path, reader)
    try:
        check_is_trace(source)
        yield source
    except DigestError as error:
        source.close()
        raise error.about(path) from None
    except Exception:
        source.close()
        raise
    source.close()


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


def inspect(trace: str | os.PathLike[str]) -> Inspection:
    """Say what is in an export without reading its event tables.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse: the file cannot be read.

    """
    with _opened(Path(trace), "stdlib") as source:
        return inspect_source(source)


def classify(
    trace: str | os.PathLike[str], *, categories: str | os.PathLike[str] | None = None, reader: Reader = "auto"
) -> CategoryUse:
    """Say which category each kernel of a trace is in, by which pattern, and which kernels no pattern takes.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read.
        CategoriesInvalid: the categories file is wrong.

    """
    path = Path(trace)
    ordered = load_kernel_categories(None if categories is None else Path(categories))
    try:
        return _classify(path, ordered, reader)
    except ReaderUnfitError:
        return _classify(path, ordered, "stdlib")


def _classify(path: Path, kernel_categories: KernelCategories, reader: Reader) -> CategoryUse:
    with _opened(path, reader) as source:
        gpu = scan_kernels(source, threads=default_threads(path.stat().st_size))
        strings = source.strings(STRINGS, {*gpu.kernel_names.values, *gpu.full_names.values})
        return category_use(path.name, gpu, strings, kernel_categories)


def json_schema(of: str = "digest") -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document: ``digest``, ``diff`` or ``check``.

    Raises:
        UsageInvalid: there is no such document.

    """
    if of not in DOCUMENTS:
        raise UsageInvalid(f"there is no document {of!r}; choose from {', '.join(DOCUMENTS)}")
    schema: dict[str, Any] = json.loads(schema_text(of))
    return schema
