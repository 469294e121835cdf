"""What each launch cost: the call itself, and the way from it to the work."""

from __future__ import annotations

import numpy as np

from nsys_digest.events import CLASSES, NONE, Calls, Events
from nsys_digest.intervals import Int64s
from nsys_digest.metrics.launched import LaunchedWork
from nsys_digest.metrics.tails import tails
from nsys_digest.schema.calls import CallClass
from nsys_digest.schema.tables import GPU_KINDS
from nsys_digest.sections import Launch, LaunchCost


def launch(events: Events, work: LaunchedWork) -> Launch:
    """Measure the launch calls that launched a kernel or a graph; by recorded name, most launches first."""
    operations, calls = events.operations, events.calls
    launched, first_ns = work.first_starts()
    group = calls.group[launched]
    is_launch = calls.class_of_group[group] == CLASSES.index(CallClass.launch)
    launched, first_ns, group = launched[is_launch], first_ns[is_launch], group[is_launch]
    kernel = operations.kind == GPU_KINDS.index("kernel")
    ids: dict[str, int] = {}
    name_of_group = np.array([ids.setdefault(name, len(ids)) for name in calls.names], np.int64)
    name = name_of_group[group]
    costs: dict[str, LaunchCost] = {}
    for text, index in ids.items():
        of_name = name == index
        if of_name.any():
            costs[text] = _cost(calls, launched[of_name], first_ns[of_name])
    is_graph = calls.graph_group[group]
    return Launch(
        by_api=dict(sorted(costs.items(), key=lambda item: (-item[1].api.count, item[0]))),
        kernels=_cost(calls, launched[~is_graph], first_ns[~is_graph]),
        graphs=_cost(calls, launched[is_graph], first_ns[is_graph]),
        unmatched_kernel_count=int(np.count_nonzero(kernel & (operations.call == NONE))),
    )


def _cost(calls: Calls, launched: Int64s, first_ns: Int64s) -> LaunchCost:
    start_ns, end_ns = calls.start_ns[launched], calls.end_ns[launched]
    delay_ns = first_ns - end_ns
    return LaunchCost(
        api=tails(end_ns - start_ns),
        queue_delay=tails(delay_ns[delay_ns >= 0]),
        latency=tails(first_ns - start_ns),
        started_before_return_count=int(np.count_nonzero(delay_ns < 0)),
    )
