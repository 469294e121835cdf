"""``nsys-digest rules``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nsys_digest.cli.output import Format, check_output, chosen_format, write_report


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="An nsys SQLite export (trace.sqlite).")],
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="FILE", help="Kernel categories: a TOML file of your own.")
    ] = None,
    format: Annotated[
        Format | None, typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all.")
    ] = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Rows to list in text and markdown.")] = 40,
    compact: Annotated[bool, typer.Option("--compact", help="JSON on one line.")] = False,
) -> None:
    """Show which rule took which kernel of a trace, and what no rule took."""
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.pipeline import classify
    from nsys_digest.render.account import rules_report

    found = classify(trace, rules=rules)
    write_report(lambda: found.to_json(compact=compact), lambda: rules_report(found, top), chosen, output)
