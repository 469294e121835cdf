"""What is kept by small id while rows stream by: exact totals and smallest values."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Int64s

_INT64_MAX = np.iinfo(np.int64).max


def grown(array: Int64s, length: int, fill: int = 0) -> Int64s:
    """Return the array, or a longer copy of it filled up with ``fill``, so that ``length`` entries fit."""
    if length <= array.size:
        return array
    longer = np.full(max(length, 2 * array.size), fill, np.int64)
    longer[: array.size] = array
    return longer


_SUM_LIMIT = 2.0**63 * (1 - 2.0**-20)  # room for the rounding of the doubles that watch it


class Bounds:
    """The least and the greatest value by small id."""

    def __init__(self) -> None:
        """Start without a value."""
        self._low = np.full(64, _INT64_MAX)
        self._high = np.full(64, -_INT64_MAX)

    def add(self, ids: Int64s, values: Int64s) -> None:
        """Take one value for the id of the same position; both of shape (n,)."""
        if ids.size:
            length = int(ids.max()) + 1
            self._low, self._high = grown(self._low, length, _INT64_MAX), grown(self._high, length, -_INT64_MAX)
            np.minimum.at(self._low, ids, values)
            np.maximum.at(self._high, ids, values)

    def of(self, number: int) -> tuple[int, int] | None:
        """Return (least, greatest) of an id; None where it has no value."""
        if number >= self._low.size or self._low[number] > self._high[number]:
            return None
        return int(self._low[number]), int(self._high[number])


class Totals:
    """Count and sum by small id, exact: ``np.add.at`` on int64, since a weighted ``bincount`` adds in doubles."""

    def __init__(self) -> None:
        """Start at zero for every id."""
        self._count = np.zeros(64, np.int64)
        self._sum = np.zeros(64, np.int64)
        self._whole = 0.0

    def add(self, ids: Int64s, values: Int64s) -> None:
        """Add one value to the id of the same position; both of shape (n,), values not negative.

        Raises:
            OverflowError: all values together come near the end of int64.

        """
        if not ids.size:
            return
        counts = np.bincount(ids)
        self._count = grown(self._count, counts.size)
        self._sum = grown(self._sum, counts.size)
        self._count[: counts.size] += counts
        np.add.at(self._sum, ids, values)
        self._whole += float(values.sum(dtype=np.float64))
        if self._whole > _SUM_LIMIT:
            raise OverflowError

    def merge(self, other: Totals, ids: Int64s) -> None:
        """Add what another has; ``ids`` are the ids here of the ids there.

        Raises:
            OverflowError: as :meth:`add` does.

        """
        if not ids.size:
            return
        length = int(ids.max()) + 1
        self._count, self._sum = grown(self._count, length), grown(self._sum, length)
        np.add.at(self._count, ids, other.count(ids.size))
        np.add.at(self._sum, ids, other.sum(ids.size))
        self._whole += other._whole
        if self._whole > _SUM_LIMIT:
            raise OverflowError

    def count(self, length: int) -> Int64s:
        """Return the counts of the ids below ``length``."""
        self._count = grown(self._count, length)
        return self._count[:length]

    def sum(self, length: int) -> Int64s:
        """Return the sums of the ids below ``length``."""
        self._sum = grown(self._sum, length)
        return self._sum[:length]


class Firsts:
    """The smallest value by small id."""

    def __init__(self) -> None:
        """Start without a value."""
        self._first = np.full(64, _INT64_MAX, np.int64)

    def add(self, ids: Int64s, values: Int64s) -> None:
        """Lower the smallest value of each id; both of shape (n,)."""
        if not ids.size:
            return
        self._first = grown(self._first, int(ids.max()) + 1, _INT64_MAX)
        np.minimum.at(self._first, ids, values)

    def merge(self, other: Firsts, ids: Int64s) -> None:
        """Take what another has; ``ids`` are the ids here of the ids there."""
        self.add(ids, other.values(ids.size))

    def values(self, length: int) -> Int64s:
        """Return the smallest values of the ids below ``length``; the largest int64 where there was none."""
        self._first = grown(self._first, length, _INT64_MAX)
        return self._first[:length]
