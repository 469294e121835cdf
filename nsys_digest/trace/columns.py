"""Columns of whole events, for the sections that look at one operation, call or range at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s

Ints: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Ids in 2, 4 or 8 bytes each."""
Bools: TypeAlias = npt.NDArray[np.bool_]

_SLICE = 1 << 18
_SIZES = (np.int16, np.int32, np.int64)


class Columns:
    """Columns of equal length, filled batch by batch: times in 8 bytes each, ids in as few as their values allow.

    Room for all rows is made at once, so that nothing is held twice; pages are not used before they are filled.
    """

    def __init__(self, rows: int, times: int, ids: int) -> None:
        """Make room for that many rows in so many columns, times first."""
        self._count = 0
        self._arrays: list[Ints] = [np.empty(rows, np.int64) for _ in range(times)]
        self._arrays += [np.empty(rows, np.int16) for _ in range(ids)]

    def __len__(self) -> int:
        """Return how many rows there are."""
        return self._count

    def add(self, *columns: Ints) -> None:
        """Take a batch, one array of shape (n,) a column; they are copied."""
        after = self._count + columns[0].size
        for index, column in enumerate(columns):
            array = self._arrays[index]
            dtype = _fitting(column, array.dtype)
            if after > array.size or dtype != array.dtype:
                roomier = np.empty(after * 3 // 2 if after > array.size else array.size, dtype)
                roomier[: self._count] = array[: self._count]
                self._arrays[index] = array = roomier
            array[self._count : after] = column
        self._count = after

    def slices(self) -> Iterator[list[Ints]]:
        """Yield a slice of the rows at a time, every column of it."""
        for low in range(0, self._count, _SLICE):
            high = min(low + _SLICE, self._count)
            yield [array[low:high] for array in self._arrays]

    def column(self, index: int) -> Any:
        """Return a column whole, shape (n,)."""
        return self._arrays[index][: self._count]

    def finish(self, order: Int64s | None = None) -> list[Any]:
        """End the filling and return each column whole, in that order where one is given.

        Each column is let go as soon as it is in order, so that no two are held twice.
        """
        whole = [array[: self._count] for array in self._arrays]
        self._arrays, self._count = [], 0
        if order is not None:
            for index, array in enumerate(whole):
                whole[index] = array[order]
                del array  # else the loop holds it while the next is put in order
        return whole


def small_ids(values: Ints, limit: int) -> Ints:
    """Return ids below ``limit`` in 4 bytes each where they fit."""
    return values.astype(np.int32) if limit < 2**31 else values


def smallest_type(limit: int) -> np.dtype[np.signedinteger[Any]]:
    """Return the smallest type for numbers from -1 to ``limit``."""
    return next(np.dtype(size) for size in _SIZES if limit <= np.iinfo(size).max)


def _fitting(values: Ints, at_least: np.dtype[np.signedinteger[Any]]) -> np.dtype[np.signedinteger[Any]]:
    """Return the smallest type of at least that size in which all values fit."""
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    bits = max(high, -low - 1).bit_length() + 1
    return next(np.dtype(size) for size in _SIZES if 8 * np.dtype(size).itemsize >= max(bits, 8 * at_least.itemsize))
