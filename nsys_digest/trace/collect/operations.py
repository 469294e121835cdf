"""Every GPU operation, for the sections that look at one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s, exact_sum
from nsys_digest.trace.columns import Bools, Columns, Ints
from nsys_digest.trace.events import Copies, CopyLabel
from nsys_digest.trace.nsys.tables import GPU_KINDS
from nsys_digest.trace.source import Batch

_COPY_BITS = 15
_COPY_MASK = (1 << _COPY_BITS) - 1


@dataclass(frozen=True, slots=True)
class OperationRows:
    """Every operation in order of start; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    """Index into the groups of the totals."""
    correlation: Ints
    label: Ints
    """Of a kernel an index into ``kernel_labels``, of a copy one into ``copy_labels``, and so on."""
    kernel_labels: tuple[tuple[int, int], ...]
    """(string id of the short name, string id of the full name)."""
    copy_labels: tuple[CopyLabel, ...]
    copies: Copies
    set_bytes: int
    set_sizes: tuple[int, ...]
    """Bytes of each label of sets."""
    graph_ids: tuple[int, ...]
    """Executable graph of each label of graph launches; 0 where the trace does not say."""


class OperationPart:
    """Some of the operations."""

    def __init__(self, rows: Mapping[str, int]) -> None:
        """Start without a row; ``rows`` says about how many there are of each kind."""
        self._rows = Columns(sum(rows.values()), 2, 3)
        """Start, end, group, correlation id, label."""
        self._short_names, self._full_names = Codes(), Codes()
        self._kernel_labels = PairCodes()
        self._copy_labels, self._set_sizes, self._graph_ids = Codes(), Codes(), Codes()
        self._copies = Columns(rows.get("memcpy", 0), 1, 4)
        """Start, label, bytes, length, time within what is looked at."""
        self._set_bytes = self._moved_bytes = 0

    def add(self, kind: str, batch: Batch, group: Int64s, part_ns: Int64s, counts: Bools | slice = slice(None)) -> None:
        """Take rows of one kind, with the group of each and its time within what is looked at; and which count."""
        label = np.zeros(group.size, np.int64)
        if kind == "kernel":
            short, full = batch.ints("short_name"), batch.ints("full_name")
            label = self._kernel_labels.encode(self._short_names.encode(short), self._full_names.encode(full))
        elif kind == "memcpy":
            label = self._label_copies(batch)
            length_ns = part_ns
            if not isinstance(counts, slice):
                length_ns = np.maximum(batch.ints("end_ns") - batch.ints("start_ns"), 0)
            columns = batch.ints("start_ns"), label, self._sizes(batch.ints("bytes")), length_ns, part_ns
            self._copies.add(*(column[counts] for column in columns))
        elif kind == "memset":
            sizes = self._sizes(batch.ints("bytes"))
            self._set_bytes += exact_sum(sizes[counts])
            label = self._set_sizes.encode(sizes)
        elif kind == "graph":
            label = self._graph_ids.encode(batch.ints("graph"))
        self._rows.add(batch.ints("start_ns"), batch.ints("end_ns"), group, batch.ints("correlation"), label)

    def merge(self, other: OperationPart, group: Int64s, kind_of_group: Sequence[int]) -> None:
        """Take the rows of another part: ``group`` is the group here of each there, ``kind_of_group`` its kind."""
        kernel_label = self._kernel_labels.merge(
            other._kernel_labels, self._short_names.merge(other._short_names), self._full_names.merge(other._full_names)
        )
        copy_label = self._copy_labels.merge(other._copy_labels)
        label_of_kind = {
            "kernel": kernel_label,
            "memcpy": copy_label,
            "memset": self._set_sizes.merge(other._set_sizes),
            "graph": self._graph_ids.merge(other._graph_ids),
        }
        kinds = np.array(kind_of_group, np.int64)
        for start_ns, end_ns, there, correlation, label in other._rows.slices():
            moved = np.zeros(there.size, np.int64)
            for kind, label_of in label_of_kind.items():
                own = np.flatnonzero((kinds == GPU_KINDS.index(kind))[there])
                moved[own] = label_of[label[own]] if own.size else 0
            self._rows.add(start_ns, end_ns, group[there], correlation, moved)
        for start_ns, label, *columns in other._copies.slices():
            self._copies.add(start_ns, copy_label[label], *columns)
        self._set_bytes += other._set_bytes
        self._note_moved(other._moved_bytes)

    def finish(self) -> OperationRows:
        """End the part, and put the operations in order of start."""
        start_ns, end_ns, group, correlation, label = self._rows.finish(_order(self._rows.column(0)))
        short, full = self._short_names.values, self._full_names.values
        _, *copies = self._copies.finish(_order(self._copies.column(0)))
        return OperationRows(
            start_ns=start_ns,
            end_ns=end_ns,
            group=group,
            correlation=correlation,
            label=label,
            kernel_labels=tuple((short[brief], full[long]) for brief, long in self._kernel_labels.pairs),
            copy_labels=tuple(map(_copy_label, self._copy_labels.values)),
            copies=Copies(*copies),
            set_bytes=self._set_bytes,
            set_sizes=tuple(self._set_sizes.values),
            graph_ids=tuple(self._graph_ids.values),
        )

    def _sizes(self, size: Int64s) -> Int64s:
        """Return numbers of bytes as they are; raises OverflowError where one is negative, or all leave int64."""
        if size.min(initial=0) < 0:
            raise OverflowError(_DAMAGED_SIZE)
        self._note_moved(exact_sum(size))
        return size

    def _note_moved(self, moved_bytes: int) -> None:
        self._moved_bytes += moved_bytes
        if self._moved_bytes >= 2**63:
            raise OverflowError(_DAMAGED_SIZE)

    def _label_copies(self, batch: Batch) -> Int64s:
        key = np.zeros(len(batch), np.int64)
        for name in ("copy_kind", "source_kind", "destination_kind", "migration_cause"):
            key = (key << _COPY_BITS) | np.clip(batch.ints(name) + 1, 0, _COPY_MASK)
        return self._copy_labels.encode(key)


def _order(start_ns: Int64s) -> Int64s | None:
    return None if np.all(start_ns[1:] >= start_ns[:-1]) else np.argsort(start_ns, kind="stable")


_DAMAGED_SIZE = "move a negative number of bytes, or 8 EiB together, so that a size is damaged"


def _copy_label(key: int) -> CopyLabel:
    return CopyLabel(*((key >> shift & _COPY_MASK) - 1 for shift in range(3 * _COPY_BITS, -1, -_COPY_BITS)))
