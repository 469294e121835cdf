"""Launches that succeeded and have no GPU row: busy time is then a lower bound.

A launch counts where it returned no error, lies in no stream capture of its process (what is captured runs when its
graph does; other threads may launch into a capture too), and neither holds nor lies in a call with work of its own, as
a driver call within its runtime call does.

What had not run when the capture ended has no row either, and is no fault: up to as many launches as a launch queue
holds, behind the last one of their thread, or of their process, that has a row, if they are no more than half of its
launches. A few others may wait in a second stream: up to 1 % of the process's launches. Neither holds for launches
before a wait of the process for its whole context that returned: those had run, and more than 0.1 % of them without a
row is a loss.

A copy may leave no row (host to host, no bytes), and no export says which: copies and sets count where more than half
of ten or more leave none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, union
from nsys_digest.algorithms.members import Members, by_value, members
from nsys_digest.algorithms.nesting import running_max
from nsys_digest.model.base_types import Warn
from nsys_digest.model.cuda_calls import CAPTURE_BEGIN_CALLS, CAPTURE_END_CALLS
from nsys_digest.sections.call_groups import WORK_CALLS, Waits, context_waits, groups_of, work_of_group
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import NONE, Calls, Events, process_of_thread
from nsys_digest.trace.nsys.tables import GPU_KINDS, process_of
from nsys_digest.units import counted

QUEUE_DEPTH: Final = 1024
"""Launches that a stream holds before the next one blocks, by what the driver does on the GPUs of today."""
_EDGE_SHARE, _RUN_SHARE = 0.01, 0.001
_FEWEST_COPIES = 10
_KINDS: Final = tuple(WORK_CALLS)
_LAUNCHES: Final = _KINDS.index("kernel launch"), _KINDS.index("CUDA graph launch")
_EVER = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True)
class LostRows:
    """Launches of kernels and graphs without a row, those at the edge of the capture included, and the warnings.

    ``launch_count`` is None where there is GPU work, but no call of any is known: the ids in the export do not match.
    """

    launch_count: int | None
    warnings: tuple[Warn, ...]


def lost_rows(events: Events, gpu: GpuTotals, looked_at: Bools | None = None) -> LostRows:
    """Look for launches without work; ``looked_at`` is not None where that is a part of the trace."""
    calls = events.calls
    kind_of_group = work_of_group(calls)
    asked = (kind_of_group != NONE)[calls.group] if calls.group.size else np.zeros(0, bool)
    asked[calls.failed] = False
    if not asked.any():
        return LostRows(0, ())
    with_work = np.zeros(calls.start_ns.size, bool)
    with_work[events.operations.call[events.operations.call != NONE]] = True
    without = np.flatnonzero(asked & ~with_work)
    without = without[~_captured(calls, without)]
    without = without[~_beside_work(calls, with_work, without)]
    asked[~with_work] = False
    asked[without] = True
    kind = kind_of_group[calls.group[without]]
    launch_count = int(np.count_nonzero(np.isin(kind, _LAUNCHES)))
    if not with_work.any():
        return LostRows(None if events.operations.call.size else launch_count, ())
    if not without.size:
        return LostRows(launch_count, ())
    found = _Found(calls, np.flatnonzero(asked), with_work, without, kind_of_group)
    graphs_told = looked_at is None  # by the rows of the whole trace, which a part does not show
    return LostRows(launch_count, tuple(_warnings(found, gpu, context_waits(events, gpu), graphs_told=graphs_told)))


@dataclass(frozen=True, slots=True)
class _Found:
    """Calls that should have work, which of all calls have it, and those of the former that lack it."""

    calls: Calls
    asked: Int64s
    with_work: Bools
    without: Int64s
    kind_of_group: Int64s

    def by_kind(self, call: Int64s, processes: Int64s) -> Members:
        """Return the calls of each process and kind, ``process * len(_KINDS) + kind``; those of none stand behind."""
        position = np.minimum(np.searchsorted(processes, self.calls.process_of_group), processes.size - 1)
        known = processes[position] == self.calls.process_of_group
        count = processes.size * len(_KINDS)
        code = np.where(known & (self.kind_of_group != NONE), position * len(_KINDS) + self.kind_of_group, count)
        found = members(code[self.calls.group[call]], count + 1)
        return Members(call[found.rows], found.edges)


def _warnings(found: _Found, gpu: GpuTotals, waits: Mapping[int, Waits], *, graphs_told: bool) -> Iterator[Warn]:
    in_process = np.unique(found.calls.process_of_group[found.calls.group[found.with_work]])
    with_graphs = {gpu.places[place].process for kind, place in gpu.groups if GPU_KINDS[kind] == "graph"}
    with_graphs |= gpu.graph_nodes.keys()
    lacking_of, asked_of = (found.by_kind(call, in_process) for call in (found.without, found.asked))
    for number, process in enumerate(in_process.tolist()):
        last_wait_ns = int(waits[process].start_ns[-1]) if process in waits else _EVER.min
        told = []
        for kind in range(len(_KINDS)):
            lacking = lacking_of.of(number * len(_KINDS) + kind)
            if not lacking.size:
                continue
            asked = asked_of.of(number * len(_KINDS) + kind)
            if kind in _LAUNCHES:
                lost = _is_loss(found, lacking, asked, last_wait_ns)
                if graphs_told and _KINDS[kind] == "CUDA graph launch" and not {process, 0} & with_graphs:
                    continue  # no graph was traced at all, which has words of its own
            else:
                lost = lacking.size >= _FEWEST_COPIES and 2 * lacking.size > asked.size
            if lost:
                told.append((kind, lacking.size, asked.size))
        for kind, lacking_count, asked_count in told:
            yield _warn(process, _KINDS[kind], lacking_count, asked_count)


def _warn(process: int, kind: str, lacking: int, asked: int) -> Warn:
    have = "has" if lacking == 1 else "have"
    bound = (
        f"{lacking:,} of {counted(asked, kind)} of process {process_of(process)} {have} no GPU row: busy is a lower "
        "bound, idle an upper bound"
    )
    if kind == "CUDA graph launch":
        return Warn("graph-work-missing", f"{bound}. Profile a shorter stretch, or with --cuda-graph-trace=node")
    if kind == "kernel launch":
        return Warn("gpu-rows-missing", f"{bound}. Capture a shorter stretch, and let the program end on its own")
    return Warn("gpu-rows-missing", f"{bound}, unless the program copies host to host or no bytes")


def _is_loss(found: _Found, lacking: Int64s, asked: Int64s, last_wait_ns: int) -> bool:
    """Tell whether launches without work are more than what the edge of the capture explains."""
    calls = found.calls
    had_run = calls.end_ns[lacking] <= last_wait_ns
    if np.count_nonzero(had_run) > _RUN_SHARE * asked.size:
        return True
    thread = calls.thread_of(lacking)
    pending = np.zeros(lacking.size, bool)
    for one, mine in by_value(thread):
        of_thread = calls.of_thread(one)
        worked = np.flatnonzero(found.with_work[of_thread])
        last = of_thread.start + int(worked[-1] if worked.size else -1)
        behind = (lacking[mine] > last) & ~had_run[mine]
        count = np.count_nonzero(behind)
        launches = np.diff(np.searchsorted(asked, (of_thread.start, of_thread.stop)))[0]
        if count <= QUEUE_DEPTH and 2 * count <= launches:
            pending[mine] |= behind
    worked = asked[found.with_work[asked]]
    behind = calls.start_ns[lacking] > (calls.start_ns[worked].max() if worked.size else _EVER.min)
    behind &= ~had_run
    count = np.count_nonzero(behind)
    if count <= QUEUE_DEPTH and 2 * count <= asked.size:
        pending |= behind
    return bool(np.count_nonzero(~pending) > _EDGE_SHARE * asked.size)


def _captured(calls: Calls, call: Int64s) -> Bools:
    """Tell which calls begin within a stream capture of their process."""
    captured = np.zeros(call.size, bool)
    process = calls.process_of_group[calls.group[call]]
    captures = _captures(calls)
    for one, mine in by_value(process):
        windows = captures.get(one)
        if windows is None or not windows.start_ns.size:  # an end alone, of a capture that failed, is no window
            continue
        at_ns = calls.start_ns[call[mine]]
        before = np.searchsorted(windows.start_ns, at_ns, side="right") - 1
        captured[mine] = (before >= 0) & (at_ns < windows.end_ns[before])
    return captured


def _captures(calls: Calls) -> dict[int, Intervals]:
    """Return when a stream of a process was being captured, by globalPid; one not ended lasts for ever.

    A capture mostly ends on the thread that began it. One that did not is paired with an end that another thread of the
    process made later without a begin of its own, as the relaxed mode of captures allows.
    """
    begins, ends = groups_of(calls, CAPTURE_BEGIN_CALLS), groups_of(calls, CAPTURE_END_CALLS)
    marks = np.flatnonzero((begins | ends)[calls.group]) if begins.any() or ends.any() else np.zeros(0, np.int64)
    is_begin = begins[calls.group[marks]]
    failed = np.isin(marks, calls.failed)
    real = ~(is_begin & failed)
    marks, is_begin, failed = marks[real], is_begin[real], failed[real]
    at_ns = np.where(is_begin, calls.start_ns[marks], calls.end_ns[marks])
    thread = calls.thread_of(marks)
    found: dict[int, _OfProcess] = {}
    for one, mine in by_value(thread):
        of_process = found.setdefault(process_of_thread(calls.threads[one]), _OfProcess())
        of_process.add(at_ns[mine].tolist(), is_begin[mine].tolist(), failed[mine].tolist())
    return {process: of_process.windows() for process, of_process in found.items()}


@dataclass(slots=True)
class _OfProcess:
    """The stream captures of one process, thread by thread."""

    pairs: list[tuple[int, int]] = field(default_factory=list)
    """Begin and end on one thread."""
    begun: list[int] = field(default_factory=list)
    """Begins without an end on their thread."""
    ended: list[tuple[int, bool]] = field(default_factory=list)
    """Ends without a begin on their thread, and whether what they end may have begun before the trace did."""

    def add(self, at_ns: list[int], is_begin: list[bool], failed: list[bool]) -> None:
        """Take the begins and ends of a thread in order."""
        open_ns: list[int] = []
        for index, at in enumerate(at_ns):
            if is_begin[index]:
                open_ns.append(at)
            elif open_ns:
                self.pairs.append((open_ns.pop(), at))
            else:
                self.ended.append((at, index == 0 and not failed[index]))
        self.begun += open_ns

    def windows(self) -> Intervals:
        """Return when at least one capture was going on."""
        pairs, begun = list(self.pairs), sorted(self.begun)
        for end, may_be_older in sorted(self.ended):
            before = bisect_left(begun, end)
            if before:
                pairs.append((begun.pop(before - 1), end))
            elif may_be_older:
                pairs.append((_EVER.min, end))
        pairs += [(begin, _EVER.max) for begin in begun]
        start_ns, end_ns = np.array(pairs, np.int64).reshape(-1, 2).T
        return union(start_ns, end_ns)


def _beside_work(calls: Calls, with_work: Bools, call: Int64s) -> Bools:
    """Tell which calls lie in, or hold, a call of their thread that has work."""
    working = np.flatnonzero(with_work)
    if not working.size or not call.size:
        return np.zeros(call.size, bool)
    thread = calls.thread_of(working)
    latest_ns = running_max(calls.end_ns[working], np.append(True, thread[1:] != thread[:-1]))
    after = np.searchsorted(working, call)
    before, after = np.maximum(after - 1, 0), np.minimum(after, working.size - 1)
    own = calls.thread_of(call)
    lies_in = (working[before] < call) & (thread[before] == own) & (latest_ns[before] > calls.start_ns[call])
    holds = (working[after] > call) & (thread[after] == own) & (calls.start_ns[working[after]] < calls.end_ns[call])
    beside: Bools = lies_in | holds
    return beside
