"""Steps: instances of an NVTX range, or from a mark to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.sections.step_names import escaped, matching
from nsys_digest.sections.steps import find_steps
from nsys_digest.tables.columns import CAUSES as CAUSE_COLUMNS
from nsys_digest.tables.columns import PROCESS, THREAD
from nsys_digest.tables.linked import Linked, context_with_step
from nsys_digest.tables.table import Column, Maybe, Rows, Table, Texts, slices


def _rows(linked: Linked) -> Iterator[Rows]:
    context, nvtx = linked.context, linked.context.scanned.nvtx
    if context.options.step is None:
        step = f"{escaped(linked.dispatch_prefix)}*"
        marks = () if nvtx.all_marks is None else nvtx.all_marks.names
        if not matching(step, (*nvtx.names, *marks)):
            return
        context = context_with_step(context, step)
    found = find_steps(context)
    steps, work, names = found.instances, found.work, Texts(tuple(found.names))
    for part in slices(steps.start_ns.size):
        known = work.known[part]
        yield {
            "start_ns": steps.start_ns[part],
            "end_ns": steps.end_ns[part],
            "duration_ns": steps.end_ns[part] - steps.start_ns[part],
            "part_ns": work.looked_at_ns[part],
            "name": names.of(steps.name[part]),
            "warmup": found.warm_up[part],
            "cut": steps.cut[part],
            "gpu_busy_ns": Maybe(work.busy_ns[part], known),
            "gpu_idle_ns": Maybe((work.looked_at_ns - work.busy_ns)[part], known),
            "launched_busy_ns": Maybe(work.launched_busy_ns[part], known),
            "launched_span_ns": Maybe(work.launched_span_ns[part], known),
            "exposed_communication_ns": Maybe(work.exposed_ns[part], known),
            **{f"{name}_ns": Maybe(work.causes_ns[at, part], known) for at, name in enumerate(CAUSES)},
            **linked.thread(steps.thread[part]),
        }


TABLE: Final = Table(
    "steps",
    "a step: an instance of the ranges that --steps names, or from one mark of that name to the next of its thread; "
    "without --steps from dispatch mark to dispatch mark",
    "by start",
    (
        Column("start_ns", "int64", "ns", "when it began, on the trace's own clock"),
        Column("end_ns", "int64", "ns", "when it ended"),
        Column("duration_ns", "int64", "ns", "its length"),
        Column("part_ns", "int64", "ns", "how much of it is within what is looked at"),
        Column("name", "text", "-", "name of the range or mark"),
        Column("warmup", "bool", "-", "whether it is one of the first --warmup steps of its process"),
        Column("cut", "bool", "-", "whether it was open when the capture ended"),
        Column("gpu_busy_ns", "int64", "ns", "how much of it a GPU of its process was busy; null without one"),
        Column("gpu_idle_ns", "int64", "ns", "the rest of it"),
        Column("launched_busy_ns", "int64", "ns", "busy time of the work that the process launched in it"),
        Column("launched_span_ns", "int64", "ns", "from the first start to the last end of that work"),
        Column("exposed_communication_ns", "int64", "ns", "time of collectives in it beside which no other kernel ran"),
        *CAUSE_COLUMNS,
        *PROCESS,
        *THREAD,
    ),
    _rows,
)
