"""Sets of memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.tables.columns import CALL, PLACE, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table
from nsys_digest.tables.work import ORDER, labels, work


def _rows(linked: Linked) -> Iterator[Rows]:
    sizes = np.array(linked.events.operations.set_sizes, np.int64)
    for own, shared in work(linked, "memset"):
        yield {**shared, "bytes": sizes[labels(linked, own)]}


TABLE: Final = Table(
    "sets",
    "a set of memory",
    ORDER,
    (*TIMES, Column("bytes", "int64", "bytes", "size"), *PLACE, *CALL),
    _rows,
)
