"""CUDA API calls."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nsys_digest.algorithms.accumulators import Codes, PairCodes, Totals
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_errors import ANSWERS
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Columns
from nsys_digest.trace.nsys.tables import API_CLASSES, OPEN, THREAD_BITS
from nsys_digest.trace.source import Batch

_COLUMNS = ("start_ns", "end_ns", "name", "event_class", "thread", "return_value")


class ApiCollector:
    """CUDA API calls by (process, name)."""

    def __init__(self, detail: int | None = None) -> None:
        """Start without a row; ``detail`` keeps every call: about how many rows there are."""
        self.processes, self.names = Codes(), Codes()
        self.groups = PairCodes()
        """(code of the process, code of the name id) of each group."""
        self.totals = Totals()
        self.backtrace_count = 0
        self.reversed_count = 0
        self.last_ns = OPEN
        """The largest start or end, backtrace rows included."""
        self.threads = Codes()
        self.calls = None if detail is None else Columns(detail, 2, 3)
        """Start, end, group, code of the thread, correlation id of every call."""
        self.failures: Counter[tuple[int, int]] = Counter()
        """Calls that failed by (group, return value); a value that is an answer is no failure."""
        self.failed_rows: list[Int64s] = []
        """Where in ``calls`` those are, in batches."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``api_query``."""
        start_ns, end_ns, name, event_class, thread, result = map(batch.ints, _COLUMNS)
        correlation = thread if self.calls is None else batch.ints("correlation")
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        if event_class.size and (event_class.min() < API_CLASSES[0] or event_class.max() > API_CLASSES[1]):
            counted = (event_class >= API_CLASSES[0]) & (event_class <= API_CLASSES[1])
            self.backtrace_count += int(counted.size - np.count_nonzero(counted))
            start_ns, end_ns, name, thread, result, correlation = (
                column[counted] for column in (start_ns, end_ns, name, thread, result, correlation)
            )
        length_ns = end_ns - start_ns
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(self.processes.encode(thread & ~THREAD_BITS), self.names.encode(name))
        self.totals.add(group, length_ns)
        if result.any():
            self._note_failures(group, result)
        if self.calls is not None:
            self.calls.add(start_ns, start_ns + length_ns, group, self.threads.encode(thread), correlation)

    def _note_failures(self, group: Int64s, result: Int64s) -> None:
        failed = np.flatnonzero(result)
        failed = failed[~np.isin(result[failed], ANSWERS)]
        found, counts = np.unique(np.stack((group[failed], result[failed])), axis=1, return_counts=True)
        for pair, count in zip(found.T.tolist(), counts.tolist(), strict=True):
            self.failures[pair[0], pair[1]] += count
        if self.calls is not None and failed.size:
            self.failed_rows.append(failed + len(self.calls))
