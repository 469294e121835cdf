"""Kernels by the pattern that is found in their name, and the collectives among them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, Intervals, subtract, union
from nsys_digest.algorithms.members import members
from nsys_digest.model.kernel_categories import COMMUNICATION, OTHER, CategoryPattern, KernelCategories
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.events import Operations
from nsys_digest.trace.nsys.tables import GPU_KINDS, name_of


def full_names(labels: Iterable[tuple[int, int]], strings: Mapping[int, str]) -> list[str]:
    """Return the full name of each kernel label (short, full); the short one where the export has no other."""
    return [strings.get(full) or name_of(short, strings) for short, full in labels]


class Classified:
    """The kernels among the operations, each with the pattern that is found in its name."""

    def __init__(self, operations: Operations, strings: Mapping[int, str], kernel_categories: KernelCategories) -> None:
        """Classify each label once."""
        names = full_names(operations.kernel_labels, strings)
        self.patterns: list[CategoryPattern | None] = kernel_categories.classify_all(names)
        self.operations = operations
        self.is_kernel: Bools = operations.kind == GPU_KINDS.index("kernel")
        self.is_collective = np.array([bool(kind_of_collective(found)) for found in self.patterns], bool)
        """Whether a kernel of each label is a collective."""

    def of_devices(self, devices: int) -> Iterator[Int64s]:
        """Yield the kernels of each device, as positions among the operations."""
        found = members(self.operations.device, devices)
        for device in range(devices):
            own = found.of(device)
            yield own[self.is_kernel[own]]

    def by_name(self, names: Sequence[str]) -> tuple[list[str], Ints]:
        """Give each label one of a few names: return these, and the index into them of each operation.

        Operations that are no kernels get the index behind the last.
        """
        index: dict[str, int] = {}
        of_label = np.array([index.setdefault(name, len(index)) for name in names], np.int16)
        ids = np.full(self.is_kernel.size, len(index), np.int16)
        ids[self.is_kernel] = of_label[self.operations.label[self.is_kernel]] if of_label.size else 0
        return list(index), ids

    def union(self, chosen: Int64s) -> Intervals:
        """Return the union of the chosen operations."""
        return union(self.operations.start_ns[chosen], self.operations.end_ns[chosen])


def exposed_collectives(kernels: Classified, devices: int) -> list[Intervals]:
    """Return for each device when a collective ran on it and no other kernel did."""
    return [collectives(kernels, own)[1] for own in kernels.of_devices(devices)]


def collectives(kernels: Classified, own: Int64s) -> tuple[Intervals, Intervals]:
    """Return the union of the collectives among a device's kernels, and the part in which no other kernel ran."""
    collective = kernels.is_collective[kernels.operations.label[own]]
    total = kernels.union(own[collective])
    return total, subtract(total, kernels.union(own[~collective]))


def kind_of_collective(pattern: CategoryPattern | None) -> str:
    """Return the kind of collective that a pattern stands for; the empty text where it is for none."""
    return (pattern.kind or OTHER) if pattern is not None and pattern.category == COMMUNICATION else ""
