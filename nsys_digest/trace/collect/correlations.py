"""Correlation ids, as stretches of ids that lie close together."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Int64s


class Correlations:
    """The correlation ids of some calls or work of all processes; 0 stands for none, and is left out."""

    def __init__(self) -> None:
        """Start without an id."""
        self._ids: list[Int64s] = []

    def add(self, correlation: Int64s) -> None:
        """Take ids, shape (n,)."""
        self._ids.append(np.unique(correlation[correlation != 0]))

    def merge(self, other: Correlations) -> None:
        """Take the ids of another."""
        self._ids += other._ids

    def outside(self, stretches: list[tuple[int, int]]) -> Correlations:
        """Return the ids that are in none of those stretches."""
        found = Correlations()
        for ids in self._ids:
            inside = np.zeros(ids.size, bool)
            for low, high in stretches:
                inside |= (ids >= low) & (ids <= high)
            found.add(ids[~inside])
        return found

    def stretches(self, most: int) -> list[tuple[int, int]]:
        """Return stretches ``[least, greatest]`` that together hold all ids, cut where the widest holes are."""
        ids = np.unique(np.concatenate((np.zeros(0, np.int64), *self._ids)))
        if not ids.size:
            return []
        cuts = np.sort(np.argsort(np.diff(ids), kind="stable")[::-1][: most - 1]) + 1
        return [(int(part[0]), int(part[-1])) for part in np.split(ids, cuts)]
