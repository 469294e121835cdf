"""What is looked at of a trace: stretches of time, devices, processes, streams. The one place that clips.

With a window, which is a set of disjoint half-open stretches, an event counts where it has a part in the window, one
without length where it starts in it; its time is the part. The span, overall and of each device, is the length of the
window, so that busy and idle add up to it. Filters drop rows whole: devices and streams GPU work alone, processes calls
and ranges too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, GroupedIntervals, Int64s, Intervals, intersect, union
from nsys_digest.errors import UsageInvalid
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.nsys.tables import processes_of


@dataclass(frozen=True)  # no slots: the window is worked out once and kept beside the fields
class Selection:
    """What is looked at; None is all of it. Made by :func:`select`."""

    stretches: tuple[tuple[int, int], ...] | None = None
    """Half-open, in order, neither touching nor overlapping, in nanoseconds on the trace's clock."""
    devices: frozenset[int] | None = None
    """CUDA ordinals."""
    processes: frozenset[int] | None = None
    """Process ids."""
    streams: frozenset[int] | None = None

    @property
    def is_whole(self) -> bool:
        """Whether the whole trace is looked at."""
        return self == WHOLE

    @property
    def has_no_filter(self) -> bool:
        """Whether rows are dropped for no other reason than their time."""
        return self.devices is None and self.processes is None and self.streams is None

    @cached_property
    def window(self) -> Intervals | None:
        """The stretches, merged; None for all of time."""
        if self.stretches is None:
            return None
        start_ns, end_ns = np.array(self.stretches, np.int64).reshape(-1, 2).T
        return Intervals(start_ns, end_ns)

    @property
    def length_ns(self) -> int | None:
        """The length of the window; None for all of time."""
        return None if self.window is None else self.window.total_ns

    @property
    def chosen(self) -> Chosen | None:
        """What is asked of rows as they are read; None where nothing is."""
        if self.is_whole:
            return None
        window = self.window
        return Chosen(
            None if self.devices is None and self.streams is None else self.keeps_work,
            None if self.processes is None else self.keeps_process,
            None if window is None else self.clip,
            None if window is None else (int(window.start_ns[0]), int(window.end_ns[-1])),
        )

    def keeps_process(self, global_pid: Int64s) -> Bools:
        """Tell of each globalPid whether that process is looked at."""
        return _among(processes_of(global_pid), self.processes)

    def keeps_work(self, device: Int64s, stream: Int64s) -> Bools:
        """Tell of each row of GPU work of a process that is looked at whether it is too, whenever it ran."""
        return _among(device, self.devices) & _among(stream, self.streams)

    def clip(self, start_ns: Int64s, end_ns: Int64s) -> tuple[Bools, Int64s]:
        """Return which events have a part in the window, shape (n,), and the length of the part of each of those."""
        if self.window is None:
            return np.ones(start_ns.size, bool), np.maximum(end_ns - start_ns, 0)
        end_ns = np.maximum(end_ns, start_ns)
        within_ns = Coverage(self.window).within(start_ns, end_ns)
        index = np.searchsorted(self.window.start_ns, start_ns, side="right")
        starts_inside = index > 0
        starts_inside[starts_inside] = start_ns[starts_inside] < self.window.end_ns[index[starts_inside] - 1]
        counts = (within_ns > 0) | ((start_ns == end_ns) & starts_inside)
        return counts, within_ns[counts]

    def counts(self, start_ns: Int64s, end_ns: Int64s) -> Bools:
        """Tell which events have a part in the window, shape (n,)."""
        return self.clip(start_ns, end_ns)[0]

    def on_clock(self, time_ns: Int64s) -> Int64s:
        """Return times on a clock that runs in the window alone, from 0 at its start; shape (n,).

        What is between two of these times is the time between in the window, so that lengths of parts and of unions
        of parts are those of whole events on that clock.
        """
        return time_ns if self.window is None else Coverage(self.window).before(time_ns)

    def clip_merged(self, merged: Intervals) -> Intervals:
        """Return the part of a merged set that lies in the window."""
        return merged if self.window is None else intersect(merged, self.window)

    def clip_grouped(self, windows: Iterable[GroupedIntervals]) -> Iterator[GroupedIntervals]:
        """Return intervals by group, which come in any pieces, cut to the window."""
        return iter(windows) if self.window is None else map(self._cut, windows)

    def _cut(self, piece: GroupedIntervals) -> GroupedIntervals:
        window = self.window or Intervals(piece.start_ns, piece.end_ns)
        first = np.searchsorted(window.end_ns, piece.start_ns, side="right")
        after = np.maximum(np.searchsorted(window.start_ns, piece.end_ns, side="left"), first)
        counts = after - first
        row = np.repeat(np.arange(counts.size), counts)
        stretch = np.arange(row.size) - np.repeat(np.cumsum(counts) - counts, counts) + first[row]
        return GroupedIntervals(
            np.maximum(piece.start_ns[row], window.start_ns[stretch]),
            np.minimum(piece.end_ns[row], window.end_ns[stretch]),
            piece.group[row],
        )


WHOLE: Final = Selection()
"""The whole trace."""


def select(
    stretches: Iterable[tuple[int, int]] | None = None,
    *,
    devices: Iterable[int] | None = None,
    processes: Iterable[int] | None = None,
    streams: Iterable[int] | None = None,
) -> Selection:
    """Return what is looked at; stretches may be in any order, touch and overlap.

    Raises:
        UsageInvalid: no stretch has a length.

    """
    merged = None
    if stretches is not None:
        start_ns, end_ns = np.array(list(stretches), np.int64).reshape(-1, 2).T
        joined = union(start_ns, end_ns)
        if not joined.start_ns.size:
            raise UsageInvalid("the window has no length; give stretches that end after they start")
        merged = tuple(zip(joined.start_ns.tolist(), joined.end_ns.tolist(), strict=True))
    named = (None if ids is None else frozenset(ids) for ids in (devices, processes, streams))
    return Selection(merged, *named)


def _among(ids: Int64s, wanted: frozenset[int] | None) -> Bools:
    return np.ones(ids.size, bool) if wanted is None else np.isin(ids, sorted(wanted))
