"""NVTX ranges by name, and the timeline of dispatch marks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nsys_digest.collect.nvtx import NvtxCollector
from nsys_digest.intervals import Coverage, Intervals, grouped_union
from nsys_digest.parts import DispatchMark, NvtxRange


def nvtx_ranges(nvtx: NvtxCollector | None, busy: Intervals) -> dict[str, NvtxRange]:
    """Return the ranges of each ``domain:name``, in order of first start; takes the unions out of the collector."""
    if nvtx is None or not len(nvtx.groups):
        return {}
    length = len(nvtx.groups)
    ids: dict[str, int] = {}
    name_of = np.array([ids.setdefault(nvtx.display_name(group), len(ids)) for group in range(length)], np.int64)
    count, sum_ns, union_ns, overlap_ns = (np.zeros(len(ids), np.int64) for _ in range(4))
    np.add.at(count, name_of, nvtx.totals.count(length))
    np.add.at(sum_ns, name_of, nvtx.totals.sum(length))
    first_ns = np.full(len(ids), np.iinfo(np.int64).max)
    np.minimum.at(first_ns, name_of, nvtx.firsts.values(length))
    coverage = Coverage(busy)
    for window in nvtx.unions.take_windows():
        merged = grouped_union(window.start_ns, window.end_ns, name_of[window.group])
        np.add.at(union_ns, merged.group, merged.end_ns - merged.start_ns)
        np.add.at(overlap_ns, merged.group, coverage.within(merged.start_ns, merged.end_ns))
    names = list(ids)
    order = sorted(range(len(names)), key=lambda index: (int(first_ns[index]), names[index]))
    rows = list(zip(count.tolist(), sum_ns.tolist(), union_ns.tolist(), overlap_ns.tolist(), strict=True))
    return {names[index]: NvtxRange(*rows[index]) for index in order}


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
