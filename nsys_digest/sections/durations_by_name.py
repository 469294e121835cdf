"""Durations of every API name and every kernel name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.section_types import Durations
from nsys_digest.sections.durations import durations_by_group
from nsys_digest.sections.section import Blind, Lane, Made, Section
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import Calls, Operations
from nsys_digest.trace.nsys.tables import GPU_KINDS, name_of


def by_total(names: Sequence[str], group: Ints, start_ns: Int64s, end_ns: Int64s) -> dict[str, Durations]:
    """Return the durations of each name, most total time first; ``names[g]`` is that of group g, and may repeat."""
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int32)
    found = durations_by_group(id_of[group] if group.size else group, start_ns, end_ns, len(ids))
    rows = [(name, found[index]) for name, index in ids.items() if found[index].count]
    return dict(sorted(rows, key=lambda row: (-row[1].total_ns, row[0])))


def api_durations(calls: Calls) -> dict[str, Durations]:
    """Return the durations of each recorded API name."""
    return by_total(calls.names, calls.group, calls.start_ns, calls.end_ns)


def kernel_durations(operations: Operations, strings: Mapping[int, str]) -> dict[str, Durations]:
    """Return the durations of each short kernel name."""
    kernels = operations.kind == GPU_KINDS.index("kernel")
    start_ns = operations.start_ns[kernels]
    end_ns = np.maximum(operations.end_ns[kernels], start_ns)
    names = [name_of(short, strings) for short, _ in operations.kernel_labels]
    return by_total(names, operations.label[kernels], start_ns, end_ns)


API = Section("api_durations", lambda context: Made(api_durations(context.looked.counted_calls)), Lane.time)
KERNELS = Section(
    "kernel_durations",
    lambda context: Made(kernel_durations(context.looked.operations, context.strings)),
    Lane.time,
    frozenset({Blind.whole_graphs}),
)
