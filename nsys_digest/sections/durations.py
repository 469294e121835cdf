"""Percentiles of lengths of time: exact, nearest rank."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s, exact_sum
from nsys_digest.model.section_types import Durations
from nsys_digest.trace.columns import Ints

_KEY_LIMIT = 2**62
_INT64_MAX = 2**63 - 1
_SLICE = 1 << 18


def rank(percent: int, count: int) -> int:
    """Return the index of the percentile in ``count`` sorted values: nearest rank, ceil(p / 100 * count) - 1."""
    return max(-(-percent * count // 100) - 1, 0)


def sorted_percentile(values: npt.NDArray[Any], percent: int) -> Any:
    """Return the percentile of sorted values; None of none."""
    return values[rank(percent, values.size)].item() if values.size else None


def durations(lengths_ns: Int64s) -> Durations:
    """Return the durations of lengths in any order."""
    return _of_sorted(np.sort(lengths_ns), np.array([0, lengths_ns.size]))[0]


def _of_sorted(values: Int64s, edges: Int64s) -> list[Durations]:
    """Return the durations of each group ``edges[g]:edges[g + 1]`` of values that are in order within each."""
    low, counts = edges[:-1], np.diff(edges)
    totals = np.zeros(counts.size, np.int64)
    filled = np.flatnonzero(counts)
    if filled.size:
        totals[filled] = np.add.reduceat(values, low[filled])
    columns = [counts, totals]
    for percent in (0, 50, 95, 99, 100):
        position = low + np.maximum(-(-percent * counts // 100) - 1, 0)
        columns.append(values[np.minimum(position, max(values.size - 1, 0))] if values.size else counts)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    found = [Durations(*row) if row[0] else _NO_DURATIONS for row in rows]
    largest = np.maximum(-(columns[2] + 1), columns[-1])
    # the sum of latencies may leave int64 where times are odd, unlike that of lengths
    for odd in filled[largest[filled] > _INT64_MAX // counts[filled] - 1].tolist():
        found[odd] = replace(found[odd], total_ns=exact_sum(values[edges[odd] : edges[odd + 1]]))
    return found


_NO_DURATIONS = Durations(0, 0, None, None, None, None, None)


def durations_by_group(group: Ints, start_ns: Int64s, end_ns: Int64s, groups: int) -> list[Durations]:
    """Return the durations of each group 0 … groups - 1; no interval is reversed. Arrays of shape (n,)."""
    widest = 1 + max(
        (
            int((end_ns[low : low + _SLICE] - start_ns[low : low + _SLICE]).max())
            for low in range(0, group.size, _SLICE)
        ),
        default=0,
    )
    if widest * groups < _KEY_LIMIT:
        # one sort of plain integers serves all groups: each has its own stretch of the number line
        keys = group.astype(np.int64)
        keys *= widest
        keys += end_ns
        keys -= start_ns
        keys.sort()
        edges = np.searchsorted(keys, np.arange(groups + 1) * widest)
        keys %= widest
        return _of_sorted(keys, edges)
    lengths_ns = end_ns - start_ns
    order = np.lexsort((lengths_ns, group))
    return _of_sorted(lengths_ns[order], np.searchsorted(group[order], np.arange(groups + 1)))
