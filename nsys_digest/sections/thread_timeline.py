"""What threads were doing when: the innermost call of each, or the host's own code within its innermost range."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, joined
from nsys_digest.algorithms.lines import Lines, batches, lines_of
from nsys_digest.algorithms.nesting import Segments, innermost
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import CLASSES, Events


def thread_batches(events: Events) -> Iterator[Lines]:
    """Cut the threads that made calls into batches of which each is looked at as a whole."""
    calls, ranges, operations = events.calls, events.ranges, events.operations
    columns = [(events.start_ns, events.end_ns) for events in (calls, ranges, operations)]
    times = [(int(min(a.min(), b.min())), int(max(a.max(), b.max()))) for a, b in columns if a.size]
    if times:
        edges = calls.edges + ranges.edges[: calls.edges.size]
        yield from batches(edges, min(low for low, _ in times), max(high for _, high in times))


@dataclass(frozen=True, slots=True)
class ThreadTimeline:
    """Some threads: segments of their calls, with the class of the innermost, and of their push/pop ranges.

    Times are places on the number line of ``lines``. ``class_of_call`` is by segment, an index into ``CLASSES``; the
    owners of ``ranges`` are indices into all ranges.
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
        real = end_ns > start_ns
        if not real.all():
            start_ns, end_ns, group = start_ns[real], end_ns[real], group[real]
        segments = innermost(start_ns, end_ns)
        class_of_call = calls.class_of_group.astype(np.int8)[group[segments.owner]]
        part = slice(int(ranges.edges[lines.low]), int(ranges.edges[lines.high]))
        chosen = ranges.is_push_pop[part] & (ranges.end_ns[part] > ranges.start_ns[part])
        own = np.flatnonzero(chosen) + part.start
        start_ns, end_ns = ranges.start_ns[own], ranges.end_ns[own]
        if several:
            thread = lines_of(ranges.edges, lines.low, lines.high)[chosen]
            start_ns, end_ns = lines.put(start_ns, thread), lines.put(end_ns, thread)
        nested = innermost(start_ns, end_ns)
        return cls(lines, segments, class_of_call, nested._replace(owner=own[nested.owner]))

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
        """Return the time that each interval of places spends in calls of each class, shape (classes, n)."""
        amounts = np.zeros((len(CLASSES), start.size), np.int64)
        if not self.calls.start_ns.size:
            return amounts
        edges = [self._position(place) for place in (start, end)]
        length_ns = self.calls.end_ns - self.calls.start_ns
        covered = np.zeros(length_ns.size + 1, np.int64)  # time in calls of a class before each segment
        for index in range(len(CLASSES)):
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
        """Return the places in which a thread was in any call."""
        return joined([Intervals(self.calls.start_ns, self.calls.end_ns)])

    def in_class(self, kind: CallClass) -> Intervals:
        """Return the places in which the innermost call of a thread was of a class."""
        chosen = self.class_of_call == CLASSES.index(kind)
        return joined([Intervals(self.calls.start_ns[chosen], self.calls.end_ns[chosen])])


def _reaching_into(segments: Segments, low: int, high: int) -> slice:
    first = np.searchsorted(segments.end_ns, low, side="right")
    return slice(int(first), int(np.searchsorted(segments.start_ns, high, side="left")))


def _part_of(segments: Segments, part: slice) -> Segments:
    return Segments(segments.start_ns[part], segments.end_ns[part], segments.owner[part])
