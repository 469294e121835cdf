"""One pass over each event table; the reader threads live here.

A job is one range of rows of one table. Each thread reads through a connection of its own, with Python's lock
released, and hands batches to the table's collector under that collector's lock. Collectors add integers and merge
intervals, which commute, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, TypeAlias

from nsys_digest.algorithms.at_once import both
from nsys_digest.algorithms.intervals import GroupedIntervals
from nsys_digest.errors import ValueUnreadable
from nsys_digest.trace.collect.api import ApiPart, ApiTotals, CallRows
from nsys_digest.trace.collect.gpu import GpuPart, GpuTotals
from nsys_digest.trace.collect.kernels import KernelPart, KernelTotals
from nsys_digest.trace.collect.nvtx import NvtxPart, NvtxTotals
from nsys_digest.trace.collect.operations import OperationRows
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.waits import WaitPart
from nsys_digest.trace.events import Ranges, WaitedFor
from nsys_digest.trace.nsys.tables import GPU_KINDS, STRINGS, api_query, gpu_query, nvtx_query, wait_query
from nsys_digest.trace.source import Batch, Query, RowRange, Source

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (rows read, rows in all) about ten times a second."""

_THREADED_FROM_BYTES = 64_000_000
_MAX_THREADS = 4
_MIN_PART_ROWS = 200_000
_PARTS_PER_THREAD = 8
_TICK_S = 0.1


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was added up; a table that the trace lacks gives the same as an empty one.

    ``name_count`` is the number of range names where that is beyond the limit, else None.
    """

    gpu: GpuTotals
    api: ApiTotals
    nvtx: NvtxTotals
    name_count: int | None


class Activity(NamedTuple):
    """Intervals by group in windows of time; to go through once, and freed on the way."""

    gpu: Iterator[GroupedIntervals]
    nvtx: Iterator[GroupedIntervals]


@dataclass(frozen=True, slots=True)
class EventRows:
    """Operations, calls and ranges one by one."""

    operations: OperationRows
    calls: CallRows
    ranges: Ranges
    waits: Mapping[int, WaitedFor]
    """What waits of each process were for, by globalPid."""


def default_threads(byte_count: int) -> int:
    """Return how many reader threads pay off for a file of that size on this machine."""
    return min(_MAX_THREADS, os.cpu_count() or 1) if byte_count >= _THREADED_FROM_BYTES else 1


def scan(
    source: Source,
    options: NvtxOptions,
    *,
    session_ns: int | None,
    threads: int,
    detail: bool = False,
    progress: Progress | None = None,
) -> tuple[Scanned, Activity, EventRows | None]:
    """Read each event table once; the NVTX table twice when it has more names than are kept.

    ``detail`` keeps every operation, call and range for the sections that need them one by one.

    Raises:
        ReaderUnfitError: the source's fast reader cannot read this file.
        DigestError: the file cannot be read.

    """
    queries = [gpu_query(source, kind, detail=detail) for kind in GPU_KINDS]
    calls, events = api_query(source, detail=detail), nvtx_query(source, detail=detail)
    rows = dict(zip(GPU_KINDS, (_row_count(source, query) for query in queries), strict=True))
    gpu = GpuPart(rows if detail else None)
    api = ApiPart(_row_count(source, calls) if detail else None)

    def nvtx_part(kept: frozenset[int] | None = None) -> NvtxPart:
        size = _row_count(source, events) if detail else None
        return NvtxPart(lambda ids: source.strings(STRINGS, ids), options, session_ns, kept, size)

    nvtx = nvtx_part()
    tasks = [*_gpu_tasks(gpu, enumerate(queries))]
    tasks += [_Task(calls, api.add, threading.Lock())] if calls else []
    wait_rows = wait_query(source) if detail else None
    waits = WaitPart(_row_count(source, wait_rows))
    tasks += [_Task(wait_rows, waits.add, threading.Lock())] if wait_rows else []
    tasks += [_Task(events, nvtx.add, threading.Lock())] if events else []
    _run(source, tasks, threads, progress)
    name_count = None
    if events is not None and nvtx.ranking is not None:
        last_ns = max(gpu.last_ns, api.last_ns, nvtx.last_ns)
        name_count, kept = nvtx.ranking.name_count, nvtx.ranking.kept(options.max_names, last_ns)
        nvtx = nvtx_part(kept)
        _run(source, [_Task(events, nvtx.add, threading.Lock())], threads, progress)
    with values_in_range(source, f"the events of table {events.table if events else ''}"):
        scanned, activity, kept_rows = _finished(gpu, api, nvtx, waits)
    return replace(scanned, name_count=name_count), activity, kept_rows


def scan_kernels(source: Source, *, threads: int) -> KernelTotals:
    """Read the kernels alone."""
    kernels = KernelPart()
    query = gpu_query(source, "kernel", detail=True)
    if query is not None:
        _run(source, [_Task(query, kernels.add, threading.Lock())], threads, None)
    return kernels.finish()


def _row_count(source: Source, query: Query | None) -> int:
    return 0 if query is None else source.row_count(query.table, exact=False)[0]


def _gpu_tasks(gpu: GpuPart, queries: Iterable[tuple[int, Query | None]]) -> Iterator[_Task]:
    lock = threading.Lock()
    for kind, query in queries:
        if query is not None:
            yield _Task(query, partial(gpu.add, kind), lock)


def _finished(
    gpu: GpuPart, api: ApiPart, nvtx: NvtxPart, waits: WaitPart
) -> tuple[Scanned, Activity, EventRows | None]:
    """Finish the parts; the two halves take about as long."""
    last_ns = max(gpu.last_ns, api.last_ns, nvtx.last_ns)
    (of_nvtx, ranges_in_time, ranges), ((of_gpu, work_in_time, operations), (of_api, calls)) = both(
        lambda: nvtx.finish(last_ns, api.threads), lambda: (gpu.finish(), api.finish())
    )
    rows = None
    if operations is not None and calls is not None and ranges is not None:
        rows = EventRows(operations, calls, ranges, waits.finish())
    return Scanned(of_gpu, of_api, of_nvtx, None), Activity(work_in_time, ranges_in_time), rows


@contextmanager
def values_in_range(source: Source, what: str) -> Iterator[None]:
    """Refuse values that no capture can have, and whose sums and differences would wrap around."""
    try:
        yield
    except OverflowError as error:
        wrong = str(error) or "last more than 292 years together, so that a time stamp is damaged"
        raise ValueUnreadable(
            f"{source.path}: {what} {wrong}; export the report again with: nsys export --type sqlite REPORT.nsys-rep"
        ) from None


@dataclass(slots=True)
class _Task:
    query: Query
    take: Callable[[Batch], None]
    lock: threading.Lock
    rows_read: int = 0


def _run(source: Source, tasks: list[_Task], threads: int, progress: Progress | None) -> None:
    """Read all rows of all tasks with that many threads; the calling thread only waits, so Ctrl-C ends it at once."""
    rows = [source.row_count(task.query.table, exact=False)[0] for task in tasks]
    jobs: queue.SimpleQueue[tuple[_Task, RowRange]] = queue.SimpleQueue()
    for task, count in zip(tasks, rows, strict=True):
        part_rows = max(_MIN_PART_ROWS, count // (_PARTS_PER_THREAD * threads)) if threads > 1 else max(count, 1)
        for part in source.parts(task.query.table, part_rows):
            jobs.put((task, part))
    state = _State(threads)

    def work(number: int) -> None:
        try:
            while not state.stop.is_set():
                try:
                    task, part = jobs.get_nowait()
                except queue.Empty:
                    return
                for batch in source.batches(task.query, part):
                    with task.lock, values_in_range(source, f"the events of table {task.query.table}"):
                        task.take(batch)
                        task.rows_read += len(batch)
                    if task.rows_read > source.most_rows:  # pages that name each other go on for ever
                        source.check_whole(task.query.table, task.rows_read)
                    state.rows[number] += len(batch)
                    if state.stop.is_set():
                        return
        except BaseException as error:  # handed to the calling thread, which raises it
            state.errors.append(error)
            state.stop.set()

    workers = _started([threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)])
    if not workers:
        work(0)
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(_TICK_S)
                if progress is not None:
                    progress(sum(state.rows), sum(rows))
    finally:
        state.stop.set()
    if state.errors:
        raise state.errors[0]
    for task, count in zip(tasks, rows, strict=True):
        if task.rows_read != count:  # rows were deleted, or the table is damaged
            source.check_whole(task.query.table, task.rows_read)


def _started(workers: list[threading.Thread]) -> list[threading.Thread]:
    """Start threads, and return those that could be: the system limits how many a user has."""
    for number, worker in enumerate(workers):
        try:
            worker.start()
        except RuntimeError:
            return workers[:number]
    return workers


class _State:
    """What the threads of one pass share."""

    def __init__(self, threads: int) -> None:
        self.stop = threading.Event()
        self.errors: list[BaseException] = []
        self.rows = [0] * threads  # one count a thread: they are read while they grow
