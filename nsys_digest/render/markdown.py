"""The report for a pull request or the summary of a CI step."""

from __future__ import annotations

from nsys_digest.render.escape import markdown, markdown_code, shortened_names
from nsys_digest.report.blocks import Block, Report
from nsys_digest.units import MISSING


def render(report: Report) -> str:
    """Return the report as GitHub-flavoured Markdown."""
    parts = [f"## {markdown(report.title)}", *map(markdown, report.lead)]
    if report.command:
        what, words = report.command
        parts.append(f"{markdown(what)}: {markdown_code(words, in_table=False)}")
    parts.append(_facts(report))
    parts.extend(_block(block) for block in report.blocks)
    if report.warnings:
        lines = (f"- **{markdown(warn.code)}** {markdown(warn.message)}" for warn in report.warnings)
        parts.append("### Warnings\n\n" + "\n".join(lines))
    if report.notes:
        parts.append(f"*{markdown(report.notes)}*")
    return "\n\n".join(parts) + "\n"


def _facts(report: Report) -> str:
    rows = [*report.facts, *((bar.label, bar.text) for bar in report.bars)]
    return "\n".join(["| | |", "|:--|:--|", *(f"| {markdown(label)} | {markdown(value)} |" for label, value in rows)])


def _block(block: Block) -> str:
    header = "| " + " | ".join(markdown(column.title) for column in block.columns) + " |"
    rule = "|" + "|".join("--:" if column.kind == "number" else ":--" for column in block.columns) + "|"
    rows = [
        "| "
        + " | ".join(
            markdown_code(shortened_names(cell, column.joint))
            if column.kind == "name" and cell != MISSING
            else markdown(cell)
            for column, cell in zip(block.columns, row, strict=True)
        )
        + " |"
        for row in block.rows
    ]
    note = f"\n\n{markdown(block.note)}" if block.note else ""
    return f"### {markdown(block.title)}\n\n" + "\n".join([header, rule, *rows]) + note
