"""Numbers that ranges carry as their payload."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.nsys.tables import FLOAT_PAYLOADS, INT_PAYLOADS, OPEN, UNSIGNED_PAYLOAD
from nsys_digest.trace.source import Batch

Float64s = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Payloads:
    """Every number, with the group of its range; arrays of shape (n,), whole numbers and others apart."""

    int_group: Int64s
    ints: Int64s
    float_group: Int64s
    floats: Float64s


class PayloadPart:
    """Some of the payloads: kept are those of ranges that carry a number."""

    def __init__(self) -> None:
        """Start without one."""
        self._ints: list[tuple[Int64s, Int64s]] = []
        self._floats: list[tuple[Int64s, Float64s]] = []
        """(group, number)."""

    def add(self, batch: Batch, rows: Int64s, group: Int64s) -> None:
        """Take the numbers of these rows of a batch, ``group`` is that of each; a number that is not finite is none."""
        for name in INT_PAYLOADS:
            number = batch.ints(name)[rows]
            own = np.flatnonzero(number != OPEN)
            if own.size and name == UNSIGNED_PAYLOAD:
                large = own[number[own] < 0]  # beyond int64, which the file holds as negative
                self._add_floats(group[large], number[large].astype(np.float64) + 2.0**64)
                own = own[number[own] >= 0]
            if own.size:
                self._ints.append((group[own], number[own]))
        for name in FLOAT_PAYLOADS:
            real = batch.floats(name)[rows]
            own = np.flatnonzero(np.isfinite(real))
            self._add_floats(group[own], real[own])

    def _add_floats(self, group: Int64s, number: Float64s) -> None:
        if number.size:
            self._floats.append((group, number))

    def merge(self, other: PayloadPart, group: Int64s) -> None:
        """Take what another has; ``group`` is the group here of each there."""
        self._ints += [(group[there], number) for there, number in other._ints]
        self._floats += [(group[there], number) for there, number in other._floats]

    def finish(self) -> Payloads:
        """Return all of them."""
        none = np.zeros(0, np.int64)
        int_group, ints = (np.concatenate(column) for column in zip((none, none), *self._ints, strict=True))
        no_floats = (none, np.zeros(0))
        float_group, floats = (np.concatenate(column) for column in zip(no_floats, *self._floats, strict=True))
        return Payloads(int_group, ints, float_group, floats)
