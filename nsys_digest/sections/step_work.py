"""Causes of idle time, and launched work, in each of many stretches of time, which may overlap."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, grouped_union, union
from nsys_digest.algorithms.lines import positions
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.sections.idle import DeviceGaps, causes_of, device_gaps
from nsys_digest.trace.events import NONE, Events, process_of_thread

_SLICE = 1 << 18


def causes_in_steps(events: Events, device: int, start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return the idle time of a device by cause in each stretch ``[start, end)``, shape (causes, n).

    The gaps are cut wherever a stretch begins or ends, so that each piece is looked at once, however many stretches
    share it: what a stretch has is then the difference of two running sums.
    """
    edges = np.unique(np.concatenate((start_ns, end_ns)))
    pieces = _cut(device_gaps(events, device), edges)
    inside = Coverage(union(start_ns, end_ns)).within(pieces.start_ns, pieces.end_ns) > 0
    pieces = pieces.some(np.flatnonzero(inside))
    behind = np.searchsorted(edges, pieces.start_ns, side="right")
    until = np.zeros((len(CAUSES), edges.size + 1), np.int64)
    for chosen, amounts in causes_of(events, pieces):
        for total, amount in zip(until, amounts, strict=True):
            np.add.at(total, behind[chosen], amount)
    np.cumsum(until, axis=1, out=until)
    return until[:, np.searchsorted(edges, end_ns)] - until[:, np.searchsorted(edges, start_ns)]


def _cut(found: DeviceGaps, edges: Int64s) -> DeviceGaps:
    """Cut gaps in order of start at each of the times, which are in order."""
    gap = np.searchsorted(found.end_ns, edges, side="right")
    real = np.flatnonzero(gap < found.end_ns.size)
    real = real[found.start_ns[gap[real]] < edges[real]]
    inner = edges[real]
    start_ns = np.sort(np.concatenate((found.start_ns, inner)))
    end_ns = np.sort(np.concatenate((found.end_ns, inner)))
    return DeviceGaps(start_ns, end_ns, found.ended_by[np.searchsorted(found.end_ns, start_ns, side="right")])


def launched_busy(events: Events, processes: Int64s, process: Int64s, start_ns: Int64s, end_ns: Int64s) -> Int64s:
    """Return the union of the GPU work whose launch call began in each stretch ``[start, end)``, on any thread.

    ``processes`` are the globalPids in order, ``process`` the index of that of each stretch; shape (n,) and result.
    Stretches are taken together up to a quarter of a million operations at once.
    """
    operations, calls = events.operations, events.calls
    threads = np.array([process_of_thread(thread) for thread in calls.threads], np.int64)
    of_thread = np.searchsorted(processes, threads)
    of_thread[processes[np.minimum(of_thread, processes.size - 1)] != threads] = NONE
    linked = np.flatnonzero(operations.call != NONE)
    line = of_thread[calls.thread_of(operations.call[linked])] if linked.size else linked
    linked, line = linked[line != NONE], line[line != NONE]
    call_ns = calls.start_ns[operations.call[linked]]
    order = np.lexsort((call_ns, line))
    linked, call_ns = linked[order], call_ns[order]
    edges = np.searchsorted(line[order], np.arange(processes.size + 1))
    first = positions(call_ns, edges, process, start_ns)
    sizes = positions(call_ns, edges, process, end_ns) - first
    lengths_ns = np.zeros(process.size, np.int64)
    reached = np.cumsum(sizes)
    at = 0
    while at < process.size:
        base = int(reached[at - 1]) if at else 0
        until = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
        part = slice(at, until)
        step = np.repeat(np.arange(at, until), sizes[part])
        offset = np.arange(step.size) - np.repeat(np.cumsum(sizes[part]) - sizes[part], sizes[part])
        work = linked[np.repeat(first[part], sizes[part]) + offset]
        merged = grouped_union(operations.start_ns[work], operations.end_ns[work], step - at)
        np.add.at(lengths_ns, merged.group + at, merged.end_ns - merged.start_ns)
        at = until
    return lengths_ns
