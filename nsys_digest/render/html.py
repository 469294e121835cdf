"""The report as a fragment of HTML, for a notebook: no script, no style sheet, nothing that is loaded."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import Final

from nsys_digest.render.escape import one_line, shortened_names
from nsys_digest.report.blocks import Block, Report

_RIGHT: Final = ' style="text-align:right"'
_LEFT: Final = ' style="text-align:left"'


def render(report: Report) -> str:
    """Return the report as a ``div``; the text of the trace in it cannot become markup."""
    return "\n".join(_parts(report)) + "\n"


def _parts(report: Report) -> Iterator[str]:
    yield "<div>"
    yield f"<h3>{_text(report.title)}</h3>"
    yield from (f"<p>{_text(paragraph)}</p>" for paragraph in report.lead)
    if report.command:
        what, words = report.command
        yield f"<p>{_text(what)}: <code>{_text(words)}</code></p>"
    facts = [*report.facts, *((bar.label, bar.text) for bar in report.bars)]
    yield "<table>"
    yield from (f"<tr><th{_LEFT}>{_text(label)}</th><td{_LEFT}>{_text(value)}</td></tr>" for label, value in facts)
    yield "</table>"
    for block in report.blocks:
        yield from _block(block)
    if report.warnings:
        yield "<h4>Warnings</h4>"
        lines = (f"<li><b>{_text(warn.code)}</b> {_text(warn.message)}</li>" for warn in report.warnings)
        yield f"<ul>{''.join(lines)}</ul>"
    if report.notes:
        yield f"<p><i>{_text(report.notes)}</i></p>"
    yield "</div>"


def _block(block: Block) -> Iterator[str]:
    aligned = [_RIGHT if column.kind == "number" else _LEFT for column in block.columns]
    yield f"<h4>{_text(block.title)}</h4>"
    yield "<table>"
    titles = (f"<th{side}>{_text(column.title)}</th>" for column, side in zip(block.columns, aligned, strict=True))
    yield f"<tr>{''.join(titles)}</tr>"
    for row in block.rows:
        cells = (
            f"<td{side}>{_text(shortened_names(cell, column.joint))}</td>"
            for cell, side, column in zip(row, aligned, block.columns, strict=True)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"
    if block.note:
        yield f"<p>{_text(block.note)}</p>"


def _text(text: str) -> str:
    return html.escape(one_line(text))
