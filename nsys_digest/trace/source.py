"""What a container of tables offers: column names, batches of columns, and rows of small tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s

Reader: TypeAlias = Literal["auto", "adbc", "stdlib"]
RowRange: TypeAlias = tuple[int, int] | None
"""A range of row ids, first included, last included; None is the whole table."""

Value: TypeAlias = int | float | str | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column to read, and the value that stands for NULL and for a column that the table lacks.

    The type of ``absent`` is the type of the column: int gives int64, float gives double, str gives text.
    """

    name: str | None
    absent: int | float | str = 0


class Between(NamedTuple):
    """That an integer column of a query is from ``low`` to ``high``, both included; None is no bound."""

    column: str
    low: int | None
    high: int | None


class Less(NamedTuple):
    """That an integer column is less than another."""

    column: str
    other: str


class Begins(NamedTuple):
    """That a text column begins so."""

    column: str
    text: str


class Other(NamedTuple):
    """That integer columns do not have any of these values together, of which there is at least one."""

    columns: tuple[str, ...]
    than: tuple[tuple[int, ...], ...]


class Either(NamedTuple):
    """That at least one of these holds: cheaper than alternatives that share their other tests."""

    of: tuple[Between, ...]


Test: TypeAlias = Between | Less | Begins | Other | Either
Alternatives: TypeAlias = tuple[tuple[Test, ...], ...]
"""Any of these, of which all must hold."""


@dataclass(frozen=True, slots=True)
class Where:
    """Which rows: those for which any of ``any_of`` holds, and none of ``none_of``."""

    any_of: Alternatives
    none_of: Alternatives = ()


@dataclass(frozen=True, slots=True)
class Query:
    """Columns of one table, by the names that the batches have for them; of some rows where ``where`` says which.

    Only a :class:`SelectingSource` knows ``where``.
    """

    table: str
    columns: Mapping[str, Column]
    where: Where | None = None


class Tail:
    """Pieces of one pattern at the end of a text, in the syntax that Python and RE2 share."""

    def __init__(self, piece: str) -> None:
        """Compile the pattern of one piece, which must not match the empty text.

        What follows a piece must not depend on where in it the pattern could have ended as well.
        """
        self.re2 = f"(?:{piece})+$"
        self._run = re.compile(f"(?:{piece})++")

    def off(self, text: str) -> str:
        """Return the text without the pieces at its end; the time is linear in its length."""
        end = 0, 0
        for found in self._run.finditer(text):  # each run once: a search for one at the end would begin at every piece
            end = found.span()
        return text[: end[0]] if end[1] == len(text) else text


class ReaderUnfitError(Exception):
    """Raised when a fast reader cannot read a container as it is; the standard library must."""


class Batch(Protocol):
    """Some rows of a query's columns."""

    def __len__(self) -> int:
        """Return the number of rows n."""
        ...

    def ints(self, name: str) -> Int64s:
        """Return an integer column of the query: int64, shape (n,), valid until the next batch is asked for."""
        ...

    def floats(self, name: str) -> npt.NDArray[np.float64]:
        """Return a column of doubles of the query, shape (n,), valid until the next batch is asked for."""
        ...

    def texts(self, name: str, cut: Tail | None = None) -> tuple[Int64s, list[str]]:
        """Return a text column as (codes, values): row i holds ``values[codes[i]]``; not valid UTF-8 is replaced.

        The tail ``cut`` is taken off each text; the values may then repeat.
        """
        ...


class Source(Protocol):
    """A container of tables, open for reading only."""

    path: Path
    kind: str
    """What a message calls it: "an SQLite file"."""
    made_by: str
    """The command that makes one of a report."""
    size_bytes: int
    most_rows: int
    """More rows than a table of a file of this size can hold."""

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the column names of each table."""
        ...

    def refuse_other(self, name: str) -> None:
        """Raise NotATrace where something that is not a table of rows has that name."""
        ...

    def row_count(self, table: str, *, exact: bool) -> tuple[int, bool]:
        """Return (rows, whether that is exact); without ``exact`` the answer must be quick."""
        ...

    def parts(self, table: str, rows_per_part: int) -> list[RowRange]:
        """Return row ranges that together hold the whole table, each row once."""
        ...

    def check_whole(self, table: str, rows_read: int) -> None:
        """Raise TraceUnreadable unless that is the number of rows of the table."""
        ...

    def batches(self, query: Query, part: RowRange = None) -> Iterator[Batch]:
        """Yield the rows of the query; may be called from several threads at once."""
        ...

    def rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Value, ...]]:
        """Return all rows of a small table; a column that the table lacks gives None."""
        ...

    def time_range(self, table: str, start: str, end: str, *, exact: bool) -> tuple[int, int] | None:
        """Return (smallest start, largest end) of a table, or of its first and last thousand rows; None if empty."""
        ...

    def strings(self, table: str, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of those ids in a table of (id, value); ids that are not there are left out."""
        ...

    def close(self) -> None:
        """Close every connection and file."""
        ...


@runtime_checkable
class SelectingSource(Source, Protocol):
    """A source that finds some of the rows of a table faster than it gives all of them."""

    def distinct(self, query: Query, columns: tuple[str, ...]) -> list[tuple[int, ...]]:
        """Return the different values that some integer columns of a query have together."""
        ...

    def sampled(self, query: Query, columns: tuple[str, ...], most_rows: int) -> list[tuple[int, ...]] | None:
        """Return the different values that some integer columns have together in rows all over the table.

        None where rows cannot be picked out.
        """
        ...

    def least(self, query: Query, column: str, of: Iterable[Alternatives]) -> list[int | None]:
        """Return the least value of a column among the rows of each of several alternatives; None where is no row."""
        ...

    def rows_near(self, query: Query, column: str, low: int, high: int) -> RowRange:
        """Return the range of row ids in which values from ``low`` to ``high`` are, were the rows in order of them.

        It is a guess: they need not be. None where nothing can be guessed.
        """
        ...

    def ids_of_texts(self, table: str, beginnings: Iterable[str]) -> list[int]:
        """Return the ids in a table of (id, value) of texts that begin so."""
        ...
