"""What each launch cost: the call itself, and the way from it to the work."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.model.section_types import Launch, LaunchCost, OverheadTotal
from nsys_digest.sections.durations import durations
from nsys_digest.sections.launched import NEVER, LaunchedWork
from nsys_digest.sections.looked_at import LookedAt
from nsys_digest.sections.section import Blind, Lane, Made, Section
from nsys_digest.selection import Selection
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import CLASSES, NONE, OVERHEADS, Calls, Events, Overheads
from nsys_digest.trace.nsys.overheads import Overhead
from nsys_digest.trace.nsys.tables import GPU_KINDS

_SLICE = 1 << 18


def launch(looked: LookedAt, work: LaunchedWork, without_work_count: int | None) -> Launch:
    """Measure the launch calls that launched a kernel or a graph; by recorded name, most launches first.

    ``without_work_count`` are launches without a GPU row.
    """
    events = looked.events
    calls = events.calls
    call, first_ns = work.first_starts()
    group = calls.group[call]
    counted = first_ns != NEVER
    if looked.calls is not None:
        counted &= looked.calls[call]
    counted &= (calls.class_of_group == CLASSES.index(CallClass.launch))[group]
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in calls.names], np.int64)
    some = np.flatnonzero(counted)
    some = some[np.argsort(id_of[group[some]], kind="stable")]
    edges = np.searchsorted(id_of[group[some]], np.arange(len(ids) + 1)).tolist()
    costs = {
        name: _cost(calls, call[some[low:high]], first_ns[some[low:high]])
        for name, (low, high) in zip(ids, pairwise(edges), strict=True)
        if high > low
    }
    graphs = counted & calls.graph_group[group]
    kernels = counted & ~graphs
    operations = looked.operations
    unmatched = (operations.kind == GPU_KINDS.index("kernel")) & (operations.call == NONE)
    return Launch(
        by_api=dict(sorted(costs.items(), key=lambda item: (-item[1].api.count, item[0]))),
        kernels=_cost(calls, call[kernels], first_ns[kernels]),
        graphs=_cost(calls, call[graphs], first_ns[graphs]),
        unmatched_kernel_count=int(np.count_nonzero(unmatched)),
        without_work_count=without_work_count,
        first_of_kernel=durations(_first_of_kernels(events)) if looked.selection.window is None else None,
        driver_overhead=_driver_overhead(events.overheads, looked.selection) if events.overheads.of_driver else None,
    )


def _first_of_kernels(events: Events) -> Int64s:
    """Return the length of the launch call behind the first kernel to run of each name in each process."""
    operations, calls = events.operations, events.calls
    launches = (calls.class_of_group == CLASSES.index(CallClass.launch)) & ~calls.graph_group
    processes, process_of_group = np.unique(calls.process_of_group, return_inverse=True)
    first = np.full((len(operations.kernel_labels), processes.size), NONE)
    for low in range((operations.kind.size - 1) // _SLICE * _SLICE, -1, -_SLICE):  # the first comes last, and stays
        part = slice(low, low + _SLICE)
        call = operations.call[part]
        chosen = np.flatnonzero((operations.kind[part] == GPU_KINDS.index("kernel")) & (call != NONE))[::-1]
        call, label = call[chosen], operations.label[part][chosen]
        group = calls.group[call]
        launched = launches[group]
        first[label[launched], process_of_group[group[launched]]] = call[launched]
    found = first[first != NONE]
    length_ns: Int64s = calls.end_ns[found] - calls.start_ns[found]
    return length_ns


def _driver_overhead(overheads: Overheads, selection: Selection) -> dict[str, OverheadTotal]:
    counts, length_ns = selection.clip(overheads.start_ns, overheads.end_ns)
    kinds = overheads.kind[counts]
    of_kind = {kind: kinds == OVERHEADS.index(kind) for kind in (Overhead.loading, Overhead.queue_full)}
    return {
        kind.value: OverheadTotal(int(np.count_nonzero(rows)), int(length_ns[rows].sum()))
        for kind, rows in of_kind.items()
    }


def _cost(calls: Calls, launched: Ints, first_ns: Int64s) -> LaunchCost:
    start_ns, end_ns = calls.start_ns[launched], calls.end_ns[launched]
    delay_ns = first_ns - end_ns
    return LaunchCost(
        api=durations(end_ns - start_ns),
        queue_delay=durations(np.maximum(delay_ns, 0)),
        latency=durations(np.maximum(first_ns - start_ns, 0)),  # clocks differ by a little; more is warned of
        started_before_return_count=int(np.count_nonzero(delay_ns < 0)),
    )


SECTION = Section(
    "launch",
    lambda context: Made(launch(context.looked, context.launches, context.lost.launch_count)),
    Lane.launches,
    frozenset({Blind.unlaunched_work}),
)
