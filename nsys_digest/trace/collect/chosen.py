"""Which rows count, and with how much of their time, where not the whole trace is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.source import Batch, Tail

Clip: TypeAlias = Callable[[Int64s, Int64s], tuple[Bools, Int64s]]
"""Takes starts and ends, and returns which events count, and the time of each that does, within the window."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """What a selection asks of rows; a selection of the whole trace asks nothing, and there is none of these."""

    work: Callable[[Int64s, Int64s], Bools] | None
    """Takes device (CUDA ordinal) and stream of GPU work, and returns which is looked at; None for all."""
    processes: Callable[[Int64s], Bools] | None
    """Takes globalPids of GPU work, calls and ranges, and returns which are looked at; None for all."""
    clip: Clip | None
    """None where all of time is looked at."""
    bounds_ns: tuple[int, int] | None
    """The start of the first stretch of the window and the end of the last; None where all of time is looked at."""
    every_range: bool = False
    """Whether ranges that do not count are kept one by one too: which are the first of their process is asked."""

    def of_processes(self, batch: Batch, process: Int64s) -> Batch:
        """Return the rows of processes that are looked at, whenever they were; ``process`` is that of each row."""
        return batch if self.processes is None else ChosenBatch(batch, self.processes(process))

    def counted(self, start_ns: Int64s, end_ns: Int64s) -> tuple[Bools, Int64s]:
        """Tell which events have a part in the window, and how much of it each has, 0 where it has none."""
        if self.clip is None:
            return np.ones(start_ns.size, bool), np.maximum(end_ns - start_ns, 0)
        counts, within_ns = self.clip(start_ns, end_ns)
        part_ns = np.zeros(start_ns.size, np.int64)
        part_ns[counts] = within_ns
        return counts, part_ns

    def counted_work(self, batch: Batch) -> tuple[Bools, Int64s]:
        """Tell which rows of GPU work count, and how much of the window each has."""
        counts, part_ns = self.counted(batch.ints("start_ns"), batch.ints("end_ns"))
        if self.processes is not None:
            counts &= self.processes(batch.ints("process"))
        if self.work is not None:
            counts &= self.work(batch.ints("device"), batch.ints("stream"))
        return counts, part_ns


class ChosenBatch:
    """Some rows of a batch."""

    def __init__(self, batch: Batch, kept: Bools) -> None:
        """Keep the rows for which ``kept`` is true, in their order."""
        self._batch = batch
        self._rows = np.flatnonzero(kept)

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._rows.size

    def ints(self, name: str) -> Int64s:
        """Return an integer column; see :class:`nsys_digest.trace.source.Batch`."""
        return self._batch.ints(name)[self._rows]

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column of doubles; see :class:`nsys_digest.trace.source.Batch`."""
        return self._batch.floats(name)[self._rows]

    def texts(self, name: str, cut: Tail | None = None) -> tuple[Int64s, list[str]]:
        """Return a text column; see :class:`nsys_digest.trace.source.Batch`."""
        codes, values = self._batch.texts(name, cut)
        return codes[self._rows], values
