"""The events that sections are made from: those that a selection looks at, whole, and what each has in the window.

Work is linked to calls before any is left out, so that a part of a trace is explained as the whole is. An event
counts where it has a part in the window; lengths are of whole events, while sums and unions are of the parts: these
are taken on a clock that runs in the window alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import CAPTURE_BEGIN_CALLS, CAPTURE_END_CALLS
from nsys_digest.sections.call_groups import groups_of
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import NONE, Calls, Events, Operations, Ranges


@dataclass(frozen=True)  # no slots: what is worked out once is kept beside the fields
class LookedAt:
    """What a selection looks at of ``all``, which are the events of its processes on all devices and streams.

    Of the whole trace everything here is ``all`` itself.
    """

    all: Events
    selection: Selection = WHOLE
    work_counts: Bools | None = None
    """Which operations of ``all`` are looked at and have a part in the window; None is all."""

    @cached_property
    def events(self) -> Events:
        """The events of what is looked at, whole, whenever they were."""
        kept = np.flatnonzero(self.all.operations.device != NONE)
        if self.work_counts is None or kept.size == self.all.operations.device.size:
            return self.all
        return replace(self.all, operations=_operations(self.all.operations, kept))

    @cached_property
    def counts(self) -> Bools:
        """Which operations of ``events`` have a part in the window."""
        if self.work_counts is None:
            return np.ones(self.all.operations.device.size, bool)
        of_events: Bools = self.work_counts[self.all.operations.device != NONE]
        return of_events

    @cached_property
    def operations(self) -> Operations:
        """The operations that count, whole."""
        if self.work_counts is None:
            return self.events.operations
        return _operations(self.all.operations, np.flatnonzero(self.work_counts))

    @cached_property
    def parts(self) -> Operations:
        """The operations that count, on the clock of the window: what is within it of each."""
        return self._on_clock(self.operations)

    @cached_property
    def on_clock(self) -> Events:
        """``events`` with the operations on the clock of the window, where those that do not count have no length."""
        operations = self.events.operations
        parts = self._on_clock(operations)
        return self.events if parts is operations else replace(self.events, operations=parts)

    @cached_property
    def calls(self) -> Bools | None:
        """Which calls count; None is all."""
        if self.selection.window is None:
            return None
        return self.selection.counts(self.all.calls.start_ns, self.all.calls.end_ns)

    @cached_property
    def counted_calls(self) -> Calls:
        """The calls that count, whole; operations do not lead to these."""
        return self.all.calls if self.calls is None else _calls(self.all.calls, np.flatnonzero(self.calls))

    @cached_property
    def ranges(self) -> Ranges:
        """The ranges that count, whole."""
        ranges = self.all.ranges
        if self.selection.window is None:
            return ranges
        return _ranges(ranges, np.flatnonzero(self.selection.counts(ranges.start_ns, ranges.end_ns)))

    @cached_property
    def checked(self) -> Events:
        """What is checked for lost rows and time stamps: calls that count, their work, and work that counts.

        What devices and streams are looked at makes no difference. Calls that begin or end a stream capture are there
        whenever they were: they tell which launches run later.
        """
        calls, operations = self.all.calls, self.all.operations
        if self.calls is None:
            return self.all
        of_capture = groups_of(calls, CAPTURE_BEGIN_CALLS | CAPTURE_END_CALLS)
        kept = self.calls | (of_capture[calls.group] if calls.group.size else False)
        position = np.full(calls.start_ns.size + 1, NONE)  # the last is for work without a call
        position[:-1][kept] = np.arange(np.count_nonzero(kept))
        call = position[operations.call] if operations.call.size else operations.call
        counts = self.selection.counts(operations.start_ns, operations.end_ns) | (call != NONE)
        chosen = np.flatnonzero(counts)
        work = replace(_operations(operations, chosen), call=call[chosen])
        return replace(self.all, calls=_calls(calls, np.flatnonzero(kept)), operations=work, ranges=self.ranges)

    def _on_clock(self, operations: Operations) -> Operations:
        if self.selection.window is None:
            return operations
        end_ns = np.maximum(operations.end_ns, operations.start_ns)
        start_ns, end_ns = (self.selection.on_clock(times) for times in (operations.start_ns, end_ns))
        return replace(operations, start_ns=start_ns, end_ns=end_ns)


def _operations(operations: Operations, kept: Int64s) -> Operations:
    """Return some of the operations; what is known of all of a group, and copies, stay."""
    columns = ("start_ns", "end_ns", "kind", "device", "label", "call", "correlation")
    return replace(operations, **{name: getattr(operations, name)[kept] for name in columns})


def _calls(calls: Calls, kept: Int64s) -> Calls:
    columns = ("start_ns", "end_ns", "group", "correlation")
    failed = np.flatnonzero(np.isin(kept, calls.failed))
    edges = np.searchsorted(kept, calls.edges)
    return replace(calls, **{name: getattr(calls, name)[kept] for name in columns}, edges=edges, failed=failed)


def _ranges(ranges: Ranges, kept: Int64s) -> Ranges:
    columns = ("start_ns", "end_ns", "group", "is_push_pop", "ends_on_thread", "was_open")
    edges = np.searchsorted(kept, ranges.edges)
    return replace(ranges, **{name: getattr(ranges, name)[kept] for name in columns}, edges=edges)
