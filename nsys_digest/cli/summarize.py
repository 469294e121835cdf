"""``nsys-digest summarize``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from nsys_digest.cli.labels import LabelCi, Labels, labels_of
from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.options import (
    CategoriesFile,
    Compact,
    DigestFormat,
    DigestFormatChoice,
    DispatchPrefix,
    Folds,
    Full,
    KeepExport,
    MaxUnpacked,
    NoPager,
    NsysPath,
    Output,
    Quiet,
    RawNames,
    ReaderChoice,
    ReaderOption,
    StepName,
    StoreFolder,
    TraceOrDigest,
    Warmup,
    given,
    words_of,
)
from nsys_digest.cli.output import Format, check_output, chosen_format, on_terminal, tell, warn, write, write_report
from nsys_digest.cli.progress import progress_bar
from nsys_digest.cli.selection import (
    Devices,
    Processes,
    SkipWarmup,
    Streams,
    Window,
    Within,
    selection_keywords,
)
from nsys_digest.errors import UsageInvalid
from nsys_digest.model.views import SCREEN, TOP, Shown

if TYPE_CHECKING:
    from nsys_digest.options import SummarizeKeywords


_LINES: Final[Mapping[str, Literal["csv", "ndjson"]]] = {"csv": "csv", "ndjson": "ndjson"}


def chosen_sections(names: str) -> list[str] | None:
    """Read the value of ``--sections``: None stands for all."""
    if names in {"all", "base"}:
        return None if names == "all" else []
    from nsys_digest.model.digest import ON_REQUEST, SECTIONS

    asked = words_of(names)
    if not asked:
        raise UsageInvalid("--sections names none; give all, base, or names separated by commas")
    if "all" in asked and set(asked) - {"all"} <= set(ON_REQUEST):
        return [*SECTIONS, *(name for name in asked if name != "all")]
    if {"all", "base"} & set(asked):
        raise UsageInvalid(
            f"--sections {names}: all and base stand alone, but for {' and '.join(ON_REQUEST)} beside all; give names "
            "separated by commas, or one of them"
        )
    return asked


def command(
    context: typer.Context,
    trace: TraceOrDigest,
    format: DigestFormatChoice = None,
    output: Output = None,
    full: Full = False,
    no_pager: NoPager = False,
    top: Annotated[
        int,
        typer.Option("--top", min=0, metavar="N", help="Kernels to list; in text and markdown, rows of every list."),
    ] = TOP,
    raw_nvtx_names: RawNames = False,
    fold: Folds = None,
    dispatch_prefix: DispatchPrefix = "CG_DISPATCH",
    max_nvtx_names: Annotated[
        int, typer.Option("--max-names", min=1, metavar="N", help="NVTX range names to keep apart.")
    ] = 100_000,
    sections: Annotated[
        str,
        typer.Option("--sections", metavar="NAMES", help="all, base (none, faster), or names; text has just these."),
    ] = "all",
    by_device: Annotated[
        bool, typer.Option("--by-device", help="Kernels, API calls and categories of each device too.")
    ] = False,
    gaps: Annotated[int, typer.Option("--gaps", min=0, metavar="N", help="Longest gaps to list.")] = 10,
    steps: StepName = None,
    window: Window = None,
    within: Within = None,
    skip_warmup: SkipWarmup = False,
    device: Devices = None,
    process: Processes = None,
    stream: Streams = None,
    warmup: Warmup = None,
    categories: CategoriesFile = None,
    label: Labels = None,
    label_ci: LabelCi = False,
    compact: Compact = False,
    threads: Annotated[
        int | None,
        typer.Option("--threads", min=1, max=64, metavar="N", help="Reader threads. Default: by size and cores."),
    ] = None,
    reader: ReaderOption = ReaderChoice.auto,
    store: StoreFolder = None,
    max_unpacked: MaxUnpacked = None,
    nsys: NsysPath = None,
    keep_export: KeepExport = None,
    quiet: Quiet = False,
) -> None:
    """Digest a trace: GPU busy and idle, and why. Also launches, kernels, memory, CUDA API, NVTX ranges and marks.

    A stored digest is printed as it is.
    """
    asked = given(
        context,
        top=top,
        dispatch_prefix=dispatch_prefix,
        raw_nvtx_names=raw_nvtx_names,
        folds=fold or (),
        max_nvtx_names=max_nvtx_names,
        sections=chosen_sections(sections),
        by_device=by_device,
        gaps=gaps,
        categories=categories,
        steps=steps,
        warmup=warmup,
        labels=labels_of(label, ci=label_ci),
        threads=threads,
        reader=reader.value,
        max_unpacked=max_unpacked,
        nsys=nsys,
        keep_export=keep_export,
        **selection_keywords(window, within, skip_warmup, device, process, stream),
    )
    print_digest(
        trace,
        asked,
        store=store,
        shown=_shown(asked, full=full),
        pager=not no_pager,
        compact=compact,
        format=format,
        output=output,
        quiet=quiet,
    )


def _shown(asked: SummarizeKeywords, *, full: bool) -> Shown:
    """Return how much of the digest to show: exactly the sections that are named, and all of it for ``all``."""
    named = asked.get("sections")
    also = [name for name in ("by_device", "steps") if asked.get(name)]
    sections = None if named is None else (*(named or ["base"]), *also)
    return Shown(asked.get("top"), full or ("sections" in asked and named is None), sections)


def print_digest(
    trace: Path,
    asked: SummarizeKeywords,
    *,
    store: Path | None = None,
    shown: Shown = SCREEN,
    pager: bool = False,
    compact: bool = False,
    format: DigestFormat | Format | None,
    output: Path | None,
    quiet: bool,
) -> None:
    """Write the digest of a trace, with the options that were asked for.

    Raises:
        DigestError: as :func:`nsys_digest.summarize`, or the output cannot be written.

    """
    check_output(output, trace)
    as_lines = _LINES.get("" if format is None else format.value)
    chosen = Format.json if as_lines else chosen_format(None if format is None else Format(format.value), output)
    from nsys_digest.api import summarize

    with progress_bar(trace) as show:
        asked = {**asked, "progress": show, "when_read": give_back_freed_memory, "tell": None if quiet else tell}
        digest = summarize(trace, store=store, **asked)
    reported = (
        as_lines is None and chosen is not Format.json and on_terminal(output)
    )  # whoever watches reads them in the report
    if not quiet and not reported:
        for found in digest.warnings:
            warn(str(trace), found.message, found.code)
    if as_lines is not None:
        from nsys_digest.model.figures import figures
        from nsys_digest.render.figure_lines import figure_lines

        write("\n".join(figure_lines(figures(digest), as_lines)), output)
        return
    from nsys_digest.report.chosen import chosen_report

    write_report(
        lambda: digest.to_json(compact=compact), lambda: chosen_report(digest, shown), chosen, output, pager=pager
    )
