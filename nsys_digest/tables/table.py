"""What a table is: its columns, each with type, unit and meaning, and what gives its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.events import NONE

if TYPE_CHECKING:
    from nsys_digest.tables.linked import Linked

ROWS: Final = 1 << 16
"""Rows of a batch at most."""

Kind: TypeAlias = Literal["int64", "bool", "text"]


@dataclass(frozen=True, slots=True)
class Column:
    """A column; a text is dictionary-encoded, so that each is held once. ``unit`` is ``-`` for none."""

    name: str
    type: Kind
    unit: str
    meaning: str


class Maybe(NamedTuple):
    """Numbers of which some are null, arrays of shape (n,)."""

    values: Int64s
    known: Bools


class Texts:
    """Texts by index, each different one held once; None is null."""

    def __init__(self, texts: Sequence[str | None]) -> None:
        """Take the text of each index."""
        ids: dict[str, int] = {}
        codes = [NONE if text is None else ids.setdefault(text, len(ids)) for text in texts]
        self.values = tuple(ids)
        self._code_of = np.array([*codes, NONE], np.int32)  # NONE is the last position

    def of(self, index: Ints) -> Text:
        """Return the texts of those indices; null for ``NONE``."""
        return Text(self._code_of[index], self)


class Text(NamedTuple):
    """Texts as codes, int32 of shape (n,), ``NONE`` for null."""

    codes: Ints
    texts: Texts


Values: TypeAlias = Int64s | Bools | Maybe | Text
Rows: TypeAlias = Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; ``rows`` gives its batches, columns by name in any order."""

    name: str
    meaning: str
    """What a row is."""
    order: str
    """In which order the rows are."""
    columns: tuple[Column, ...]
    rows: Callable[[Linked], Iterator[Rows]]


def slices(count: int) -> Iterator[slice]:
    """Cut so many rows into batches."""
    for low in range(0, count, ROWS):
        yield slice(low, min(low + ROWS, count))


def known(values: Ints, absent: int = NONE) -> Maybe:
    """Return numbers of which those that are ``absent`` are null."""
    wide = values.astype(np.int64)
    return Maybe(wide, wide != absent)
