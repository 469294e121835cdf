"""Copies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.tables.columns import CALL, PLACE, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table, Texts
from nsys_digest.tables.work import ORDER, labels, work
from nsys_digest.trace.nsys.tables import COPY_KINDS, MEMORY_KINDS


def _rows(linked: Linked) -> Iterator[Rows]:
    operations = linked.events.operations
    named = operations.copy_labels
    kinds = Texts([COPY_KINDS.get(label.kind, "unknown") for label in named])
    sources = Texts([MEMORY_KINDS.get(label.source, "unknown") for label in named])
    destinations = Texts([MEMORY_KINDS.get(label.destination, "unknown") for label in named])
    at = 0
    for own, shared in work(linked, "memcpy"):  # those that count, in the order in which their sizes are kept
        label = labels(linked, own)
        size = operations.copies.bytes[at : at + own.size].astype(np.int64)
        at += own.size
        yield {
            **shared,
            "kind": kinds.of(label),
            "source": sources.of(label),
            "destination": destinations.of(label),
            "bytes": size,
        }


TABLE: Final = Table(
    "copies",
    "a copy of memory",
    ORDER,
    (
        *TIMES,
        Column("kind", "text", "-", "direction, such as HtoD; page migrations of unified memory begin with UVM"),
        Column("source", "text", "-", "kind of memory that it is from, such as pinned"),
        Column("destination", "text", "-", "kind of memory that it is to"),
        Column("bytes", "int64", "bytes", "size"),
        *PLACE,
        *CALL,
    ),
    _rows,
)
