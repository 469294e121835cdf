"""Columns of whole events, for the sections that look at one operation, call or range at a time."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from nsys_digest.intervals import Int64s

Ints: TypeAlias = npt.NDArray[np.signedinteger[Any]]
"""Ids in 4 or 8 bytes each."""

_INT32 = np.iinfo(np.int32)


def narrowed(values: Int64s) -> Ints:
    """Return a copy in 4 bytes a value where all fit, else in 8."""
    if values.size and values.min() >= _INT32.min and values.max() <= _INT32.max:
        return values.astype(np.int32)
    return values.copy()


class Columns:
    """Columns of equal length that grow batch by batch: times in 8 bytes each, ids in as few as their values allow."""

    def __init__(self, times: int, ids: int) -> None:
        """Start with that many empty columns, times first."""
        self._times = times
        self._chunks: list[list[Ints]] = [[] for _ in range(times + ids)]

    def add(self, *columns: Int64s) -> None:
        """Take a batch, one array of shape (n,) a column; they are copied."""
        for index, (chunks, column) in enumerate(zip(self._chunks, columns, strict=True)):
            chunks.append(column.copy() if index < self._times else narrowed(column))

    def take(self) -> list[Any]:
        """Return each column whole, and forget it: the times as int64, the ids as int32 or int64, shape (n,)."""
        whole: list[Ints] = []
        for chunks in self._chunks:
            whole.append(np.concatenate(chunks) if chunks else np.zeros(0, np.int64))
            chunks.clear()
        return whole
