"""``nsys-digest inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nsys_digest.cli.output import Format, check_output, chosen_format, write_report


def command(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="An nsys SQLite export (trace.sqlite).")],
    format: Annotated[
        Format | None, typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all.")
    ] = None,
    compact: Annotated[bool, typer.Option("--compact", help="JSON on one line.")] = False,
) -> None:
    """Say what is in a trace, and what is missing, without reading its events."""
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.pipeline import inspect

    found = inspect(trace)
    from nsys_digest.render.report import inspection_report

    write_report(lambda: found.to_json(compact=compact), lambda: inspection_report(found), chosen, output)
