"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from nsys_digest.cli.output import Format

Trace: TypeAlias = Annotated[Path, typer.Argument(metavar="TRACE", help="An nsys SQLite export (trace.sqlite).")]
FormatChoice: TypeAlias = Annotated[
    Format | None, typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere.")
]
Output: TypeAlias = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to FILE, whole or not at all.")
]
Compact: TypeAlias = Annotated[bool, typer.Option("--compact", help="JSON on one line.")]
RulesFile: TypeAlias = Annotated[
    Path | None, typer.Option("--rules", metavar="FILE", help="Kernel categories: a TOML file of your own.")
]
StoreFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of baselines. Default: .nsys-digest/baselines.")
]
