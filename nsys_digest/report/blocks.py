"""What every report is made of: blocks of plain text, which each format for people arranges in its own way."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal

from nsys_digest.model.base_types import Warn
from nsys_digest.units import MISSING


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a block.

    Numbers, which align right, and labels, a few words, stay on one line. Names and text go on to further lines; only
    of a very long name, which comes from the trace, the middle may be left out: of several names, which ``joint``
    joins, that of each.
    """

    title: str
    kind: Literal["number", "label", "name", "text"] = "number"
    joint: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """How much of a device's span it was busy; ``share`` is 0 to 1, None where that says nothing."""

    label: str
    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A table under a title, with a line below it where something was left out.

    Where lines are scarce a ``brief`` one has its title at the head of its last column and each row on a line, and
    ``pairs`` are labels and values without a head.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    look: Literal["table", "brief", "pairs"] = "table"


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a reader sees, in order."""

    title: str
    facts: tuple[tuple[str, str], ...]
    bars: tuple[Bar, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[Warn, ...]
    notes: str
    lead: tuple[str, ...] = ()
    """Paragraphs under the title that say the answer in words."""
    command: tuple[str, str] | None = None
    """(What it tells, a command that tells it), behind them; the command can be copied as it stands."""


ARROW: Final = " → "
SLASH: Final = " / "
NAME = Column("name", "name")


def numbers(*titles: str) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(map(Column, titles))


def named(name: str) -> str:
    """Return a name that can be seen and is not taken for a missing value: quoted where it is blank or a dash."""
    return "(no name)" if not name else f'"{name}"' if name.strip() in {"", MISSING} else name


def filled(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Return the blocks that have rows, without the columns in which no row has anything."""
    return tuple(_without_empty_columns(block) for block in blocks if block.rows)


def _without_empty_columns(block: Block) -> Block:
    cells = enumerate(zip(*block.rows, strict=True))
    kept = [index for index, column in cells if index == 0 or set(column) != {MISSING}]
    rows = tuple(tuple(row[index] for index in kept) for row in block.rows)
    return replace(block, columns=tuple(block.columns[index] for index in kept), rows=rows)


def more(count: int) -> str:
    """Say how many rows a list leaves out; nothing where it leaves out none."""
    return f"{count:,} more" if count > 0 else ""
