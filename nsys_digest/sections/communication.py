"""Collectives against compute: how much of their time other kernels hid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Intervals, subtract
from nsys_digest.model.kernel_categories import COMMUNICATION, OTHER, CategoryPattern
from nsys_digest.model.section_types import Communication, KindTotal
from nsys_digest.sections.categories import Classified
from nsys_digest.trace.columns import Bools


def communication(kernels: Classified, devices: Sequence[int]) -> tuple[Communication, ...]:
    """Return collectives against all other kernels on each device with kernels; ``devices`` are the CUDA ordinals."""
    kinds, kind = kernels.by_name([_kind(found) for found in kernels.patterns])
    operations = kernels.operations
    found = []
    for index, ordinal in enumerate(devices):
        own = kernels.is_kernel & (operations.device == index)
        if not own.any():
            continue
        total, bare = _collectives(kernels, own)
        by_kind = {}
        for number, name in enumerate(kinds):
            chosen = own & (kind == number)
            if name and chosen.any():
                length_ns = np.maximum(operations.end_ns[chosen] - operations.start_ns[chosen], 0)
                by_kind[name] = KindTotal(length_ns.size, int(length_ns.sum()))
        ordered = dict(sorted(by_kind.items(), key=lambda row: (-row[1].sum_ns, row[0])))
        exposed_ns = bare.total_ns
        found.append(Communication(ordinal, total.total_ns, total.total_ns - exposed_ns, exposed_ns, ordered))
    return tuple(found)


def exposed(kernels: Classified, devices: int) -> list[Intervals]:
    """Return for each device when a collective ran on it and no other kernel did."""
    of_device = kernels.operations.device
    return [_collectives(kernels, kernels.is_kernel & (of_device == device))[1] for device in range(devices)]


def _collectives(kernels: Classified, own: Bools) -> tuple[Intervals, Intervals]:
    """Return the union of the collectives among a device's kernels, and the part in which no other kernel ran."""
    of_label = np.array([bool(_kind(found)) for found in kernels.patterns], bool)
    collective = own.copy()
    collective[own] = of_label[kernels.operations.label[own]]
    total = kernels.union(collective)
    return total, subtract(total, kernels.union(own & ~collective))


def _kind(pattern: CategoryPattern | None) -> str:
    return (pattern.kind or OTHER) if pattern is not None and pattern.category == COMMUNICATION else ""
