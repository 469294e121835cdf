"""Numbers that ranges carry as payload, by name."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import exact_sum
from nsys_digest.algorithms.members import members
from nsys_digest.model.split_types import PayloadNumbers
from nsys_digest.sections.durations import sorted_percentile
from nsys_digest.sections.section import Context, Lane, Made, Section
from nsys_digest.trace.collect.payloads import Payloads

_EXACT = 2**53


def nvtx_payload(payloads: Payloads, names: Sequence[str]) -> dict[str, PayloadNumbers]:
    """Return the numbers of each name that has some, most of them first, then by name; ``names`` are by group."""
    ids: dict[str, int] = {}
    name_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
    ints = members(name_of[payloads.int_group], len(ids))
    floats = members(name_of[payloads.float_group], len(ids))
    found = {}
    for name, index in ids.items():
        whole, others = payloads.ints[ints.of(index)], payloads.floats[floats.of(index)]
        if others.size:
            found[name] = _numbers(np.concatenate((whole.astype(np.float64), others)), math.fsum)
        elif whole.size:
            found[name] = _numbers(whole, exact_sum)
    return dict(sorted(found.items(), key=lambda row: (-row[1].count, row[0])))


def _numbers(values: npt.NDArray[Any], add: Any) -> PayloadNumbers:
    values = np.sort(values)
    try:
        total = _written(add(values))
    except OverflowError:
        total = None
    least, *middle = (_written(sorted_percentile(values, percent)) for percent in (0, 50, 95, 99, 100))
    return PayloadNumbers(values.size, total, least, *middle)


def _written(number: float) -> float:
    """Return a number as a document can hold it: whole ones beyond 2**53 are doubles to whoever reads them."""
    return float(number) if abs(number) > _EXACT else number


def _make(context: Context) -> Made:
    nvtx = context.scanned.nvtx
    return Made({} if nvtx.payloads is None else nvtx_payload(nvtx.payloads, nvtx.names))


SECTION = Section("nvtx_payload", _make, Lane.time)
