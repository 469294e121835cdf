"""CUDA API calls."""

from __future__ import annotations

import numpy as np

from nsys_digest.accumulators import Codes, PairCodes, Totals
from nsys_digest.collect.times import last_time
from nsys_digest.schema.tables import API_CLASSES, OPEN, THREAD_BITS
from nsys_digest.sources.base import Batch


class ApiCollector:
    """CUDA API calls by (process, name)."""

    def __init__(self) -> None:
        """Start without a row."""
        self.processes, self.names = Codes(), Codes()
        self.groups = PairCodes()
        """(code of the process, code of the name id) of each group."""
        self.totals = Totals()
        self.backtrace_count = 0
        self.reversed_count = 0
        self.last_ns = OPEN
        """The largest start or end, backtrace rows included."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``api_query``."""
        start_ns, end_ns, name, event_class, thread = (batch.ints(index) for index in range(5))
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        if event_class.size and (event_class.min() < API_CLASSES[0] or event_class.max() > API_CLASSES[1]):
            counted = (event_class >= API_CLASSES[0]) & (event_class <= API_CLASSES[1])
            self.backtrace_count += int(counted.size - np.count_nonzero(counted))
            start_ns, end_ns, name, thread = (column[counted] for column in (start_ns, end_ns, name, thread))
        length_ns = end_ns - start_ns
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(self.processes.encode(thread & ~THREAD_BITS), self.names.encode(name))
        self.totals.add(group, length_ns)
