"""NVTX ranges by name, and the timeline of dispatch marks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Intervals, grouped_union
from nsys_digest.model.base_types import DispatchMark, NvtxRange
from nsys_digest.trace.collect.nvtx import NvtxCollector


def nvtx_ranges(nvtx: NvtxCollector | None, busy: Intervals) -> tuple[dict[str, NvtxRange], dict[str, int]]:
    """Return the ranges of each ``domain:name``, in order of first start, and the idle time within them by name.

    Idle is the part of a name's union, within the GPU span, in which no GPU was busy. Takes the unions out of the
    collector.
    """
    if nvtx is None or not len(nvtx.groups):
        return {}, {}
    length = len(nvtx.groups)
    ids: dict[str, int] = {}
    name_of = np.array([ids.setdefault(nvtx.display_name(group), len(ids)) for group in range(length)], np.int64)
    count, sum_ns, union_ns, overlap_ns, in_span_ns = (np.zeros(len(ids), np.int64) for _ in range(5))
    np.add.at(count, name_of, nvtx.totals.count(length))
    np.add.at(sum_ns, name_of, nvtx.totals.sum(length))
    first_ns = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first_ns, name_of, nvtx.firsts.values(length))
    coverage = Coverage(busy)
    for window in nvtx.unions.take_windows():
        merged = grouped_union(window.start_ns, window.end_ns, name_of[window.group])
        np.add.at(union_ns, merged.group, merged.end_ns - merged.start_ns)
        np.add.at(overlap_ns, merged.group, coverage.within(merged.start_ns, merged.end_ns))
        if busy.start_ns.size:
            inside = np.minimum(merged.end_ns, busy.end_ns[-1]) - np.maximum(merged.start_ns, busy.start_ns[0])
            np.add.at(in_span_ns, merged.group, np.maximum(inside, 0))
    names = list(ids)
    order = sorted(range(len(names)), key=lambda index: (int(first_ns[index]), names[index]))
    rows = list(zip(count.tolist(), sum_ns.tolist(), union_ns.tolist(), overlap_ns.tolist(), strict=True))
    idle_ns = (in_span_ns - overlap_ns).tolist()
    return {names[index]: NvtxRange(*rows[index]) for index in order}, dict(zip(names, idle_ns, strict=True))


def dispatch_timeline(nvtx: NvtxCollector | None) -> tuple[DispatchMark, ...]:
    """Return the marks and ranges of the dispatch prefix, by start, then by name."""
    if nvtx is None:
        return ()
    marks = (
        DispatchMark(start, nvtx.names[name])
        for starts, names, _ in nvtx.dispatch
        for start, name in zip(starts.tolist(), names.tolist(), strict=True)
    )
    return tuple(sorted(marks, key=lambda mark: (mark.start_ns, mark.name)))


def dispatch_counts(timeline: tuple[DispatchMark, ...]) -> dict[str, int]:
    """Return how often each name is in the timeline, in order of first appearance."""
    return dict(Counter(mark.name for mark in timeline))
