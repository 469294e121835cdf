"""``nsys-digest export``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.options import (
    CategoriesFile,
    DispatchPrefix,
    Folds,
    KeepExport,
    MaxUnpacked,
    NsysPath,
    Output,
    Quiet,
    RawNames,
    ReaderChoice,
    ReaderOption,
    StepName,
    Trace,
    Warmup,
    given,
)
from nsys_digest.cli.output import check_output, check_output_folder, folder_to_fill, on_terminal, tell, write_with
from nsys_digest.cli.progress import progress_bar
from nsys_digest.cli.selection import Devices, Processes, SkipWarmup, Streams, Window, Within, selection_keywords
from nsys_digest.errors import UsageInvalid

if TYPE_CHECKING:
    from nsys_digest.options import ExportKeywords
    from nsys_digest.tables.export import Tables


class TableFormat(StrEnum):
    """What a table is written as."""

    parquet = "parquet"
    arrow = "arrow"
    csv = "csv"
    ndjson = "ndjson"


_SUFFIXES: Final = {
    ".parquet": TableFormat.parquet,
    ".arrow": TableFormat.arrow,
    ".feather": TableFormat.arrow,
    ".csv": TableFormat.csv,
    ".ndjson": TableFormat.ndjson,
    ".jsonl": TableFormat.ndjson,
}


def command(
    context: typer.Context,
    trace: Trace,
    table: Annotated[
        str | None,
        typer.Option(
            "--table",
            "-t",
            metavar="NAME",
            help="kernels, copies, sets, graphs, api, nvtx, marks, gaps, launches or steps.",
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every table, into the folder that -o names.")] = False,
    format: Annotated[
        TableFormat | None,
        typer.Option("--format", "-f", help="Default: what FILE ends in; csv without it, parquet of --all."),
    ] = None,
    output: Output = None,
    raw_nvtx_names: RawNames = False,
    fold: Folds = None,
    dispatch_prefix: DispatchPrefix = "CG_DISPATCH",
    steps: StepName = None,
    warmup: Warmup = None,
    window: Window = None,
    within: Within = None,
    skip_warmup: SkipWarmup = False,
    device: Devices = None,
    process: Processes = None,
    stream: Streams = None,
    categories: CategoriesFile = None,
    reader: ReaderOption = ReaderChoice.auto,
    max_unpacked: MaxUnpacked = None,
    nsys: NsysPath = None,
    keep_export: KeepExport = None,
    quiet: Quiet = False,
) -> None:
    """Write the events of a trace as tables.

    Each event has its names, and the call and the range that it is due to.
    """
    if every == (table is not None):
        raise UsageInvalid("one table or all: give --table NAME, or --all -o DIR")
    from nsys_digest.tables.registry import TABLES, table_of

    names = [one.name for one in TABLES] if table is None else [table_of(table).name]
    chosen = _format(format, output, every=every)
    if every:
        if output is None:
            raise UsageInvalid("--all writes a file a table; name the folder for them with -o DIR")
        check_output_folder(output)
    else:
        check_output(output, trace)
    asked = given(
        context,
        dispatch_prefix=dispatch_prefix,
        raw_nvtx_names=raw_nvtx_names,
        folds=fold or (),
        categories=categories,
        steps=steps,
        warmup=warmup,
        reader=reader.value,
        max_unpacked=max_unpacked,
        nsys=nsys,
        keep_export=keep_export,
        **selection_keywords(window, within, skip_warmup, device, process, stream),
    )
    from nsys_digest.api import export_tables

    with progress_bar(trace) as show:
        keywords = {**asked, "progress": show, "when_read": give_back_freed_memory, "tell": None if quiet else tell}
        tables = export_tables(trace, names, **cast("ExportKeywords", keywords))
        if every and output is not None:
            with folder_to_fill(output) as folder:
                for name in names:
                    with (folder / f"{name}.{chosen}").open("xb") as file:
                        _write(tables, name, chosen, file)
        else:
            write_with(lambda file: _write(tables, names[0], chosen, file), output)


def _format(asked: TableFormat | None, output: Path | None, *, every: bool) -> TableFormat:
    """Return the format asked for, or that of the name of the file.

    Raises:
        UsageInvalid: it is none for standard output, or the name of the file says none.

    """
    if asked is None:
        if every:
            return TableFormat.parquet
        if output is None:
            return TableFormat.csv
        if output.suffix.lower() not in _SUFFIXES:
            raise UsageInvalid(f"{output}: the name does not say in which format; end it in .parquet, or give --format")
        return _SUFFIXES[output.suffix.lower()]
    binary = asked in {TableFormat.parquet, TableFormat.arrow}
    if binary and output is None and not every:
        where = "a terminal" if on_terminal(None) else "standard output"
        raise UsageInvalid(f"{asked} is not for {where}; name the file with -o FILE.{asked}")
    return asked


def _write(tables: Tables, name: str, chosen: TableFormat, file: Any) -> None:
    from nsys_digest.render.table_files import write_table

    write_table(tables.reader(name), chosen.value, file)
