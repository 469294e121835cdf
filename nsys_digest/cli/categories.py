"""``nsys-digest categories``."""

from __future__ import annotations

from typing import Annotated

import typer

from nsys_digest.cli.options import CategoriesFile, Compact, FormatChoice, MaxUnpacked, Output, Trace
from nsys_digest.cli.output import check_output, chosen_format, write_report
from nsys_digest.cli.scarce import shortage_at
from nsys_digest.cli.selection import (
    Devices,
    Processes,
    SkipWarmup,
    Streams,
    Window,
    Within,
    selection_keywords,
)


def command(
    trace: Trace,
    categories: CategoriesFile = None,
    window: Window = None,
    within: Within = None,
    skip_warmup: SkipWarmup = False,
    device: Devices = None,
    process: Processes = None,
    stream: Streams = None,
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
        selection = selection_keywords(window, within, skip_warmup, device, process, stream)
        found = classify(trace, categories=categories, max_unpacked=max_unpacked, **selection)
    write_report(lambda: found.to_json(compact=compact), lambda: categories_report(found, top), chosen, output)
