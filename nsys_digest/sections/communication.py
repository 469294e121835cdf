"""Collectives against compute: how much of their time other kernels hid."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsys_digest.model.section_types import Communication, KindTotal
from nsys_digest.sections.classified import Classified, collectives, kind_of_collective
from nsys_digest.sections.section import Blind, Lane, Made, Section


def communication(kernels: Classified, devices: Sequence[int]) -> tuple[Communication, ...]:
    """Return collectives against all other kernels on each device with kernels; ``devices`` are the CUDA ordinals."""
    kinds, kind = kernels.by_name([kind_of_collective(found) for found in kernels.patterns])
    operations = kernels.operations
    found = []
    for ordinal, own in zip(devices, kernels.of_devices(len(devices)), strict=True):
        if not own.size:
            continue
        total, bare = collectives(kernels, own)
        by_kind = {}
        for number, name in enumerate(kinds):
            chosen = own[kind[own] == number]
            if name and chosen.size:
                length_ns = np.maximum(operations.end_ns[chosen] - operations.start_ns[chosen], 0)
                by_kind[name] = KindTotal(length_ns.size, int(length_ns.sum()))
        ordered = dict(sorted(by_kind.items(), key=lambda row: (-row[1].sum_ns, row[0])))
        exposed_ns = bare.total_ns
        found.append(Communication(ordinal, total.total_ns, total.total_ns - exposed_ns, exposed_ns, ordered))
    return tuple(found)


SECTION = Section(
    "communication",
    lambda context: Made(communication(context.kernels, context.ordinals)),
    Lane.time,
    frozenset({Blind.whole_graphs}),
)
