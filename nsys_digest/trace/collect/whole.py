"""Some of the rows of every event table of a trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, NamedTuple

from nsys_digest.algorithms.at_once import both
from nsys_digest.algorithms.intervals import GroupedIntervals
from nsys_digest.errors import UsageInvalid
from nsys_digest.trace.collect.api import ApiPart, ApiTotals, CallRows
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.gpu import GpuPart, GpuTotals
from nsys_digest.trace.collect.names import NameRanking
from nsys_digest.trace.collect.nvtx import NvtxPart, NvtxTotals
from nsys_digest.trace.collect.operations import OperationRows
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.waits import WaitPart
from nsys_digest.trace.events import Ranges, WaitedFor
from nsys_digest.trace.nsys.tables import GPU_KINDS, STRINGS, api_query, gpu_query, nvtx_query, wait_query
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
    ranges: Ranges
    waits: Mapping[int, WaitedFor]
    """What waits of each process were for, by globalPid."""


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
        """Start without a row; ``detail`` keeps every operation, call and range; ``chosen`` says what counts.

        Raises:
            UsageInvalid: both are asked for: whole events are not clipped yet.

        """
        if detail and chosen is not None:
            raise UsageInvalid("sections are of the whole trace; a selection goes with the base figures alone")
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
        self._waits = WaitPart(self._count(self._wait_query))
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
        lock = threading.Lock()
        for kind, query in enumerate(self._gpu_queries):
            if query is not None:
                yield Task(query, partial(self._gpu.add, kind), lock)
        for query, take in ((self._api_query, self._api.add), (self._wait_query, self._waits.add)):
            if query is not None:
                yield Task(query, take, threading.Lock())
        yield from self.tables_of_ranges()

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

    def keep_names(self, kept: frozenset[int]) -> None:
        """Forget the ranges, and from now on keep only names of those hashes apart."""
        self._nvtx = self._nvtx_part(kept)

    def merge(self, other: TracePart) -> None:
        """Take the rows of another part of the same trace."""
        self._gpu.merge(other._gpu)
        self._api.merge(other._api)
        self._waits.merge(other._waits)
        self._nvtx.merge(other._nvtx)

    def finish(self, name_count: int | None) -> tuple[Scanned, Activity, EventRows | None]:
        """End the part; ``name_count`` is that of ``Scanned``. The two halves take about as long."""
        last_ns = self.last_ns
        (of_nvtx, ranges_in_time, ranges), ((of_gpu, work_in_time, operations), (of_api, calls)) = both(
            lambda: self._nvtx.finish(last_ns, self._api.threads), lambda: (self._gpu.finish(), self._api.finish())
        )
        rows = None
        if operations is not None and calls is not None and ranges is not None:
            rows = EventRows(operations, calls, ranges, self._waits.finish())
        return Scanned(of_gpu, of_api, of_nvtx, name_count), Activity(work_in_time, ranges_in_time), rows
