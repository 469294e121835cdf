"""What threads did in their own code: calls of the operating system's libraries, and when they were on a CPU."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, empty, intersect, joined, subtract, union
from nsys_digest.algorithms.lines import Lines, lines_of
from nsys_digest.algorithms.nesting import Segments, innermost
from nsys_digest.model.os_calls import HostState
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.events import HostActivity, Scheduling

STATES = tuple(HostState)
_RUNNING, _DESCHEDULED, _UNKNOWN = map(STATES.index, (HostState.running, HostState.descheduled, HostState.unknown))


@dataclass(frozen=True, slots=True)
class OsTimeline:
    """Some threads, as places on the number line of a batch of them."""

    calls: Segments
    name: Ints
    """Which call is the innermost in each segment."""
    off_cpu: Intervals
    known: Intervals
    """Where it is known what a thread did: its scheduling is recorded, or the OS calls of its process are."""

    @classmethod
    def of(cls, activity: HostActivity, lines: Lines) -> OsTimeline:
        """Work out the timeline of a batch of threads."""
        calls, several = activity.calls, slice(lines.low, lines.high)
        part = slice(int(calls.edges[lines.low]), int(calls.edges[lines.high]))
        thread = lines_of(calls.edges, lines.low, lines.high)
        start, end, real = _placed(lines, calls.start_ns[part], calls.end_ns[part], thread)
        segments = innermost(start, end)
        name = calls.name[part][real][segments.owner]
        off_cpu, scheduled = _scheduling(activity.scheduling, lines)
        traced = np.flatnonzero(activity.has_os_calls[several]) + lines.low
        whole = np.full(traced.size, lines.origin_ns), np.full(traced.size, lines.origin_ns + lines.width_ns)
        covered = [(*whole, traced), scheduled]
        start, end, _ = _placed(lines, *(np.concatenate(columns) for columns in zip(*covered, strict=True)))
        return cls(segments, name, off_cpu, union(start, end))

    def within(self, host: Intervals) -> tuple[OsTimeline, Int64s]:
        """Return the same with the segments of calls alone that reach into host code, and how far each does."""
        inside = Coverage(host).within(self.calls.start_ns, self.calls.end_ns)
        some = np.flatnonzero(inside)
        return replace(self, calls=Segments(*(column[some] for column in self.calls)), name=self.name[some]), inside[
            some
        ]

    def states(self, host: Intervals, state_of_name: Int64s) -> list[Intervals]:
        """Cut places in host code by what the thread did there: one merged set for each of ``STATES``.

        ``state_of_name`` is the index into ``STATES`` of each name of a call. In a call that decides, then whether
        the thread was on a CPU.
        """
        state = state_of_name[self.name] if self.name.size else np.zeros(0, np.int64)
        pieces = []
        for index in range(len(STATES)):
            inside = np.flatnonzero(state == index)
            of_state = joined([Intervals(self.calls.start_ns[inside], self.calls.end_ns[inside])])
            pieces.append(intersect(host, of_state) if inside.size else empty())
        rest = subtract(host, joined([Intervals(self.calls.start_ns, self.calls.end_ns)]))
        pieces[_DESCHEDULED] = intersect(rest, self.off_cpu)
        on_cpu = subtract(rest, self.off_cpu)
        pieces[_RUNNING] = intersect(on_cpu, self.known)
        pieces[_UNKNOWN] = subtract(on_cpu, self.known)
        return pieces


def _scheduling(scheduling: Scheduling, lines: Lines) -> tuple[Intervals, tuple[Int64s, Int64s, Int64s]]:
    """Return where threads were off the CPU, and start, end and thread of where their scheduling is known.

    It is known of a thread that has a row, from the first row of the whole trace to the last. Before its first row the
    thread was where that row takes it from.
    """
    part = slice(int(scheduling.edges[lines.low]), int(scheduling.edges[lines.high]))
    time_ns, is_in = scheduling.time_ns[part], scheduling.is_in[part]
    thread = lines_of(scheduling.edges, lines.low, lines.high)
    last = np.append(thread[1:] != thread[:-1], True)[: thread.size]
    first = np.append(True, thread[1:] != thread[:-1])[: thread.size]
    until_ns = np.append(time_ns[1:], 0)[: time_ns.size]
    until_ns[last] = scheduling.last_ns
    leaves, comes = np.flatnonzero(is_in == 0), np.flatnonzero(first & (is_in != 0))
    start_ns = np.concatenate((time_ns[leaves], np.full(comes.size, scheduling.first_ns)))
    end_ns = np.concatenate((until_ns[leaves], time_ns[comes]))
    start, end, _ = _placed(lines, start_ns, end_ns, np.concatenate((thread[leaves], thread[comes])))
    threads = thread[first]
    ever = np.full(threads.size, scheduling.first_ns), np.full(threads.size, scheduling.last_ns)
    return union(start, end), (*ever, threads)


def _placed(lines: Lines, start_ns: Int64s, end_ns: Int64s, thread: Int64s) -> tuple[Int64s, Int64s, Bools]:
    """Return intervals as places, cut to the times of the lines, without those that vanish; and which are left."""
    start_ns = np.maximum(start_ns, lines.origin_ns)
    end_ns = np.minimum(end_ns, lines.origin_ns + lines.width_ns - 1)
    real = end_ns > start_ns
    return lines.put(start_ns[real], thread[real]), lines.put(end_ns[real], thread[real]), real


def shown_states(activity: HostActivity) -> Sequence[int]:
    """Return which of ``STATES`` the tables of the trace can show."""
    any_call, any_scheduling = bool(activity.calls.names), activity.scheduling.any_in_trace
    return [
        index
        for index, state in enumerate(STATES)
        if state is HostState.unknown
        or (state is HostState.running and (any_call or any_scheduling))
        or (state is HostState.descheduled and any_scheduling)
        or (state not in (HostState.running, HostState.descheduled) and any_call)
    ]
