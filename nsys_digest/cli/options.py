"""Arguments and options that several commands share."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import typer

from nsys_digest.cli.output import Format
from nsys_digest.errors import UsageInvalid

_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,6})?) ?((?:[KMGT]I?)?B?)", re.IGNORECASE)
_UNITS: Final = {
    prefix + ("I" if binary else "") + end: (1024 if binary else 1000) ** power
    for power, prefix in enumerate(("", "K", "M", "G", "T"))
    for binary in (False, True)
    for end in ("B", "")
}


def _input(text: str) -> Path:
    from nsys_digest.trace.packings.input_path import input_path

    return input_path(text)


_TRACE: Final = "An nsys export or report, packed or not; an address; - for standard input."
Trace: TypeAlias = Annotated[Path, typer.Argument(metavar="TRACE", parser=_input, help=_TRACE)]
OptionalTrace: TypeAlias = Annotated[Path | None, typer.Argument(metavar="[TRACE]", parser=_input, help=_TRACE)]
TraceOrDigest: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TRACE", parser=_input, help=f"{_TRACE} Or a stored digest, or @NAME.")
]
TraceOrDocument: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TRACE", parser=_input, help=f"{_TRACE} Or a stored digest.")
]
MaxUnpacked: TypeAlias = Annotated[
    int | None,
    typer.Option(
        "--max-unpacked",
        metavar="SIZE",
        parser=lambda text: _bytes_of(text),
        help="Most bytes to unpack, such as 50GB. Default: 200 times the packed size.",
    ),
]
NsysPath: TypeAlias = Annotated[
    Path | None, typer.Option("--nsys", metavar="PATH", readable=False, help="The nsys that exports a report.")
]
KeepExport: TypeAlias = Annotated[
    Path | None,
    typer.Option("--keep-export", metavar="FILE", readable=False, help="Keep the SQLite export of a report there."),
]
FormatChoice: TypeAlias = Annotated[
    Format | None, typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere.")
]


class DigestFormat(StrEnum):
    """What a digest looks like: a report, or the long table of its figures."""

    json = "json"
    text = "text"
    markdown = "markdown"
    csv = "csv"
    ndjson = "ndjson"


DigestFormatChoice: TypeAlias = Annotated[
    DigestFormat | None,
    typer.Option("--format", "-f", help="Default: text on a terminal, json elsewhere. csv and ndjson: every figure."),
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
RawNames: TypeAlias = Annotated[
    bool, typer.Option("--raw-nvtx-names", help="Keep the serial numbers that PyTorch and XLA put in range names.")
]
DispatchPrefix: TypeAlias = Annotated[
    str, typer.Option("--dispatch-prefix", metavar="TEXT", help="How the text of a dispatch mark begins.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="No warnings on standard error.")]


class ReaderChoice(StrEnum):
    """Which library reads the file."""

    auto = "auto"
    adbc = "adbc"
    stdlib = "stdlib"


ReaderOption: TypeAlias = Annotated[
    ReaderChoice, typer.Option("--reader", help="adbc is fast; stdlib needs no driver; both give the same bytes.")
]
StoreFolder: TypeAlias = Annotated[
    Path | None, typer.Option("--store", metavar="DIR", help="Folder of baselines. Default: .nsys-digest/baselines.")
]


Full: TypeAlias = Annotated[bool, typer.Option("--full", help="In text and markdown all tables, and not one screen.")]
NoPager: TypeAlias = Annotated[bool, typer.Option("--no-pager", help="Text goes to the terminal at once.")]


def _bytes_of(text: str) -> int:
    """Read a number of bytes, with a unit or without."""
    match = _SIZE.fullmatch(text.strip())
    if match is None or float(match[1]) <= 0:
        raise UsageInvalid(f"--max-unpacked {text} is no size; give one such as 500MB or 50GB")
    return max(1, int(float(match[1]) * _UNITS[match[2].upper()]))


def given(context: typer.Context, **options: Any) -> Any:
    """Return those options that are on the command line, and those that are no options of the command.

    The others have their defaults anyway, and a stored digest is not asked for what nobody asked for.
    """
    own = {parameter.name for parameter in context.command.params}
    sources = {name: context.get_parameter_source(name) for name in own & options.keys() if name}
    # by its name: typer has moved click's classes more than once
    unsaid = {name for name, source in sources.items() if source is None or source.name.startswith("DEFAULT")}
    return {name: value for name, value in options.items() if name not in unsaid}


def words_of(text: str | None) -> list[str]:
    """Return the words of an option that takes several, separated by commas."""
    return [word.strip() for word in (text or "").split(",") if word.strip()]
