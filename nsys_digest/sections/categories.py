"""Kernels by what they do, as patterns say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nsys_digest.algorithms.intervals import union_lengths
from nsys_digest.model.category_use import CategoryUse, KernelUse
from nsys_digest.model.kernel_categories import OTHER, KernelCategories
from nsys_digest.model.section_types import Category
from nsys_digest.sections.classified import Classified, full_names
from nsys_digest.sections.section import Blind, Lane, Made, Section
from nsys_digest.trace.collect.kernels import KernelTotals


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
    file: str, kernels: KernelTotals, strings: Mapping[int, str], kernel_categories: KernelCategories
) -> CategoryUse:
    """Return the kernels by full name with the pattern that took each."""
    names = full_names(kernels.labels, strings)
    totals: dict[str, list[int]] = {}
    for name, count, total_ns in zip(names, kernels.counts.tolist(), kernels.sums_ns.tolist(), strict=True):
        both = totals.setdefault(name, [0, 0])
        both[0] += count
        both[1] += total_ns
    uses = []
    for name, (count, total_ns) in sorted(totals.items(), key=lambda row: (-row[1][1], row[0])):
        found = kernel_categories.classify(name)
        known = (found.category, found.kind, found.source, found.pattern) if found else (None, None, None, None)
        uses.append(KernelUse(name, count, total_ns, *known))
    return CategoryUse(file, tuple(uses))


SECTION = Section(
    "categories", lambda context: Made(categories(context.kernels)), Lane.time, frozenset({Blind.whole_graphs})
)
