"""GPU activity by kind and stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from nsys_digest.algorithms.accumulators import Bounds, Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s
from nsys_digest.algorithms.streaming import StreamingUnion, windows_of_sorted
from nsys_digest.trace.collect.chosen import Chosen, ChosenBatch
from nsys_digest.trace.collect.correlations import Correlations
from nsys_digest.trace.collect.graphs import GraphPart, GraphTotals
from nsys_digest.trace.collect.operations import OperationPart, OperationRows
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.nsys.tables import GPU_KINDS, OPEN
from nsys_digest.trace.source import Batch

_STREAM_BITS, _OTHER_BITS = 20, 14
_OTHER_MASK = (1 << _OTHER_BITS) - 1


class Place(NamedTuple):
    """A stream of a context of a device (CUDA ordinal) of a process (globalPid)."""

    process: int
    device: int
    context: int
    stream: int


@dataclass(frozen=True, slots=True)
class GpuTotals:
    """GPU activity added up; ``counts`` and ``sums_ns`` are by group, int64 of shape (groups,)."""

    places: tuple[Place, ...]
    groups: tuple[tuple[int, int], ...]
    """(kind, place): indices into ``GPU_KINDS`` and ``places``."""
    counts: Int64s
    sums_ns: Int64s
    kernel_names: tuple[int, ...]
    """String ids of the short names of kernels."""
    kernel_counts: Int64s
    kernel_sums_ns: Int64s
    graph_nodes: Mapping[int, int]
    """Operations with a graph node, by globalPid; of processes that have some."""
    graph_node_kernel_count: int
    skipped_count: int
    """Operations without length."""
    looked_at: tuple[bool, ...]
    """Whether each place is looked at; groups of others have no counts."""
    graphs: GraphTotals | None = None
    """Launches of CUDA graphs, where they were asked for."""


class GpuPart:
    """Some of the GPU activity: totals and unions, and with ``rows`` every operation."""

    def __init__(
        self, rows: Mapping[str, int] | None = None, chosen: Chosen | None = None, *, graphs: bool = False
    ) -> None:
        """Start without a row; ``rows`` keeps every operation: about how many there are of each kind.

        ``chosen`` says what counts; None is everything. ``graphs`` adds up CUDA graphs.
        """
        self._chosen = chosen
        self._processes, self._devices, self._contexts, self._streams = Codes(), Codes(), Codes(), Codes()
        self._places = Codes()
        self._groups = PairCodes()
        self._totals = Totals()
        self._kernel_names = Codes()
        self._kernels = Totals()
        self._graph_nodes: Counter[int] = Counter()
        self._graph_node_kernel_count = 0
        self._skipped_count = 0
        self.last_ns = OPEN
        """The largest start or end."""
        self._unions = StreamingUnion()
        """Of what is not kept one by one."""
        self._operations = None if rows is None else OperationPart(rows)
        self.correlations, self._later = Correlations(), Bounds()
        """Correlation ids, and starts behind the window by place; of operations that are kept in part."""
        self._graphs = GraphPart() if graphs else None

    def add(self, kind: int, batch: Batch) -> None:
        """Take rows of one kind (an index into ``GPU_KINDS``), with the columns of ``gpu_query``."""
        start_ns, end_ns = batch.ints("start_ns"), batch.ints("end_ns")
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        if self._chosen is not None:
            batch = self._chosen.of_processes(batch, batch.ints("process"))
            start_ns, end_ns = batch.ints("start_ns"), batch.ints("end_ns")
        process = self._processes.encode(batch.ints("process"))
        place = self._place(
            process,
            self._devices.encode(batch.ints("device")),
            self._contexts.encode(batch.ints("context")),
            self._streams.encode(batch.ints("stream")),
        )
        group = self._groups.encode(np.full(place.size, kind, np.int64), place)
        if self._chosen is not None:
            counts, part_ns = self._chosen.counted_work(batch)
            if self._operations is not None:
                self._operations.add(GPU_KINDS[kind], batch, group, part_ns, counts)
                self._note_ids(batch, place)
            self._add(kind, ChosenBatch(batch, counts), process[counts], group[counts], part_ns[counts])
        else:
            length_ns = self._add(kind, batch, process, group, end_ns - start_ns)
            if self._operations is not None:
                self._operations.add(GPU_KINDS[kind], batch, group, length_ns)

    def _add(self, kind: int, batch: Batch, process: Int64s, group: Int64s, length_ns: Int64s) -> Int64s:
        """Add up rows that count, and return their lengths, none of them negative."""
        skipped = np.count_nonzero(length_ns <= 0)
        if skipped:
            self._skipped_count += int(skipped)
            length_ns = np.maximum(length_ns, 0)
        if self._graphs is not None:
            self._graphs.add(GPU_KINDS[kind], batch, length_ns)
        self._totals.add(group, length_ns)
        in_graph = batch.ints("graph_node") != 0
        if in_graph.any():
            for code, count in enumerate(np.bincount(process[in_graph]).tolist()):
                self._graph_nodes[self._processes.values[code]] += count
        if GPU_KINDS[kind] == "kernel":
            self._graph_node_kernel_count += int(np.count_nonzero(in_graph))
            self._kernels.add(self._kernel_names.encode(batch.ints("short_name")), length_ns)
        if self._operations is None:
            self._unions.add(batch.ints("start_ns"), batch.ints("end_ns"), group)
        return length_ns

    def _note_ids(self, batch: Batch, place: Int64s) -> None:
        start_ns = batch.ints("start_ns")
        self.correlations.add(batch.ints("correlation"))
        if self._chosen is not None and self._chosen.bounds_ns is not None:
            later = np.flatnonzero((start_ns >= self._chosen.bounds_ns[1]) & (batch.ints("end_ns") > start_ns))
            self._later.add(place[later], start_ns[later])

    def places_without_later_work(self) -> list[Place]:
        """Return places that are looked at and of which no operation behind the window was read."""
        looked_at = self._looked_at().tolist()
        return [
            self._place_of(key)
            for code, key in enumerate(self._places.values)
            if looked_at[code] and self._later.of(code) is None
        ]

    def note_places(self, process: Int64s, device: Int64s, context: Int64s, stream: Int64s) -> None:
        """Take places that the trace has work of, where not every row is read."""
        if self._chosen is not None and self._chosen.processes is not None:
            kept = self._chosen.processes(process)
            process, device, context, stream = process[kept], device[kept], context[kept], stream[kept]
        self._place(
            self._processes.encode(process),
            self._devices.encode(device),
            self._contexts.encode(context),
            self._streams.encode(stream),
        )

    def merge(self, other: GpuPart) -> None:
        """Take the rows of another part, which keeps operations where this one does."""
        process, device, context, stream = (
            own.merge(its)
            for own, its in (
                (self._processes, other._processes),
                (self._devices, other._devices),
                (self._contexts, other._contexts),
                (self._streams, other._streams),
            )
        )
        codes = _codes_of(np.array(other._places.values, np.int64))
        place = self._place(process[codes[0]], device[codes[1]], context[codes[2]], stream[codes[3]])
        group = self._groups.merge(other._groups, np.arange(len(GPU_KINDS)), place)
        self._totals.merge(other._totals, group)
        self._kernels.merge(other._kernels, self._kernel_names.merge(other._kernel_names))
        self._graph_nodes.update(other._graph_nodes)
        self._graph_node_kernel_count += other._graph_node_kernel_count
        self._skipped_count += other._skipped_count
        self.last_ns = max(self.last_ns, other.last_ns)
        self._unions.merge(other._unions, group)
        if self._operations is not None and other._operations is not None:
            self._operations.merge(other._operations, group, [kind for kind, _ in other._groups.pairs])
        if self._graphs is not None and other._graphs is not None:
            self._graphs.merge(other._graphs)

    def finish(self) -> tuple[GpuTotals, Iterator[GroupedIntervals], OperationRows | None]:
        """End the part: return the totals, all activity by group in windows of time, and the operations if kept."""
        operations = None if self._operations is None else self._operations.finish()
        windows = self._unions.windows() if operations is None else self._windows(operations)
        names = len(self._kernel_names)
        totals = GpuTotals(
            places=tuple(map(self._place_of, self._places.values)),
            groups=tuple(self._groups.pairs),
            counts=self._totals.count(len(self._groups)),
            sums_ns=self._totals.sum(len(self._groups)),
            kernel_names=tuple(self._kernel_names.values),
            kernel_counts=self._kernels.count(names),
            kernel_sums_ns=self._kernels.sum(names),
            graph_nodes={process: count for process, count in self._graph_nodes.items() if count},
            graph_node_kernel_count=self._graph_node_kernel_count,
            skipped_count=self._skipped_count,
            looked_at=tuple(self._looked_at().tolist()),
            graphs=None if self._graphs is None else self._graphs.finish(),
        )
        return totals, windows, operations

    def _looked_at(self) -> Bools:
        """Tell which places are looked at."""
        if self._chosen is None or self._chosen.work is None:
            return np.ones(len(self._places), bool)
        _, device, _, stream = _codes_of(np.array(self._places.values, np.int64))
        devices, streams = np.array(self._devices.values, np.int64), np.array(self._streams.values, np.int64)
        return self._chosen.work(devices[device], streams[stream])

    def _windows(self, rows: OperationRows) -> Iterator[GroupedIntervals]:
        """Return the operations that are looked at in windows of time."""
        looked_at = self._looked_at()
        if looked_at.all():
            return windows_of_sorted(rows.start_ns, rows.end_ns, rows.group)
        place = np.array([place for _, place in self._groups.pairs], np.int64)
        kept = np.flatnonzero(looked_at[place][rows.group])
        return windows_of_sorted(rows.start_ns[kept], rows.end_ns[kept], rows.group[kept])

    def _place(self, process: Int64s, device: Int64s, context: Int64s, stream: Int64s) -> Int64s:
        """Return small ids of (process, device, context, stream), which are small ids themselves."""
        if max(map(len, (self._processes, self._devices, self._contexts))) >> _OTHER_BITS or (
            len(self._streams) >> _STREAM_BITS
        ):
            raise OverflowError("name more than 16,384 processes, devices or contexts, or a million streams")
        key = (process << _OTHER_BITS) | device
        key = (key << _OTHER_BITS) | context
        return self._places.encode((key << _STREAM_BITS) | stream)

    def _place_of(self, key: int) -> Place:
        process, device, context, stream = _codes_of(key)
        return Place(
            self._processes.values[process],
            self._devices.values[device],
            self._contexts.values[context],
            self._streams.values[stream],
        )


_Key = TypeVar("_Key", int, Int64s)


def _codes_of(key: _Key) -> tuple[_Key, _Key, _Key, _Key]:
    """Take the key of a place, or of each of many, apart."""
    stream, key = key & ((1 << _STREAM_BITS) - 1), key >> _STREAM_BITS
    context, key = key & _OTHER_MASK, key >> _OTHER_BITS
    return key >> _OTHER_BITS, key & _OTHER_MASK, context, stream
