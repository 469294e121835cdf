"""NVTX marks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.tables.columns import PROCESS, RANGE, THREAD
from nsys_digest.tables.linked import Linked, innermost_at
from nsys_digest.tables.table import Column, Rows, Table, Texts, slices


def _rows(linked: Linked) -> Iterator[Rows]:
    marks, ranges = linked.context.scanned.nvtx.all_marks, linked.events.ranges
    if marks is None or not marks.start_ns.size:
        return
    names = Texts(marks.names)
    edges = np.searchsorted(marks.thread, np.arange(len(ranges.threads) + 1))
    around = innermost_at(ranges, edges, marks.start_ns)
    for part in slices(marks.start_ns.size):
        own = np.arange(part.start, part.stop)
        own = own[linked.context.selection.counts(marks.start_ns[part], marks.start_ns[part])]
        if own.size:
            thread = linked.range_threads[marks.thread[own]]
            yield {
                "time_ns": marks.start_ns[own],
                "name": names.of(marks.name[own]),
                **linked.thread(thread),
                **linked.range(around[own]),
            }


TABLE: Final = Table(
    "marks",
    "an NVTX mark, dispatch marks among them",
    "by thread, then by time",
    (
        Column("time_ns", "int64", "ns", "when it was set, on the trace's own clock"),
        Column("name", "text", "-", "`domain:text`, the text alone in the default domain"),
        *PROCESS,
        *THREAD,
        *RANGE,
    ),
    _rows,
)
