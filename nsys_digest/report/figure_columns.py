"""The columns of a table of results: what heads a column and how its values are written follows from its field.

A row is a tuple of results, and of a name where it is about one. A column takes its value from the first result of its
type in the row, so that a table can have columns of a device and of what is within it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from nsys_digest.model.catalogue import Key, Unit, is_mapping, keys_of, without_none
from nsys_digest.model.quantity import shown_inside
from nsys_digest.report.blocks import NAME, Block, Column, named
from nsys_digest.units import MISSING, instant

Row: TypeAlias = tuple[Any, ...]
Number: TypeAlias = int | float


class TableColumn(Protocol):
    """A column: its head, and what it says of a row."""

    @property
    def head(self) -> Column:
        """The title of the column, and how it is set."""

    def cell(self, row: Row) -> str:
        """Return what stands in the column."""


@dataclass(frozen=True)
class FieldColumn:
    """A column of a declared field; of a mapping by names it has the value of the name in the row."""

    cls: type
    keys: tuple[Key, ...]
    title: str

    @property
    def head(self) -> Column:
        """The declared label, or the title that the table gives; texts are labels."""
        return Column(self.title, "number" if self._is_number else "label")

    def value(self, row: Row) -> Any:
        """Return the value, times in nanoseconds; None where a part on the way is, or no result in the row has it."""
        found: Any = next((one for one in row if isinstance(one, self.cls)), None)
        for key in self.keys:
            for name in key.attribute.split("."):
                found = None if found is None else getattr(found, name)
        if found is not None and is_mapping(self._hint):
            return found[next(one for one in row if isinstance(one, str))]
        return found

    def cell(self, row: Row) -> str:
        """Return the value as its unit is written."""
        return self.form(self.value(row))

    def form(self, value: Any) -> str:
        """Return a value of the unit of the field as it is written; a dash where there is none."""
        declared = self.keys[-1].declared
        if value is None:
            return MISSING
        if declared.unit is not None:
            return shown_inside(value, declared.unit, places=2 if self._hint is float else None)
        return instant(value) if declared.counts == "ns" else str(value)

    @cached_property
    def _hint(self) -> Any:
        return without_none(self.keys[-1].hint)[0]

    @property
    def _is_number(self) -> bool:
        return self._hint in (int, float) or self.keys[-1].declared.unit is not None


@dataclass(frozen=True, slots=True)
class MadeColumn:
    """A column of what no field has: made of the row."""

    head: Column
    cell: Callable[[Row], str]


def of(cls: type, path: str, title: str = "") -> FieldColumn:
    """Return the column of a field: ``of(LaunchCost, "queue_delay.p50_ns")``.

    A ``title`` stands in place of the declared label where the table must say more or less: of which part it is, or
    what a count counts.

    Raises:
        KeyError: there is no such field.
        ValueError: the title is the declared label.

    """
    keys, within = [], cls
    for name in path.split("."):
        found = {key.attribute.rpartition(".")[2]: key for key in keys_of(within)}
        keys.append(found[name])
        inner = without_none(found[name].hint)[0]
        within = inner if is_dataclass(inner) and isinstance(inner, type) else within
    label = keys[-1].declared.label or path.rpartition(".")[2]
    if title == label:
        raise ValueError(f"{cls.__name__}.{path} is declared as {label!r}: give no title")
    return FieldColumn(cls, tuple(keys), title or label)


def share(part: FieldColumn, whole: FieldColumn | Number, title: str = "share") -> MadeColumn:
    """Return the column of how much of a whole a part is."""

    def cell(row: Row) -> str:
        return ratio(part.value(row), whole.value(row) if isinstance(whole, FieldColumn) else whole)

    return MadeColumn(Column(title), cell)


def ratio(part: Number | None, whole: Number | None) -> str:
    """Write how much of a whole a part is; a dash where one is not known, or there is no whole."""
    return shown_inside(part / whole if part is not None and whole else None, "ratio")


def mean(total: FieldColumn, count: FieldColumn) -> MadeColumn:
    """Return the column of a total over how many, in the unit of the total, rounded down."""

    def cell(row: Row) -> str:
        number = count.value(row)
        return total.form(total.value(row) // number if number else None)

    return MadeColumn(Column("mean"), cell)


def made(title: str, unit: Unit, value: Callable[[Row], Number | None]) -> MadeColumn:
    """Return the column of a figure that no field has."""
    return MadeColumn(Column(title), lambda row: shown_inside(value(row), unit))


def told(head: Column, words: Callable[[Row], str]) -> MadeColumn:
    """Return the column of words about a row."""
    return MadeColumn(head, words)


NAME_OF_ROW = told(NAME, lambda row: named(next(one for one in row if isinstance(one, str))))
"""The name that a row is about."""


def cells(columns: Sequence[TableColumn], rows: Iterable[Row]) -> tuple[tuple[str, ...], ...]:
    """Return what stands in a table."""
    return tuple(tuple(column.cell(row) for column in columns) for row in rows)


def table(title: str, columns: Sequence[TableColumn], rows: Iterable[Row], note: str = "") -> Block:
    """Return a table of results."""
    return Block(title, tuple(column.head for column in columns), cells(columns, rows), note)


def line(row: Row, *columns: TableColumn) -> tuple[str, str]:
    """Return several columns of one row as what they are and how much."""
    return ", ".join(column.head.title for column in columns), ", ".join(column.cell(row) for column in columns)
