"""Totals by name: kernels and CUDA API calls."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from nsys_digest.model.base_types import CountTotal
from nsys_digest.trace.collect.api import ApiTotals
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.nsys.tables import name_of


def kernel_totals(gpu: GpuTotals, strings: Mapping[int, str]) -> tuple[tuple[str, CountTotal], ...]:
    """Return (short name, total) of every kernel name, most total time first, then by name."""
    names = (name_of(key, strings) for key in gpu.kernel_names)
    return _by_name(zip(names, gpu.kernel_counts.tolist(), gpu.kernel_sums_ns.tolist(), strict=True))


def api_totals(api: ApiTotals, strings: Mapping[int, str]) -> dict[str, CountTotal]:
    """Return the calls of each name, as recorded, most total time first, then by name."""
    names = (name_of(name, strings) for _, name in api.groups)
    return dict(_by_name(zip(names, api.counts.tolist(), api.sums_ns.tolist(), strict=True)))


def _by_name(rows: Iterable[tuple[str, int, int]]) -> tuple[tuple[str, CountTotal], ...]:
    """Add up rows whose names read the same: one text can have several string ids."""
    counts: defaultdict[str, int] = defaultdict(int)
    sums: defaultdict[str, int] = defaultdict(int)
    for name, count, sum_ns in rows:
        if count:  # else all of them are outside of the window
            counts[name] += count
            sums[name] += sum_ns
    ordered = sorted(counts, key=lambda name: (-sums[name], name))
    return tuple((name, CountTotal(counts[name], sums[name])) for name in ordered)
