"""The ranges that stand for a gap: those open during most of it on the thread whose call ended it."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, grouped_union
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import NONE, Ranges

_MOST_RANGES = 32
"""A program that never ends its ranges has thousands open at once; the innermost say most."""


def ranges_of_gaps(
    ranges: Ranges, name_of_group: Int64s, thread: Ints, start_ns: Int64s, end_ns: Int64s
) -> list[tuple[int, ...]]:
    """Return for each gap the names of the ranges that cover most of it, the outermost first.

    Names are ids below 2**31. Gaps are by thread, and on each in order of start; shape (n,). A name belongs to the
    chain where its push/pop ranges on the thread cover more than half of the gap. Where none does, the name that
    covers most of it stands alone, unless as much lies in no range. At most the 32 innermost are given.
    """
    names = int(name_of_group.max(initial=0)) + 1
    chains: list[tuple[int, ...]] = [()] * thread.size
    for one in np.unique(thread[thread != NONE]).tolist():
        low, high = np.searchsorted(thread, (one, one + 1)).tolist()
        part = ranges.of_thread(one)
        nested = np.flatnonzero(ranges.is_push_pop[part]) + part.start
        chains[low:high] = _on_thread(ranges, name_of_group, names, nested, start_ns[low:high], end_ns[low:high])
    return chains


def _on_thread(
    ranges: Ranges, name_of_group: Int64s, names: int, nested: Int64s, low_ns: Int64s, high_ns: Int64s
) -> list[tuple[int, ...]]:
    """Do it for the gaps ``[low, high)`` of one thread, with its push/pop ranges; ids of names are below ``names``."""
    first = np.searchsorted(high_ns, ranges.start_ns[nested], side="right")
    behind = np.searchsorted(low_ns, ranges.end_ns[nested], side="left")
    reaching = np.flatnonzero(behind > first)
    counts = (behind - first)[reaching]
    gap = np.repeat(first[reaching] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
    chosen = np.repeat(nested[reaching], counts)
    begin_ns = np.maximum(ranges.start_ns[chosen], low_ns[gap])
    until_ns = np.minimum(ranges.end_ns[chosen], high_ns[gap])
    pairs, pair = np.unique(gap * names + name_of_group[ranges.group[chosen]], return_inverse=True)
    merged = grouped_union(begin_ns, until_ns, pair)
    covered_ns = np.zeros(pairs.size, np.int64)
    np.add.at(covered_ns, merged.group, merged.end_ns - merged.start_ns)
    outer = np.lexsort((np.arange(pair.size), begin_ns - until_ns, pair))  # the longest range of each pair comes first
    outermost = chosen[outer][np.searchsorted(pair[outer], np.arange(pairs.size))]
    any_range = grouped_union(begin_ns, until_ns, gap)
    outside_ns = high_ns - low_ns
    np.subtract.at(outside_ns, any_range.group, any_range.end_ns - any_range.start_ns)
    edges = np.searchsorted(pairs, np.arange(low_ns.size + 1) * names)
    return [
        _chain(covered_ns[low:high], outermost[low:high], pairs[low:high] % names, int(length_ns), int(outside))
        for low, high, length_ns, outside in zip(edges[:-1], edges[1:], high_ns - low_ns, outside_ns, strict=True)
    ]


def _chain(covered_ns: Int64s, outermost: Int64s, name: Int64s, length_ns: int, outside_ns: int) -> tuple[int, ...]:
    """Return the names that stand for a gap, from what each covers of it and its longest range in it."""
    most = np.flatnonzero(2 * covered_ns > length_ns)
    if most.size:
        return tuple(name[most[np.argsort(outermost[most])]][-_MOST_RANGES:].tolist())
    if not covered_ns.size:
        return ()
    best = np.lexsort((outermost, -covered_ns))[0]
    return (int(name[best]),) if covered_ns[best] > outside_ns else ()
