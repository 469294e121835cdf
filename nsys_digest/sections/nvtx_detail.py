"""What each range name stands for beside its totals: tails, self time, and the GPU work launched from within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, grouped_union
from nsys_digest.algorithms.nesting import depths, parents
from nsys_digest.model.section_types import NvtxDetail
from nsys_digest.sections.durations import tails_by_group
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.trace.columns import Ints, small_ids
from nsys_digest.trace.link import Events


def nvtx_detail(
    events: Events, work: LaunchedWork, scope_of_group: Ints, names: Sequence[str], idle_ns: Mapping[str, int] | None
) -> dict[str, NvtxDetail]:
    """Return the detail of each name; ``names`` and ``scope_of_group`` (domain) are by group of the collector.

    ``idle_ns`` is by name: what ``nvtx_ranges`` found on its way; None where the trace has no GPU activity, so that
    nobody knows.
    """
    ranges = events.ranges
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
    name: Ints = id_of.astype(np.int32)[ranges.group] if ranges.group.size else np.zeros(0, np.int32)
    count = len(ids)
    thread: Ints = np.repeat(np.arange(len(ranges.threads), dtype=np.int32), np.diff(ranges.edges))
    found = tails_by_group(name, ranges.start_ns, ranges.end_ns, count)
    threads = _distinct(name, thread, count)
    opened = np.bincount(name[ranges.was_open], minlength=count)
    self_ns, has_push_pop = _self_time(events, name, scope_of_group, count)
    launched_ns, launched_kernels = _launched(events, work, name, thread, count)
    return {
        text: NvtxDetail(
            threads=int(threads[index]),
            open_count=int(opened[index]),
            min_ns=found[index].min_ns or 0,
            p50_ns=found[index].p50_ns or 0,
            p95_ns=found[index].p95_ns or 0,
            p99_ns=found[index].p99_ns or 0,
            max_ns=found[index].max_ns or 0,
            self_ns=int(self_ns[index]) if has_push_pop[index] else None,
            launched_busy_ns=None if idle_ns is None else int(launched_ns[index]),
            launched_kernel_count=int(launched_kernels[index]),
            gpu_idle_ns=None if idle_ns is None else idle_ns[text],
        )
        for text, index in ids.items()
    }


def _distinct(name: Ints, thread: Ints, count: int) -> Int64s:
    """Return how many threads each name is on."""
    width = int(thread.max(initial=0)) + 1
    pairs = name.astype(np.int64)
    pairs *= width
    pairs += thread
    return np.bincount(np.unique(pairs) // width, minlength=count)


def _self_time(events: Events, name: Ints, scope_of_group: Ints, count: int) -> tuple[Int64s, Int64s]:
    """Return the self time of each name, and how many push/pop ranges it has.

    The inner ranges of a range are those directly inside it on the same thread and in the same domain.
    """
    ranges = events.ranges
    own = np.zeros(count, np.int64)
    counts = np.bincount(name[ranges.is_push_pop], minlength=count)
    scope_of_group = small_ids(scope_of_group, len(scope_of_group))
    scope = scope_of_group[ranges.group] if ranges.group.size else scope_of_group
    for thread in range(len(ranges.threads)):
        part = ranges.of_thread(thread)
        nested = np.flatnonzero(ranges.is_push_pop[part]) + part.start
        np.add.at(own, name[nested], ranges.end_ns[nested] - ranges.start_ns[nested])
        real = nested[ranges.end_ns[nested] > ranges.start_ns[nested]]
        for domain in np.unique(scope[real]).tolist():
            line = real[scope[real] == domain]
            start_ns, end_ns = ranges.start_ns[line], ranges.end_ns[line]
            parent = parents(depths(start_ns, end_ns))
            inner = np.flatnonzero(parent >= 0)
            outer = parent[inner]
            inside_ns = np.maximum(np.minimum(end_ns[inner], end_ns[outer]) - start_ns[inner], 0)
            np.subtract.at(own, name[line[outer]], inside_ns)
    return own, counts


def _launched(events: Events, work: LaunchedWork, name: Ints, thread: Ints, count: int) -> tuple[Int64s, Int64s]:
    """Return busy time and kernels of the work whose launch call lies within a range of each name, on its thread.

    Stretches of calls of one name are merged first, so that nested ranges of one name count once.
    """
    ranges = events.ranges
    kernels = np.zeros(count, np.int64)
    stretches = []
    for one in range(len(events.calls.threads)):  # a call has one thread: stretches of two never share one
        part = ranges.of_thread(one)
        chosen = np.flatnonzero(ranges.ends_on_thread[part]) + part.start
        found = work.within(thread[chosen], ranges.start_ns[chosen], ranges.end_ns[chosen])
        merged = grouped_union(found.first, found.after, name[chosen[found.asked]].astype(np.int64))
        np.add.at(kernels, merged.group, work.kernel_count(merged.start_ns, merged.end_ns))
        stretches.append([small_ids(column, 2**31 - 1) for column in merged])
    if not stretches:
        return np.zeros(count, np.int64), kernels
    first, after, group = (np.concatenate(column) for column in zip(*stretches, strict=True))
    return work.busy_by_group(first, after, group, count), kernels
