"""What a thread was doing when: its innermost call, or the host's own code within its innermost range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, joined
from nsys_digest.algorithms.nesting import Segments, innermost
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.link import CLASSES, Events


@dataclass(frozen=True, slots=True)
class ThreadTimeline:
    """One thread: segments of its calls, with the class of the innermost, and of its push/pop ranges.

    ``class_of_call`` is by segment, an index into ``CLASSES``; the owners of ``ranges`` are indices into all ranges.
    """

    calls: Segments
    class_of_call: Ints
    ranges: Segments

    @classmethod
    def of(cls, events: Events, thread: int) -> ThreadTimeline:
        """Work out the timeline of a thread."""
        calls, ranges = events.calls, events.ranges
        part = calls.of_thread(thread)
        start_ns, end_ns, group = calls.start_ns[part], calls.end_ns[part], calls.group[part]
        real = end_ns > start_ns
        if not real.all():
            start_ns, end_ns, group = start_ns[real], end_ns[real], group[real]
        segments = innermost(start_ns, end_ns)
        class_of_call = calls.class_of_group.astype(np.int8)[group[segments.owner]]
        part = ranges.of_thread(thread)
        own = np.flatnonzero(ranges.is_push_pop[part] & (ranges.end_ns[part] > ranges.start_ns[part])) + part.start
        nested = innermost(ranges.start_ns[own], ranges.end_ns[own])
        return cls(segments, class_of_call, nested._replace(owner=own[nested.owner]))

    def during(self, low_ns: int, high_ns: int) -> ThreadTimeline:
        """Return the segments that reach into ``[low, high)``, whole; nothing is copied."""
        part, ranges = _reaching_into(self.calls, low_ns, high_ns), _reaching_into(self.ranges, low_ns, high_ns)
        return ThreadTimeline(_part_of(self.calls, part), self.class_of_call[part], _part_of(self.ranges, ranges))

    def in_calls(self, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """Return the time that each interval spends in calls of each class, shape (classes, n)."""
        amounts = np.zeros((len(CLASSES), start_ns.size), np.int64)
        if not self.calls.start_ns.size:
            return amounts
        edges = [self._position(time_ns) for time_ns in (start_ns, end_ns)]
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

    def _position(self, time_ns: Int64s) -> tuple[Int64s, Int64s, Int64s]:
        """Return how many segments begin at or before each time, the last of them, and how far it reaches beyond."""
        position = np.searchsorted(self.calls.start_ns, time_ns, side="right")
        last = np.maximum(position - 1, 0)
        beyond_ns = np.where(position > 0, np.maximum(self.calls.end_ns[last] - time_ns, 0), 0)
        return position, last, beyond_ns

    def any_call(self) -> Intervals:
        """Return when the thread was in any call."""
        return joined([Intervals(self.calls.start_ns, self.calls.end_ns)])


def _reaching_into(segments: Segments, low_ns: int, high_ns: int) -> slice:
    first = np.searchsorted(segments.end_ns, low_ns, side="right")
    return slice(int(first), int(np.searchsorted(segments.start_ns, high_ns, side="left")))


def _part_of(segments: Segments, part: slice) -> Segments:
    return Segments(segments.start_ns[part], segments.end_ns[part], segments.owner[part])
