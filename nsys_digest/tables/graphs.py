"""CUDA graphs that are traced as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from nsys_digest.tables.columns import CALL, PLACE, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table, known
from nsys_digest.tables.work import ORDER, labels, work


def _rows(linked: Linked) -> Iterator[Rows]:
    graphs = np.array(linked.events.operations.graph_ids, np.int64)
    for own, shared in work(linked, "graph"):
        yield {**shared, "graph_id": known(graphs[labels(linked, own)], 0)}


TABLE: Final = Table(
    "graphs",
    "a launch of a CUDA graph that is traced as a whole; of graphs traced node by node the kernels are in `kernels`",
    ORDER,
    (
        *TIMES,
        Column("graph_id", "int64", "-", "the executable graph; null where the trace does not say"),
        *PLACE,
        *CALL,
    ),
    _rows,
)
