"""The public functions: a trace in, a digest out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from nsys_digest import __version__
from nsys_digest.errors import DigestError, UsageInvalid
from nsys_digest.model.base_types import RunFacts
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.json_schema import DOCUMENTS, schema_text
from nsys_digest.model.kernel_categories import KernelCategories, load_kernel_categories
from nsys_digest.model.labels import check_label
from nsys_digest.model.section_types import SECTIONS
from nsys_digest.sections.capture import capture, rows_by_process
from nsys_digest.sections.categories import category_use
from nsys_digest.sections.devices import gpu_time
from nsys_digest.sections.nvtx import dispatch_counts, dispatch_timeline, nvtx_ranges
from nsys_digest.sections.registry import AccountOptions, account
from nsys_digest.sections.totals import api_totals, kernel_totals
from nsys_digest.sections.warnings import AccountLimits, warnings
from nsys_digest.trace.adbc import ReaderUnfitError
from nsys_digest.trace.collect.nvtx import NvtxOptions
from nsys_digest.trace.inspection import inspect_source
from nsys_digest.trace.link import order_calls
from nsys_digest.trace.nsys.capture import CaptureFacts, read_capture
from nsys_digest.trace.nsys.tables import STRINGS, check_is_trace, missing_columns
from nsys_digest.trace.scan import Progress, Scanned, default_threads, scan, scan_kernels
from nsys_digest.trace.source import Reader, Source
from nsys_digest.trace.sqlite import SqliteSource, open_sqlite
from nsys_digest.units import utc_text

DEFAULT_TOP = 20
DEFAULT_DISPATCH_PREFIX = "CG_DISPATCH"
DEFAULT_MAX_NVTX_NAMES = 100_000
DEFAULT_GAPS = 10


def summarize(
    trace: str | os.PathLike[str],
    *,
    top: int = DEFAULT_TOP,
    dispatch_prefix: str = DEFAULT_DISPATCH_PREFIX,
    raw_nvtx_names: bool = False,
    max_nvtx_names: int = DEFAULT_MAX_NVTX_NAMES,
    sections: Iterable[str] | None = None,
    gaps: int = DEFAULT_GAPS,
    categories: str | os.PathLike[str] | None = None,
    steps: str | None = None,
    labels: Mapping[str, str] | None = None,
    threads: int | None = None,
    reader: Reader = "auto",
    progress: Progress | None = None,
    when_read: Callable[[], None] | None = None,
) -> Digest:
    """Digest an nsys SQLite export. The file is opened read-only; nothing is written beside it.

    Args:
        trace: path of the ``.sqlite`` file.
        top: how many kernels ``top_kernels`` holds.
        dispatch_prefix: how the text of a dispatch mark begins.
        raw_nvtx_names: keep the serial numbers that PyTorch appends to range names.
        max_nvtx_names: how many range names are kept apart; the rest, with least time, become one ``(other)``.
        sections: which of ``SECTIONS`` to make; all by default, none for the base alone, which is faster.
        gaps: how many of the longest gaps ``idle`` lists.
        categories: a TOML file of kernel categories, before or in place of the shipped ones; see docs/categories.md.
        steps: the whole name of an NVTX range whose instances are steps; adds the section ``steps``.
        labels: what else to say of the run, for example its commit; kept in ``run.labels``.
        threads: reader threads; by default as many as pay off for the size of the file.
        reader: "adbc" (fast), "stdlib" (needs no driver), or "auto": adbc where it is installed and fits the file.
        progress: called with (rows read, rows in all) about ten times a second, from the calling thread.
        when_read: called once between reading the tables and the work on what was read.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read.
        UsageInvalid: an argument is out of range. CategoriesInvalid: the categories file is wrong.
        MissingData: no range has the name of the step.

    """
    if top < 0:
        raise UsageInvalid(f"top is {top}; give 0 or more")
    if max_nvtx_names < 1:
        raise UsageInvalid(f"the number of NVTX names to keep is {max_nvtx_names}; give 1 or more")
    if reader not in get_args(Reader):
        raise UsageInvalid(f"there is no reader {reader!r}; choose from {', '.join(get_args(Reader))}")
    if threads is not None and not 1 <= threads <= 64:
        raise UsageInvalid(f"threads is {threads}; give 1 to 64")
    if not dispatch_prefix:
        raise UsageInvalid("the dispatch prefix is empty; give the text that dispatch marks begin with")
    if gaps < 0:
        raise UsageInvalid(f"gaps is {gaps}; give 0 or more")
    for key, value in (labels or {}).items():
        check_label(key, value)
    chosen = _chosen(sections)
    classified = categories is not None or steps is not None or {"communication", "categories"} & set(chosen)
    ordered = (
        load_kernel_categories(None if categories is None else Path(categories)) if classified else KernelCategories(())
    )
    job = _Job(
        Path(trace),
        os.fspath(trace),
        dict(labels or {}),
        top,
        NvtxOptions(dispatch_prefix, raw_nvtx_names, max_nvtx_names),
        AccountOptions(chosen, gaps, ordered, steps),
        threads,
        progress,
        when_read,
    )
    try:
        return _summarize(job, reader)
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


def _chosen(sections: Iterable[str] | None) -> tuple[str, ...]:
    """Return the sections in the order of the document."""
    if sections is None:
        return SECTIONS
    if isinstance(sections, str):
        raise UsageInvalid(f"sections is the text {sections!r}; give a list of names")
    asked = set(sections)
    unknown = sorted(asked - set(SECTIONS))
    if unknown:
        raise UsageInvalid(f"there is no section {', '.join(unknown)}; choose from {', '.join(SECTIONS)}")
    return tuple(name for name in SECTIONS if name in asked)


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
    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(order_calls, scanned.api, strings) if job.account.needs_events else None
        gpu = gpu_time(scanned.gpu, facts)
    kernels = kernel_totals(scanned.gpu, strings)
    rows = rows_by_process(scanned)
    timeline = dispatch_timeline(scanned.nvtx)
    ranges, idle_ns = nvtx_ranges(scanned.nvtx, gpu.busy)
    found = None if calls is None else account(scanned, gpu, calls.result(), strings, idle_ns, job.account)
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
        ),
        warnings=warnings(
            scanned,
            facts,
            gpu,
            rows,
            strings,
            missing_columns(source),
            AccountLimits() if found is None else found.limits,
        ),
        devices=gpu.devices,
        api_backtrace_rows=scanned.api.backtrace_count if scanned.api else 0,
        tool_version=__version__,
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
