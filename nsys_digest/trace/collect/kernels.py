"""Kernels by their names, for the list of categories."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.accumulators import Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.collect.chosen import Chosen, ChosenBatch
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.source import Batch


@dataclass(frozen=True, slots=True)
class KernelTotals:
    """Kernels added up; arrays are by label, int64 of shape (labels,)."""

    labels: tuple[tuple[int, int], ...]
    """(string id of the short name, string id of the full name)."""
    counts: Int64s
    sums_ns: Int64s


class KernelPart:
    """Some of the kernels."""

    def __init__(self, chosen: Chosen | None = None) -> None:
        """Start without a row; ``chosen`` says which count, None is all."""
        self._chosen = chosen
        self._short_names, self._full_names = Codes(), Codes()
        self._labels = PairCodes()
        self._totals = Totals()

    def add(self, batch: Batch) -> None:
        """Take kernels, with the columns of ``gpu_query`` in detail."""
        start_ns, end_ns = batch.ints("start_ns"), batch.ints("end_ns")
        last_time(start_ns, end_ns)
        part_ns = np.maximum(end_ns - start_ns, 0)
        if self._chosen is not None:
            counts, part_ns = self._chosen.counted_work(batch)
            batch, part_ns = ChosenBatch(batch, counts), part_ns[counts]
        short = self._short_names.encode(batch.ints("short_name"))
        label = self._labels.encode(short, self._full_names.encode(batch.ints("full_name")))
        self._totals.add(label, part_ns)

    def merge(self, other: KernelPart) -> None:
        """Take the rows of another part."""
        short, full = self._short_names.merge(other._short_names), self._full_names.merge(other._full_names)
        self._totals.merge(other._totals, self._labels.merge(other._labels, short, full))

    def finish(self) -> KernelTotals:
        """Return the totals."""
        short, full, length = self._short_names.values, self._full_names.values, len(self._labels)
        labels = tuple((short[brief], full[long]) for brief, long in self._labels.pairs)
        return KernelTotals(labels, self._totals.count(length), self._totals.sum(length))
