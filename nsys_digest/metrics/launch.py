"""What each launch cost: the call itself, and the way from it to the work."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from nsys_digest.events import CLASSES, NONE, Calls, Events
from nsys_digest.intervals import Int64s
from nsys_digest.metrics.tails import tails
from nsys_digest.schema.calls import CallClass
from nsys_digest.schema.tables import GPU_KINDS
from nsys_digest.sections import Launch, LaunchCost


def launch(events: Events) -> Launch:
    """Measure the launch calls that launched a kernel or a graph; by recorded name, most launches first."""
    operations, calls = events.operations, events.calls
    kernel, graph = (operations.kind == GPU_KINDS.index(kind) for kind in ("kernel", "graph"))
    timed = (operations.end_ns >= operations.start_ns) & ~((operations.start_ns == 0) & (operations.end_ns == 0))
    work = np.flatnonzero((kernel | graph) & timed & (operations.call != NONE))
    first_ns = np.full(calls.start_ns.size, np.iinfo(np.int64).max)
    np.minimum.at(first_ns, operations.call[work], operations.start_ns[work])
    is_launch = calls.class_of_group == CLASSES.index(CallClass.launch)
    launched = np.flatnonzero(first_ns != np.iinfo(np.int64).max)
    launched = launched[is_launch[calls.group[launched]]]
    group = calls.group[launched]
    costs: dict[str, LaunchCost] = {}
    for name in dict.fromkeys(calls.names):
        of_name = np.array([name == other for other in calls.names])[group]
        if of_name.any():
            costs[name] = _cost(calls, launched[of_name], first_ns)
    is_graph = calls.graph_group[group] if group.size else np.zeros(0, bool)
    return Launch(
        by_api=dict(sorted(costs.items(), key=lambda item: (-item[1].api.count, item[0]))),
        kernels=_cost(calls, launched[~is_graph], first_ns),
        graphs=_cost(calls, launched[is_graph], first_ns),
        unmatched_kernel_count=int(np.count_nonzero(kernel & (operations.call == NONE))),
    )


def _cost(calls: Calls, launched: npt.NDArray[np.int64], first_ns: Int64s) -> LaunchCost:
    start_ns, end_ns, first = calls.start_ns[launched], calls.end_ns[launched], first_ns[launched]
    delay_ns = first - end_ns
    return LaunchCost(
        api=tails(end_ns - start_ns),
        queue_delay=tails(delay_ns[delay_ns >= 0]),
        latency=tails(first - start_ns),
        started_before_return_count=int(np.count_nonzero(delay_ns < 0)),
    )
