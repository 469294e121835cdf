"""``nsys-digest categories``."""

from __future__ import annotations

from typing import Annotated

import typer

from nsys_digest.cli.options import CategoriesFile, Compact, FormatChoice, MaxUnpacked, Output, Trace
from nsys_digest.cli.output import check_output, chosen_format, write_report
from nsys_digest.cli.scarce import shortage_at


def command(
    trace: Trace,
    categories: CategoriesFile = None,
    format: FormatChoice = None,
    output: Output = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Rows to list in text and markdown.")] = 40,
    compact: Compact = False,
    max_unpacked: MaxUnpacked = None,
) -> None:
    """Show the category of each kernel, and its pattern.

    What no pattern took comes first.
    """
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.api import classify
    from nsys_digest.report.categories import categories_report

    with shortage_at(trace):
        found = classify(trace, categories=categories, max_unpacked=max_unpacked)
    write_report(lambda: found.to_json(compact=compact), lambda: categories_report(found, top), chosen, output)
