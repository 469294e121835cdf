"""Why each device was idle: every gap cut along the thread whose call ended it.

For each gap, the operation that ends it and the call that launched that operation are looked up. After that call had
returned the gap is ``queued``; before, it is what the call's thread was doing: the class of its innermost call, or
``host`` where it was in none.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, intersect, joined, subtract
from nsys_digest.algorithms.lines import Lines
from nsys_digest.algorithms.members import Members
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.model.section_types import Bin, Cause, DeviceIdle, Gap, Idle
from nsys_digest.sections.device_gaps import DeviceGaps, ThreadGaps, device_gaps
from nsys_digest.sections.gap_ranges import ranges_of_gaps
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.sections.sync_targets import by_target
from nsys_digest.sections.thread_timeline import PROFILER, QUEUE_FULL, ThreadTimeline, thread_batches
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import CLASSES, NONE, Events, Operations
from nsys_digest.trace.nsys.tables import COPY_KINDS, GPU_KINDS, MIGRATION_KINDS, name_of

_QUEUED, _LAUNCH, _HOST, _PROFILER, _MIGRATION, _UNATTRIBUTED = map(
    CAUSES.index, ("queued", "launch_call", "host", "profiler", "migration", "unattributed")
)
NO_RANGE: Final = "(none)"
_IN_CALLS = slice(_QUEUED + 1, _HOST)
_FIRST_BIN_NS = 1_000
_LONG_QUEUED_NS = 1_000_000
"""Work starts within some microseconds of its call, in batches (WDDM) within some hundred."""
_SYNC_CLASS = CLASSES.index(CallClass.sync)
_NO_CALLS = np.zeros(0, np.int64)
_FIFTH: Final = 5
"""A gap counts for each cause of which it has its length over this, or more."""


@dataclass(frozen=True, slots=True)
class PlacedGaps:
    """Gaps that calls of some threads ended, as places on the number line of these threads."""

    start: Int64s
    until: Int64s
    """When the call that launched the end of each gap returned, within the gap."""
    end: Int64s

    @classmethod
    def of(cls, events: Events, lines: Lines, found: DeviceGaps, thread: Ints) -> PlacedGaps:
        """Place gaps, of which the i-th was ended by a call of ``thread[i]``, one of the lines."""
        until_ns = np.clip(events.calls.end_ns[events.operations.call[found.ended_by]], found.start_ns, found.end_ns)
        return cls(*(lines.put(times, thread) for times in (found.start_ns, until_ns, found.end_ns)))

    def causes(self, doing: Int64s) -> Int64s:
        """Return the time of each cause, shape (causes, n), from what the threads were doing, shape (doings, n)."""
        amounts = np.zeros((len(CAUSES), self.start.size), np.int64)
        amounts[_QUEUED] = self.end - self.until
        amounts[_IN_CALLS], amounts[_PROFILER] = doing[: len(CLASSES)], doing[PROFILER]
        amounts[_LAUNCH] += doing[QUEUE_FULL]
        amounts[_HOST] = self.until - self.start - doing.sum(axis=0)
        return amounts

    def before_return(self) -> Intervals:
        """Return the parts of the gaps before the calls had returned, as places."""
        open_ = np.flatnonzero(self.until > self.start)
        return Intervals(self.start[open_], self.until[open_])

    def host(self, timeline: ThreadTimeline) -> Intervals:
        """Return where the threads were in no call, as places."""
        return subtract(self.before_return(), timeline.any_call())


def host_of(events: Events, by_thread: ThreadGaps, lines: Lines, timeline: ThreadTimeline) -> Intervals:
    """Return where the threads that ended the gaps of a device were in no call within them, as places."""
    pieces = []
    for part in by_thread.of_threads(lines):
        placed = PlacedGaps.of(events, lines, by_thread.gaps.some(part), by_thread.thread[part])
        pieces.append(placed.host(timeline.during(int(placed.start[0]), int(placed.end[-1]))))
    return joined(pieces)


def causes_of(events: Events, found: DeviceGaps) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield some of the gaps at a time, as positions in order of their thread, and their causes, shape (causes, n)."""
    by_thread = ThreadGaps.of(events, found)
    order = np.empty(by_thread.place.size, np.int64)
    order[by_thread.place] = np.arange(order.size)
    alone = by_thread.unattributed()
    yield order[alone], _without_call(events, by_thread.gaps.some(alone))
    for lines in thread_batches(events):
        timeline: ThreadTimeline | None = None
        for part in by_thread.of_threads(lines):
            timeline = timeline if timeline is not None else ThreadTimeline.of(events, lines)
            placed = PlacedGaps.of(events, lines, by_thread.gaps.some(part), by_thread.thread[part])
            yield order[part], placed.causes(timeline.in_calls(placed.start, placed.until))


def _without_call(events: Events, found: DeviceGaps) -> Int64s:
    """Return the causes of gaps that end with work of no known call, shape (causes, n)."""
    operations = events.operations
    amounts = np.zeros((len(CAUSES), found.start_ns.size), np.int64)
    migrates = np.array([copy.kind in MIGRATION_KINDS for copy in operations.copy_labels], bool)
    moved = found.ended_by != NONE
    moved[moved] = operations.kind[found.ended_by[moved]] == GPU_KINDS.index("memcpy")
    moved[moved] = migrates[operations.label[found.ended_by[moved]]]
    length_ns = found.end_ns - found.start_ns
    amounts[_MIGRATION] = np.where(moved, length_ns, 0)
    amounts[_UNATTRIBUTED] = length_ns - amounts[_MIGRATION]
    return amounts


class _ByRange:
    """Time by innermost range of its thread, and outside of all."""

    def __init__(self, groups: int) -> None:
        self._by_group = np.zeros(groups, np.int64)
        self._outside = 0

    def add(self, time: Intervals, timeline: ThreadTimeline, group: Ints) -> None:
        """Share out some time of the threads; ``group`` is that of each segment of ranges."""
        inside = Coverage(time).within(timeline.ranges.start_ns, timeline.ranges.end_ns)
        np.add.at(self._by_group, group, inside)
        self._outside += time.total_ns - int(inside.sum())

    def result(self, range_names: Sequence[str]) -> dict[str, int]:
        """Return the time by name, most first, then by name; the names are by group."""
        by_name: defaultdict[str, int] = defaultdict(int)
        for group in np.flatnonzero(self._by_group).tolist():
            by_name[range_names[group]] += int(self._by_group[group])
        by_name[NO_RANGE] += self._outside
        return dict(sorted(((name, ns) for name, ns in by_name.items() if ns), key=lambda row: (-row[1], row[0])))


class _DeviceCauses:
    """The idle time of one device by cause, added up batch of threads by batch of threads."""

    def __init__(
        self, events: Events, own: Int64s, ordinal: int, top: int, *, busy: Coverage, selection: Selection
    ) -> None:
        """Take the operations of the device."""
        self._events, self._busy = events, busy
        self._syncs: list[tuple[Int64s, Int64s]] = []
        """Calls that waited, and how long each kept the device idle."""
        self._outside: list[Int64s] = []
        self._own, self.ordinal = own, ordinal
        found = device_gaps(events, own, selection)
        length_ns = found.end_ns - found.start_ns
        self.idle_ns, self.gap_count, self.histogram = int(length_ns.sum()), length_ns.size, _histogram(length_ns)
        self._by_thread = ThreadGaps.of(events, found)
        self._total, self._gaps, self._longest, self._gaps_with = (np.zeros(len(CAUSES), np.int64) for _ in range(4))
        groups = int(events.ranges.group.max(initial=-1)) + 1
        self._queue_full = 0
        self._host, self._sync = _ByRange(groups), _ByRange(groups)
        longest = _longest(length_ns, top)
        place = self._by_thread.place[longest]
        by_place = np.argsort(place)
        self._listed = place[by_place]
        """The longest gaps."""
        self._listed_busy_ns = _busy_before(events, own, found, longest[by_place], selection)
        self._listed_causes = np.zeros((len(CAUSES), self._listed.size), np.int64)
        alone = self._by_thread.unattributed()
        self._add(alone, _without_call(events, self._by_thread.gaps.some(alone)))

    def add_threads(self, lines: Lines, timeline_of: Callable[[Lines], ThreadTimeline]) -> None:
        """Explain the gaps that calls of these threads ended, a slice of them at a time."""
        for part in self._by_thread.of_threads(lines):
            found, thread = self._by_thread.gaps.some(part), self._by_thread.thread[part]
            placed = PlacedGaps.of(self._events, lines, found, thread)
            self._add_gaps(part, placed, timeline_of(lines).during(int(placed.start[0]), int(placed.end[-1])))

    def _add_gaps(self, part: slice, placed: PlacedGaps, timeline: ThreadTimeline) -> None:
        doing = timeline.in_calls(placed.start, placed.until)
        self._add(part, placed.causes(doing))
        self._queue_full += int(doing[QUEUE_FULL].sum())
        before_return = placed.before_return()
        self._note_syncs(before_return, timeline)
        self._note_outside(part, placed)
        group = self._events.ranges.group[timeline.ranges.owner]
        self._host.add(placed.host(timeline), timeline, group)
        self._sync.add(intersect(before_return, timeline.in_class(CallClass.sync)), timeline, group)

    def _note_syncs(self, before_return: Intervals, timeline: ThreadTimeline) -> None:
        """Keep how long each call that waits kept the device idle."""
        syncs = np.flatnonzero(timeline.class_of_call == _SYNC_CLASS)
        if syncs.size:
            idle_ns = Coverage(before_return).within(timeline.calls.start_ns[syncs], timeline.calls.end_ns[syncs])
            some = np.flatnonzero(idle_ns)
            self._syncs.append((timeline.calls.owner[syncs[some]], idle_ns[some]))

    def _note_outside(self, part: slice, placed: PlacedGaps) -> None:
        """Add up long waits of submitted work while no device did anything; with a window, by their part in it."""
        queued_ns = placed.end - placed.until
        long = np.flatnonzero(queued_ns >= _LONG_QUEUED_NS)
        if long.size:
            end_ns = self._by_thread.gaps.end_ns[part][long]
            free_ns = queued_ns[long] - self._busy.within(end_ns - queued_ns[long], end_ns)
            free_ns = free_ns[free_ns >= _LONG_QUEUED_NS]
            self._outside.append(free_ns)

    def _add(self, part: slice, amounts: Int64s) -> None:
        self._total += amounts.sum(axis=1)
        self._gaps += np.count_nonzero(amounts, axis=1)
        length_ns = amounts.sum(axis=0)
        self._gaps_with += ((amounts > 0) & (amounts >= length_ns // _FIFTH)) @ length_ns
        self._longest = np.maximum(self._longest, amounts.max(axis=1, initial=0))
        listed = slice(*np.searchsorted(self._listed, (part.start, part.stop)).tolist())
        self._listed_causes[:, listed] = amounts[:, self._listed[listed] - part.start]

    def result(self, range_names: Sequence[str]) -> DeviceIdle:
        """Return what was added up; the names are by group."""
        columns = zip(CAUSES, self._total.tolist(), self._gaps.tolist(), self._longest.tolist(), strict=True)
        return DeviceIdle(
            device=self.ordinal,
            idle_ns=self.idle_ns,
            gap_count=self.gap_count,
            causes={name: Cause(ns, gaps, longest) for name, ns, gaps, longest in columns},
            host_by_nvtx_ns=self._host.result(range_names),
            histogram=self.histogram,
            queue_full_ns=self._queue_full if self._events.overheads.of_driver else None,
            sync_by_target_ns=self._sync_by_target(),
            queued_outside=_cause(self._outside),
            gaps_with_ns={name: ns for name, ns in zip(CAUSES, self._gaps_with.tolist(), strict=True) if ns},
            sync_by_nvtx_ns=self._sync.result(range_names),
        )

    def _sync_by_target(self) -> dict[str, int]:
        call, idle_ns = (np.concatenate(columns) for columns in zip((_NO_CALLS, _NO_CALLS), *self._syncs, strict=True))
        return by_target(self._events, call, idle_ns)

    def longest(self, operation_name: Callable[[int], str], names: Sequence[str], name_of_group: Int64s) -> list[Gap]:
        """Return the longest gaps; ``names`` are those of the ranges, by id."""
        found = self._by_thread.gaps.some(self._listed)
        before = ended_last(self._events, self._own, found.start_ns)
        chains = ranges_of_gaps(
            self._events.ranges, name_of_group, self._by_thread.thread[self._listed], found.start_ns, found.end_ns
        )
        started = np.append(self._events.operations.start_ns, 0)[found.ended_by] == found.end_ns
        ended_by = np.where((found.ended_by != NONE) & started, found.ended_by, NONE)
        rows = zip(
            found.start_ns.tolist(),
            (found.end_ns - found.start_ns).tolist(),
            before.tolist(),
            ended_by.tolist(),
            self._listed_causes.T.tolist(),
            chains,
            self._listed_busy_ns.tolist(),
            strict=True,
        )
        return [
            Gap(
                device=self.ordinal,
                start_ns=start_ns,
                length_ns=length_ns,
                before=operation_name(first),
                after=operation_name(after),
                causes_ns={name: ns for name, ns in zip(CAUSES, causes, strict=True) if ns},
                nvtx=tuple(names[name] for name in chain),
                busy_before_ns=busy_ns,
            )
            for start_ns, length_ns, first, after, causes, chain, busy_ns in rows
        ]


def _cause(parts: list[Int64s]) -> Cause:
    """Return the time of a cause, of which every gap with some of it has one value."""
    ns = np.concatenate([_NO_CALLS, *parts])
    return Cause(int(ns.sum()), ns.size, int(ns.max(initial=0)))


def _longest(length_ns: Int64s, top: int) -> Int64s:
    """Return the positions of the longest gaps; of equal ones those that begin first."""
    if top < length_ns.size:
        limit = np.partition(length_ns, length_ns.size - top - 1)[length_ns.size - top - 1]
        candidates = np.flatnonzero(length_ns >= limit)
    else:
        candidates = np.arange(length_ns.size)
    return candidates[np.argsort(-length_ns[candidates], kind="stable")][:top]


def _busy_before(events: Events, own: Int64s, found: DeviceGaps, chosen: Int64s, selection: Selection) -> Int64s:
    """Return the busy time of a device before some of its gaps, in the window or since its first start.

    Gaps are in order of start.
    """
    length_ns = found.end_ns - found.start_ns
    idle_before_ns = np.cumsum(length_ns) - length_ns
    start_ns = found.start_ns[chosen]
    since_ns: Int64s
    if selection.window is None:
        operations = events.operations
        took_time = operations.end_ns[own] > operations.start_ns[own]
        since_ns = start_ns - operations.start_ns[own[np.argmax(took_time)]]
    else:
        since_ns = selection.on_clock(start_ns)
    busy_ns: Int64s = since_ns - idle_before_ns[chosen]
    return busy_ns


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
    devices: Mapping[int, int],
    of_devices: Members,
    top: int,
    strings: Mapping[int, str],
    range_names: Sequence[str],
    busy: Intervals,
    selection: Selection = WHOLE,
) -> Idle:
    """Explain all idle time within the span of each device.

    ``devices`` are the CUDA ordinals of those that have a span, by index, ``of_devices`` the operations of each,
    ``strings`` the texts of string ids, ``range_names`` by group, and ``busy`` is when any device was at work, looked
    at or not.
    """
    everywhere = Coverage(busy)
    operations = events.operations
    operation_name = partial(operation_name_of, operations, strings)
    timeline_of = lru_cache(1)(lambda lines: ThreadTimeline.of(events, lines))  # those of all would not fit
    ids: dict[str, int] = {}
    groups = int(events.ranges.group.max(initial=-1)) + 1
    name_of_group = np.array([ids.setdefault(name, len(ids)) for name in range_names[:groups]], np.int64)
    all_lines = list(thread_batches(events, selection.window))
    explained, longest = [], []
    for index, ordinal in devices.items():
        causes = _DeviceCauses(events, of_devices.of(index), ordinal, top, busy=everywhere, selection=selection)
        for lines in all_lines:
            causes.add_threads(lines, timeline_of)
        explained.append(causes.result(range_names))
        longest += causes.longest(operation_name, list(ids), name_of_group)
    longest.sort(key=lambda gap: (-gap.length_ns, gap.device, gap.start_ns))
    return Idle(tuple(explained), tuple(longest[:top]))


def ended_last(events: Events, own: Int64s, end_ns: Int64s) -> Int64s:
    """Return the operation of a device that ends at each time; of several the first kind, then the last to start.

    ``own`` are those of the device; ``NONE`` where none that took time ends then.
    """
    operations = events.operations
    candidates = own[np.isin(operations.end_ns[own], end_ns)]
    candidates = candidates[operations.start_ns[candidates] < operations.end_ns[candidates]]
    keys = (-operations.start_ns[candidates], operations.kind[candidates], operations.end_ns[candidates])
    candidates = candidates[np.lexsort(keys)]
    place = np.searchsorted(operations.end_ns[candidates], end_ns)
    found = np.append(candidates, NONE)[place]
    return np.where(np.append(operations.end_ns[candidates], 0)[place] == end_ns, found, NONE)


def operation_name_of(operations: Operations, strings: Mapping[int, str], operation: int) -> str:
    """Return what an operation is called in a list of gaps; ``NONE`` is the edge of the window."""
    if operation == NONE:
        return "[window]"
    kind, label = GPU_KINDS[int(operations.kind[operation])], int(operations.label[operation])
    if kind == "kernel":
        short, _ = operations.kernel_labels[label]
        return name_of(short, strings)
    if kind == "memcpy":
        return f"[memcpy {COPY_KINDS.get(operations.copy_labels[label].kind, 'unknown')}]"
    return f"[{kind}]"


def _make(context: Context) -> Made:
    names = context.scanned.nvtx.names
    gaps, devices = context.options.gaps, context.devices_with_span
    return Made(
        idle(
            context.events,
            devices,
            context.of_devices,
            gaps,
            context.strings,
            names,
            context.any_busy,
            context.selection,
        )
    )


SECTION = Section("idle", _make, Lane.time, frozenset({Blind.unlaunched_work}))
