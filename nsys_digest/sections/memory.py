"""Copies and sets: bytes, time, bandwidth, and how much of the copies kernels hid."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Intervals, exact_sum, intersect, union
from nsys_digest.model.section_types import Bandwidth, Copies, Memory, Sets
from nsys_digest.sections.durations import sorted_percentile
from nsys_digest.sections.section import Lane, Made, Section
from nsys_digest.trace.events import Operations
from nsys_digest.trace.nsys.tables import COPY_KINDS, GPU_KINDS, MEMORY_KINDS, NO_MEMORY_KIND


def memory(operations: Operations, devices: int) -> Memory:
    """Add up copies by direction and kinds of memory, most time first; bandwidths are of whole copies.

    Operations are on the clock of the window.
    """
    made = operations.copies
    columns = (made.label, made.bytes, made.length_ns, made.part_ns)
    label, size, length_ns, part_ns = (column.astype(np.int64) for column in columns)
    rows: dict[tuple[str, str | None, str | None], int] = {}
    row_of_label = [rows.setdefault(_row(*copy), len(rows)) for copy in operations.copy_labels]
    row = np.array(row_of_label, np.int64)[label] if label.size else label
    copies = []
    for (direction, source, destination), index in rows.items():
        bytes_of, ns_of = size[row == index], length_ns[row == index]
        if not bytes_of.size:  # all are outside of what is looked at
            continue
        timed = ns_of > 0
        gbps = np.sort(bytes_of[timed] / ns_of[timed])  # bytes a nanosecond are 1e9 bytes a second
        copies.append(
            Copies(
                direction=direction,
                source_kind=source,
                destination_kind=destination,
                count=bytes_of.size,
                bytes=exact_sum(bytes_of),
                sum_ns=int(part_ns[row == index].sum()),
                gbps=Bandwidth(*(sorted_percentile(gbps, percent) for percent in (50, 95, 100, 5))),
            )
        )
    copies.sort(key=lambda one: (-one.sum_ns, one.direction, one.source_kind or "", one.destination_kind or ""))
    sets = operations.kind == GPU_KINDS.index("memset")
    set_ns = np.maximum(operations.end_ns[sets] - operations.start_ns[sets], 0)
    return Memory(
        copies=tuple(copies),
        sets=Sets(int(np.count_nonzero(sets)), operations.set_bytes, int(set_ns.sum())),
        overlapped_with_kernels_ns=sum(
            intersect(union_of_kind(operations, device, "memcpy"), union_of_kind(operations, device, "kernel")).total_ns
            for device in range(devices)
        ),
    )


def union_of_kind(operations: Operations, device: int, kind: str) -> Intervals:
    """Return the union of the operations of one kind on a device."""
    chosen = (operations.device == device) & (operations.kind == GPU_KINDS.index(kind))
    return union(operations.start_ns[chosen], operations.end_ns[chosen])


def _row(kind: int, source: int, destination: int) -> tuple[str, str | None, str | None]:
    return COPY_KINDS.get(kind, "unknown"), _memory_kind(source), _memory_kind(destination)


def _memory_kind(kind: int) -> str | None:
    return None if kind == NO_MEMORY_KIND else MEMORY_KINDS.get(kind)


SECTION = Section("memory", lambda context: Made(memory(context.looked.parts, len(context.gpu.devices))), Lane.time)
