"""NVTX ranges."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Coverage
from nsys_digest.algorithms.nesting import enclosing
from nsys_digest.tables.columns import PROCESS, THREAD, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table, Texts, known, slices
from nsys_digest.trace.columns import Ints, smallest_type
from nsys_digest.trace.events import NONE, Ranges

_KINDS: Final = ("start_end", "push_pop")


def _rows(linked: Linked) -> Iterator[Rows]:
    ranges, selection = linked.events.ranges, linked.context.selection
    kinds, parent = Texts(_KINDS), _parents(ranges)
    busy = Coverage(linked.context.gpu.busy)
    for part in slices(ranges.start_ns.size):
        own = np.arange(part.start, part.stop)
        own = own[selection.counts(ranges.start_ns[part], ranges.end_ns[part])]
        if not own.size:
            continue
        start_ns, end_ns = ranges.start_ns[own], ranges.end_ns[own]
        thread = linked.range_threads[np.searchsorted(ranges.edges, own, side="right") - 1]
        yield {
            "id": own,
            **linked.times(start_ns, end_ns),
            "name": linked.range_name(own),
            "kind": kinds.of(ranges.is_push_pop[own].astype(np.int64)),
            "open": ranges.was_open[own],
            "gpu_overlap_ns": busy.within(start_ns, end_ns),
            **linked.thread(thread),
            "parent_id": known(parent[own]),
            "parent": linked.range_name(parent[own]),
        }


def _parents(ranges: Ranges) -> Ints:
    """Return the range around each push/pop range with a length on its thread, ``NONE`` where there is none."""
    found: Ints = np.full(ranges.start_ns.size, NONE, smallest_type(ranges.start_ns.size))
    for thread in np.flatnonzero(np.diff(ranges.edges) > 1).tolist():
        part = ranges.of_thread(thread)
        has_length = ranges.end_ns[part] > ranges.start_ns[part]
        own = np.flatnonzero(ranges.is_push_pop[part] & has_length) + part.start
        around = enclosing(ranges.end_ns[own])
        inner = np.flatnonzero(around >= 0)
        found[own[inner]] = own[around[inner]]
    return found


TABLE: Final = Table(
    "nvtx",
    "an NVTX range",
    "by thread, then by start, the longer one first",
    (
        Column("id", "int64", "-", "number of the range, from 0: `range_id` of other tables of the same export"),
        *TIMES,
        Column("name", "text", "-", "`domain:name`, the name alone in the default domain, as in the digest"),
        Column("kind", "text", "-", "`push_pop`, or `start_end`, which may end on another thread"),
        Column("open", "bool", "-", "whether it was open when the capture ended; it ends with the trace then"),
        Column("gpu_overlap_ns", "int64", "ns", "how much of it, within what is looked at, any GPU was busy"),
        *PROCESS,
        *THREAD,
        Column(
            "parent_id",
            "int64",
            "-",
            "`id` of the innermost push/pop range of the thread that holds it whole; null for none, and for ranges "
            "that are not push/pop or have no length",
        ),
        Column("parent", "text", "-", "name of that range"),
    ),
    _rows,
)
