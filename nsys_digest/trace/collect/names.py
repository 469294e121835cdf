"""Which range names to keep when a trace has more of them than memory should hold."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Int64s

_COMPACT_AT = 1 << 20


class NameRanking:
    """Total time, first start and open ranges of each name, 32 bytes a name, which is known by its 64-bit hash alone.

    Hashes differ from run to run, but which names are kept hangs on times only, so that every run keeps the same.
    """

    def __init__(self, compact_at: int = _COMPACT_AT) -> None:
        """Start without a name; names are added up when so many rows of them are pending."""
        self._compact_at = compact_at
        self._parts: list[tuple[Int64s, Int64s, Int64s, Int64s]] = []
        self._pending = 0

    def add(self, name_hash: Int64s, length_ns: Int64s, start_ns: Int64s) -> None:
        """Take ranges, arrays of shape (n,)."""
        self._add(name_hash, length_ns, start_ns, np.zeros_like(name_hash))

    def add_open(self, name_hash: Int64s, start_ns: Int64s) -> None:
        """Take ranges without an end, arrays of shape (n,)."""
        self._add(name_hash, -start_ns, start_ns, np.ones_like(name_hash))

    def merge(self, other: NameRanking) -> None:
        """Take what another has."""
        for part in other._parts:
            self._add(*part)

    def _add(self, *columns: Int64s) -> None:
        self._parts.append(_by_hash(*columns))
        self._pending += self._parts[-1][0].size
        if self._pending >= self._compact_at:
            self._compact()

    def _compact(self) -> None:
        if self._parts:
            self._parts = [_by_hash(*(np.concatenate(column) for column in zip(*self._parts, strict=True)))]
        self._pending = 0

    @property
    def name_count(self) -> int:
        """How many different names there are."""
        self._compact()
        return self._parts[0][0].size if self._parts else 0

    def kept(self, limit: int, last_ns: int) -> frozenset[int]:
        """Return the hashes of at most ``limit`` names with most time, of equal ones those that began first.

        Open ranges end at ``last_ns``, which no range begins after. Names that tie across the limit in both are all
        left out.
        """
        self._compact()
        if not self._parts:
            return frozenset()
        name_hash, total_ns, first_ns, open_count = self._parts[0]
        total_ns = total_ns + open_count * last_ns
        order = np.lexsort((first_ns, -total_ns))
        if order.size > limit:
            beyond = order[limit]
            tied = (total_ns[order] == total_ns[beyond]) & (first_ns[order] == first_ns[beyond])
            order = order[: int(np.argmax(tied))]
        return frozenset(name_hash[order].tolist())


def _by_hash(
    name_hash: Int64s, total_ns: Int64s, first_ns: Int64s, open_count: Int64s
) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Add up the rows of each hash."""
    order = np.argsort(name_hash, kind="stable")
    name_hash, total_ns, first_ns, open_count = (
        column[order] for column in (name_hash, total_ns, first_ns, open_count)
    )
    if not name_hash.size:
        return name_hash, total_ns, first_ns, open_count
    opens = np.concatenate(([0], np.flatnonzero(np.diff(name_hash)) + 1))
    return (
        name_hash[opens],
        np.add.reduceat(total_ns, opens),
        np.minimum.reduceat(first_ns, opens),
        np.add.reduceat(open_count, opens),
    )
