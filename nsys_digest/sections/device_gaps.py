"""The gaps of a device, and the thread whose call ended each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, gaps, subtract, union
from nsys_digest.algorithms.lines import Lines
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Ints, small_ids
from nsys_digest.trace.events import NONE, Events

_SLICE = 1 << 17


@dataclass(frozen=True, slots=True)
class DeviceGaps:
    """The gaps of one device; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    ended_by: Ints
    """Index of the operation that ends each gap: of those that start with its end, the one that ends first.

    Of a gap that a window cuts it is the one that ended all of it; ``NONE`` behind the last operation.
    """

    def some(self, chosen: Int64s | slice) -> DeviceGaps:
        """Return the gaps at those positions."""
        return DeviceGaps(self.start_ns[chosen], self.end_ns[chosen], self.ended_by[chosen])


@dataclass(frozen=True, slots=True)
class ThreadGaps:
    """Gaps by the thread whose call ended each, and on each thread in order of start; ``NONE`` comes first."""

    gaps: DeviceGaps
    thread: Ints
    place: Int64s
    """Where the i-th gap of the device is among them."""

    @classmethod
    def of(cls, events: Events, found: DeviceGaps) -> ThreadGaps:
        """Put gaps that are in order of start by thread."""
        thread = small_ids(thread_of_gaps(events, found), len(events.calls.threads))
        order = np.argsort(thread, kind="stable")
        place = np.empty(order.size, np.int64)
        place[order] = np.arange(order.size)
        return cls(found.some(order), thread[order], place)

    def unattributed(self) -> slice:
        """Return where the gaps without a thread are."""
        return slice(0, int(np.searchsorted(self.thread, NONE, side="right")))

    def of_threads(self, lines: Lines) -> Iterator[slice]:
        """Yield where the gaps of some threads are, a slice of them at a time."""
        low, high = np.searchsorted(self.thread, (lines.low, lines.high)).tolist()
        for at in range(low, high, _SLICE):
            yield slice(at, min(at + _SLICE, high))


def device_gaps(events: Events, own: Int64s, selection: Selection = WHOLE) -> DeviceGaps:
    """Return the gaps between the busy stretches of a device; with a window all of it in which the device was idle.

    ``own`` are its operations.
    """
    operations = events.operations
    own = own[operations.end_ns[own] > operations.start_ns[own]]
    start_ns, end_ns = operations.start_ns[own], operations.end_ns[own]
    busy = union(start_ns, end_ns)
    between = gaps(busy) if selection.window is None else subtract(selection.window, busy)
    first = np.searchsorted(start_ns, between.end_ns, side="left")
    behind = np.searchsorted(start_ns, np.append(start_ns, 0)[first], side="right")
    for several in np.flatnonzero(behind - first > 1).tolist():
        tied = np.arange(first[several], behind[several])
        ops = own[tied]
        call = operations.call[ops]
        # of those that end first one that the trace can explain
        keys = (call, operations.correlation[ops], operations.kind[ops], call == NONE, end_ns[tied])
        first[several] = tied[np.lexsort(keys)[0]]
    ended_by = np.append(own, NONE)[first]
    return DeviceGaps(between.start_ns, between.end_ns, small_ids(ended_by, operations.start_ns.size))


def thread_of_gaps(events: Events, found: DeviceGaps) -> Int64s:
    """Return the thread of the call that launched the end of each gap, ``NONE`` where the trace does not say."""
    call = np.append(events.operations.call, NONE)[found.ended_by]  # NONE is the last position
    return np.where(call == NONE, NONE, events.calls.thread_of(call))
