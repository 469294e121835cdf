"""Operations, calls and ranges one by one, in order, with each operation linked to the call that launched it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.at_once import both
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.members import Members, members
from nsys_digest.algorithms.nesting import running_max
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, CallClass, call_class, call_name
from nsys_digest.trace.collect.api import ApiCollector
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.collect.nvtx import NvtxCollector, NvtxOptions
from nsys_digest.trace.columns import Bools, Ints, smallest_type
from nsys_digest.trace.nsys.tables import GPU_KINDS, MIGRATION_KINDS, OPEN, THREAD_BITS, name_of

NONE = -1
CLASSES = tuple(CallClass)

_DENSE = 8
_SLICE = 1 << 18


@dataclass(frozen=True, slots=True)
class Calls:
    """CUDA API calls, by thread, then by start; arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are the calls of thread ``t``, whose globalTid is ``threads[t]``.
    """

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    """Index into the groups of the collector: (process, name)."""
    edges: Int64s
    threads: tuple[int, ...]
    names: tuple[str, ...]
    """Recorded name of each group."""
    class_of_group: Int64s
    """Index into ``CLASSES`` of each group."""
    graph_group: Bools
    """Whether a group is a CUDA graph launch."""
    process_of_group: Int64s
    """The globalPid of each group."""
    failed: Int64s
    """The calls that returned an error, in order."""

    def of_thread(self, thread: int) -> slice:
        """Return where the calls of a thread are."""
        return slice(int(self.edges[thread]), int(self.edges[thread + 1]))

    def thread_of(self, call: Ints) -> Int64s:
        """Return the thread of each call."""
        return np.searchsorted(self.edges, call, side="right") - 1


@dataclass(frozen=True, slots=True)
class Operations:
    """GPU operations in order of start; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    kind: Ints
    """Index into ``GPU_KINDS``."""
    device: Ints
    """Index into the devices of the digest."""
    label: Ints
    """What it is: see the labels of the collector."""
    call: Ints
    """Index into the calls: the one that launched it; ``NONE`` where the trace does not say."""
    correlation: Ints
    launchable: Int64s
    """How many of each group of the collector a call should have launched: all but page migrations."""
    unlinked: Int64s
    """How many of these have no call."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """NVTX ranges, by thread, then by start, the outer one first; open ones are closed. Arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are the ranges that began on thread ``t`` of the calls; threads without a call follow.
    """

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    """Index into the groups of the collector: (domain, name)."""
    is_push_pop: Bools
    ends_on_thread: Bools
    was_open: Bools
    edges: Int64s
    threads: tuple[int, ...]

    def of_thread(self, thread: int) -> slice:
        """Return where the ranges of a thread are; nowhere for a thread that has none."""
        if thread >= self.edges.size - 1:
            return slice(0, 0)
        return slice(int(self.edges[thread]), int(self.edges[thread + 1]))


@dataclass(frozen=True, slots=True)
class Marks:
    """Dispatch marks by thread, then by start, then by name; arrays of shape (n,)."""

    start_ns: Int64s
    name: Int64s
    """Index into the names of the collector."""
    thread: Int64s


@dataclass(frozen=True, slots=True)
class Events:
    """Everything one by one."""

    operations: Operations
    calls: Calls
    ranges: Ranges
    marks: Marks


def link(
    gpu: GpuCollector,
    nvtx: NvtxCollector | None,
    ordered: tuple[Calls, Ints],
    devices: Sequence[int],
) -> Events:
    """Take operations and ranges out of the collectors, put them in order, and link operations to calls.

    ``ordered`` is what ``order_calls`` gave, ``devices`` the device of each place of the GPU collector.
    """
    calls, correlation = ordered
    (ranges, marks), operations = both(
        lambda: _ranges_and_marks(nvtx, calls.threads),
        lambda: _operations(gpu, devices, calls, correlation),
    )
    return Events(operations, calls, ranges, marks)


def _by_thread(start_ns: Int64s, thread: Ints) -> Int64s:
    """Return the order by thread, then by start; rows that are nearly in order of start take little time."""
    small = thread.astype(np.uint16) if thread.max(initial=0) < 1 << 16 else thread
    if np.all(start_ns[1:] >= start_ns[:-1]):
        return np.argsort(small, kind="stable")
    by_start = np.argsort(start_ns, kind="stable")
    return by_start[np.argsort(small[by_start], kind="stable")]


def order_calls(api: ApiCollector | None, names: Mapping[int, str]) -> tuple[Calls, Ints]:
    """Take the calls out of the collector and put them in order; ``names`` are the texts of their name ids.

    Returns the calls, and the correlation id of each.
    """
    api = api if api is not None else ApiCollector(0)
    assert api.calls is not None
    start_ns, end_ns, group, thread, correlation = api.calls.take()
    order = _by_thread(start_ns, thread)
    failed = _places_of(api.failed_rows, order)
    start_ns = start_ns[order]
    end_ns = end_ns[order]
    group, thread, correlation = group[order], thread[order], correlation[order]
    del order
    texts = tuple(name_of(api.names.values[name], names) for _, name in api.groups.pairs)
    calls = Calls(
        start_ns=start_ns,
        end_ns=end_ns,
        group=group,
        edges=np.searchsorted(thread, np.arange(len(api.threads) + 1)),
        threads=tuple(api.threads.values),
        names=texts,
        class_of_group=np.array([CLASSES.index(call_class(text)) for text in texts], np.int64),
        graph_group=np.array([call_name(text) in GRAPH_LAUNCH_CALLS for text in texts], bool),
        process_of_group=np.array([api.processes.values[process] for process, _ in api.groups.pairs], np.int64),
        failed=failed,
    )
    return calls, correlation


def _places_of(rows: list[Int64s], order: Int64s) -> Int64s:
    """Return where rows stand, in order, once all rows are put in ``order``."""
    if not rows:
        return np.zeros(0, np.int64)
    chosen = np.zeros(order.size, bool)
    chosen[np.concatenate(rows)] = True
    return np.flatnonzero(chosen[order])


def _operations(gpu: GpuCollector, devices: Sequence[int], calls: Calls, call_correlation: Ints) -> Operations:
    start_ns, end_ns, group, correlation, label = gpu.take_operations()
    pairs = np.array(gpu.groups.pairs, np.int64).reshape(-1, 2)
    kind_of, place_of = pairs[:, 0], pairs[:, 1]
    process_of_place = np.array([gpu.stream_of(place)[0] for place in range(gpu.place_count)], np.int64)
    processes_of_calls = np.unique(calls.process_of_group)
    of_one_program = not process_of_place.any() and processes_of_calls.size == 1
    if of_one_program:
        process_of_place[:] = processes_of_calls  # an old export that names no process, of a program that has only one
    process_of_group = process_of_place[place_of]
    call: Ints = np.full(start_ns.size, NONE, smallest_type(calls.start_ns.size))
    processes = np.unique(process_of_group[(process_of_group != 0) | of_one_program])
    operations_of = _by_process(processes, process_of_group, group, correlation)
    calls_of = _by_process(processes, calls.process_of_group, calls.group, call_correlation)
    for number in range(processes.size):
        launched, chosen = operations_of.of(number), calls_of.of(number)
        call[launched] = _launching_call(
            calls, chosen, call_correlation[chosen], correlation[launched], start_ns[launched]
        )
    launchable, unlinked = _count_unlinked(gpu, group, label, call)
    return Operations(
        start_ns=start_ns,
        end_ns=end_ns,
        kind=kind_of.astype(np.int8)[group],
        device=np.array(devices, smallest_type(max(devices, default=0)))[place_of][group],
        label=label,
        call=call,
        correlation=correlation,
        launchable=launchable,
        unlinked=unlinked,
    )


def _by_process(processes: Int64s, process_of_group: Int64s, group: Ints, correlation: Ints) -> Members:
    """Return the rows with a correlation id of each of those processes."""
    position = np.searchsorted(processes, process_of_group)
    known = np.isin(process_of_group, processes)
    rows = np.flatnonzero(known[group] & (correlation != 0)) if group.size else np.zeros(0, np.int64)
    found = members(position[group[rows]] if processes.size > 1 else rows, processes.size)
    return Members(rows[found.rows], found.edges)


def _count_unlinked(gpu: GpuCollector, group: Ints, label: Ints, call: Ints) -> tuple[Int64s, Int64s]:
    """Return, for each group, how many operations a call should have launched, and how many of them have none."""
    is_copy = np.array([GPU_KINDS[kind] == "memcpy" for kind, _ in gpu.groups.pairs], bool)
    migrates = np.array([gpu.copy_of(one)[0] in MIGRATION_KINDS for one in range(len(gpu.copy_labels))], bool)
    without, migrations = (np.zeros(is_copy.size, np.int64) for _ in range(2))
    for low in range(0, call.size, _SLICE):
        unlinked = np.flatnonzero(call[low : low + _SLICE] == NONE) + low
        of_group = group[unlinked]
        without += np.bincount(of_group, minlength=is_copy.size)
        if migrates.any():
            copies = np.flatnonzero(is_copy[of_group])
            moved = copies[migrates[label[unlinked[copies]]]]
            migrations += np.bincount(of_group[moved], minlength=is_copy.size)
    return gpu.totals.count(is_copy.size) - migrations, without - migrations


def _launching_call(calls: Calls, chosen: Int64s, of_call: Ints, wanted: Ints, start_ns: Int64s) -> Int64s:
    """Return, for each wanted correlation id, the one of the chosen calls that launched work which began then, or NONE.

    An id that several calls share, as nested calls and a program that starts anew in the same process do, is that of
    the last call that began by then, of nested ones the outer; where none had begun, of the first.
    """
    if not chosen.size or not wanted.size:
        return np.full(wanted.size, NONE, np.int64)
    low, high = int(of_call.min()), int(of_call.max())
    if high - low < _DENSE * chosen.size + 1024:
        place = np.subtract(of_call, low, dtype=np.int64)
        table = np.full(high - low + 1, NONE, smallest_type(chosen.size))
        table[place] = np.arange(chosen.size, dtype=table.dtype)
        shared_ids = np.unique(of_call[table[place] != np.arange(chosen.size)])
        inside = (wanted >= low) & (wanted <= high)
        found = np.full(wanted.size, NONE, np.int64)
        found[inside] = table[np.subtract(wanted[inside], low, dtype=np.int64)]
    else:
        order = np.argsort(of_call, kind="stable")
        ids = of_call[order]
        shared_ids = np.unique(ids[1:][ids[1:] == ids[:-1]])
        position = np.minimum(np.searchsorted(ids, wanted, side="left"), ids.size - 1)
        found = np.where(ids[position] == wanted, order[position], NONE)
    found = np.where(found == NONE, NONE, chosen[found])
    if shared_ids.size:
        again = np.flatnonzero(np.isin(wanted, shared_ids))
        of_shared = np.isin(of_call, shared_ids)
        found[again] = _call_by_time(calls, chosen[of_shared], of_call[of_shared], wanted[again], start_ns[again])
    return found


def _call_by_time(calls: Calls, chosen: Int64s, of_call: Ints, wanted: Ints, start_ns: Int64s) -> Int64s:
    """Return the call of each operation by id and time; every wanted id is that of a chosen call."""
    call, ids = _outer(calls, chosen, of_call)
    order = np.lexsort((calls.end_ns[call], calls.start_ns[call], ids))
    call, ids = call[order], ids[order]
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    # calls and operations of one id in order of time, calls first where they begin together
    is_call = np.append(np.ones(call.size, bool), np.zeros(wanted.size, bool))
    merged = np.lexsort((~is_call, np.append(calls.start_ns[call], start_ns), np.append(ids, wanted)))
    begun = np.empty(merged.size, np.int64)
    begun[merged] = np.cumsum(is_call[merged]) - 1
    first_of_id = first[np.searchsorted(ids[first], wanted)]
    chosen_call: Int64s = call[np.maximum(begun[call.size :], first_of_id)]
    return chosen_call


def _outer(calls: Calls, chosen: Int64s, of_call: Ints) -> tuple[Int64s, Int64s]:
    """Return the calls that lie in no other call of the same id and thread, and the id of each."""
    order = np.lexsort((-calls.end_ns[chosen], calls.start_ns[chosen], calls.thread_of(chosen), of_call))
    call, ids = chosen[order], of_call[order].astype(np.int64)
    thread = calls.thread_of(call)
    begins = np.append(True, (ids[1:] != ids[:-1]) | (thread[1:] != thread[:-1]))
    latest_ns = running_max(calls.end_ns[call], begins)
    outer = begins.copy()
    outer[1:] |= calls.start_ns[call[1:]] >= latest_ns[:-1]
    return call[outer], ids[outer]


def _ranges_and_marks(nvtx: NvtxCollector | None, call_threads: tuple[int, ...]) -> tuple[Ranges, Marks]:
    """Put ranges and marks in order; their threads are numbered as those of the calls, then on."""
    nvtx = nvtx if nvtx is not None else NvtxCollector(lambda _: {}, NvtxOptions("?", True, 1), None, detail=0)
    assert nvtx.ranges is not None
    start_ns, end_ns, group, thread, is_push_pop, ends_on_thread = nvtx.ranges.take()
    numbers = {value: number for number, value in enumerate(call_threads)}
    number_of = np.array([numbers.setdefault(value, len(numbers)) for value in nvtx.threads.values], np.int64)
    was_open = end_ns == OPEN
    end_ns[was_open] = np.maximum(start_ns[was_open], nvtx.last_ns)
    end_ns = np.maximum(end_ns, start_ns)
    thread = number_of[thread] if thread.size else thread
    order = np.lexsort((-end_ns, start_ns, thread))
    ranges = Ranges(
        start_ns=start_ns[order],
        end_ns=end_ns[order],
        group=group[order],
        is_push_pop=is_push_pop[order].astype(bool),
        ends_on_thread=ends_on_thread[order].astype(bool),
        was_open=was_open[order],
        edges=np.searchsorted(thread[order], np.arange(len(numbers) + 1)),
        threads=tuple(numbers),
    )
    found = [np.concatenate(column) for column in zip(*nvtx.dispatch, strict=True)] or [np.zeros(0, np.int64)] * 3
    mark_start, mark_name, mark_thread = found
    mark_thread = number_of[mark_thread] if mark_thread.size else mark_thread
    rank = np.argsort(np.argsort(np.array(nvtx.names))) if nvtx.names else np.zeros(0, np.int64)
    by = np.lexsort((rank[mark_name], mark_start, mark_thread)) if mark_start.size else mark_start
    return ranges, Marks(mark_start[by], mark_name[by], mark_thread[by])


def process_of_thread(global_tid: int) -> int:
    """Return the globalPid of a globalTid."""
    return global_tid & ~THREAD_BITS
