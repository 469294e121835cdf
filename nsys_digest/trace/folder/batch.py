"""Arrow record batches as the columns that a query asks for, whatever types a writer chose.

SQLite knows one integer of 64 bits, with a sign, and takes anything anywhere; here every column has a type of its own,
some without a sign, and flags are bits. What is beyond the sign comes out as SQLite stores it, wrapped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.errors import ValueUnreadable
from nsys_digest.trace.arrow_texts import TEXT_TYPES, decoded, distinct_texts
from nsys_digest.trace.source import Query, Tail, Value

_WHOLE = frozenset({"int8", "int16", "int32", "uint8", "uint16", "uint32", "bool"})
_FRACTIONS = frozenset({"halffloat", "float", "double"})


class FolderBatch:
    """Some rows of a table; a column that the table lacks, and every null, is its absent value."""

    def __init__(self, path: Path, made_by: str, query: Query, batch: Any) -> None:
        """Wrap a ``pyarrow.RecordBatch`` with the table's own names; the path and the command are for messages."""
        self._path, self._made_by, self._query, self._batch = path, made_by, query, batch
        self._present = frozenset(batch.schema.names)

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self._batch.num_rows)

    def ints(self, name: str) -> Int64s:
        """Return an integer column, without a copy where it is of 64 bits and has no nulls.

        Raises:
            ValueUnreadable: it is text, or holds a fraction.

        """
        wanted = self._query.columns[name]
        if wanted.name is None or wanted.name not in self._present:
            return np.full(len(self), wanted.absent, np.int64)
        column = signed(self._batch.column(wanted.name))
        if column is None:
            raise self._unreadable(wanted.name, "integers")
        if column.null_count:
            column = column.fill_null(wanted.absent)
        # not to_numpy(): that imports pandas where it is installed (github.com/apache/arrow/issues/34994)
        return np.frombuffer(column.buffers()[1], np.int64, len(column), column.offset * 8)

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column of numbers as doubles, without a copy where it holds such and has no nulls.

        Raises:
            ValueUnreadable: it is text.

        """
        wanted = self._query.columns[name]
        if wanted.name is None or wanted.name not in self._present:
            return np.full(len(self), wanted.absent, np.float64)
        column = self._batch.column(wanted.name)
        if str(column.type) not in _FRACTIONS:
            column = signed(column)
            if column is None:
                raise self._unreadable(wanted.name, "numbers")
        column = column.cast("double")
        if column.null_count:
            column = column.fill_null(float(wanted.absent))
        return np.frombuffer(column.buffers()[1], np.float64, len(column), column.offset * 8)

    def texts(self, name: str, cut: Tail | None = None) -> tuple[Int64s, list[str]]:
        """Return a text column by its distinct values."""
        wanted = self._query.columns[name]
        if wanted.name is None or wanted.name not in self._present:
            return np.zeros(len(self), np.int64), [str(wanted.absent)] if len(self) else []
        column = as_text(self._batch.column(wanted.name))
        if column.null_count == len(column):
            return np.zeros(len(self), np.int64), [str(wanted.absent)] if len(self) else []
        if column.null_count:
            column = column.fill_null(wanted.absent if "string" in str(column.type) else str(wanted.absent).encode())
        return distinct_texts(column, cut)

    def _unreadable(self, column: str, expected: str) -> ValueUnreadable:
        kind = self._batch.column(column).type
        return ValueUnreadable(
            f"{self._path}: column {column} of table {self._query.table} is of type {kind} where {expected} belong; "
            f"export the report again with: {self._made_by}"
        )


def signed(column: Any) -> Any:
    """Return a column as int64, with its nulls; None where that is not what it holds."""
    kind = str(column.type)
    if kind == "int64":
        return column
    if kind == "uint64":
        return column.view("int64")
    if kind == "null" or kind in _WHOLE:
        return column.cast("int64")
    if kind.startswith("dictionary"):
        return signed(column.dictionary_decode())
    if kind in _FRACTIONS:
        return _whole(column)
    return None


def _whole(column: Any) -> Any:
    """Return floats that are all whole as int64; None where one is not."""
    import pyarrow

    try:
        return column.cast("int64")
    except pyarrow.ArrowInvalid:
        return None


def as_text(column: Any) -> Any:
    """Return a column as text or bytes, with its nulls; numbers are written out."""
    kind = str(column.type)
    if kind.startswith("dictionary"):
        return as_text(column.dictionary_decode())
    if kind in TEXT_TYPES:
        return column
    if kind in {"string_view", "binary_view"}:
        return column.cast("large_" + kind.removesuffix("_view"))
    return (column.cast("int8") if kind == "bool" else column).cast("string")


def values_of(column: Any) -> list[Value]:
    """Return the values of a column as SQLite has them: flags as 0 and 1, large ids with a sign, bytes as text."""
    whole = signed(column) if not str(column.type).startswith(("halffloat", "float", "double")) else column
    if whole is not None:
        found: list[Value] = whole.to_pylist()
        return found
    text = as_text(column)
    if not text.null_count:
        return list(decoded(text))
    there = iter(decoded(text.drop_null()))
    return [next(there) if valid else None for valid in text.is_valid().to_pylist()]
