"""GPU activity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from nsys_digest.algorithms.accumulators import Codes, PairCodes, StreamingUnion, Totals, windows_of_sorted
from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, exact_sum
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Columns, Ints
from nsys_digest.trace.nsys.tables import GPU_KINDS, OPEN
from nsys_digest.trace.source import Batch

_STREAM_BITS, _OTHER_BITS = 20, 14
_OTHER_MASK = (1 << _OTHER_BITS) - 1
_COPY_BITS = 20
_COPY_MASK = (1 << _COPY_BITS) - 1


class GpuCollector:
    """GPU activity by kind and stream: totals, unions, and with ``detail`` every operation."""

    def __init__(self, detail: Mapping[str, int] | None = None) -> None:
        """Start without a row; ``detail`` keeps every operation: about how many rows there are of each kind."""
        self.processes = Codes()
        self._devices, self._contexts, self._streams = Codes(), Codes(), Codes()
        self._places = Codes()
        self.groups = PairCodes()
        """(kind, place) of each group; a place is a stream of a context of a device of a process."""
        self.totals = Totals()
        self._unions = StreamingUnion()
        self.kernel_names = Codes()
        self.kernels = Totals()
        self.graph_nodes: Counter[int] = Counter()
        """Operations with a graph node, by globalPid."""
        self.graph_node_kernel_count = 0
        self.skipped_count = 0
        self.last_ns = OPEN
        """The largest start or end."""
        self.operations = None if detail is None else Columns(sum(detail.values()), 2, 3)
        """Start, end, group, correlation id, label of every operation."""
        self._taken: tuple[Int64s, Int64s, Ints, Ints, Ints] | None = None
        self.full_names = Codes()
        self.kernel_labels = PairCodes()
        """(code of the short name, code of the full name) of each label of a kernel."""
        self.copy_labels = Codes()
        """Copy kind and kinds of memory of each label of a copy; see ``copy_of``."""
        self.copies = Columns((detail or {}).get("memcpy", 0), 0, 3)
        """Label, bytes, length of every copy."""
        self.set_bytes = 0
        self._moved_bytes = 0

    def add(self, kind: int, batch: Batch) -> None:
        """Take rows of one kind (an index into ``GPU_KINDS``), with the columns of ``gpu_query``."""
        start_ns, end_ns = batch.ints("start_ns"), batch.ints("end_ns")
        process = self.processes.encode(batch.ints("process"))
        place = self._place(process, batch.ints("device"), batch.ints("context"), batch.ints("stream"))
        kinds = np.full(place.size, kind, np.int64)
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        length_ns = end_ns - start_ns
        skipped = np.count_nonzero(length_ns <= 0)
        if skipped:
            self.skipped_count += int(skipped)
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(kinds, place)
        self.totals.add(group, length_ns)
        if self.operations is None:
            self._unions.add(start_ns, end_ns, group)
        in_graph = batch.ints("graph_node") != 0
        if in_graph.any():
            for code, count in enumerate(np.bincount(process[in_graph]).tolist()):
                self.graph_nodes[self.processes.values[code]] += count
        label = np.zeros(place.size, np.int64)
        if GPU_KINDS[kind] == "kernel":
            self.graph_node_kernel_count += int(np.count_nonzero(in_graph))
            name = self.kernel_names.encode(batch.ints("short_name"))
            self.kernels.add(name, length_ns)
            if self.operations is not None:
                label = self.kernel_labels.encode(name, self.full_names.encode(batch.ints("full_name")))
        elif self.operations is not None and GPU_KINDS[kind] == "memcpy":
            label = self._copy_labels(batch)
            self.copies.add(label, self._sizes(batch.ints("bytes")), length_ns)
        elif self.operations is not None and GPU_KINDS[kind] == "memset":
            self.set_bytes += exact_sum(self._sizes(batch.ints("bytes")))
        if self.operations is not None:
            self.operations.add(start_ns, end_ns, group, batch.ints("correlation"), label)

    def take_windows(self) -> Iterator[GroupedIntervals]:
        """Yield all activity in windows of time, by group; see :meth:`StreamingUnion.take_windows`."""
        if self.operations is None:
            return self._unions.take_windows()
        if self._taken is None:
            start_ns, end_ns, group, correlation, label = self.operations.take()
            if not np.all(start_ns[1:] >= start_ns[:-1]):
                order = np.argsort(start_ns, kind="stable")
                start_ns, end_ns, group = start_ns[order], end_ns[order], group[order]
                correlation, label = correlation[order], label[order]
            self._taken = start_ns, end_ns, group, correlation, label
        return windows_of_sorted(*self._taken[:3])

    def take_operations(self) -> tuple[Int64s, Int64s, Ints, Ints, Ints]:
        """Return start, end, group, correlation id and label of every operation, in order of start; after windows."""
        assert self._taken is not None
        taken, self._taken = self._taken, None
        return taken

    def _sizes(self, size: Int64s) -> Int64s:
        """Return numbers of bytes as they are; raises OverflowError where one is negative, or all leave int64."""
        self._moved_bytes += exact_sum(size)
        if size.min(initial=0) < 0 or self._moved_bytes >= 2**63:
            raise OverflowError("move a negative number of bytes, or 8 EiB together, so that a size is damaged")
        return size

    def _copy_labels(self, batch: Batch) -> Int64s:
        key = np.zeros(len(batch), np.int64)
        for name in ("copy_kind", "source_kind", "destination_kind"):
            key = (key << _COPY_BITS) | np.clip(batch.ints(name) + 1, 0, _COPY_MASK)
        return self.copy_labels.encode(key)

    def copy_of(self, label: int) -> tuple[int, int, int]:
        """Return (copy kind, kind of source memory, kind of destination memory) of a label."""
        key = self.copy_labels.values[label]
        kind, source, destination = (key >> shift & _COPY_MASK for shift in (2 * _COPY_BITS, _COPY_BITS, 0))
        return kind - 1, source - 1, destination - 1

    def _place(self, process: Int64s, device: Int64s, context: Int64s, stream: Int64s) -> Int64s:
        """Return small ids of (process, device, context, stream)."""
        device, context, stream = (
            self._devices.encode(device),
            self._contexts.encode(context),
            self._streams.encode(stream),
        )
        if max(map(len, (self.processes, self._devices, self._contexts))) >> _OTHER_BITS or (
            len(self._streams) >> _STREAM_BITS
        ):
            raise OverflowError("name more than 16,384 processes, devices or contexts, or a million streams")
        key = (process << _OTHER_BITS) | device
        key = (key << _OTHER_BITS) | context
        return self._places.encode((key << _STREAM_BITS) | stream)

    @property
    def place_count(self) -> int:
        """How many streams were seen."""
        return len(self._places)

    def stream_of(self, place: int) -> tuple[int, int, int, int]:
        """Return (globalPid, device, context, stream) of a place."""
        key = self._places.values[place]
        stream = self._streams.values[key & ((1 << _STREAM_BITS) - 1)]
        key >>= _STREAM_BITS
        context, key = self._contexts.values[key & _OTHER_MASK], key >> _OTHER_BITS
        device, key = self._devices.values[key & _OTHER_MASK], key >> _OTHER_BITS
        return self.processes.values[key], device, context, stream
