"""Kernels by what they do, as patterns say."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nsys_digest.algorithms.intervals import union_lengths
from nsys_digest.model.kernel_categories import OTHER
from nsys_digest.model.section_types import Category
from nsys_digest.sections.classified import Classified
from nsys_digest.sections.section import Blind, Lane, Made, Section


def categories(kernels: Classified, shares_ns: Mapping[str, int]) -> dict[str, Category]:
    """Return the kernels of each category over all devices, most time first; what no pattern takes is ``other``.

    ``shares_ns`` is the part of each in the busy time of the devices.
    """
    names, category = kernels.by_name([found.category if found else OTHER for found in kernels.patterns])
    start_ns, end_ns = kernels.operations.start_ns, kernels.operations.end_ns
    counts, sums = np.bincount(category, minlength=len(names)), np.zeros(len(names) + 1, np.int64)
    np.add.at(sums, category, np.maximum(end_ns - start_ns, 0))
    unions = union_lengths(start_ns, end_ns, category, len(names) + 1)
    rows = [
        (name, Category(int(counts[index]), int(sums[index]), int(unions[index]), shares_ns[name]))
        for index, name in enumerate(names)
    ]
    return dict(sorted((row for row in rows if row[1].count), key=lambda row: (-row[1].sum_ns, row[0])))


SECTION = Section(
    "categories",
    lambda context: Made(categories(context.kernels, context.shared_out.of_all())),
    Lane.time,
    frozenset({Blind.whole_graphs}),
)
