"""Percentiles of lengths of time: exact, nearest rank."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s, exact_sum
from nsys_digest.model.section_types import Durations
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.link import Calls, Operations
from nsys_digest.trace.nsys.tables import GPU_KINDS

_KEY_LIMIT = 2**62
_INT64_MAX = 2**63 - 1
_SLICE = 1 << 18


def rank(percent: int, count: int) -> int:
    """Return the index of the percentile in ``count`` sorted values: nearest rank, ceil(p / 100 * count) - 1."""
    return max(-(-percent * count // 100) - 1, 0)


def sorted_percentile(values: npt.NDArray[Any], percent: int) -> Any:
    """Return the percentile of sorted values; None of none."""
    return values[rank(percent, values.size)].item() if values.size else None


def tails(lengths_ns: Int64s) -> Durations:
    """Return the tails of lengths in any order."""
    return _of_sorted(np.sort(lengths_ns))


def _of_sorted(values: Int64s) -> Durations:
    return Durations(
        count=values.size,
        total_ns=_sum_of_sorted(values),
        min_ns=sorted_percentile(values, 0),
        p50_ns=sorted_percentile(values, 50),
        p95_ns=sorted_percentile(values, 95),
        p99_ns=sorted_percentile(values, 99),
        max_ns=sorted_percentile(values, 100),
    )


def _sum_of_sorted(values: Int64s) -> int:
    """Return the sum; that of latencies may leave int64 where times are odd, unlike that of lengths."""
    if values.size and max(-int(values[0]), int(values[-1])) > _INT64_MAX // values.size:
        return exact_sum(values)
    return int(values.sum())


def tails_by_group(group: Ints, start_ns: Int64s, end_ns: Int64s, groups: int) -> list[Durations]:
    """Return the tails of the lengths of each group 0 … groups - 1; no interval is reversed. Arrays of shape (n,)."""
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
        lengths_ns = keys
    else:
        lengths_ns = end_ns - start_ns
        order = np.lexsort((lengths_ns, group))
        edges = np.searchsorted(group[order], np.arange(groups + 1))
        lengths_ns = lengths_ns[order]
    return [_of_sorted(lengths_ns[low:high]) for low, high in pairwise(edges.tolist())]


def by_total(names: Sequence[str], group: Ints, start_ns: Int64s, end_ns: Int64s) -> dict[str, Durations]:
    """Return the tails of each name, most total time first; ``names[g]`` is that of group g, and may repeat."""
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int32)
    found = tails_by_group(id_of[group] if group.size else group, start_ns, end_ns, len(ids))
    rows = [(name, found[index]) for name, index in ids.items() if found[index].count]
    return dict(sorted(rows, key=lambda row: (-row[1].total_ns, row[0])))


def api_durations(calls: Calls) -> dict[str, Durations]:
    """Return the tails of each recorded API name."""
    return by_total(calls.names, calls.group, calls.start_ns, calls.end_ns)


def kernel_durations(operations: Operations, gpu: GpuCollector, short_names: Sequence[str]) -> dict[str, Durations]:
    """Return the tails of each short kernel name; ``short_names`` are by code."""
    kernels = operations.kind == GPU_KINDS.index("kernel")
    start_ns = operations.start_ns[kernels]
    end_ns = np.maximum(operations.end_ns[kernels], start_ns)
    names = [short_names[short] for short, _ in gpu.kernel_labels.pairs]
    return by_total(names, operations.label[kernels], start_ns, end_ns)
