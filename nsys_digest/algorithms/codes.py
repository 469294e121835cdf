"""Small ids for what streams by: any int64 values, and pairs of ids."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.accumulators import grown
from nsys_digest.algorithms.intervals import Int64s

_LOOKUP_LIMIT = 1 << 20


class Codes:
    """Ids 0, 1, 2 … for int64 values, in order of first sight: any value, small memory, a whole batch at once."""

    def __init__(self) -> None:
        """Start without a value."""
        self.values: list[int] = []
        self._lookup = np.full(64, -1, np.int64)
        self._known = np.zeros(0, np.int64)
        self._known_code = np.zeros(0, np.int64)

    def __len__(self) -> int:
        """Return how many values were seen."""
        return len(self.values)

    def encode(self, values: Int64s) -> Int64s:
        """Return the id of each value, shape (n,); new values get the next ids."""
        if not values.size:
            return values
        low, high = int(values.min()), int(values.max())
        if low >= 0 and high < _LOOKUP_LIMIT:
            self._lookup = grown(self._lookup, high + 1, -1)
            codes = self._lookup[values]
            if codes.min() < 0:
                self._learn_small(np.unique(values[codes < 0]))
                codes = self._lookup[values]
            return codes
        if low == high:
            return np.full(values.size, self._encode_any(values[:1])[0], np.int64)
        return self._encode_any(values)

    def merge(self, other: Codes) -> Int64s:
        """Take the values of another, and return the id here of each id there, shape (len(other),)."""
        return self.encode(np.array(other.values, np.int64))

    def encode_in_order(self, values: Int64s) -> None:
        """Give the next ids to values that were not seen, in their own order; all at once."""
        values = values[np.sort(np.unique(values, return_index=True)[1])]
        small = (values >= 0) & (values < _LOOKUP_LIMIT)
        if small.any():
            self._lookup = grown(self._lookup, int(values[small].max()) + 1, -1)
        seen = np.isin(values, self._known)
        seen[small] = self._lookup[values[small]] >= 0
        values, small = values[~seen], small[~seen]
        codes = np.arange(len(self.values), len(self.values) + values.size)
        self.values.extend(values.tolist())
        self._lookup[values[small]] = codes[small]
        self._keep(values[~small], codes[~small])

    def _learn_small(self, new: Int64s) -> None:
        for value in new.tolist():
            self._lookup[value] = self._append(value)

    def _append(self, value: int) -> int:
        self.values.append(value)
        return len(self.values) - 1

    def _encode_any(self, values: Int64s) -> Int64s:
        small = (values >= 0) & (values < _LOOKUP_LIMIT)
        if small.any():
            codes = np.empty(values.size, np.int64)
            codes[small] = self.encode(values[small])
            codes[~small] = self.encode(values[~small])
            return codes
        found = self._find(values)
        if found is None:
            missing = np.setdiff1d(values, self._known)
            self._keep(missing, np.array([self._append(value) for value in missing.tolist()], np.int64))
            found = self._find(values)
        assert found is not None
        return found

    def _keep(self, values: Int64s, codes: Int64s) -> None:
        """Put new large values, and their ids, in order with those that are known."""
        known = np.concatenate((self._known, values))
        order = np.argsort(known, kind="stable")
        self._known = known[order]
        self._known_code = np.concatenate((self._known_code, codes))[order]

    def _find(self, values: Int64s) -> Int64s | None:
        if not self._known.size:
            return None
        position = np.minimum(np.searchsorted(self._known, values), self._known.size - 1)
        if not np.array_equal(self._known[position], values):
            return None
        return self._known_code[position]


class PairCodes:
    """Ids 0, 1, 2 … for pairs of small ids, by a table of both; by sorted keys once that would be large."""

    def __init__(self) -> None:
        """Start without a pair."""
        self.pairs: list[tuple[int, int]] = []
        self._table: Int64s | None = np.full((4, 64), -1, np.int64)
        self._keys = Codes()

    def __len__(self) -> int:
        """Return how many pairs were seen."""
        return len(self.pairs)

    def encode(self, first: Int64s, second: Int64s) -> Int64s:
        """Return the id of each pair, shape (n,); both members are at least 0 and below 2**31."""
        if not first.size:
            return first
        self._fit(int(first.max()) + 1, int(second.max()) + 1)
        if self._table is None:
            return self._encode_keys(first, second)
        ids: Int64s = self._table[first, second]
        if ids.min() < 0:
            unknown = ids < 0
            new = np.unique(np.stack((first[unknown], second[unknown])), axis=1)
            self._table[new[0], new[1]] = np.arange(len(self.pairs), len(self.pairs) + new.shape[1])
            self.pairs.extend(zip(*new.tolist(), strict=True))
            ids = self._table[first, second]
        return ids

    def merge(self, other: PairCodes, first: Int64s, second: Int64s) -> Int64s:
        """Take the pairs of another, and return the id here of each id there, shape (len(other),).

        ``first`` and ``second`` are the ids here of the members there.
        """
        pairs = np.array(other.pairs, np.int64).reshape(-1, 2)
        return self.encode(first[pairs[:, 0]], second[pairs[:, 1]])

    def _fit(self, rows: int, columns: int) -> None:
        """Make room in the table, or give it up for sorted keys of the same ids."""
        if self._table is None or (rows <= self._table.shape[0] and columns <= self._table.shape[1]):
            return
        shape = tuple(
            max(wanted, 2 * had) if wanted > had else had
            for wanted, had in zip((rows, columns), self._table.shape, strict=True)
        )
        if shape[0] * shape[1] > _LOOKUP_LIMIT:
            known = np.array(self.pairs, np.int64).reshape(-1, 2)
            self._keys.encode_in_order((known[:, 0] << 31) | known[:, 1])
            self._table = None
            return
        table = np.full(shape, -1, np.int64)
        table[: self._table.shape[0], : self._table.shape[1]] = self._table
        self._table = table

    def _encode_keys(self, first: Int64s, second: Int64s) -> Int64s:
        ids = self._keys.encode((first << 31) | second)
        mask = (1 << 31) - 1
        self.pairs.extend((key >> 31, key & mask) for key in self._keys.values[len(self.pairs) :])
        return ids
