"""GPU work: kernels, copies, sets and graph launches, each with where it ran and the call that launched it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Rows

ORDER = "by start"


def work(linked: Linked, kind: str) -> Iterator[tuple[Int64s, Rows]]:
    """Yield operations of a kind that count, some at a time, and the columns that all of them have."""
    operations = linked.events.operations
    for own in linked.operations_of(kind):
        yield (
            own,
            {
                **linked.times(operations.start_ns[own], operations.end_ns[own]),
                **linked.place(own),
                **linked.call(operations.call[own], operations.correlation[own]),
            },
        )


def labels(linked: Linked, own: Int64s) -> Int64s:
    """Return the label of each operation."""
    return linked.events.operations.label[own].astype(np.int64)
