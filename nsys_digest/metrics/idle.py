"""Why each device was idle: every gap cut along the thread whose call ended it.

For each gap, the operation that ends it and the call that launched that operation are looked up. After that call had
returned the gap is ``queued``; before, it is what the call's thread was doing: the class of its innermost call, or
``host`` where it was in none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from nsys_digest.events import CLASSES, NONE, Events
from nsys_digest.intervals import Coverage, Int64s, Intervals, gaps, subtract, union
from nsys_digest.schema.calls import CallClass
from nsys_digest.sections import Bin, Cause, DeviceIdle, Gap, Idle
from nsys_digest.timeline import Segments, innermost

CAUSES: Final = (
    "queued",
    *(str(cls) for cls in (CallClass.launch, CallClass.sync, CallClass.memory, CallClass.module, CallClass.other)),
    "host",
    "unattributed",
)
_QUEUED, _HOST, _UNATTRIBUTED = (CAUSES.index(name) for name in ("queued", "host", "unattributed"))
NO_RANGE: Final = "(none)"
_FIRST_BIN_NS = 1_000


class ThreadTimelines:
    """What each thread was doing when, found out when a thread is first asked for."""

    def __init__(self, events: Events) -> None:
        """Look at these events."""
        self._events = events
        self._calls: dict[int, tuple[dict[str, Coverage], Intervals]] = {}
        self._ranges: dict[int, Segments] = {}

    def calls(self, thread: int) -> tuple[dict[str, Coverage], Intervals]:
        """Return the time in which a call of each class was innermost, and the time in any call."""
        if thread not in self._calls:
            calls = self._events.calls
            part = calls.of_thread(thread)
            start_ns, end_ns, group = calls.start_ns[part], calls.end_ns[part], calls.group[part]
            real = end_ns > start_ns
            segments = innermost(start_ns[real], end_ns[real])
            of_segment = calls.class_of_group[group[real][segments.owner]]
            by_class = {
                str(cls): Coverage(union(segments.start_ns[chosen], segments.end_ns[chosen]))
                for index, cls in enumerate(CLASSES)
                if (chosen := of_segment == index).any()
            }
            self._calls[thread] = by_class, union(segments.start_ns, segments.end_ns)
        return self._calls[thread]

    def ranges(self, thread: int) -> Segments:
        """Return the segments of the innermost push/pop range; owners are indices into all ranges."""
        if thread not in self._ranges:
            ranges = self._events.ranges
            part = ranges.of_thread(thread)
            start_ns, end_ns = ranges.start_ns[part], ranges.end_ns[part]
            real = np.flatnonzero(ranges.is_push_pop[part] & (end_ns > start_ns))
            segments = innermost(start_ns[real], end_ns[real])
            self._ranges[thread] = segments._replace(owner=real[segments.owner] + part.start)
        return self._ranges[thread]


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """The gaps of one device; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    ended_by: Int64s
    """Index of the operation that ends each gap: of those that start with its end, the one that ends first."""


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
        keys = (operations.correlation[own[tied]], operations.kind[own[tied]], end_ns[tied])
        first[several] = tied[np.lexsort(keys)[0]]
    return DeviceGaps(between.start_ns, between.end_ns, own[first])


def causes_of(events: Events, timelines: ThreadTimelines, found: DeviceGaps) -> tuple[Int64s, Int64s]:
    """Return the time of each cause in each gap, shape (causes, n), and the thread of each gap's launch or NONE."""
    call = events.operations.call[found.ended_by]
    amounts = np.zeros((len(CAUSES), found.start_ns.size), np.int64)
    length_ns = found.end_ns - found.start_ns
    linked = call != NONE
    amounts[_UNATTRIBUTED, ~linked] = length_ns[~linked]
    thread = np.full(call.size, NONE, np.int64)
    thread[linked] = events.calls.thread_of(call[linked])
    for one in np.unique(thread[linked]).tolist():
        chosen = np.flatnonzero(thread == one)
        start_ns, end_ns = found.start_ns[chosen], found.end_ns[chosen]
        until_ns = np.clip(events.calls.end_ns[call[chosen]], start_ns, end_ns)
        amounts[_QUEUED, chosen] = end_ns - until_ns
        by_class, _ = timelines.calls(one)
        rest_ns = until_ns - start_ns
        for name, coverage in by_class.items():
            inside = coverage.within(start_ns, until_ns)
            amounts[CAUSES.index(name), chosen] = inside
            rest_ns -= inside
        amounts[_HOST, chosen] = rest_ns
    return amounts, thread


def _host_by_range(
    events: Events, timelines: ThreadTimelines, found: DeviceGaps, thread: Int64s, range_name: Callable[[int], str]
) -> dict[str, int]:
    """Split the host part of a device's gaps by the innermost range of the thread; most time first."""
    call = events.operations.call[found.ended_by]
    by_group: defaultdict[int, int] = defaultdict(int)
    outside = 0
    for one in np.unique(thread[thread != NONE]).tolist():
        chosen = np.flatnonzero(thread == one)
        start_ns, end_ns = found.start_ns[chosen], found.end_ns[chosen]
        before = union(start_ns, np.clip(events.calls.end_ns[call[chosen]], start_ns, end_ns))
        host = subtract(before, timelines.calls(one)[1])
        segments = timelines.ranges(one)
        inside = Coverage(host).within(segments.start_ns, segments.end_ns)
        group = events.ranges.group[segments.owner]
        for key in np.unique(group).tolist():
            by_group[key] += int(inside[group == key].sum())
        outside += host.total_ns - int(inside.sum())
    by_name: defaultdict[str, int] = defaultdict(int)
    for key, ns in by_group.items():
        by_name[range_name(key)] += ns
    by_name[NO_RANGE] += outside
    rows = [(name, ns) for name, ns in by_name.items() if ns]
    return dict(sorted(rows, key=lambda row: (-row[1], row[0])))


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
    timelines: ThreadTimelines,
    devices: Sequence[int],
    top: int,
    operation_name: Callable[[int], str],
    range_name: Callable[[int], str],
) -> Idle:
    """Explain all idle time within the span of each device; ``devices`` are the CUDA ordinals by index."""
    accounts, longest = [], []
    for index, ordinal in enumerate(devices):
        took_time = events.operations.end_ns > events.operations.start_ns
        if not (took_time & (events.operations.device == index)).any():
            continue
        found = device_gaps(events, index)
        amounts, thread = causes_of(events, timelines, found)
        length_ns = found.end_ns - found.start_ns
        accounts.append(
            DeviceIdle(
                device=ordinal,
                idle_ns=int(length_ns.sum()),
                gap_count=length_ns.size,
                causes={
                    name: Cause(int(row.sum()), int(np.count_nonzero(row)), int(row.max(initial=0)))
                    for name, row in zip(CAUSES, amounts, strict=True)
                },
                host_by_nvtx_ns=_host_by_range(events, timelines, found, thread, range_name),
                histogram=_histogram(length_ns),
            )
        )
        for position in np.lexsort((found.start_ns, -length_ns))[:top].tolist():
            longest.append(
                Gap(
                    device=ordinal,
                    start_ns=int(found.start_ns[position]),
                    length_ns=int(length_ns[position]),
                    before=operation_name(_ended_last(events, index, int(found.start_ns[position]))),
                    after=operation_name(int(found.ended_by[position])),
                    causes_ns={
                        name: int(row[position]) for name, row in zip(CAUSES, amounts, strict=True) if row[position]
                    },
                    nvtx=_around(events, int(events.operations.call[found.ended_by[position]]), range_name),
                )
            )
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
