"""Idle gaps of each device, and why each was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.sections.device_gaps import device_gaps
from nsys_digest.sections.idle import causes_of, ended_last
from nsys_digest.tables.columns import CALL, DEVICE, PROCESS
from nsys_digest.tables.columns import CAUSES as CAUSE_COLUMNS
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table, Texts, slices
from nsys_digest.trace.events import NONE


def _rows(linked: Linked) -> Iterator[Rows]:
    causes = Texts(CAUSES)
    for index in linked.context.devices_with_span:
        yield from _of_device(linked, index, causes)


def _of_device(linked: Linked, index: int, causes: Texts) -> Iterator[Rows]:
    events = linked.context.events
    operations = events.operations
    own = linked.context.of_devices.of(index)
    found = device_gaps(events, own, linked.context.selection)
    causes_ns = np.zeros((len(CAUSES), found.start_ns.size), np.int64)
    for position, amounts in causes_of(events, found):
        causes_ns[:, position] = amounts
    for part in slices(found.start_ns.size):
        gaps = found.some(part)
        started = np.append(operations.start_ns, 0)[gaps.ended_by] == gaps.end_ns
        call = np.append(operations.call, NONE)[gaps.ended_by]
        of_calls = np.append(events.calls.process_of_group[events.calls.group], 0)[call]
        yield {
            "start_ns": gaps.start_ns,
            "end_ns": gaps.end_ns,
            "duration_ns": gaps.end_ns - gaps.start_ns,
            **linked.device(np.full(gaps.start_ns.size, index)),
            "before": linked.operation_name(ended_last(events, own, gaps.start_ns)),
            "after": linked.operation_name(np.where((gaps.ended_by != NONE) & started, gaps.ended_by, NONE)),
            "cause": causes.of(causes_ns[:, part].argmax(axis=0)),
            **{f"{name}_ns": causes_ns[at, part] for at, name in enumerate(CAUSES)},
            **linked.process(of_calls),
            **linked.call(call, np.append(operations.correlation, 0)[gaps.ended_by]),
        }


TABLE: Final = Table(
    "gaps",
    "a stretch in which a device was idle, between its first start and its last end; with a window any within that",
    "by device, then by start",
    (
        Column("start_ns", "int64", "ns", "when the device became idle, on the trace's own clock"),
        Column("end_ns", "int64", "ns", "when it became busy again"),
        Column("duration_ns", "int64", "ns", "its length: the sum of its causes"),
        *DEVICE,
        Column("before", "text", "-", "what ended when it began; null at the edge of the window"),
        Column("after", "text", "-", "what began when it ended; null at the edge of the window"),
        Column("cause", "text", "-", "the cause of most of it; of equal ones the first of the columns that follow"),
        *CAUSE_COLUMNS,
        *PROCESS,
        *CALL,
    ),
    _rows,
)
"""Process, call and range are those of the call that launched what ended the gap."""
