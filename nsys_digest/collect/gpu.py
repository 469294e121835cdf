"""GPU activity."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nsys_digest.accumulators import Codes, PairCodes, StreamingUnion, Totals
from nsys_digest.collect.times import last_time
from nsys_digest.errors import ValueUnreadable
from nsys_digest.intervals import Int64s
from nsys_digest.schema.tables import GPU_KINDS, OPEN
from nsys_digest.sources.base import Batch

_STREAM_BITS, _OTHER_BITS = 20, 14
_OTHER_MASK = (1 << _OTHER_BITS) - 1


class GpuCollector:
    """GPU activity: by stream for totals and stream busy time, by device and kind for the unions."""

    def __init__(self) -> None:
        """Start without a row."""
        self.processes = Codes()
        self._devices, self._contexts, self._streams = Codes(), Codes(), Codes()
        self._places = Codes()
        self.groups = PairCodes()
        """(kind, place) of each group; a place is a stream of a context of a device of a process."""
        self.totals = Totals()
        self.unions = StreamingUnion()
        self.kernel_names = Codes()
        self.kernels = Totals()
        self.graph_nodes: Counter[int] = Counter()
        """Operations with a graph node, by globalPid."""
        self.graph_node_kernel_count = 0
        self.skipped_count = 0
        self.last_ns = OPEN
        """The largest start or end."""

    def add(self, kind: int, batch: Batch) -> None:
        """Take rows of one kind (an index into ``GPU_KINDS``), with the columns of ``gpu_query``."""
        start_ns, end_ns = batch.ints(0), batch.ints(1)
        process = self.processes.encode(batch.ints(5))
        place = self._place(process, batch.ints(2), batch.ints(3), batch.ints(4))
        kinds = np.full(place.size, kind, np.int64)
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        length_ns = end_ns - start_ns
        skipped = np.count_nonzero(length_ns <= 0)
        if skipped:
            self.skipped_count += int(skipped)
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(kinds, place)
        self.totals.add(group, length_ns)
        self.unions.add(start_ns, end_ns, group)
        in_graph = batch.ints(6) != 0
        if in_graph.any():
            for code, count in enumerate(np.bincount(process[in_graph]).tolist()):
                self.graph_nodes[self.processes.values[code]] += count
        if GPU_KINDS[kind] == "kernel":
            self.graph_node_kernel_count += int(np.count_nonzero(in_graph))
            self.kernels.add(self.kernel_names.encode(batch.ints(7)), length_ns)

    def _place(self, process: Int64s, device: Int64s, context: Int64s, stream: Int64s) -> Int64s:
        """Return small ids of (process, device, context, stream)."""
        key = (process << _OTHER_BITS) | self._devices.encode(device)
        key = (key << _OTHER_BITS) | self._contexts.encode(context)
        key = (key << _STREAM_BITS) | self._streams.encode(stream)
        if max(map(len, (self.processes, self._devices, self._contexts))) >> _OTHER_BITS or (
            len(self._streams) >> _STREAM_BITS
        ):
            raise ValueUnreadable(
                "the GPU tables name more than 16,384 processes, devices or contexts, or a million streams; export "
                "the report again with: nsys export --type sqlite REPORT.nsys-rep"
            )
        return self._places.encode(key)

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
