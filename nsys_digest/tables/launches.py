"""Calls that launched GPU work, and how long the work took to begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.sections.launched import NEVER
from nsys_digest.tables.columns import PROCESS, RANGE, THREAD
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Maybe, Rows, Table, Texts, known, slices
from nsys_digest.trace.events import CLASSES


def _rows(linked: Linked) -> Iterator[Rows]:
    context = linked.context
    calls, work, counts = linked.events.calls, context.launches, context.looked.calls
    classes = Texts([one.value for one in CLASSES])
    call, first_ns = work.first_starts()
    for part in slices(call.size):
        at = np.arange(part.start, part.stop)
        at = at if counts is None else at[counts[call[part]]]
        if not at.size:
            continue
        own, began_ns = call[at], first_ns[at]
        start_ns, end_ns, group = calls.start_ns[own], calls.end_ns[own], calls.group[own]
        thread, began = linked.call_threads[calls.thread_of(own)], began_ns != NEVER
        yield {
            "call_id": own.astype(np.int64),
            "start_ns": start_ns,
            "end_ns": end_ns,
            "duration_ns": end_ns - start_ns,
            "name": linked.call_names.of(group),
            "class": classes.of(calls.class_of_group[group]),
            "graph": calls.graph_group[group],
            "correlation_id": known(calls.correlation[own], 0),
            "operations": work.operation_count(at, at + 1),
            "kernels": work.kernel_count(at, at + 1),
            "first_start_ns": Maybe(began_ns, began),
            "queue_delay_ns": Maybe(np.maximum(np.where(began, began_ns, 0) - end_ns, 0), began),
            "latency_ns": Maybe(np.maximum(np.where(began, began_ns, 0) - start_ns, 0), began),
            **linked.thread(thread),
            **linked.range(linked.range_of_call[own]),
        }


TABLE: Final = Table(
    "launches",
    "a call that launched GPU work; section `launch` is of those of class launch with a `first_start_ns`",
    "by thread; calls that nest come after the others of their thread",
    (
        Column("call_id", "int64", "-", "`id` of the call in table `api`"),
        Column("start_ns", "int64", "ns", "when the call began, on the trace's own clock"),
        Column("end_ns", "int64", "ns", "when it returned"),
        Column("duration_ns", "int64", "ns", "its length"),
        Column("name", "text", "-", "recorded name"),
        Column("class", "text", "-", "class of the call, such as launch or sync"),
        Column("graph", "bool", "-", "whether it launched a CUDA graph"),
        Column("correlation_id", "int64", "-", "correlation id; null for none"),
        Column("operations", "int64", "operations", "how many operations it launched on what is looked at, whenever"),
        Column("kernels", "int64", "kernels", "how many of these are kernels"),
        Column("first_start_ns", "int64", "ns", "when the first kernel or graph began; null without one"),
        Column("queue_delay_ns", "int64", "ns", "from the return of the call to that; 0 where it had begun before"),
        Column("latency_ns", "int64", "ns", "from the start of the call to that"),
        *PROCESS,
        *THREAD,
        *RANGE,
    ),
    _rows,
)
