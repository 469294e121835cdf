"""What is kept while rows stream by: small ids, exact totals, and unions that hold merged intervals only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nsys_digest.intervals import GroupedIntervals, Int64s, grouped_union

_LOOKUP_LIMIT = 1 << 20
_SEAL_AT = 1 << 18
_SLICE = 1 << 19
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
            codes = np.array([self._append(value) for value in missing.tolist()], np.int64)
            order = np.argsort(np.concatenate((self._known, missing)), kind="stable")
            self._known = np.concatenate((self._known, missing))[order]
            self._known_code = np.concatenate((self._known_code, codes))[order]
            found = self._find(values)
        assert found is not None
        return found

    def _find(self, values: Int64s) -> Int64s | None:
        if not self._known.size:
            return None
        position = np.minimum(np.searchsorted(self._known, values), self._known.size - 1)
        if not np.array_equal(self._known[position], values):
            return None
        return self._known_code[position]


class PairCodes:
    """Ids 0, 1, 2 … for pairs of small ids; made for few different first members."""

    def __init__(self) -> None:
        """Start without a pair."""
        self.pairs: list[tuple[int, int]] = []
        self._by_first: dict[int, Codes] = {}
        self._ids: dict[int, Int64s] = {}

    def __len__(self) -> int:
        """Return how many pairs were seen."""
        return len(self.pairs)

    def encode(self, first: Int64s, second: Int64s) -> Int64s:
        """Return the id of each pair, shape (n,)."""
        if not first.size:
            return first
        low = int(first.min())
        if low == int(first.max()):
            return self._encode_one(low, second)
        ids = np.empty(first.size, np.int64)
        for one in np.unique(first).tolist():
            chosen = first == one
            ids[chosen] = self._encode_one(one, second[chosen])
        return ids

    def _encode_one(self, first: int, second: Int64s) -> Int64s:
        codes = self._by_first.setdefault(first, Codes())
        local = codes.encode(second)
        ids = self._ids.get(first, np.zeros(0, np.int64))
        if ids.size < len(codes):
            new = [(first, value) for value in codes.values[ids.size :]]
            ids = np.concatenate((ids, np.arange(len(self.pairs), len(self.pairs) + len(new), dtype=np.int64)))
            self.pairs.extend(new)
            self._ids[first] = ids
        return ids[local]


class Totals:
    """Count and sum by small id, exact: ``np.add.at`` on int64, since a weighted ``bincount`` adds in doubles."""

    def __init__(self) -> None:
        """Start at zero for every id."""
        self._count = np.zeros(64, np.int64)
        self._sum = np.zeros(64, np.int64)

    def add(self, ids: Int64s, values: Int64s) -> None:
        """Add one value to the id of the same position; both of shape (n,)."""
        if not ids.size:
            return
        counts = np.bincount(ids)
        self._count = grown(self._count, counts.size)
        self._sum = grown(self._sum, counts.size)
        self._count[: counts.size] += counts
        np.add.at(self._sum, ids, values)

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
    """Merged intervals of one stretch of rows, group by group; group ``groups[i]`` is at ``edges[i]:edges[i+1]``."""

    start_ns: Int64s
    end_ns: Int64s
    groups: Int64s
    edges: Int64s

    def between(self, first_group: int, last_group: int) -> slice:
        low, high = np.searchsorted(self.groups, (first_group, last_group + 1)).tolist()
        return slice(int(self.edges[low]), int(self.edges[high]))


class StreamingUnion:
    """Union of half-open intervals by group, fed batch by batch in any order.

    Kept are merged intervals only, 16 bytes each, in runs of about the same stretch of rows, and at most a few
    hundred thousand pending ones. Runs are merged with each other once, at the end, a slice at a time, so that
    memory does not double.
    """

    def __init__(self) -> None:
        """Start without an interval."""
        self._pending: list[tuple[Int64s, Int64s, Int64s]] = []
        self._pending_count = 0
        self._runs: list[_Run] = []

    def add(self, start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
        """Take intervals with their groups, arrays of shape (n,), which are copied."""
        self._pending.append((start_ns.copy(), end_ns.copy(), group.copy()))
        self._pending_count += start_ns.size
        if self._pending_count >= _SEAL_AT:
            self.seal()

    def seal(self) -> None:
        """Merge what is pending into a run of its own."""
        if not self._pending:
            return
        start_ns, end_ns, group = (np.concatenate(column) for column in zip(*self._pending, strict=True))
        self._pending, self._pending_count = [], 0
        self._keep(grouped_union(start_ns, end_ns, group))

    def _keep(self, merged: GroupedIntervals) -> None:
        if not merged.group.size:
            return
        edges = np.concatenate(([0], np.flatnonzero(np.diff(merged.group)) + 1, [merged.group.size]))
        self._runs.append(_Run(merged.start_ns, merged.end_ns, merged.group[edges[:-1]], edges))

    def pieces(self) -> Iterator[GroupedIntervals]:
        """Yield the whole union in slices, ordered by group, then by start.

        No two pieces overlap; a long interval may be cut in two that touch where one slice ends and the next begins.
        """
        self.seal()
        if len(self._runs) == 1:
            run = self._runs[0]
            yield GroupedIntervals(run.start_ns, run.end_ns, np.repeat(run.groups, np.diff(run.edges)))
            return
        for first, last, count in self._group_slices():
            if count <= _SLICE:
                yield self._merged(first, last)
            else:
                yield from self._merged_in_windows(first)

    def _group_slices(self) -> Iterator[tuple[int, int, int]]:
        """Yield (first group, last group, intervals) of consecutive groups that together stay below the slice."""
        if not self._runs:
            return
        sizes = np.zeros(max(int(run.groups[-1]) for run in self._runs) + 1, np.int64)
        for run in self._runs:
            np.add.at(sizes, run.groups, np.diff(run.edges))
        first = last = count = 0
        for group in np.flatnonzero(sizes).tolist():
            if count and count + sizes[group] > _SLICE:
                yield first, last, count
                count = 0
            if not count:
                first = group
            last, count = group, count + int(sizes[group])
        if count:
            yield first, last, count

    def _merged(self, first: int, last: int) -> GroupedIntervals:
        parts = []
        for run in self._runs:
            part = run.between(first, last)
            low, high = np.searchsorted(run.groups, (first, last + 1)).tolist()
            group = np.repeat(run.groups[low:high], np.diff(run.edges[low : high + 1]))
            parts.append((run.start_ns[part], run.end_ns[part], group - first))
        merged = grouped_union(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return merged._replace(group=merged.group + first)

    def _merged_in_windows(self, group: int) -> Iterator[GroupedIntervals]:
        """Yield the union of one large group, window of time by window of time; what crosses an edge is cut there."""
        parts = [(run.start_ns[run.between(group, group)], run.end_ns[run.between(group, group)]) for run in self._runs]
        starts = np.unique(np.concatenate([start_ns[:: _SLICE // 4] for start_ns, _ in parts]))
        last = max(int(end_ns[-1]) for _, end_ns in parts if end_ns.size)
        for low, high in zip(starts.tolist(), [*starts[1:].tolist(), last], strict=True):
            cut = []
            for start_ns, end_ns in parts:
                inside = slice(
                    int(np.searchsorted(end_ns, low, side="right")), int(np.searchsorted(start_ns, high, side="left"))
                )
                cut.append((np.maximum(start_ns[inside], low), np.minimum(end_ns[inside], high)))
            start, end = (np.concatenate(column) for column in zip(*cut, strict=True))
            merged = grouped_union(start, end, np.zeros(start.size, np.int64))
            yield merged._replace(group=merged.group + group)

    def regrouped(self, group_of: Int64s) -> StreamingUnion:
        """Return the union with group ``g`` renamed to ``group_of[g]``; groups that get one name are merged."""
        self.seal()
        renamed = StreamingUnion()
        for run in self._runs:
            group = np.repeat(group_of[run.groups], np.diff(run.edges))
            renamed._keep(grouped_union(run.start_ns, run.end_ns, group))
        return renamed
