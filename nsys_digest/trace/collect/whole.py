"""Some of the rows of every event table of a trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from nsys_digest.algorithms.at_once import both
from nsys_digest.algorithms.intervals import GroupedIntervals
from nsys_digest.trace.collect.api import ApiPart, ApiTotals, CallRows
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.event_records import EventRecordPart
from nsys_digest.trace.collect.gpu import GpuPart, GpuTotals
from nsys_digest.trace.collect.host import HostPart, HostRows
from nsys_digest.trace.collect.names import NameRanking
from nsys_digest.trace.collect.nvtx import NvtxPart, NvtxTotals
from nsys_digest.trace.collect.operations import OperationRows
from nsys_digest.trace.collect.overheads import OverheadPart, OverheadRows
from nsys_digest.trace.collect.page_faults import PageFaultPart
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.waits import WaitPart
from nsys_digest.trace.events import PageFaults, Ranges, WaitedFor
from nsys_digest.trace.nsys.host_tables import host_query
from nsys_digest.trace.nsys.overheads import overhead_query
from nsys_digest.trace.nsys.tables import (
    GPU_KINDS,
    HOST_TABLES,
    OVERHEAD_TABLES,
    STRINGS,
    api_query,
    event_query,
    gpu_query,
    nvtx_query,
    wait_query,
)
from nsys_digest.trace.source import Query, Source
from nsys_digest.trace.threads import Task


@dataclass(frozen=True, slots=True)
class Scanned:
    """What was added up; a table that the trace lacks gives the same as an empty one.

    ``name_count`` is the number of range names where that is beyond the limit, else None.
    """

    gpu: GpuTotals
    api: ApiTotals
    nvtx: NvtxTotals
    name_count: int | None


class Extras(NamedTuple):
    """What is read for single sections."""

    graphs: bool = False
    payloads: bool = False
    host: bool = False
    """What threads did on the CPU."""


NO_EXTRAS: Final = Extras()


class Activity(NamedTuple):
    """Intervals by group in windows of time; to go through once, and freed on the way."""

    gpu: Iterator[GroupedIntervals]
    nvtx: Iterator[GroupedIntervals]


@dataclass(frozen=True, slots=True)
class EventRows:
    """Operations, calls and ranges one by one."""

    operations: OperationRows
    calls: CallRows
    overheads: OverheadRows
    ranges: Ranges
    waits: Mapping[int, WaitedFor]
    """What waits of each process were for, by globalPid."""
    host: HostRows | None
    """What threads did on the CPU; None unless that is asked for."""
    page_faults: PageFaults
    event_streams: Mapping[tuple[int, int, int], int]
    """The stream on which each (globalPid, context, event) was recorded."""

    @property
    def name_ids(self) -> set[int]:
        """The string ids of the names in use that no total has."""
        return {name for _, name, _ in self.overheads.labels} | (set() if self.host is None else self.host.name_ids)


class TracePart:
    """Some of the rows: each table's part, read alike.

    Where there are more range names than are kept, ``ranking`` knows which to keep; ``keep_names`` then starts the
    ranges again, to be read again.
    """

    def __init__(
        self,
        source: Source,
        options: NvtxOptions,
        session_ns: int | None,
        *,
        detail: bool,
        extras: Extras = NO_EXTRAS,
        chosen: Chosen | None = None,
    ) -> None:
        """Start without a row; ``detail`` keeps every operation, call and range; ``chosen`` says what counts."""
        self._chosen = chosen
        self._source, self._options, self._session_ns, self._detail = source, options, session_ns, detail
        self._gpu_queries = [gpu_query(source, kind, detail=detail) for kind in GPU_KINDS]
        self._api_query = api_query(source, detail=detail)
        self._nvtx_query = nvtx_query(source, detail=detail, payloads=extras.payloads)
        self._extras = extras
        self._wait_query = wait_query(source) if detail else None
        counts = dict(zip(GPU_KINDS, map(self._count, self._gpu_queries), strict=True))
        self._gpu = GpuPart(counts if detail else None, chosen, graphs=extras.graphs)
        self._api = ApiPart(self._count(self._api_query) if detail else None, chosen)
        self._event_query = event_query(source) if detail else None
        self._event_records = EventRecordPart()
        self._waits = WaitPart(self._count(self._wait_query))
        self._overhead_queries = [overhead_query(source, table) if detail else None for table in OVERHEAD_TABLES]
        self._overheads = OverheadPart(sum(map(self._count, self._overhead_queries)), chosen)
        self._page_faults = PageFaultPart(source, chosen)
        tables = {table: host_query(source, table) for table in HOST_TABLES} if extras.host else {}
        self._host_queries = {table: query for table, query in tables.items() if query is not None}
        self._host = HostPart({table: self._count(query) for table, query in self._host_queries.items()})
        self._nvtx = self._nvtx_part(None)

    def _count(self, query: Query | None) -> int:
        return 0 if query is None else self._source.row_count(query.table, exact=False)[0]

    def _nvtx_part(self, kept: frozenset[int] | None) -> NvtxPart:
        rows = self._count(self._nvtx_query) if self._detail else None
        texts_of = partial(self._source.strings, STRINGS)
        payloads = self._extras.payloads
        return NvtxPart(texts_of, self._options, self._session_ns, kept, rows, self._chosen, payloads=payloads)

    def tables(self) -> Iterator[Task]:
        """Yield every table that the trace has, GPU activity first, and what takes its rows."""
        yield from self.tables_of_work()
        yield from self.tables_of_calls()
        yield from self.other_tables()
        yield from self.tables_of_ranges()

    def tables_of_work(self) -> Iterator[Task]:
        """Yield the tables of GPU activity, and what takes their rows."""
        lock = threading.Lock()
        for kind, query in enumerate(self._gpu_queries):
            if query is not None:
                yield Task(query, partial(self._gpu.add, kind), lock)

    def tables_of_calls(self) -> Iterator[Task]:
        """Yield the table of calls, where there is one, and what takes its rows."""
        if self._api_query is not None:
            yield Task(self._api_query, self._api.add, threading.Lock())

    def other_tables(self) -> Iterator[Task]:
        """Yield the tables that are read whole whatever is looked at, and what takes their rows."""
        for query, take in ((self._wait_query, self._waits.add), (self._event_query, self._event_records.add)):
            if query is not None:
                yield Task(query, take, threading.Lock())
        lock = threading.Lock()
        for table, query in enumerate(self._overhead_queries):
            if query is not None:
                yield Task(query, partial(self._overheads.add, table), lock)
        lock = threading.Lock()
        for name, query in self._host_queries.items():
            yield Task(query, self._host.taker(name), lock)
        if self._detail:
            for side, query in self._page_faults.queries():
                yield Task(query, partial(self._page_faults.add, side), threading.Lock())

    def tables_of_ranges(self) -> Iterator[Task]:
        """Yield the table of ranges, where there is one, and what takes its rows."""
        if self._nvtx_query is not None:
            yield Task(self._nvtx_query, self._nvtx.add, threading.Lock())

    @property
    def ranking(self) -> NameRanking | None:
        """Which names to keep, where there are too many; None else."""
        return self._nvtx.ranking

    @property
    def last_ns(self) -> int:
        """The last time stamp."""
        return max(self._gpu.last_ns, self._api.last_ns, self._nvtx.last_ns)

    @property
    def work(self) -> GpuPart:
        """The GPU activity."""
        return self._gpu

    @property
    def calls(self) -> ApiPart:
        """The calls."""
        return self._api

    def keep_names(self, kept: frozenset[int]) -> None:
        """Forget the ranges, and from now on keep only names of those hashes apart."""
        self._nvtx = self._nvtx_part(kept)

    def merge(self, other: TracePart) -> None:
        """Take the rows of another part of the same trace."""
        self._gpu.merge(other._gpu)
        self._api.merge(other._api)
        self._waits.merge(other._waits)
        self._overheads.merge(other._overheads)
        self._host.merge(other._host)
        self._page_faults.merge(other._page_faults)
        self._event_records.merge(other._event_records)
        self._nvtx.merge(other._nvtx)

    def finish(self, name_count: int | None, last_ns: int | None = None) -> tuple[Scanned, Activity, EventRows | None]:
        """End the part; ``name_count`` is that of ``Scanned``. The two halves take about as long.

        ``last_ns`` is the last time stamp of the trace, None where every row was read.
        """
        last_ns = self.last_ns if last_ns is None else last_ns
        (of_nvtx, ranges_in_time, ranges), ((of_gpu, work_in_time, operations), (of_api, calls)) = both(
            lambda: self._nvtx.finish(last_ns, self._api.threads), lambda: (self._gpu.finish(), self._api.finish())
        )
        rows = None
        if operations is not None and calls is not None and ranges is not None:
            host = self._host.finish() if self._extras.host else None
            rows = EventRows(
                operations,
                calls,
                self._overheads.finish(),
                ranges,
                self._waits.finish(),
                host,
                self._page_faults.finish(),
                self._event_records.finish(),
            )
        return Scanned(of_gpu, of_api, of_nvtx, name_count), Activity(work_in_time, ranges_in_time), rows
