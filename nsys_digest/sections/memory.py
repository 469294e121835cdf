"""Copies and sets: bytes, time, bandwidth, and how much of the copies kernels hid."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, exact_sum, intersect, union
from nsys_digest.algorithms.members import members
from nsys_digest.model.cuda_calls import COPY_CALLS, SET_CALLS, CallClass, is_one_of
from nsys_digest.model.memory_types import Bandwidth, Copies, Memory, Migration, MoveCost, MoveCosts, Sets
from nsys_digest.sections.durations import sorted_percentile
from nsys_digest.sections.section import Context, Lane, Made, Section
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import CLASSES, NONE, Calls, CopyLabel, Operations, PageFaults
from nsys_digest.trace.nsys.tables import (
    COPY_KINDS,
    GPU_KINDS,
    MEMORY_KINDS,
    MIGRATION_CAUSES,
    MIGRATION_KINDS,
    NO_MEMORY_KIND,
)

_DIRECTIONS: Final = {11: "to device", 12: "to host", 13: "between devices"}
_SMALL_BYTES: Final = 64 * 1024
"""Copies below it are small: the driver may stage them, and their cost is the call and not the bytes."""
_BETWEEN: Final = frozenset({"HtoD", "DtoH"})


def memory(
    operations: Operations, calls: Calls, devices: int, faults: PageFaults, selection: Selection = WHOLE
) -> Memory:
    """Add up copies by direction and kinds of memory, most time first; bandwidths are of whole copies.

    Operations are on the clock of the window, calls whole.
    """
    made = operations.copies
    columns = (made.label, made.bytes, made.length_ns, made.part_ns)
    label, size, length_ns, part_ns = (column.astype(np.int64) for column in columns)
    rows: dict[tuple[str, str | None, str | None], int] = {}
    row_of_label = [rows.setdefault(_row(*copy[:3]), len(rows)) for copy in operations.copy_labels]
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
    of_device = members(operations.device, devices)
    sets = operations.kind == GPU_KINDS.index("memset")
    set_ns = np.maximum(operations.end_ns[sets] - operations.start_ns[sets], 0)
    return Memory(
        copies=tuple(copies),
        sets=Sets(int(np.count_nonzero(sets)), operations.set_bytes, int(set_ns.sum())),
        overlapped_with_kernels_ns=sum(
            intersect(union_of_kind(operations, own, "memcpy"), union_of_kind(operations, own, "kernel")).total_ns
            for own in map(of_device.of, range(devices))
        ),
        migrations=_migrations(operations.copy_labels, label, size, part_ns),
        cpu_page_fault_count=faults.cpu,
        gpu_page_fault_count=faults.gpu,
        costs=_costs(operations, calls, selection),
    )


class _Costs:
    """What operations of one kind cost: their time, and that of the calls that made them."""

    def __init__(self, operations: Operations, calls: Calls, selection: Selection, kind: str, names: Set[str]) -> None:
        own = np.flatnonzero(operations.kind == GPU_KINDS.index(kind))
        self.size = own.size
        self._length_ns = np.maximum(operations.end_ns[own] - operations.start_ns[own], 0)
        self._call, self._calls, self._selection = operations.call[own], calls, selection
        makes = np.array([is_one_of(name, names) for name in calls.names], bool)
        blocks = makes & (calls.class_of_group == CLASSES.index(CallClass.sync))
        self._made, self.blocking = (self._of_group(flags) for flags in (makes, blocks))

    def _of_group(self, flags: Bools) -> Bools:
        """Return for each operation whether its call is in one of the flagged groups; one without a call is not."""
        known = self._call != NONE
        found = np.zeros(self.size, bool)
        found[known] = flags[self._calls.group[self._call[known]]]
        return found

    def of(self, chosen: Bools) -> MoveCost:
        """Add up some of them; a call that made several counts once."""
        call = np.unique(self._call[chosen & self._made])
        start_ns, end_ns = self._calls.start_ns[call], self._calls.end_ns[call]
        start_ns, end_ns = self._selection.on_clock(start_ns), self._selection.on_clock(np.maximum(end_ns, start_ns))
        spent_ns = np.maximum(end_ns - start_ns, 0)
        return MoveCost(int(np.count_nonzero(chosen)), int(self._length_ns[chosen].sum()), int(spent_ns.sum()))


def _costs(operations: Operations, calls: Calls, selection: Selection) -> MoveCosts:
    copies = _Costs(operations, calls, selection, "memcpy", COPY_CALLS)
    sets = _Costs(operations, calls, selection, "memset", SET_CALLS)
    rows = [_row(*label[:3]) for label in operations.copy_labels]
    label = operations.copies.label.astype(np.int64)
    no_migration, between, pageable = (
        np.array(flags, bool)[label]
        for flags in (
            [copy.kind not in MIGRATION_KINDS for copy in operations.copy_labels],
            [direction in _BETWEEN for direction, _, _ in rows],
            ["pageable" in ends for _, *ends in rows],
        )
    )
    return MoveCosts(
        pageable_async=copies.of(no_migration & pageable & ~copies.blocking),
        pageable_blocking=copies.of(no_migration & pageable & copies.blocking),
        pinned_blocking=copies.of(no_migration & ~pageable & copies.blocking),
        small=copies.of(between & (operations.copies.bytes < _SMALL_BYTES)),
        sets=sets.of(np.ones(sets.size, bool)),
        blocking_sets=sets.of(sets.blocking),
    )


def _migrations(labels: Sequence[CopyLabel], label: Int64s, size: Int64s, length_ns: Int64s) -> tuple[Migration, ...]:
    rows: dict[tuple[str, str | None], list[int]] = {}
    for index, one in enumerate(labels):
        if one.kind in MIGRATION_KINDS:
            rows.setdefault((_DIRECTIONS[one.kind], MIGRATION_CAUSES.get(one.cause)), []).append(index)
    found = []
    for name, of_row in rows.items():
        chosen = np.isin(label, of_row)
        if not chosen.any():  # all are outside of what is looked at
            continue
        moved, ns = exact_sum(size[chosen]), int(length_ns[chosen].sum())
        found.append(Migration(*name, int(np.count_nonzero(chosen)), moved, ns))
    return tuple(sorted(found, key=lambda one: (-one.sum_ns, one.direction, one.cause or "")))


def union_of_kind(operations: Operations, own: Int64s, kind: str) -> Intervals:
    """Return the union of those of one kind among some operations."""
    chosen = own[operations.kind[own] == GPU_KINDS.index(kind)]
    return union(operations.start_ns[chosen], operations.end_ns[chosen])


def _row(kind: int, source: int, destination: int) -> tuple[str, str | None, str | None]:
    return COPY_KINDS.get(kind, "unknown"), _memory_kind(source), _memory_kind(destination)


def _memory_kind(kind: int) -> str | None:
    return None if kind == NO_MEMORY_KIND else MEMORY_KINDS.get(kind)


def _make(context: Context) -> Made:
    events, devices = context.events, len(context.gpu.devices)
    return Made(memory(context.looked.parts, events.calls, devices, events.page_faults, context.selection))


SECTION = Section("memory", _make, Lane.time)
