"""What is kept while rows stream by: small ids, exact totals, and unions that hold merged intervals only."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, grouped_union

_LOOKUP_LIMIT = 1 << 20
_WINDOW = 1 << 17
_UINT32_MAX = 2**32 - 1
_INT64_MAX = np.iinfo(np.int64).max


def grown(array: Int64s, length: int, fill: int = 0) -> Int64s:
    """Return the array, or a longer copy of it filled up with ``fill``, so that ``length`` entries fit."""
    if length <= array.size:
        return array
    longer = np.full(max(length, 2 * array.size), fill, np.int64)
    longer[: array.size] = array
    return longer


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


_SUM_LIMIT = 2.0**63 * (1 - 2.0**-20)  # room for the rounding of the doubles that watch it


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

    def values(self, length: int) -> Int64s:
        """Return the smallest values of the ids below ``length``; the largest int64 where there was none."""
        self._first = grown(self._first, length, _INT64_MAX)
        return self._first[:length]


class _Run(NamedTuple):
    """Merged intervals of one stretch of rows, by group, then by start; ``counts[i]`` of group ``groups[i]``."""

    start_ns: Int64s
    length_ns: Int64s | npt.NDArray[np.uint32]
    groups: Int64s
    counts: Int64s
    first_ns: int
    last_ns: int

    @classmethod
    def of(cls, merged: GroupedIntervals) -> _Run:
        """Keep merged intervals, at least one, in 12 bytes each where all are shorter than 4.29 s, else in 16."""
        length_ns = merged.end_ns - merged.start_ns
        short = int(length_ns.max()) <= _UINT32_MAX
        groups, counts = np.unique(merged.group, return_counts=True)
        first_ns, last_ns = int(merged.start_ns.min()), int(merged.end_ns.max())
        kept = length_ns.astype(np.uint32) if short else length_ns
        return cls(merged.start_ns, kept, groups, counts, first_ns, last_ns)

    def within(self, low_ns: int, high_ns: int) -> GroupedIntervals:
        """Return what lies in ``[low, high)``; what crosses an edge is cut there."""
        group = np.repeat(self.groups, self.counts)
        end_ns = self.start_ns + self.length_ns
        if low_ns <= self.first_ns and self.last_ns <= high_ns:
            return GroupedIntervals(self.start_ns, end_ns, group)
        inside = np.flatnonzero((end_ns > low_ns) & (self.start_ns < high_ns))
        start_ns, end_ns = np.maximum(self.start_ns[inside], low_ns), np.minimum(end_ns[inside], high_ns)
        return GroupedIntervals(start_ns, end_ns, group[inside])


class StreamingUnion:
    """Union of half-open intervals by group, fed batch by batch in any order.

    Kept are merged intervals only, 12 bytes each, in runs of about the same stretch of rows, and some pending ones.
    The runs are merged with each other once, at the end, window of time by window of time, so that memory does not
    double.
    """

    def __init__(self, *, seal_at: int = _WINDOW, window: int = _WINDOW, samples: int = 128) -> None:
        """Start without an interval.

        Intervals are merged into a run when ``seal_at`` are pending. A window has about ``window`` of them, and its
        edges are found by looking at ``samples`` of them, ``window`` at most.
        """
        self._seal_at, self._step, self._samples = seal_at, max(1, window // samples), samples
        self._pending: list[tuple[Int64s, Int64s, Int64s]] = []
        self._pending_count = 0
        self._runs: list[_Run] = []

    def add(self, start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
        """Take intervals with their groups, arrays of shape (n,), which are copied."""
        self._pending.append((start_ns.copy(), end_ns.copy(), group.copy()))
        self._pending_count += start_ns.size
        if self._pending_count >= self._seal_at:
            self._seal()

    def _seal(self) -> None:
        """Merge what is pending into a run of its own."""
        if not self._pending:
            return
        start_ns, end_ns, group = (np.concatenate(column) for column in zip(*self._pending, strict=True))
        self._pending, self._pending_count = [], 0
        merged = grouped_union(start_ns, end_ns, group)
        if merged.group.size:
            self._runs.append(_Run.of(merged))

    def take_windows(self) -> Iterator[GroupedIntervals]:
        """Yield the whole union in windows of time, in order of time, and forget it on the way.

        In each window the intervals of a group are disjoint, or nearly so: they may still overlap where the rows were
        out of order, so that a consumer merges them by the groups it wants. What crosses the edge of a window is cut
        there: lengths add up, and touching pieces join when they are merged again.
        """
        self._seal()
        edges = self._window_edges()
        for low_ns, high_ns in pairwise(edges):
            parts = [run.within(low_ns, high_ns) for run in self._runs if run.first_ns < high_ns]
            self._runs = [run for run in self._runs if run.last_ns > high_ns]
            yield GroupedIntervals(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def _window_edges(self) -> list[int]:
        """Return times that cut the runs into windows."""
        if not self._runs:
            return []
        starts = np.sort(np.concatenate([run.start_ns[:: self._step] for run in self._runs]))
        inner = np.unique(starts[self._samples :: self._samples]).tolist()
        first, last = min(run.first_ns for run in self._runs), max(run.last_ns for run in self._runs)
        return [first, *(edge for edge in inner if first < edge < last), last]


def windows_of_sorted(start_ns: Int64s, end_ns: Int64s, group: npt.NDArray[Any]) -> Iterator[GroupedIntervals]:
    """Yield intervals in order of start in windows of time, as :meth:`StreamingUnion.take_windows` does."""
    carried = GroupedIntervals(*(np.zeros(0, np.int64) for _ in range(3)))
    for low in range(0, start_ns.size, _WINDOW):
        part = slice(low, low + _WINDOW)
        begun = GroupedIntervals(start_ns[part], end_ns[part], group[part].astype(np.int64))
        window = GroupedIntervals(*(np.concatenate(both) for both in zip(carried, begun, strict=True)))
        if part.stop >= start_ns.size:
            yield window
            return
        edge = start_ns[part.stop]
        across = window.end_ns > edge
        carried = GroupedIntervals(
            np.full(int(across.sum()), edge, np.int64), window.end_ns[across], window.group[across]
        )
        yield window._replace(end_ns=np.minimum(window.end_ns, edge))
