"""What each range name stands for beside its totals: durations, self time, and the GPU work launched from within."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, grouped_union
from nsys_digest.algorithms.lines import batches, lines_of
from nsys_digest.algorithms.nesting import innermost
from nsys_digest.algorithms.streaming import StreamingUnion
from nsys_digest.model.section_types import NvtxDetail
from nsys_digest.sections.durations import durations_by_group
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Bools, Ints, small_ids
from nsys_digest.trace.events import Events


def nvtx_detail(
    events: Events,
    work: LaunchedWork,
    scope_of_group: Ints,
    names: Sequence[str],
    idle_ns: Mapping[str, int] | None,
    selection: Selection = WHOLE,
) -> dict[str, NvtxDetail]:
    """Return the detail of each name; ``names`` and ``scope_of_group`` (domain) are by group.

    ``idle_ns`` is by name: what ``nvtx_ranges`` found on its way; None where the trace has no GPU activity, so that
    nobody knows. The ranges are those that count, and ``work`` is on the clock of the window.
    """
    ranges = events.ranges
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
    name: Ints = id_of.astype(np.int32)[ranges.group] if ranges.group.size else np.zeros(0, np.int32)
    count = len(ids)
    thread: Ints = np.repeat(np.arange(len(ranges.threads), dtype=np.int32), np.diff(ranges.edges))
    found = durations_by_group(name, ranges.start_ns, ranges.end_ns, count)
    threads = _distinct(name, thread, count)
    opened = np.bincount(name[ranges.was_open], minlength=count)
    on_one_line = (threads == 1) & (np.bincount(id_of, minlength=count) == 1)
    self_ns, has_push_pop = _self_time(events, name, scope_of_group, on_one_line, selection)
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


def _self_time(
    events: Events, name: Ints, scope_of_group: Ints, on_one_line: Bools, selection: Selection
) -> tuple[Int64s, Int64s]:
    """Return the self time of each name, and how many push/pop ranges it has.

    A line is a thread in a domain, on which ranges nest; the self time of a name is the union, over all lines, of the
    time in which a range of the name is the innermost. What a name has on a single line is disjoint, and is added up.
    """
    ranges, count = events.ranges, on_one_line.size
    own = np.zeros(count, np.int64)
    counts = np.bincount(name[ranges.is_push_pop], minlength=count)
    nested, edges = _lines(events, scope_of_group)
    if not nested.size:
        return own, counts
    union = StreamingUnion()
    bounds = int(ranges.start_ns[nested].min()), int(ranges.end_ns[nested].max())
    for lines in batches(edges, *bounds):
        part = nested[int(edges[lines.low]) : int(edges[lines.high])]
        line = lines_of(edges, lines.low, lines.high)
        segments = innermost(lines.put(ranges.start_ns[part], line), lines.put(ranges.end_ns[part], line))
        line = line[segments.owner]
        owner: Ints = name[part][segments.owner]
        alone = on_one_line[owner]
        start_ns, end_ns = segments[:2]
        if selection.window is not None:
            start_ns, end_ns = (selection.on_clock(lines.time_of(places, line)) for places in segments[:2])
        np.add.at(own, owner[alone], (end_ns - start_ns)[alone])
        if not alone.all():
            shared = np.flatnonzero(~alone)
            start_ns, end_ns = start_ns[shared], end_ns[shared]
            if selection.window is None:
                start_ns, end_ns = (lines.time_of(places, line[shared]) for places in (start_ns, end_ns))
            union.add(start_ns, end_ns, owner[shared].astype(np.int64))
    for window in union.windows():
        merged = grouped_union(window.start_ns, window.end_ns, window.group)
        np.add.at(own, merged.group, merged.end_ns - merged.start_ns)
    return own, counts


def _lines(events: Events, scope_of_group: Ints) -> tuple[Ints, Int64s]:
    """Return the push/pop ranges that took time, by thread and domain, and where each of these lines begins."""
    ranges = events.ranges
    nested = np.flatnonzero(ranges.is_push_pop & (ranges.end_ns > ranges.start_ns))
    nested = small_ids(nested, ranges.start_ns.size)
    if not nested.size:
        return nested, np.zeros(1, np.int64)
    thread: Ints = np.repeat(np.arange(len(ranges.threads), dtype=np.int32), np.diff(ranges.edges))[nested]
    scope = small_ids(scope_of_group, len(scope_of_group))[ranges.group[nested]]
    if (scope != scope[0]).any():
        order = np.lexsort((scope, thread))
        nested, thread, scope = nested[order], thread[order], scope[order]
    begins = np.flatnonzero((thread[1:] != thread[:-1]) | (scope[1:] != scope[:-1])) + 1
    return nested, np.concatenate((np.zeros(1, np.int64), begins, np.array([nested.size])))


def _launched(events: Events, work: LaunchedWork, name: Ints, thread: Ints, count: int) -> tuple[Int64s, Int64s]:
    """Return busy time and kernels of the work whose launch call lies within a range of each name, on its thread.

    Stretches of calls of one name are merged first, so that nested ranges of one name count once.
    """
    ranges = events.ranges
    kernels = np.zeros(count, np.int64)
    stretches = []
    for threads in batches(ranges.edges[: len(events.calls.threads) + 1], 0, 0):
        part = slice(int(ranges.edges[threads.low]), int(ranges.edges[threads.high]))
        chosen = np.flatnonzero(ranges.ends_on_thread[part]) + part.start
        # a call has one thread: stretches of two never share one
        found = work.within(thread[chosen], ranges.start_ns[chosen], ranges.end_ns[chosen])
        merged = grouped_union(found.first, found.after, name[chosen[found.asked]].astype(np.int64))
        np.add.at(kernels, merged.group, work.kernel_count(merged.start_ns, merged.end_ns))
        stretches.append([small_ids(column, 2**31 - 1) for column in merged])
    if not stretches:
        return np.zeros(count, np.int64), kernels
    first, after, group = (np.concatenate(column) for column in zip(*stretches, strict=True))
    return work.busy_by_group(first, after, group, count), kernels


def _make(context: Context) -> Made:
    nvtx = context.scanned.nvtx
    idle_ns = None if context.gpu.span_ns is None else context.range_idle_ns
    events = replace(context.events, ranges=context.looked.ranges)
    return Made(nvtx_detail(events, context.launched, nvtx.scopes, nvtx.names, idle_ns, context.selection))


SECTION = Section("nvtx", _make, Lane.launches, frozenset({Blind.unlaunched_work}))
"""By name; each goes beside the totals of its range."""
