"""A block as lines of a terminal: columns side by side where they fit, else each row on several lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from rich.cells import cell_len

from nsys_digest.render.escape import one_line, shortened_names
from nsys_digest.render.wrap import shortened, wrapped
from nsys_digest.report.blocks import Block, Column

INDENT: Final = "  "
_BELOW = "      "
_LABEL_CELLS = 32
_READABLE = 20
_MOST_LINES = 4
_BRIEF_NAME = 30


@dataclass(frozen=True, slots=True)
class _Column:
    """A column as it is laid out: how wide its cells are, and whether they may go on to further lines."""

    title: str
    right: bool
    wraps: bool
    natural: int
    enough: int = 0
    """Cells that will do, whatever it has."""

    @property
    def least(self) -> int:
        """Cells that it needs at least to be read with ease, where it has as long ones."""
        if not self.wraps:
            return self.natural
        return min(self.natural, self.enough or max(_READABLE, -(-self.natural // _MOST_LINES)))


@dataclass(frozen=True, slots=True)
class _Line:
    """Columns side by side: which, how wide, how many spaces between and before them."""

    columns: tuple[_Column, ...]
    widths: tuple[int, ...]
    gap: int
    indent: str

    @property
    def titles(self) -> tuple[str, ...]:
        """What stands at the head of the columns."""
        return tuple(column.title for column in self.columns)

    def __len__(self) -> int:
        return len(self.indent) + sum(self.widths) + self.gap * (len(self.widths) - 1)


def table(block: Block, width: int) -> tuple[list[str], list[str]]:
    """Return (lines of the head, lines of the rows). None is wider than the width if every number fits into it.

    Numbers are whole, and so are names, save the middle of very long ones: what does not fit goes on to further lines.
    The time is linear in the length of the cells.
    """
    rows = _escaped(block)
    titles = [replace(column, title=one_line(column.title)) for column in block.columns]
    if block.look == "brief" and (lines := _brief(block, titles, rows, width)) is not None:
        return lines
    columns = [_column(column, cells) for column, cells in zip(titles, zip(*rows, strict=True), strict=True)]
    layout = _layout(columns, width)
    head = [text for line in layout if len(layout) == 1 or not _says_itself(line) for text in _cells(line)]
    rule = INDENT + "─" * (max(map(len, layout)) - len(INDENT))
    body: list[str] = []
    for row in rows:
        at = 0
        for line in layout:
            body += _cells(line, row[at : at + len(line.columns)])
            at += len(line.columns)
    return [*head, rule], body


def _brief(
    block: Block, titles: Sequence[Column], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[list[str], list[str]] | None:
    """Return the table with its title at the head of the last column, a line a row; None where there is no room.

    Of names that are too long the middle is left out, unless they would then read the same.
    """
    titles = [*titles[:-1], replace(titles[-1], title=one_line(block.title))]
    columns = [_column(column, cells) for column, cells in zip(titles, zip(*rows, strict=True), strict=True)]
    columns[-1] = replace(columns[-1], wraps=True, enough=_BRIEF_NAME)
    line = _line(columns, 2, INDENT, width)
    if line is None:
        return None
    names = shortened([row[-1] for row in rows], line.widths[-1])
    (head,) = _cells(line) if cell_len(titles[-1].title) <= line.widths[-1] else (None,)
    if head is None:
        return None
    body = [text for row, name in zip(rows, names, strict=True) for text in _cells(line, (*row[:-1], name))]
    return [head], body


def _escaped(block: Block) -> list[tuple[str, ...]]:
    """Return the rows with cells that a terminal can be sent."""
    columns = []
    for column, cells in zip(block.columns, zip(*block.rows, strict=True), strict=True):
        shown = [one_line(shortened_names(cell, column.joint)) for cell in cells]
        columns.append(_shortened(shown, column.joint) if column.kind == "name" else shown)
    return list(zip(*columns, strict=True))


def _shortened(cells: Sequence[str], joint: str) -> list[str]:
    """Return names with the middle of the longest left out; of cells of several names that of each."""
    if not joint:
        return shortened(cells)
    parts = [cell.split(joint) for cell in cells]
    names = sorted({name for part in parts for name in part})
    short = dict(zip(names, shortened(names), strict=True))
    return [joint.join(short[name] for name in part) for part in parts]


def _column(column: Column, cells: Sequence[str]) -> _Column:
    natural = max(cell_len(cell) for cell in (column.title, *cells))
    wraps = column.kind in {"name", "text"} or (column.kind == "label" and natural > _LABEL_CELLS)
    return _Column(column.title, column.kind == "number", wraps, natural)


def _layout(columns: Sequence[_Column], width: int) -> list[_Line]:
    """Put all columns on one line; where names would get too little room, numbers and names on lines of their own."""
    line = _line(columns, 2, INDENT, width)
    if line is None and all(column.natural <= _READABLE for column in columns):
        line = _line(columns, 1, INDENT, width)
    if line is not None:
        return [line]
    lines: list[_Line] = []
    for _, group in groupby(columns, key=lambda column: column.wraps):
        lines += _lines(list(group), _BELOW if lines else INDENT, width)
    return lines


def _lines(columns: Sequence[_Column], indent: str, width: int) -> list[_Line]:
    """Put columns of one group on as few lines as they need."""
    line = _line(columns, 2, indent, width) or _line(columns, 1, indent, width)
    if line is not None:
        return [line]
    if len(columns) == 1:
        (column,) = columns
        own = min(column.natural, max(width - len(indent), 1)) if column.wraps else column.natural
        return [_Line(tuple(columns), (own,), 1, indent)]
    fitting = max(count for count in range(1, len(columns)) if count == 1 or _line(columns[:count], 2, indent, width))
    return [*_lines(columns[:fitting], indent, width), *_lines(columns[fitting:], _BELOW, width)]


def _line(columns: Sequence[_Column], gap: int, indent: str, width: int) -> _Line | None:
    """Return the columns side by side, None where there is no room for them."""
    spare = width - len(indent) - gap * (len(columns) - 1) - sum(column.least for column in columns)
    if spare < 0:
        return None
    widths = [column.least for column in columns]
    wanting = sorted(range(len(columns)), key=lambda at: columns[at].natural - columns[at].least)
    for place, at in enumerate(wanting):
        more = min(columns[at].natural - columns[at].least, spare // (len(columns) - place))
        widths[at] += more
        spare -= more
    return _Line(tuple(columns), tuple(widths), gap, indent)


def _says_itself(line: _Line) -> bool:
    """Tell whether a line of the head can go: a name on a line of its own, below the numbers of its row, needs none."""
    return line.titles == ("name",)


def _cells(line: _Line, row: Sequence[str] | None = None) -> Iterator[str]:
    """Yield the lines of one row, or of the head, for one line of the layout: what is too long goes on below."""
    parts = [
        wrapped(cell, width) if column.wraps else [cell]
        for cell, column, width in zip(row or line.titles, line.columns, line.widths, strict=True)
    ]
    for depth in range(max(map(len, parts))):
        cells = (
            _padded(part[depth] if depth < len(part) else "", width, right=column.right)
            for part, column, width in zip(parts, line.columns, line.widths, strict=True)
        )
        yield (line.indent + (" " * line.gap).join(cells)).rstrip()


def _padded(cell: str, width: int, *, right: bool) -> str:
    blank = " " * (width - cell_len(cell))
    return blank + cell if right else cell + blank
