"""Kernels by what they do, as patterns say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Intervals, union, union_lengths
from nsys_digest.model.category_use import CategoryUse, KernelUse
from nsys_digest.model.kernel_categories import OTHER, CategoryPattern, KernelCategories
from nsys_digest.model.section_types import Category
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.link import Operations
from nsys_digest.trace.nsys.tables import GPU_KINDS, name_of


def full_names(gpu: GpuCollector, strings: Mapping[int, str]) -> list[str]:
    """Return the full name of each kernel label; the short one where the export has no other."""
    short, full = gpu.kernel_names.values, gpu.full_names.values
    return [strings.get(full[long]) or name_of(short[brief], strings) for brief, long in gpu.kernel_labels.pairs]


class Classified:
    """The kernels among the operations, each with the pattern that is found in its name."""

    def __init__(self, operations: Operations, names: Sequence[str], kernel_categories: KernelCategories) -> None:
        """Classify each label once; ``names`` are the full names by label."""
        self.patterns: list[CategoryPattern | None] = [kernel_categories.classify(name) for name in names]
        self.operations = operations
        self.is_kernel: Bools = operations.kind == GPU_KINDS.index("kernel")

    def by_name(self, names: Sequence[str]) -> tuple[list[str], Ints]:
        """Give each label one of a few names: return these, and the index into them of each operation.

        Operations that are no kernels get the index behind the last.
        """
        index: dict[str, int] = {}
        of_label = np.array([index.setdefault(name, len(index)) for name in names], np.int16)
        ids = np.full(self.is_kernel.size, len(index), np.int16)
        ids[self.is_kernel] = of_label[self.operations.label[self.is_kernel]] if of_label.size else 0
        return list(index), ids

    def union(self, chosen: Bools) -> Intervals:
        """Return the union of the chosen operations."""
        return union(self.operations.start_ns[chosen], self.operations.end_ns[chosen])


def categories(kernels: Classified) -> dict[str, Category]:
    """Return the kernels of each category over all devices, most time first; what no pattern takes is ``other``."""
    names, category = kernels.by_name([found.category if found else OTHER for found in kernels.patterns])
    start_ns, end_ns = kernels.operations.start_ns, kernels.operations.end_ns
    counts, sums = np.bincount(category, minlength=len(names)), np.zeros(len(names) + 1, np.int64)
    np.add.at(sums, category, np.maximum(end_ns - start_ns, 0))
    unions = union_lengths(start_ns, end_ns, category, len(names) + 1)
    rows = [
        (name, Category(int(counts[index]), int(sums[index]), int(unions[index]))) for index, name in enumerate(names)
    ]
    return dict(sorted((row for row in rows if row[1].count), key=lambda row: (-row[1].sum_ns, row[0])))


def category_use(
    file: str, gpu: GpuCollector, strings: Mapping[int, str], kernel_categories: KernelCategories
) -> CategoryUse:
    """Return the kernels by full name with the pattern that took each; takes the operations out of the collector."""
    assert gpu.operations is not None
    start_ns, end_ns, _, _, label = gpu.operations.take()
    names = full_names(gpu, strings)
    counts, sums = np.bincount(label, minlength=len(names)), np.zeros(len(names), np.int64)
    np.add.at(sums, label, np.maximum(end_ns - start_ns, 0))
    totals: dict[str, list[int]] = {}
    for name, count, total_ns in zip(names, counts.tolist(), sums.tolist(), strict=True):
        both = totals.setdefault(name, [0, 0])
        both[0] += count
        both[1] += total_ns
    uses = []
    for name, (count, total_ns) in sorted(totals.items(), key=lambda row: (-row[1][1], row[0])):
        found = kernel_categories.classify(name)
        known = (found.category, found.kind, found.source, found.pattern) if found else (None, None, None, None)
        uses.append(KernelUse(name, count, total_ns, *known))
    return CategoryUse(file, tuple(uses))
