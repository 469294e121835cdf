"""Why each device was idle: every gap cut along the thread whose call ended it.

For each gap, the operation that ends it and the call that launched that operation are looked up. After that call had
returned the gap is ``queued``; before, it is what the call's thread was doing: the class of its innermost call, or
``host`` where it was in none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, gaps, subtract, union
from nsys_digest.model.section_types import CAUSES, Bin, Cause, DeviceIdle, Gap, Idle
from nsys_digest.sections.thread_timeline import ThreadTimeline
from nsys_digest.trace.columns import Ints, small_ids
from nsys_digest.trace.link import NONE, Events

_QUEUED, _HOST, _UNATTRIBUTED = (CAUSES.index(name) for name in ("queued", "host", "unattributed"))
NO_RANGE: Final = "(none)"
_IN_CALLS = slice(_QUEUED + 1, _HOST)
_FIRST_BIN_NS = 1_000
_SLICE = 1 << 17


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """The gaps of one device; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    ended_by: Ints
    """Index of the operation that ends each gap: of those that start with its end, the one that ends first."""

    def some(self, chosen: Int64s) -> DeviceGaps:
        """Return the gaps at those positions."""
        return DeviceGaps(self.start_ns[chosen], self.end_ns[chosen], self.ended_by[chosen])


def device_gaps(events: Events, device: int) -> DeviceGaps:
    """Return the gaps between the busy stretches of a device."""
    operations = events.operations
    own = np.flatnonzero((operations.device == device) & (operations.end_ns > operations.start_ns))
    start_ns, end_ns = operations.start_ns[own], operations.end_ns[own]
    between = gaps(union(start_ns, end_ns))
    first = np.searchsorted(start_ns, between.end_ns, side="left")
    behind = np.searchsorted(start_ns, between.end_ns, side="right")
    for several in np.flatnonzero(behind - first > 1).tolist():
        tied = np.arange(first[several], behind[several])
        ops = own[tied]
        call = operations.call[ops]
        # of those that end first one that the trace can explain
        keys = (call, operations.correlation[ops], operations.kind[ops], call == NONE, end_ns[tied])
        first[several] = tied[np.lexsort(keys)[0]]
    return DeviceGaps(between.start_ns, between.end_ns, small_ids(own[first], operations.start_ns.size))


def thread_of_gaps(events: Events, found: DeviceGaps) -> Int64s:
    """Return the thread of the call that launched the end of each gap, ``NONE`` where the trace does not say."""
    call = events.operations.call[found.ended_by]
    return np.where(call == NONE, NONE, events.calls.thread_of(call))


def causes_on_thread(events: Events, timeline: ThreadTimeline, found: DeviceGaps) -> Int64s:
    """Return the time of each cause in gaps that calls of one thread ended, shape (causes, n)."""
    until_ns = _submitted_ns(events, found)
    amounts = np.zeros((len(CAUSES), found.start_ns.size), np.int64)
    amounts[_QUEUED] = found.end_ns - until_ns
    amounts[_IN_CALLS] = timeline.in_calls(found.start_ns, until_ns)
    amounts[_HOST] = until_ns - found.start_ns - amounts[_IN_CALLS].sum(axis=0)
    return amounts


def _submitted_ns(events: Events, found: DeviceGaps) -> Int64s:
    """Return when the call that launched the end of each gap returned, within the gap."""
    return np.clip(events.calls.end_ns[events.operations.call[found.ended_by]], found.start_ns, found.end_ns)


def causes_of(events: Events, found: DeviceGaps) -> Int64s:
    """Return the time of each cause in gaps, shape (causes, n); made for few gaps."""
    thread = thread_of_gaps(events, found)
    amounts = np.zeros((len(CAUSES), found.start_ns.size), np.int64)
    amounts[_UNATTRIBUTED] = np.where(thread == NONE, found.end_ns - found.start_ns, 0)
    for one in np.unique(thread[thread != NONE]).tolist():
        chosen = np.flatnonzero(thread == one)
        amounts[:, chosen] = causes_on_thread(events, ThreadTimeline.of(events, one), found.some(chosen))
    return amounts


class _DeviceAccount:
    """The account of one device, added up thread by thread."""

    def __init__(self, events: Events, device: int, ordinal: int, top: int) -> None:
        self._events = events
        self.device, self.ordinal = device, ordinal
        self.gaps = device_gaps(events, device)
        self.thread = small_ids(thread_of_gaps(events, self.gaps), len(events.calls.threads))
        self._total, self._gaps, self._longest = (np.zeros(len(CAUSES), np.int64) for _ in range(3))
        self._host_by_group = np.zeros(int(events.ranges.group.max(initial=-1)) + 1, np.int64)
        self._host_outside = 0
        length_ns = self.gaps.end_ns - self.gaps.start_ns
        self.idle_ns, self.gap_count, self.histogram = int(length_ns.sum()), length_ns.size, _histogram(length_ns)
        self.listed = np.sort(_longest(length_ns, top))
        """The longest gaps."""
        self._listed_causes = np.zeros((len(CAUSES), self.listed.size), np.int64)
        alone = np.flatnonzero(self.thread == NONE)
        amounts = np.zeros((len(CAUSES), alone.size), np.int64)
        amounts[_UNATTRIBUTED] = length_ns[alone]
        self._add(alone, amounts)

    def add_thread(self, thread: int, timeline: ThreadTimeline) -> None:
        """Account for the gaps that calls of this thread ended, a slice of them at a time."""
        own = np.flatnonzero(self.thread == thread)
        for low in range(0, own.size, _SLICE):
            chosen = own[low : low + _SLICE]
            found = self.gaps.some(chosen)
            self._add_gaps(chosen, found, timeline.during(int(found.start_ns[0]), int(found.end_ns[-1])))

    def _add_gaps(self, chosen: Int64s, found: DeviceGaps, timeline: ThreadTimeline) -> None:
        self._add(chosen, causes_on_thread(self._events, timeline, found))
        until_ns = _submitted_ns(self._events, found)
        open_ = np.flatnonzero(until_ns > found.start_ns)
        host = subtract(Intervals(found.start_ns[open_], until_ns[open_]), timeline.any_call())
        inside = Coverage(host).within(timeline.ranges.start_ns, timeline.ranges.end_ns)
        np.add.at(self._host_by_group, self._events.ranges.group[timeline.ranges.owner], inside)
        self._host_outside += host.total_ns - int(inside.sum())

    def _add(self, chosen: Int64s, amounts: Int64s) -> None:
        self._total += amounts.sum(axis=1)
        self._gaps += np.count_nonzero(amounts, axis=1)
        self._longest = np.maximum(self._longest, amounts.max(axis=1, initial=0))
        position = np.minimum(np.searchsorted(chosen, self.listed), max(chosen.size - 1, 0))
        mine = chosen[position] == self.listed if chosen.size else np.zeros(self.listed.size, bool)
        self._listed_causes[:, mine] = amounts[:, position[mine]]

    def result(self, range_name: Callable[[int], str]) -> DeviceIdle:
        """Return the account."""
        by_name: defaultdict[str, int] = defaultdict(int)
        for group in np.flatnonzero(self._host_by_group).tolist():
            by_name[range_name(group)] += int(self._host_by_group[group])
        by_name[NO_RANGE] += self._host_outside
        host = sorted(((name, ns) for name, ns in by_name.items() if ns), key=lambda row: (-row[1], row[0]))
        columns = zip(CAUSES, self._total.tolist(), self._gaps.tolist(), self._longest.tolist(), strict=True)
        return DeviceIdle(
            device=self.ordinal,
            idle_ns=self.idle_ns,
            gap_count=self.gap_count,
            causes={name: Cause(ns, gaps, longest) for name, ns, gaps, longest in columns},
            host_by_nvtx_ns=dict(host),
            histogram=self.histogram,
        )

    def longest(self, operation_name: Callable[[int], str], range_name: Callable[[int], str]) -> list[Gap]:
        """Return the longest gaps."""
        return [
            Gap(
                device=self.ordinal,
                start_ns=int(self.gaps.start_ns[position]),
                length_ns=int(self.gaps.end_ns[position] - self.gaps.start_ns[position]),
                before=operation_name(_ended_last(self._events, self.device, int(self.gaps.start_ns[position]))),
                after=operation_name(int(self.gaps.ended_by[position])),
                causes_ns={name: ns for name, ns in zip(CAUSES, causes, strict=True) if ns},
                nvtx=_around(self._events, int(self._events.operations.call[self.gaps.ended_by[position]]), range_name),
            )
            for position, causes in zip(self.listed.tolist(), self._listed_causes.T.tolist(), strict=True)
        ]


def _longest(length_ns: Int64s, top: int) -> Int64s:
    """Return the positions of the longest gaps; of equal ones those that begin first."""
    if top < length_ns.size:
        limit = np.partition(length_ns, length_ns.size - top - 1)[length_ns.size - top - 1]
        candidates = np.flatnonzero(length_ns >= limit)
    else:
        candidates = np.arange(length_ns.size)
    return candidates[np.argsort(-length_ns[candidates], kind="stable")][:top]


def _histogram(length_ns: Int64s) -> tuple[Bin, ...]:
    """Return the gaps by length, in powers of ten from a microsecond; up to the longest."""
    bins, low, high = [], 0, _FIRST_BIN_NS
    longest = int(length_ns.max(initial=-1))
    while low <= longest:
        inside = length_ns[(length_ns >= low) & (length_ns < high)]
        bins.append(Bin(low, high, inside.size, int(inside.sum())))
        low, high = high, high * 10
    return tuple(bins)


def idle(
    events: Events,
    devices: Sequence[int],
    top: int,
    operation_name: Callable[[int], str],
    range_name: Callable[[int], str],
) -> Idle:
    """Explain all idle time within the span of each device; ``devices`` are the CUDA ordinals by index."""
    operations = events.operations
    took_time = operations.end_ns > operations.start_ns
    timeline_of = lru_cache(1)(lambda thread: ThreadTimeline.of(events, thread))  # those of all would not fit
    accounts, longest = [], []
    for index, ordinal in enumerate(devices):
        if (took_time & (operations.device == index)).any():
            account = _DeviceAccount(events, index, ordinal, top)
            for thread in np.unique(account.thread[account.thread != NONE]).tolist():
                account.add_thread(thread, timeline_of(thread))
            accounts.append(account.result(range_name))
            longest += account.longest(operation_name, range_name)
    longest.sort(key=lambda gap: (-gap.length_ns, gap.device, gap.start_ns))
    return Idle(tuple(accounts), tuple(longest[:top]))


def _ended_last(events: Events, device: int, end_ns: int) -> int:
    """Return the operation of a device that ends at a time; of several the first kind, then the last to start."""
    operations = events.operations
    candidates = np.flatnonzero((operations.device == device) & (operations.end_ns == end_ns))
    candidates = candidates[operations.start_ns[candidates] < end_ns]
    keys = (-operations.start_ns[candidates], operations.kind[candidates])
    return int(candidates[np.lexsort(keys)[0]])


def _around(events: Events, call: int, range_name: Callable[[int], str]) -> tuple[str, ...]:
    """Return the push/pop ranges that were open on the thread of a call when it began, the outermost first."""
    if call == NONE:
        return ()
    ranges = events.ranges
    part = ranges.of_thread(int(events.calls.thread_of(np.array([call]))[0]))
    at_ns = events.calls.start_ns[call]
    opened = ranges.is_push_pop[part] & (ranges.start_ns[part] <= at_ns) & (ranges.end_ns[part] > at_ns)
    return tuple(range_name(int(group)) for group in ranges.group[part][opened])
