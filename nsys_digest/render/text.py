"""The report for a terminal: no line is wider than the terminal, and a narrow one shows what a wide one does."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from nsys_digest.render.escape import one_line, without_line_command
from nsys_digest.render.table import INDENT, table
from nsys_digest.render.wrap import shortened, wrapped
from nsys_digest.report.blocks import Bar, Block, Report

_BAR_CELLS = 40
_LEAST_BAR_CELLS = 10
_LEAST_WIDTH = 20


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
        _environ={},  # of the environment it would take COLUMNS, however many digits that has
    )
    for line in _lines(report, max(width, _LEAST_WIDTH)):
        console.print(line, soft_wrap=True)
    # Whatever the wrapping made of it, no line may be a command to the log of a CI step.
    return "\n".join(map(without_line_command, out.getvalue().split("\n")))


def _lines(report: Report, width: int) -> Iterator[Text]:
    yield from _paragraph(report.title, width, style="bold")
    asked = (": ".join(report.command),) if report.command else ()
    for paragraph in (*report.lead, *asked):
        yield from _paragraph(paragraph, width)
    if report.lead:
        yield Text()
    yield from _pairs(report.facts, width)
    if report.bars:
        yield Text()
        yield from _bars(report.bars, width)
    for block in report.blocks:
        yield Text()
        yield from _block(block, width)
    if report.warnings:
        yield Text()
        yield Text("Warnings", style="bold yellow")
        for warn in report.warnings:
            yield from _hanging("  ! ", f"{warn.message} [{warn.code}]", width, style="yellow")
    if report.notes:
        yield Text()
        yield from _paragraph(report.notes, width, style="dim")


def _pairs(pairs: Iterable[tuple[str, ...]], width: int) -> Iterator[Text]:
    shown = [(one_line(label), value) for label, value in pairs]
    labels = max((cell_len(label) for label, _ in shown), default=0)
    for label, value in shown:
        yield from _hanging(f"{INDENT}{label}{' ' * (labels - cell_len(label))}  ", value, width)


def _paragraph(text: str, width: int, *, style: str = "", indent: str = "") -> Iterator[Text]:
    for line in wrapped(one_line(text), width - len(indent)):
        yield Text(indent + line, style=style)


def _hanging(label: str, text: str, width: int, *, style: str = "dim") -> Iterator[Text]:
    """Yield text behind a label, which is escaped; its further lines begin below its first."""
    lines = wrapped(one_line(text), max(width - cell_len(label), 1))
    for lead, line in zip([label, *[" " * cell_len(label)] * (len(lines) - 1)], lines, strict=True):
        yield Text.assemble((lead, style), line)


def _bars(bars: tuple[Bar, ...], width: int) -> Iterator[Text]:
    """Yield a line for each device; all bars are of one length, below their labels where those leave no room."""
    labels = shortened([one_line(bar.label) for bar in bars])
    widest = max(map(cell_len, labels))
    bars = tuple(replace(bar, text=one_line(bar.text)) for bar in bars)
    texts = max((cell_len(bar.text) for bar in bars if bar.share is not None), default=0)
    beside = width - widest - texts - 3 * len(INDENT)
    room = beside if beside >= _LEAST_BAR_CELLS else width - texts - 3 * len(INDENT)
    for label, bar in zip(labels, bars, strict=True):
        if beside >= _LEAST_BAR_CELLS:
            label = f"{INDENT}{label}{' ' * (widest - cell_len(label))}{INDENT}"
        else:
            yield from _paragraph(label, width, indent=INDENT)
            label = 2 * INDENT
        if bar.share is None:
            yield from _hanging(label, bar.text, width)
        else:
            drawn = _drawn(bar.share, max(min(room, _BAR_CELLS), 1))
            yield Text.assemble(label, *drawn, f"{INDENT}{bar.text}")


def _drawn(share: float, width: int) -> tuple[tuple[str, str], tuple[str, str]]:
    # Full and empty are reserved for exactly all and exactly nothing.
    cells = round(share * width)
    cells = min(max(cells, 1), width - 1) if 0 < share < 1 else min(max(cells, 0), width)
    return ("█" * cells, "green"), ("░" * (width - cells), "dim")


def _block(block: Block, width: int) -> Iterator[Text]:
    if block.look == "pairs":
        yield from _paragraph(block.title, width, style="bold")
        yield from _pairs(block.rows, width)
        return
    head, rows = table(block, width)
    titled = block.look == "brief" and len(head) == 1
    if not titled:
        yield from _paragraph(block.title, width, style="bold")
    for line in head:
        yield Text(line, style="bold" if titled else "dim")
    for line in rows:
        yield Text(line)
    if block.note:
        yield from _paragraph(block.note, width, style="dim", indent=INDENT)
