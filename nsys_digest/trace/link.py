"""Operations, calls and ranges one by one, in order, with each operation linked to the call that launched it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, CallClass, call_class, call_name
from nsys_digest.trace.collect.api import ApiCollector
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.collect.nvtx import NvtxCollector, NvtxOptions
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.nsys.tables import OPEN, THREAD_BITS, name_of

NONE = -1
CLASSES = tuple(CallClass)

_DENSE = 8


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
    api: ApiCollector | None,
    nvtx: NvtxCollector | None,
    ordered: tuple[Calls, Ints],
    devices: Sequence[int],
) -> Events:
    """Take operations and ranges out of the collectors, put them in order, and link operations to calls.

    ``ordered`` is what ``order_calls`` gave, ``devices`` the device of each place of the GPU collector.
    """
    calls, correlation = ordered
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(_ranges_and_marks, nvtx, calls.threads)
        operations = _operations(gpu, devices, api, calls, correlation)
        ranges, marks = others.result()
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
    )
    return calls, correlation


def _operations(
    gpu: GpuCollector, devices: Sequence[int], api: ApiCollector | None, calls: Calls, call_correlation: Ints
) -> Operations:
    start_ns, end_ns, group, correlation, label = gpu.take_operations()
    pairs = np.array(gpu.groups.pairs, np.int64).reshape(-1, 2)
    kind_of, place_of = pairs[:, 0], pairs[:, 1]
    process_of_place = np.array([gpu.stream_of(place)[0] for place in range(gpu.place_count)], np.int64)
    pairs_of_calls = [] if api is None else [api.processes.values[process] for process, _ in api.groups.pairs]
    process_of_call_group = np.array(pairs_of_calls, np.int64)
    if not process_of_place.any() and len(set(pairs_of_calls)) == 1:
        process_of_place[:] = pairs_of_calls[0]  # an old export that names no process, of a program that has only one
    process_of_group = process_of_place[place_of]
    call: Ints = np.full(start_ns.size, NONE, np.int32)
    if calls.start_ns.size >= 2**31:
        call = call.astype(np.int64)
    for process in np.unique(process_of_group[process_of_group != 0]).tolist():
        launched = np.flatnonzero((process_of_group == process)[group] & (correlation != 0))
        chosen = np.flatnonzero((process_of_call_group == process)[calls.group] & (call_correlation != 0))
        call[launched] = _first_call(calls, chosen, call_correlation[chosen], correlation[launched])
    return Operations(
        start_ns=start_ns,
        end_ns=end_ns,
        kind=kind_of.astype(np.int8)[group],
        device=np.array(devices, np.int16)[place_of][group],
        label=label,
        call=call,
        correlation=correlation,
    )


def _first_call(calls: Calls, chosen: Int64s, of_call: Ints, wanted: Ints) -> Int64s:
    """Return, for each wanted correlation id, the one of the chosen calls with that id that began first, or NONE."""
    if not chosen.size or not wanted.size:
        return np.full(wanted.size, NONE, np.int64)
    low, high = int(of_call.min()), int(of_call.max())
    if high - low < _DENSE * chosen.size + 1024:
        table = np.full(high - low + 1, NONE, np.int32)
        table[of_call - low] = np.arange(chosen.size, dtype=np.int32)
        again = table[of_call - low] != np.arange(chosen.size)
        if again.any():  # several calls share an id: of these, the outer one is the launch
            shared = np.flatnonzero(np.isin(of_call, of_call[again]))
            order = np.lexsort((calls.end_ns[chosen[shared]], -calls.start_ns[chosen[shared]]))
            table[of_call[shared[order]] - low] = shared[order]
        inside = (wanted >= low) & (wanted <= high)
        found = np.full(wanted.size, NONE, np.int64)
        found[inside] = table[wanted[inside] - low]
    else:
        order = np.lexsort((-calls.end_ns[chosen], calls.start_ns[chosen], of_call))
        ids = of_call[order]
        position = np.minimum(np.searchsorted(ids, wanted, side="left"), ids.size - 1)
        found = np.where(ids[position] == wanted, order[position], NONE)
    return np.where(found == NONE, NONE, chosen[found])


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
