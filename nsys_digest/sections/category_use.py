"""Which pattern took which kernel."""

from __future__ import annotations

from collections.abc import Mapping

from nsys_digest.model.category_use import CategoryUse, KernelUse
from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.sections.classified import full_names
from nsys_digest.trace.collect.kernels import KernelTotals


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
    rows = sorted(totals.items(), key=lambda row: (-row[1][1], row[0]))
    for (name, (count, total_ns)), found in zip(
        rows, kernel_categories.classify_all(name for name, _ in rows), strict=True
    ):
        known = (found.category, found.kind, found.source, found.pattern) if found else (None, None, None, None)
        uses.append(KernelUse(name, count, total_ns, *known))
    return CategoryUse(file, tuple(uses))
