"""CUDA API calls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.tables.columns import PROCESS, RANGE, THREAD, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table, Texts, known, slices
from nsys_digest.trace.events import CLASSES, NONE


def _rows(linked: Linked) -> Iterator[Rows]:
    calls, counts = linked.events.calls, linked.context.looked.calls
    classes = Texts([one.value for one in CLASSES])
    launched = _launched(linked)
    failed = np.zeros(calls.start_ns.size, bool)
    failed[calls.failed] = True
    for part in slices(calls.start_ns.size):
        own = np.arange(part.start, part.stop)
        own = own if counts is None else own[counts[part]]
        if not own.size:
            continue
        group, thread = calls.group[own], linked.call_threads[calls.thread_of(own)]
        yield {
            "id": own,
            **linked.times(calls.start_ns[own], calls.end_ns[own]),
            "name": linked.call_names.of(group),
            "class": classes.of(calls.class_of_group[group]),
            "failed": failed[own],
            "correlation_id": known(calls.correlation[own], 0),
            "operations": launched[own].astype(np.int64),
            **linked.thread(thread),
            **linked.range(linked.range_of_call[own]),
        }


def _launched(linked: Linked) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return how many operations that count each call launched."""
    found = np.zeros(linked.events.calls.start_ns.size, np.int64)
    call, counts = linked.events.operations.call, linked.context.looked.work_counts
    for part in slices(call.size):
        linking = call[part] != NONE
        linking &= True if counts is None else counts[part]
        np.add.at(found, call[part][linking], 1)
    return found


TABLE: Final = Table(
    "api",
    "a CUDA API call",
    "by thread, then by start",
    (
        Column("id", "int64", "-", "number of the call, from 0: `call_id` of other tables of the same export"),
        *TIMES,
        Column("name", "text", "-", "recorded name"),
        Column("class", "text", "-", "class of the call, such as launch or sync"),
        Column("failed", "bool", "-", "whether it returned an error"),
        Column("correlation_id", "int64", "-", "correlation id; null for none"),
        Column("operations", "int64", "operations", "how many operations it launched of those looked at"),
        *PROCESS,
        *THREAD,
        *RANGE,
    ),
    _rows,
)
