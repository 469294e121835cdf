"""The report for a terminal."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

from rich import box
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.table import Table
from rich.text import Text

from nsys_digest.render.blocks import Bar, Block, Report
from nsys_digest.render.escape import one_line

_BAR_CELLS = 40
_NAME_CELLS = 16
_GAP_CELLS = 3
_ORDER = re.compile(r"^( *)::", re.MULTILINE)


def render(report: Report, *, width: int, color: bool) -> str:
    """Return the report as text of that width, with ANSI colours if asked for."""
    out = io.StringIO()
    console = Console(
        file=out,
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        legacy_windows=False,
        highlight=False,
        emoji=False,
        markup=False,
    )
    console.print(Text(one_line(report.title), style="bold"))
    for paragraph in report.lead:
        console.print(Text(one_line(paragraph)))
    if report.lead:
        console.print()
    labels = max((len(label) for label, _ in report.facts), default=0)
    for label, value in report.facts:
        console.print(Text.assemble((f"  {label:<{labels}}  ", "dim"), one_line(value)), soft_wrap=True)
    if report.bars:
        console.print()
        labels = max(len(one_line(bar.label)) for bar in report.bars)
        for bar in report.bars:
            console.print(_bar(bar, labels), soft_wrap=True)
    for block in report.blocks:
        console.print()
        console.print(Text(block.title, style="bold"))
        if _fits(block, width):
            console.print(_table(block))
        else:
            console.print(_stacked(block, width), soft_wrap=True)
        if block.note:
            console.print(Text(f"  {one_line(block.note)}", style="dim"))
    if report.warnings:
        console.print()
        console.print(Text("Warnings", style="bold yellow"))
        for warn in report.warnings:
            console.print(Text.assemble(("  ! ", "yellow"), one_line(warn.message), (f" [{warn.code}]", "dim")))
    if report.notes:
        console.print()
        console.print(Text(one_line(report.notes), style="dim"))
    # A line that begins with two colons is an order to the log of a GitHub Actions step.
    return _ORDER.sub(r"\1\\x3a:", out.getvalue())


def _bar(bar: Bar, labels: int) -> Text:
    label = f"  {one_line(bar.label):<{labels}}  "
    if bar.share is None:
        return Text.assemble(label, (bar.text, "dim"))
    # Full and empty are reserved for exactly all and exactly nothing.
    cells = round(bar.share * _BAR_CELLS)
    cells = min(max(cells, 1), _BAR_CELLS - 1) if 0 < bar.share < 1 else cells
    return Text.assemble(label, ("█" * cells, "green"), ("░" * (_BAR_CELLS - cells), "dim"), f"  {bar.text}")


def _table(block: Block) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=True, show_edge=False, header_style="dim")
    for column in block.columns:
        if column.kind == "number":
            table.add_column(column.title, justify="right", no_wrap=True)
        else:
            table.add_column(column.title, overflow="ellipsis" if len(block.columns) > 1 else "fold", ratio=1)
    for row in block.rows:
        cells = zip(block.columns, row, strict=True)
        table.add_row(*(Text(one_line(cell), no_wrap=len(block.columns) > 1) for _, cell in cells))
    return table


def _widths(block: Block) -> list[int]:
    columns = zip(*([column.title for column in block.columns], *block.rows), strict=True)
    return [max(cell_len(one_line(cell)) for cell in column) for column in columns]


def _fits(block: Block, width: int) -> bool:
    """Tell whether a table has room for its numbers whole and for a useful part of its names."""
    widths = zip(block.columns, _widths(block), strict=True)
    needed = sum(size if column.kind == "number" else min(size, _NAME_CELLS) for column, size in widths)
    return needed + _GAP_CELLS * len(block.columns) <= width


def _stacked(block: Block, width: int) -> Text:
    """Return a table that is too wide with the names of each row on a line of their own: no number is ever cut."""
    widths = _widths(block)
    numbers = [index for index, column in enumerate(block.columns) if column.kind == "number"]
    names = [index for index, column in enumerate(block.columns) if column.kind == "name"]
    gap = " " if sum(widths[index] + 2 for index in numbers) > width - 1 else "  "

    def lines(cells: tuple[str, ...], style: str) -> Iterator[tuple[str, str]]:
        yield gap.join(f"{one_line(cells[index]):>{widths[index]}}" for index in numbers), style
        if names:
            text = "  ".join(one_line(cells[index]) for index in names)
            yield f"    {text if cell_len(text) <= width - 5 else set_cell_size(text, width - 6) + '…'}", style

    rows = [*lines(tuple(column.title for column in block.columns), "dim")]
    rows += [line for row in block.rows for line in lines(row, "")]
    indent = gap[1:]
    return Text("\n").join(Text(f"{indent}{line}".rstrip(), style=style) for line, style in rows)
