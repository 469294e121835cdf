"""Busy time of each device shared out among categories of kernels and other work, to the nanosecond."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.members import members
from nsys_digest.algorithms.shares import shares
from nsys_digest.model.kernel_categories import OTHER
from nsys_digest.model.split_types import WORK_WITHOUT_CATEGORY
from nsys_digest.sections.classified import Classified
from nsys_digest.selection import Selection
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.nsys.tables import GPU_KINDS


class SharedOut(NamedTuple):
    """The share of each kind of work in the busy time of each device."""

    names: tuple[str, ...]
    """Categories, and what has none, in order."""
    by_device_ns: Int64s
    """Shape (devices, names)."""

    def of_all(self) -> dict[str, int]:
        """Return the shares of each name on all devices, added up."""
        return dict(zip(self.names, self.by_device_ns.sum(axis=0).tolist(), strict=True))

    def of(self, device: int) -> dict[str, int]:
        """Return the shares of each name on a device."""
        return dict(zip(self.names, self.by_device_ns[device].tolist(), strict=True))


def shared_out(kernels: Classified, devices: int, selection: Selection) -> SharedOut:
    """Share out the busy time of each device among categories of kernels, copies, sets and graphs traced as a whole."""
    operations = kernels.operations
    category_of_label = [found.category if found else OTHER for found in kernels.patterns]
    names = tuple(sorted({*category_of_label, *WORK_WITHOUT_CATEGORY}))
    of_label = np.array([names.index(name) for name in category_of_label], np.int16)
    of_kind = np.array([names.index(kind) if kind in WORK_WITHOUT_CATEGORY else 0 for kind in GPU_KINDS], np.int16)
    name: Ints = of_kind[operations.kind]
    if of_label.size:
        name[kernels.is_kernel] = of_label[operations.label[kernels.is_kernel]]
    of_device = members(operations.device, devices)
    found = np.zeros((devices, len(names)), np.int64)
    for device in range(devices):
        own = of_device.of(device)
        own = own[operations.end_ns[own] > operations.start_ns[own]]
        found[device] = shares(
            operations.start_ns[own], operations.end_ns[own], name[own], len(names), selection.window
        )
    return SharedOut(names, found)
