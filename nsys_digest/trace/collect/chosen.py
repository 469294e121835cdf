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

    work: Callable[[Int64s, Int64s, Int64s], Bools] | None
    """Takes globalPid, device (CUDA ordinal) and stream of GPU work, and returns which is looked at; None for all."""
    processes: Callable[[Int64s], Bools] | None
    """Takes globalPids of calls and ranges, and returns which are looked at; None for all."""
    clip: Clip | None
    """None where all of time is looked at."""

    def of_work(self, batch: Batch) -> Batch:
        """Return the GPU work that is looked at, whenever it ran."""
        if self.work is None:
            return batch
        return ChosenBatch(batch, self.work(batch.ints("process"), batch.ints("device"), batch.ints("stream")))

    def of_processes(self, batch: Batch, process: Int64s) -> Batch:
        """Return the calls or ranges that are looked at, whenever they were; ``process`` is that of each row."""
        return batch if self.processes is None else ChosenBatch(batch, self.processes(process))


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
