"""Page faults of unified memory, counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

import numpy as np

from nsys_digest.algorithms.intervals import exact_sum
from nsys_digest.trace.collect.chosen import Chosen, ChosenBatch
from nsys_digest.trace.events import PageFaults
from nsys_digest.trace.nsys.tables import PAGE_FAULT_TABLES, page_fault_query
from nsys_digest.trace.source import Batch, Query, Source

Side: TypeAlias = Literal["cpu", "gpu"]
SIDES: Final[tuple[Side, ...]] = ("cpu", "gpu")


class PageFaultPart:
    """Some of the rows of both tables; a side that has no table has no count."""

    def __init__(self, source: Source, chosen: Chosen | None = None) -> None:
        """Start with no fault of each side that has a table; ``chosen`` says what is looked at."""
        self._chosen = chosen
        found = {side: page_fault_query(source, PAGE_FAULT_TABLES[side]) for side in SIDES}
        self._queries: dict[Side, Query] = {side: query for side, query in found.items() if query is not None}
        self._counts: dict[Side, int] = dict.fromkeys(self._queries, 0)

    def queries(self) -> Iterator[tuple[Side, Query]]:
        """Yield the tables that the trace has."""
        yield from self._queries.items()

    def add(self, side: Side, batch: Batch) -> None:
        """Take rows of one side with the columns of ``page_fault_query``."""
        if self._chosen is not None:
            found = self._chosen.of_processes(batch, batch.ints("process"))
            start_ns = found.ints("start_ns")
            # those of the CPU have no length
            counts, _ = self._chosen.counted(start_ns, np.maximum(found.ints("end_ns"), start_ns))
            batch = ChosenBatch(found, counts)
        self._counts[side] += exact_sum(batch.ints("count").clip(min=0))

    def merge(self, other: PageFaultPart) -> None:
        """Take the rows of another part of the same trace."""
        for side, count in other._counts.items():
            self._counts[side] += count

    def finish(self) -> PageFaults:
        """End the part."""
        return PageFaults(self._counts.get("cpu"), self._counts.get("gpu"))
