"""What the GPUs did in each of many stretches of time, which may overlap, and what was launched in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.intervals import (
    Coverage,
    GroupedIntervals,
    Int64s,
    Intervals,
    grouped_union,
    intersect,
    union,
)
from nsys_digest.algorithms.lines import positions
from nsys_digest.algorithms.members import members
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.sections.device_gaps import DeviceGaps, device_gaps
from nsys_digest.sections.idle import causes_of
from nsys_digest.sections.step_instances import Instances
from nsys_digest.selection import Selection
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import NONE, Events, process_of_thread

_SLICE = 1 << 18


@dataclass(frozen=True, slots=True)
class StepDevices:
    """Where each process ran work."""

    ordinals: tuple[int, ...]
    """The CUDA ordinal of each device."""
    of_process: dict[int, frozenset[int]]
    """Devices by globalPid; by 0 those of work that names no process."""
    exposed: Sequence[Intervals]
    """Exposed communication of each device."""

    def of(self, process: int) -> tuple[int, ...]:
        """Return the devices of a process."""
        unknown = self.of_process.get(0, frozenset())
        return tuple(sorted(self.of_process.get(process, frozenset()) | unknown))


@dataclass(frozen=True, slots=True)
class StepWork:
    """What each step has, within the window; arrays of shape (n,), 0 where nobody knows."""

    known: Bools
    """Whether the process of the step ran work on a GPU."""
    looked_at_ns: Int64s
    """The length of its part in the window."""
    busy_ns: Int64s
    launched_busy_ns: Int64s
    launched_span_ns: Int64s
    exposed_ns: Int64s
    causes_ns: Int64s
    """Shape (causes, n)."""


def work_of(events: Events, steps: Instances, devices: StepDevices, selection: Selection) -> StepWork:
    """Measure what each step has on the devices of its process, and what calls of the process in it launched."""
    start_ns, end_ns = steps.start_ns, steps.end_ns
    _, looked_at_ns = selection.clip(start_ns, end_ns)
    processes, which = np.unique(steps.process, return_inverse=True)
    known = np.zeros(which.size, bool)
    busy_ns, exposed_ns = (np.zeros(which.size, np.int64) for _ in range(2))
    by_process = members(which, processes.size)
    by_device = members(events.operations.device, len(devices.ordinals))
    own: dict[tuple[int, ...], list[int]] = {}
    users: dict[int, list[int]] = {}
    for index, one in enumerate(processes.tolist()):
        own.setdefault(devices.of(one), []).append(index)
        for device in devices.of(one):
            users.setdefault(device, []).append(index)
    for together, of_them in own.items():
        if together:
            of_these = np.concatenate([by_process.of(index) for index in of_them])
            known[of_these] = True
            within = start_ns[of_these], end_ns[of_these]
            busy_ns[of_these] = Coverage(selection.clip_merged(_busy(events, map(by_device.of, together)))).within(
                *within
            )
            bare = [devices.exposed[device] for device in together]
            joint = union(*(np.concatenate(column) for column in zip(*bare, strict=True)))
            exposed_ns[of_these] = Coverage(selection.clip_merged(joint)).within(*within)
    causes_ns = np.zeros((len(CAUSES), which.size), np.int64)
    for device, of_it in users.items():
        of_these = np.concatenate([by_process.of(index) for index in of_it])
        causes_ns[:, of_these] += causes_in_steps(
            events, by_device.of(device), start_ns[of_these], end_ns[of_these], selection.window
        )
    launched_busy_ns, launched_span_ns = launched_in(events, processes, which, start_ns, end_ns, selection)
    return StepWork(known, looked_at_ns, busy_ns, launched_busy_ns, launched_span_ns, exposed_ns, causes_ns)


def _busy(events: Events, of_devices: Iterable[Int64s]) -> Intervals:
    """Return when any of some devices was busy, whose operations are given."""
    chosen = np.concatenate([*of_devices])
    return union(events.operations.start_ns[chosen], events.operations.end_ns[chosen])


def causes_in_steps(
    events: Events, own: Int64s, start_ns: Int64s, end_ns: Int64s, window: Intervals | None = None
) -> Int64s:
    """Return the idle time of a device by cause in each stretch ``[start, end)``, shape (causes, n).

    ``own`` are the operations of the device. Only what lies in the window counts.

    The gaps are cut wherever a stretch begins or ends, so that each piece is looked at once, however many stretches
    share it: what a stretch has is then the difference of two running sums.
    """
    looked_at = union(start_ns, end_ns)
    if window is not None:
        looked_at = intersect(looked_at, window)
    edges = np.unique(np.concatenate((start_ns, end_ns, *looked_at)))
    pieces = _cut(device_gaps(events, own), edges)
    inside = Coverage(looked_at).within(pieces.start_ns, pieces.end_ns) > 0
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


def launched_in(
    events: Events, processes: Int64s, process: Int64s, start_ns: Int64s, end_ns: Int64s, selection: Selection
) -> tuple[Int64s, Int64s]:
    """Return the GPU work whose launch call began in each stretch ``[start, end)``, on any thread: its union and span.

    ``processes`` are the globalPids in order, ``process`` the index of that of each stretch; shape (n,), as both
    results. The work is cut to the window. Stretches are taken together up to a quarter of a million operations at
    once.
    """
    operations, calls = events.operations, events.calls
    threads = np.array([process_of_thread(thread) for thread in calls.threads], np.int64)
    of_thread = np.searchsorted(processes, threads)
    if processes.size:
        of_thread[processes[np.minimum(of_thread, processes.size - 1)] != threads] = NONE
    else:
        of_thread[:] = NONE
    linked = np.flatnonzero(operations.call != NONE)
    line = of_thread[calls.thread_of(operations.call[linked])] if linked.size else linked
    linked, line = linked[line != NONE], line[line != NONE]
    call_ns = calls.start_ns[operations.call[linked]]
    order = np.lexsort((call_ns, line))
    linked, call_ns = linked[order], call_ns[order]
    edges = np.searchsorted(line[order], np.arange(processes.size + 1))
    first = positions(call_ns, edges, process, start_ns)
    sizes = positions(call_ns, edges, process, end_ns) - first
    lengths_ns, spans_ns = (np.zeros(process.size, np.int64) for _ in range(2))
    reached = np.cumsum(sizes)
    at = 0
    while at < process.size:
        base = int(reached[at - 1]) if at else 0
        until = max(int(np.searchsorted(reached, base + _SLICE, side="right")), at + 1)
        part = slice(at, until)
        step = np.repeat(np.arange(until - at), sizes[part])
        offset = np.arange(step.size) - np.repeat(np.cumsum(sizes[part]) - sizes[part], sizes[part])
        work = linked[np.repeat(first[part], sizes[part]) + offset]
        merged = grouped_union(operations.start_ns[work], operations.end_ns[work], step)
        lengths_ns[part], spans_ns[part] = _length_and_span(selection.clip_grouped([merged]), until - at)
        at = until
    return lengths_ns, spans_ns


def _length_and_span(pieces: Iterable[GroupedIntervals], groups: int) -> tuple[Int64s, Int64s]:
    """Return for each group the length of its merged intervals, and the time from the first start to the last end."""
    length_ns = np.zeros(groups, np.int64)
    first_ns, last_ns = np.full(groups, np.iinfo(np.int64).max), np.full(groups, np.iinfo(np.int64).min)
    for piece in pieces:
        np.add.at(length_ns, piece.group, piece.end_ns - piece.start_ns)
        np.minimum.at(first_ns, piece.group, piece.start_ns)
        np.maximum.at(last_ns, piece.group, piece.end_ns)
    return length_ns, np.where(length_ns > 0, last_ns - first_ns, 0)
