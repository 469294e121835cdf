"""The rows of each of many groups: found for all groups at once, so that many groups cost no more than few."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s


class Members(NamedTuple):
    """Those of group ``g`` are ``rows[edges[g]:edges[g + 1]]``, in their own order."""

    rows: Int64s
    edges: Int64s

    def of(self, group: int) -> Int64s:
        """Return the rows of a group, shape (n,)."""
        return self.rows[self.edges[group] : self.edges[group + 1]]


def members(group: npt.NDArray[Any], count: int) -> Members:
    """Return the positions of each group in ``group``, whose values are at least 0 and below ``count``."""
    if count == 1:
        return Members(np.arange(group.size), np.array((0, group.size)))
    small = group.astype(np.uint16) if count <= 1 << 16 else group
    edges = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(group, minlength=count), out=edges[1:])
    return Members(np.argsort(small, kind="stable"), edges)


def by_value(values: npt.NDArray[Any]) -> Iterator[tuple[int, Int64s]]:
    """Yield each distinct value in ascending order, with its positions in ``values``."""
    distinct, code = np.unique(values, return_inverse=True)
    found = members(code, distinct.size)
    for number, value in enumerate(distinct.tolist()):
        yield value, found.of(number)
