"""GPU work whose time stamps cannot be right, and what the figures would be without it.

Nothing is dropped for it: the warning says how many operations, and span, busy and idle of all devices without them.

- Work cannot start before the call that launched it, nor end after a wait for it had returned. GPU and host stamp with
  clocks of their own, which the profiler matches, so that a difference up to the clock error is none. The clock error
  is what the trace itself shows: as far as a quarter of all launches precede their calls (launches whose start lies at
  the lower quartile of start minus call start; 0 where that is positive), twice, and 1 ms. In traces of which we know
  all work starts some microseconds after its call.
- Work cannot lie outside of the session by more than a second, as far as the export gives its length.
- Else it cannot last longer than a minute and ten times what all calls and ranges span.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, union
from nsys_digest.model.base_types import Warn
from nsys_digest.sections.call_groups import Waits, context_waits, stream_waits
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.events import NONE, Events, Operations
from nsys_digest.units import counted, duration

MATCHED_TO_NS: Final = 1_000_000
"""What clocks may always differ by."""
SESSION_EDGE_NS: Final = 1_000_000_000
LONG_NS: Final = 60_000_000_000
_LONGER_BY = 10
_SLICE = 1 << 18
_SAMPLE = 1 << 20


def impossible_times(events: Events, gpu: GpuTotals, session_ns: int | None, *, whole: bool = True) -> tuple[Warn, ...]:
    """Look at every operation with a length; the figures without them are told where it is the ``whole`` trace."""
    suspects = _Suspects(events.operations)
    _find(suspects, events, gpu)
    error_ns = _clock_error(events, suspects)
    suspects.keep_beyond(MATCHED_TO_NS + 2 * error_ns)
    operations = events.operations
    found = [
        (suspects.early, "started before the call that launched them began"),
        (suspects.late, "ended after a call that waited for them had returned"),
        (_outside(operations, session_ns), "lie outside of the profiling session"),
        (_too_long(events) if session_ns is None else _NONE, "last longer than all that the trace holds beside them"),
    ]
    return (*_bad_clock(error_ns), *_stamps(operations, found, whole=whole))


_NONE: Final = np.zeros(0, np.int64)


def outside_session(busy: Intervals, session_ns: int | None) -> Warn | None:
    """Look at the busy union alone, for a digest without sections; None where all of it is within the session."""
    if session_ns is None:
        return None
    outside = (busy.start_ns < -SESSION_EDGE_NS) | (busy.end_ns > session_ns + SESSION_EDGE_NS)
    count = int(np.count_nonzero(outside))
    if not count:
        return None
    rest = Intervals(busy.start_ns[~outside], busy.end_ns[~outside])
    return Warn(
        "impossible-times",
        f"{counted(count, 'busy stretch')} of the GPU outside of the profiling session: time stamps cannot be right. "
        f"{_without(rest)}",
    )


@dataclass(slots=True)
class _Suspects:
    """Operations that start early or end late, and by how much."""

    operations: Operations
    early: Int64s = field(default_factory=lambda: _NONE)
    early_by_ns: Int64s = field(default_factory=lambda: _NONE)
    late: Int64s = field(default_factory=lambda: _NONE)
    late_by_ns: Int64s = field(default_factory=lambda: _NONE)

    def keep_beyond(self, margin_ns: int) -> None:
        """Forget those that the clocks explain."""
        self.early = self.early[self.early_by_ns > margin_ns]
        self.late = self.late[self.late_by_ns > margin_ns]


def _find(suspects: _Suspects, events: Events, gpu: GpuTotals) -> None:
    """Fill in the suspects, a slice of operations at a time."""
    operations, calls = events.operations, events.calls
    context, stream = context_waits(events, gpu), stream_waits(events, gpu)
    waits = context | stream
    tables: list[Waits] = list(waits.values())
    process_table = {process: index for index, process in enumerate(waits)}
    table_of_group = np.array([process_table.get(one, NONE) for one in calls.process_of_group.tolist()], np.int64)
    early, late = [(_NONE, _NONE)], [(_NONE, _NONE)]
    for low in range(0, operations.start_ns.size, _SLICE):
        part = slice(low, low + _SLICE)
        start_ns, end_ns, call = operations.start_ns[part], operations.end_ns[part], operations.call[part]
        linked = np.flatnonzero((call != NONE) & (end_ns > start_ns))
        start_ns, end_ns, call = start_ns[linked], end_ns[linked], call[linked]
        early_by_ns = calls.start_ns[call] - start_ns
        chosen = np.flatnonzero(early_by_ns > MATCHED_TO_NS)
        early.append((linked[chosen] + low, early_by_ns[chosen]))
        if not tables:
            continue
        table = table_of_group[calls.group[call]]
        for index, one in enumerate(tables):
            mine = np.flatnonzero(table == index)
            after = np.searchsorted(one.start_ns, calls.end_ns[call[mine]])
            mine, after = mine[after < one.start_ns.size], after[after < one.start_ns.size]
            late_by_ns = end_ns[mine] - one.done_ns[after]
            chosen = np.flatnonzero(late_by_ns > MATCHED_TO_NS)
            late.append((linked[mine[chosen]] + low, late_by_ns[chosen]))
    suspects.early, suspects.early_by_ns = (np.concatenate(column) for column in zip(*early, strict=True))
    suspects.late, suspects.late_by_ns = (np.concatenate(column) for column in zip(*late, strict=True))


def _clock_error(events: Events, suspects: _Suspects) -> int:
    """Return how far the launches at the lower quartile precede their calls; 0 where they follow them."""
    if not suspects.early.size and not suspects.late.size:
        return 0
    operations = events.operations
    linked = np.flatnonzero((operations.call != NONE) & (operations.end_ns > operations.start_ns))
    linked = linked[:: max(1, linked.size // _SAMPLE)]
    behind_ns = operations.start_ns[linked] - events.calls.start_ns[operations.call[linked]]
    quarter = behind_ns.size // 4
    return max(0, -int(np.partition(behind_ns, quarter)[quarter]))


def _outside(operations: Operations, session_ns: int | None) -> Int64s:
    if session_ns is None:
        return _NONE
    real = operations.end_ns > operations.start_ns
    outside = (operations.start_ns < -SESSION_EDGE_NS) | (operations.end_ns > session_ns + SESSION_EDGE_NS)
    return np.flatnonzero(real & outside)


def _too_long(events: Events) -> Int64s:
    length_ns = events.operations.end_ns - events.operations.start_ns
    if not length_ns.size or int(length_ns.max()) <= LONG_NS:
        return _NONE
    calls, ranges = events.calls, events.ranges
    starts = [one.start_ns.min() for one in (calls, ranges) if one.start_ns.size]
    ends = [one.end_ns.max() for one in (calls, ranges) if one.end_ns.size]
    if not starts:
        return _NONE
    spanned_ns = int(max(ends)) - int(min(starts))
    return np.flatnonzero(length_ns > max(LONG_NS, _LONGER_BY * spanned_ns))


def _bad_clock(error_ns: int) -> Iterator[Warn]:
    if error_ns > MATCHED_TO_NS:
        yield Warn(
            "impossible-times",
            f"A quarter of the GPU work starts {duration(error_ns)} or more before the call that launched it: the "
            "clocks of GPU and host were not matched. Span, busy and idle hold; launch latency, causes of idle time "
            "and what ran within NVTX ranges do not",
        )


def _stamps(operations: Operations, found: list[tuple[Int64s, str]], *, whole: bool) -> Iterator[Warn]:
    wrong = np.unique(np.concatenate([rows for rows, _ in found]))
    if not wrong.size:
        return
    kept = np.ones(operations.start_ns.size, bool)
    kept[wrong] = False
    told = ", ".join(f"{rows.size:,} {what}" for rows, what in found if rows.size)
    rest = union(operations.start_ns[kept], operations.end_ns[kept])
    yield Warn(
        "impossible-times",
        f"{counted(wrong.size, 'GPU operation')} with time stamps that cannot be right: {told}. "
        + (_without(rest) if whole else "They count as they stand"),
    )


def _without(rest: Intervals) -> str:
    """Say what the figures of all devices would be."""
    if not rest.start_ns.size:
        return "Nothing else ran on a GPU"
    span_ns = int(rest.end_ns[-1] - rest.start_ns[0])
    busy_ns = rest.total_ns
    return (
        f"They count as they stand; without them the span would be {duration(span_ns)}, busy {duration(busy_ns)}, idle "
        f"{duration(span_ns - busy_ns)}"
    )
