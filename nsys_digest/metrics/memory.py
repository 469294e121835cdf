"""Copies and sets: bytes, time, bandwidth, and how much of the copies kernels hid."""

from __future__ import annotations

import numpy as np

from nsys_digest.collect.gpu import GpuCollector
from nsys_digest.events import Operations
from nsys_digest.intervals import Intervals, intersect, union
from nsys_digest.metrics.tails import sorted_percentile
from nsys_digest.schema.tables import COPY_KINDS, GPU_KINDS, MEMORY_KINDS, NO_MEMORY_KIND
from nsys_digest.sections import Bandwidth, Copies, Memory, Sets


def memory(operations: Operations, gpu: GpuCollector, devices: int) -> Memory:
    """Add up copies by direction and kinds of memory, most time first; takes the copies out of the collector."""
    label, size, length_ns = (column.astype(np.int64) for column in gpu.copies.take())
    copies = []
    for index in range(len(gpu.copy_labels)):
        chosen = label == index
        kind, source, destination = gpu.copy_of(index)
        bytes_of, ns_of = size[chosen], length_ns[chosen]
        timed = ns_of > 0
        gbps = np.sort(bytes_of[timed] / ns_of[timed])  # bytes a nanosecond are 1e9 bytes a second
        copies.append(
            Copies(
                direction=COPY_KINDS.get(kind, "unknown"),
                source_kind=_memory_kind(source),
                destination_kind=_memory_kind(destination),
                count=int(np.count_nonzero(chosen)),
                bytes=int(bytes_of.sum()),
                ns=int(ns_of.sum()),
                gbps=Bandwidth(*(sorted_percentile(gbps, percent) for percent in (50, 95, 100))),
            )
        )
    copies.sort(key=lambda row: (-row.ns, row.direction, row.source_kind or "", row.destination_kind or ""))
    sets = operations.kind == GPU_KINDS.index("memset")
    set_ns = np.maximum(operations.end_ns[sets] - operations.start_ns[sets], 0)
    return Memory(
        copies=tuple(copies),
        sets=Sets(int(np.count_nonzero(sets)), gpu.set_bytes, int(set_ns.sum())),
        overlapped_with_kernels_ns=sum(
            intersect(union_of_kind(operations, device, "memcpy"), union_of_kind(operations, device, "kernel")).total_ns
            for device in range(devices)
        ),
    )


def union_of_kind(operations: Operations, device: int, kind: str) -> Intervals:
    """Return the union of the operations of one kind on a device."""
    chosen = (operations.device == device) & (operations.kind == GPU_KINDS.index(kind))
    return union(operations.start_ns[chosen], operations.end_ns[chosen])


def _memory_kind(kind: int) -> str | None:
    return None if kind == NO_MEMORY_KIND else MEMORY_KINDS.get(kind, f"kind {kind}")
