"""What a thread was doing when: its innermost call, or the host's own code within its innermost range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsys_digest.collect.events import Bools, Ints
from nsys_digest.events import CLASSES, Events
from nsys_digest.intervals import Int64s, Intervals, joined
from nsys_digest.timeline import Segments, innermost


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

    def in_calls(self, start_ns: Int64s, end_ns: Int64s) -> Int64s:
        """Return the time that each interval spends in calls of each class, shape (classes, n)."""
        before, after = self._position(start_ns), self._position(end_ns)
        length_ns = self.calls.end_ns - self.calls.start_ns
        amounts = np.zeros((len(CLASSES), start_ns.size), np.int64)
        for index in range(len(CLASSES)):
            of_class = self.class_of_call == index
            if of_class.any():
                covered = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.where(of_class, length_ns, 0))))
                amounts[index] = self._before(end_ns, after, covered, of_class)
                amounts[index] -= self._before(start_ns, before, covered, of_class)
        return amounts

    def _position(self, time_ns: Int64s) -> Int64s:
        """Return how many segments begin at or before each time."""
        return np.searchsorted(self.calls.start_ns, time_ns, side="right")

    def _before(self, time_ns: Int64s, position: Int64s, covered: Int64s, of_class: Bools) -> Int64s:
        """Return the time in calls of a class before each time."""
        last = np.maximum(position - 1, 0)
        beyond = np.maximum(self.calls.end_ns[last] - time_ns, 0)
        result: Int64s = covered[position] - np.where((position > 0) & of_class[last], beyond, 0)
        return result

    def any_call(self) -> Intervals:
        """Return when the thread was in any call."""
        return joined([Intervals(self.calls.start_ns, self.calls.end_ns)])
