"""What calls that wait waited for."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.accumulators import Codes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Columns, Ints
from nsys_digest.trace.source import Batch


class WaitCollector:
    """The context and stream of each wait, by process and correlation id."""

    def __init__(self, rows: int) -> None:
        """Start without a row; make room for about that many."""
        self._processes = Codes()
        self._waits = Columns(rows, 0, 4)
        """Code of the process, correlation id, context, stream of every wait."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``wait_query``."""
        process, correlation, context, stream = (batch.ints(index) for index in range(4))
        some = np.flatnonzero(correlation)
        self._waits.add(self._processes.encode(process[some]), correlation[some], context[some], stream[some])

    def by_process(self) -> dict[int, WaitedFor]:
        """Return the waits by globalPid, and forget them."""
        process, correlation, context, stream = self._waits.take()
        order = np.lexsort((correlation, process))
        parts = np.split(order, np.searchsorted(process[order], np.arange(1, len(self._processes))))
        return {
            one: WaitedFor(correlation[part], context[part], stream[part])
            for one, part in zip(self._processes.values, parts, strict=False)
        }


class WaitedFor:
    """The waits of one process, in order of correlation id."""

    def __init__(self, correlation: Ints, context: Ints, stream: Ints) -> None:
        """Take columns of shape (n,), in order of correlation id."""
        self._correlation, self._context, self._stream = correlation, context, stream

    def of(self, correlation: Ints) -> tuple[Int64s, Int64s]:
        """Return the context and the stream that each call waited for; -1 where no row, or more than one, tells."""
        first = np.searchsorted(self._correlation, correlation, side="left")
        known = np.searchsorted(self._correlation, correlation, side="right") - first == 1
        context, stream = (np.full(correlation.size, -1, np.int64) for _ in range(2))
        context[known], stream[known] = self._context[first[known]], self._stream[first[known]]
        return context, stream
