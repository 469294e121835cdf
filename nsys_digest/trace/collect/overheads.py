"""Rows of overhead, whatever thread they are of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.codes import Codes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.columns import Columns, Ints
from nsys_digest.trace.nsys.tables import OVERHEAD_TABLES, THREAD_BITS
from nsys_digest.trace.source import Batch

_COLUMNS = ("start_ns", "end_ns", "thread", "name", "type")
_TABLES = len(OVERHEAD_TABLES)
_TYPES = 1 << 8


@dataclass(frozen=True, slots=True)
class OverheadRows:
    """Every row of the processes that are looked at that has a length; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    thread: Ints
    """Index into ``threads``, which are globalTids."""
    label: Ints
    """Index into ``labels``."""
    threads: tuple[int, ...]
    labels: tuple[tuple[str, int, int], ...]
    """(table, string id of the name, type), those of other processes too."""


class OverheadPart:
    """Some of the rows."""

    def __init__(self, rows: int, chosen: Chosen | None = None) -> None:
        """Start without a row; make room for about that many. ``chosen`` says what is looked at."""
        self._processes = None if chosen is None else chosen.processes
        self._threads, self._names, self._labels = Codes(), Codes(), Codes()
        self._rows = Columns(rows, 2, 2)

    def add(self, table: int, batch: Batch) -> None:
        """Take rows of a table of ``OVERHEAD_TABLES`` with the columns of ``overhead_query``."""
        start_ns, end_ns, thread, name, kind = map(batch.ints, _COLUMNS)
        real = end_ns > start_ns
        if not real.all():
            start_ns, end_ns, thread, name, kind = (column[real] for column in (start_ns, end_ns, thread, name, kind))
        label = self._names.encode(name) * _TYPES + np.clip(kind + 1, 0, _TYPES - 1)
        label = self._labels.encode(label * _TABLES + table)
        if self._processes is not None:
            kept = self._processes(thread & ~THREAD_BITS)
            start_ns, end_ns, thread, label = (column[kept] for column in (start_ns, end_ns, thread, label))
        self._rows.add(start_ns, end_ns, self._threads.encode(thread), label)

    def merge(self, other: OverheadPart) -> None:
        """Take the rows of another part."""
        thread, name = self._threads.merge(other._threads), self._names.merge(other._names)
        there = np.array(other._labels.values, np.int64)
        key, rest = np.divmod(there, _TYPES * _TABLES)
        moved = name[key] * (_TYPES * _TABLES) + rest if there.size else there
        label = self._labels.encode(moved)
        for start_ns, end_ns, of_thread, of_label in other._rows.slices():
            self._rows.add(start_ns, end_ns, thread[of_thread], label[of_label])

    def finish(self) -> OverheadRows:
        """End the part."""
        names = self._names.values
        labels = []
        for value in self._labels.values:
            rest, table = divmod(value, _TABLES)
            name, kind = divmod(rest, _TYPES)
            labels.append((OVERHEAD_TABLES[table], names[name], kind - 1))
        start_ns, end_ns, thread, label = self._rows.finish()
        return OverheadRows(start_ns, end_ns, thread, label, tuple(self._threads.values), tuple(labels))
