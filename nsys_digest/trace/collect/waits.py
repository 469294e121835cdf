"""What calls that wait waited for."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.codes import Codes
from nsys_digest.trace.columns import Columns
from nsys_digest.trace.events import WaitedFor
from nsys_digest.trace.source import Batch

_COLUMNS = ("process", "correlation", "context", "stream", "event")


class WaitPart:
    """Some of the waits: the context, stream and event of each, by process and correlation id."""

    def __init__(self, rows: int) -> None:
        """Start without a row; make room for about that many."""
        self._processes = Codes()
        self._waits = Columns(rows, 0, 5)
        """Code of the process, correlation id, context, stream, event of every wait."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``wait_query``."""
        process, correlation, *rest = map(batch.ints, _COLUMNS)
        some = np.flatnonzero(correlation)
        self._waits.add(self._processes.encode(process[some]), correlation[some], *(column[some] for column in rest))

    def merge(self, other: WaitPart) -> None:
        """Take the rows of another part."""
        code = self._processes.merge(other._processes)
        for process, *columns in other._waits.slices():
            self._waits.add(code[process], *columns)

    def finish(self) -> dict[int, WaitedFor]:
        """End the part, and return the waits by globalPid."""
        order = np.lexsort((self._waits.column(1), self._waits.column(0)))
        process, *columns = self._waits.finish(order)
        edges = np.searchsorted(process, np.arange(len(self._processes) + 1))
        return {
            one: WaitedFor(*(column[low:high] for column in columns))
            for one, low, high in zip(self._processes.values, edges[:-1], edges[1:], strict=True)
        }
