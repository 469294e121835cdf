"""What every report is made of: blocks of plain text, which each format for people arranges in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nsys_digest.parts import Warn


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a block: numbers align right, names may be cut."""

    title: str
    kind: Literal["number", "name"] = "number"


@dataclass(frozen=True, slots=True)
class Bar:
    """How much of a device's span it was busy; ``share`` is 0 to 1, None without GPU activity."""

    label: str
    share: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """A table under a title, with a line below it where something was left out."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


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


NAME = Column("name", "name")


def numbers(*titles: str) -> tuple[Column, ...]:
    """Return columns of numbers."""
    return tuple(map(Column, titles))


def more(count: int) -> str:
    """Say how many rows a list leaves out; nothing where it leaves out none."""
    return f"{count:,} more" if count > 0 else ""
