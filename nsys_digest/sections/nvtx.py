"""NVTX ranges by name, and the timeline of dispatch marks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, GroupedIntervals, Intervals, grouped_union
from nsys_digest.model.base_types import DispatchMark, NvtxRange
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.collect.nvtx import NvtxTotals


def nvtx_ranges(
    nvtx: NvtxTotals, windows: Iterable[GroupedIntervals], busy: Intervals, selection: Selection = WHOLE
) -> tuple[dict[str, NvtxRange], dict[str, int]]:
    """Return the ranges of each ``domain:name``, in order of first start, and the idle time within them by name.

    ``windows`` are the intervals by group, in windows of time. Idle is the part of a name's union, within the GPU span,
    in which no GPU was busy. With a window, unions are cut to it, and the span is the window; a name counts where one
    of its ranges does.
    """
    span = selection.window or Intervals(busy.start_ns[:1], busy.end_ns[-1:])
    in_span = Coverage(span)
    ids: dict[str, int] = {}
    name_of = np.array([ids.setdefault(name, len(ids)) for name in nvtx.names], np.int64)
    count, sum_ns, whole_ns, union_ns, overlap_ns, in_span_ns = (np.zeros(len(ids), np.int64) for _ in range(6))
    np.add.at(count, name_of, nvtx.counts)
    np.add.at(sum_ns, name_of, nvtx.sums_ns)
    if nvtx.whole_sums_ns is not None:
        np.add.at(whole_ns, name_of, nvtx.whole_sums_ns)
    first_ns = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first_ns, name_of, nvtx.firsts_ns)
    coverage = Coverage(busy)
    for window in selection.clip_grouped(windows):
        merged = grouped_union(window.start_ns, window.end_ns, name_of[window.group])
        np.add.at(union_ns, merged.group, merged.end_ns - merged.start_ns)
        np.add.at(overlap_ns, merged.group, coverage.within(merged.start_ns, merged.end_ns))
        np.add.at(in_span_ns, merged.group, in_span.within(merged.start_ns, merged.end_ns))
    names = list(ids)
    order = sorted(np.flatnonzero(count).tolist(), key=lambda index: (int(first_ns[index]), names[index]))
    rows = list(zip(count.tolist(), sum_ns.tolist(), union_ns.tolist(), overlap_ns.tolist(), strict=True))
    idle_ns = (in_span_ns - overlap_ns).tolist()
    whole = [None] * len(ids) if nvtx.whole_sums_ns is None else whole_ns.tolist()
    ranges = {names[index]: NvtxRange(*rows[index], whole_sum_ns=whole[index]) for index in order}
    return ranges, dict(zip(names, idle_ns, strict=True))


def dispatch_timeline(nvtx: NvtxTotals, selection: Selection = WHOLE) -> tuple[DispatchMark, ...]:
    """Return the marks and ranges of the dispatch prefix that start in the window, by start, then by name."""
    start_ns, name = nvtx.marks.start_ns, nvtx.marks.name
    if selection.window is not None:
        counts, _ = selection.clip(start_ns, start_ns)
        start_ns, name = start_ns[counts], name[counts]
    marks = zip(start_ns.tolist(), name.tolist(), strict=True)
    named = (DispatchMark(start_ns, nvtx.marks.names[name]) for start_ns, name in marks)
    return tuple(sorted(named, key=lambda mark: (mark.start_ns, mark.name)))


def dispatch_counts(timeline: tuple[DispatchMark, ...]) -> dict[str, int]:
    """Return how often each name is in the timeline, in order of first appearance."""
    return dict(Counter(mark.name for mark in timeline))
