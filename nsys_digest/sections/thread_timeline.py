"""What threads were doing when: the innermost call of each, or the host's own code within its innermost range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, joined
from nsys_digest.algorithms.lines import Lines, batches, lines_of
from nsys_digest.algorithms.nesting import Segments, innermost
from nsys_digest.algorithms.overlay import Owners, overlaid
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import CLASSES, NONE, OVERHEADS, Events
from nsys_digest.trace.nsys.overheads import Overhead

PROFILER, QUEUE_FULL = len(CLASSES), len(CLASSES) + 1
"""What a segment can be beside the class of a call: the profiler's own work, a launch that a full queue holds."""
DOINGS = len(CLASSES) + 2
_CLASS_OF_OVERHEAD = {
    Overhead.loading: CLASSES.index(CallClass.module),
    Overhead.profiler: PROFILER,
    Overhead.queue_full: QUEUE_FULL,
}


def thread_batches(events: Events, window: Intervals | None = None) -> Iterator[Lines]:
    """Cut the threads that made calls into batches of which each is looked at as a whole; the window fits in too."""
    calls, ranges = events.calls, events.ranges
    columns = [(one.start_ns, one.end_ns) for one in (calls, ranges, events.operations, events.overheads)]
    if events.host is not None:
        columns.append((events.host.calls.start_ns, events.host.calls.end_ns))
    columns += [] if window is None else [window]
    times = [(int(min(a.min(), b.min())), int(max(a.max(), b.max()))) for a, b in columns if a.size]
    if times:
        edges = calls.edges + ranges.edges[: calls.edges.size]
        yield from batches(edges, min(low for low, _ in times), max(high for _, high in times))


@dataclass(frozen=True, slots=True)
class ThreadTimeline:
    """Some threads: segments of their calls, with the class of the innermost, and of their push/pop ranges.

    Times are places on the number line of ``lines``. ``class_of_call`` is by segment, an index into ``CLASSES`` or one
    of the two above. The owners of ``calls`` are indices into all calls, ``NONE`` where a row of overhead decides, and
    those of ``ranges`` into all ranges. Rows of overhead that say what the thread did nest with the calls.
    """

    lines: Lines
    calls: Segments
    class_of_call: Ints
    ranges: Segments

    @classmethod
    def of(cls, events: Events, lines: Lines) -> ThreadTimeline:
        """Work out the timeline of a batch of threads."""
        calls, ranges, several = events.calls, events.ranges, lines.high - lines.low > 1
        part = slice(int(calls.edges[lines.low]), int(calls.edges[lines.high]))
        start_ns, end_ns, group = calls.start_ns[part], calls.end_ns[part], calls.group[part]
        if several:
            thread = lines_of(calls.edges, lines.low, lines.high)
            start_ns, end_ns = lines.put(start_ns, thread), lines.put(end_ns, thread)
        own: Int64s | None = None
        real = end_ns > start_ns
        if not real.all():
            own = np.flatnonzero(real)
            start_ns, end_ns, group = start_ns[own], end_ns[own], group[own]
        segments = innermost(start_ns, end_ns)
        class_of_call = calls.class_of_group.astype(np.int8)[group[segments.owner]]
        overheads, class_of_overhead = _overheads(events, lines)
        if overheads.start_ns.size:
            rows = innermost(*overheads)
            segments, rows = overlaid(segments, Owners(start_ns, end_ns), rows, overheads)
            class_of_call = calls.class_of_group.astype(np.int8)[group[segments.owner]]
            owner = segments.owner if own is None else own[segments.owner]
            of_rows = rows._replace(owner=np.full(rows.owner.size, NONE - part.start))
            segments, class_of_call = _in_order(
                segments._replace(owner=owner), class_of_call, of_rows, class_of_overhead[rows.owner]
            )
        elif own is not None:
            segments = segments._replace(owner=own[segments.owner])
        segments = segments._replace(owner=segments.owner + part.start)
        part = slice(int(ranges.edges[lines.low]), int(ranges.edges[lines.high]))
        chosen = ranges.is_push_pop[part] & (ranges.end_ns[part] > ranges.start_ns[part])
        own_ranges = np.flatnonzero(chosen) + part.start
        start_ns, end_ns = ranges.start_ns[own_ranges], ranges.end_ns[own_ranges]
        if several:
            thread = lines_of(ranges.edges, lines.low, lines.high)[chosen]
            start_ns, end_ns = lines.put(start_ns, thread), lines.put(end_ns, thread)
        nested = innermost(start_ns, end_ns)
        return cls(lines, segments, class_of_call, nested._replace(owner=own_ranges[nested.owner]))

    def during(self, low: int, high: int) -> ThreadTimeline:
        """Return the segments that reach into the places ``[low, high)``, whole; nothing is copied."""
        part, ranges = _reaching_into(self.calls, low, high), _reaching_into(self.ranges, low, high)
        return replace(
            self,
            calls=_part_of(self.calls, part),
            class_of_call=self.class_of_call[part],
            ranges=_part_of(self.ranges, ranges),
        )

    def in_calls(self, start: Int64s, end: Int64s) -> Int64s:
        """Return the time that each interval of places spends in each class of call, ``PROFILER`` and ``QUEUE_FULL``.

        The shape is (``DOINGS``, n).
        """
        amounts = np.zeros((DOINGS, start.size), np.int64)
        if not self.calls.start_ns.size:
            return amounts
        edges = [self._position(place) for place in (start, end)]
        length_ns = self.calls.end_ns - self.calls.start_ns
        covered = np.zeros(length_ns.size + 1, np.int64)  # time in calls of a class before each segment
        for index in range(DOINGS):
            of_class = self.class_of_call == index
            if of_class.any():
                np.multiply(length_ns, of_class, out=covered[1:])
                np.cumsum(covered[1:], out=covered[1:])
                begun, ended = (
                    covered[position] - np.where(of_class[last], beyond_ns, 0) for position, last, beyond_ns in edges
                )
                np.subtract(ended, begun, out=amounts[index])
        return amounts

    def _position(self, place: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Return how many segments begin at or before each place, the last of them, and how far it reaches beyond."""
        position = np.searchsorted(self.calls.start_ns, place, side="right")
        last = np.maximum(position - 1, 0)
        beyond_ns = np.where(position > 0, np.maximum(self.calls.end_ns[last] - place, 0), 0)
        return position, last, beyond_ns

    def any_call(self) -> Intervals:
        """Return the places in which a thread was in any call, or a row of overhead says what it did."""
        return joined([Intervals(self.calls.start_ns, self.calls.end_ns)])

    def in_class(self, kind: CallClass) -> Intervals:
        """Return the places in which the innermost call of a thread was of a class."""
        chosen = self.class_of_call == CLASSES.index(kind)
        return joined([Intervals(self.calls.start_ns[chosen], self.calls.end_ns[chosen])])


def _overheads(events: Events, lines: Lines) -> tuple[Owners, Ints]:
    """Return the rows of overhead of some threads that say what the thread did, as places, and the class of each."""
    overheads = events.overheads
    part = slice(int(overheads.edges[lines.low]), int(overheads.edges[lines.high]))
    class_of_kind = np.array([_CLASS_OF_OVERHEAD.get(kind, NONE) for kind in OVERHEADS], np.int8)
    found = class_of_kind[overheads.kind[part]]
    known = np.flatnonzero(found != NONE)
    thread = lines_of(overheads.edges, lines.low, lines.high)[known]
    times = (column[part][known] for column in (overheads.start_ns, overheads.end_ns))
    return Owners(*(lines.put(column, thread) for column in times)), found[known]


def _in_order(one: Segments, of_one: Ints, other: Segments, of_other: Ints) -> tuple[Segments, Ints]:
    """Put two sets of disjoint segments in order, each with its class."""
    order = np.argsort(np.concatenate((one.start_ns, other.start_ns)), kind="stable")
    segments = Segments(*(np.concatenate(columns)[order] for columns in zip(one, other, strict=True)))
    return segments, np.concatenate((of_one, of_other))[order]


def _reaching_into(segments: Segments, low: int, high: int) -> slice:
    first = np.searchsorted(segments.end_ns, low, side="right")
    return slice(int(first), int(np.searchsorted(segments.start_ns, high, side="left")))


def _part_of(segments: Segments, part: slice) -> Segments:
    return Segments(segments.start_ns[part], segments.end_ns[part], segments.owner[part])
