"""Which calls are what, for the checks of whole events: by the group of a call, hence once a name and process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.members import by_value
from nsys_digest.model.cuda_calls import (
    CONTEXT_WAIT_CALLS,
    COPY_CALLS,
    GRAPH_LAUNCH_CALLS,
    KERNEL_LAUNCH_CALLS,
    SET_CALLS,
    STREAM_WAIT_CALLS,
    is_one_of,
)
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import NONE, Calls, Events

WORK_CALLS: Final[Mapping[str, Set[str]]] = {
    "kernel launch": KERNEL_LAUNCH_CALLS,
    "CUDA graph launch": GRAPH_LAUNCH_CALLS,
    "copy": COPY_CALLS,
    "set": SET_CALLS,
}
"""Calls that put work on a GPU, by what a message calls one."""


def groups_of(calls: Calls, names: Set[str]) -> Bools:
    """Return which groups are calls of those names."""
    return np.array([is_one_of(name, names) for name in calls.names], bool)


def work_of_group(calls: Calls) -> Int64s:
    """Return the index into ``WORK_CALLS`` of each group; ``NONE`` for other calls."""
    work = np.full(len(calls.names), NONE)
    for index, names in enumerate(WORK_CALLS.values()):
        work[groups_of(calls, names)] = index
    return work


def succeeded(calls: Calls, groups: Bools) -> Int64s:
    """Return the calls of those groups that returned no error."""
    chosen = groups[calls.group]
    chosen[calls.failed] = False
    return np.flatnonzero(chosen)


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of a process for all of its GPU work, in order of start; arrays of shape (n,)."""

    start_ns: Int64s
    done_ns: Int64s
    """When the first wait that began no earlier returned: all work launched before this one had ended by then."""


def context_waits(events: Events, gpu: GpuTotals) -> dict[int, Waits]:
    """Return, by globalPid, waits for a whole context, of processes whose GPU rows are all of one context.

    Newer nsys writes no row that says which context such a call waits for: it is taken to be that of the work.
    """
    return _waits(events, CONTEXT_WAIT_CALLS, only_places(gpu, 3))


def stream_waits(events: Events, gpu: GpuTotals) -> dict[int, Waits]:
    """Return, by globalPid, waits for a stream or a context, of processes whose GPU rows are all of one stream.

    A wait for a stream counts where its row says that it was this one: a program may wait for a stream without work.
    """
    return _waits(events, CONTEXT_WAIT_CALLS | STREAM_WAIT_CALLS, only_places(gpu, 4))


def only_places(gpu: GpuTotals, parts: int) -> dict[int, tuple[int, ...]]:
    """Return by process its only place, told apart by (process, device, context, stream) up to that part."""
    places = {place[:parts] for place in gpu.places}
    count = Counter(process for process, *_ in places)
    return {place[0]: place for place in places if count[place[0]] == 1}


def _waits(events: Events, names: Set[str], alone: Mapping[int, tuple[int, ...]]) -> dict[int, Waits]:
    calls = events.calls
    waiting = succeeded(calls, groups_of(calls, names))
    process = calls.process_of_group[calls.group[waiting]] if waiting.size else waiting
    nameless = len(set(calls.process_of_group.tolist())) == 1 and set(alone) == {0}  # as in an old export
    for_stream = groups_of(calls, STREAM_WAIT_CALLS)
    found = {}
    for one, of_process in by_value(process):
        if one in alone or nameless:
            mine = waiting[of_process]
            _, _, *place = alone[0 if nameless else one]
            context, stream = _waited_for(events, 0 if nameless else one, mine)
            elsewhere = (context != NONE) & (context != place[0])
            if len(place) > 1:
                elsewhere |= for_stream[calls.group[mine]] & (stream != place[1])
            mine = mine[~elsewhere]
            mine = mine[np.argsort(calls.start_ns[mine], kind="stable")]
            done_ns = np.minimum.accumulate(calls.end_ns[mine][::-1])[::-1]
            if mine.size:
                found[one] = Waits(calls.start_ns[mine], done_ns)
    return found


def _waited_for(events: Events, process: int, call: Int64s) -> tuple[Int64s, Int64s]:
    """Return the context and the stream that calls of a process waited for; -1 where the trace does not say."""
    rows = events.waits.get(process)
    unknown = np.full(call.size, NONE)
    return (unknown, unknown) if rows is None else rows.of(events.calls.correlation[call])
