"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from nsys_digest.cli.output import Format

# readable=False: whoever opens the file says better what is wrong with it
Trace: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TRACE", readable=False, help="An nsys SQLite export (trace.sqlite).")
]
FormatChoice: TypeAlias = Annotated[
    Format | None, typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere.")
]


def _standard_output(path: Path | None) -> Path | None:
    """Read ``-`` as other commands do."""
    return None if path == Path("-") else path


Output: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        readable=False,
        callback=_standard_output,
        help="Write to FILE, whole or not at all.",
    ),
]
Compact: TypeAlias = Annotated[bool, typer.Option("--compact", help="JSON on one line.")]
StepName: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--steps", metavar="NAME|GLOB", help="Steps: instances of NVTX ranges of this name, or from mark to mark."
    ),
]
Warmup: TypeAlias = Annotated[
    int | None,
    typer.Option("--warmup", min=0, metavar="N", help="First steps of each process to set apart. Default: 1."),
]
AllowUnlike: TypeAlias = Annotated[
    str | None,
    typer.Option("--allow-mismatch", metavar="REASONS", help="Compare in spite of these, separated by commas."),
]
CategoriesFile: TypeAlias = Annotated[
    Path | None,
    typer.Option("--categories", metavar="FILE", readable=False, help="Kernel categories: a TOML file of your own."),
]
Folds: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--fold",
        metavar="RULE",
        help="Make NVTX names one: numbers (each becomes #), or 'REGEX=>TEXT'. May be repeated; in order.",
    ),
]
StoreFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of baselines. Default: .nsys-digest/baselines.")
]


def words_of(text: str | None) -> list[str]:
    """Return the words of an option that takes several, separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
