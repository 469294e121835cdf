"""Kernels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nsys_digest.tables.columns import CALL, PLACE, TIMES
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Rows, Table
from nsys_digest.tables.work import ORDER, labels, work


def _rows(linked: Linked) -> Iterator[Rows]:
    for own, shared in work(linked, "kernel"):
        label = labels(linked, own)
        yield {**shared, "name": linked.short_names.of(label), "full_name": linked.full_names.of(label)}


TABLE: Final = Table(
    "kernels",
    "a kernel",
    ORDER,
    (
        *TIMES,
        Column("name", "text", "-", "short name, as in `top_kernels`"),
        Column("full_name", "text", "-", "name with its template arguments and parameters"),
        *PLACE,
        *CALL,
    ),
    _rows,
)
