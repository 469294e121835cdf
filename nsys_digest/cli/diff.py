"""``nsys-digest diff``."""

from __future__ import annotations

from typing import Annotated

import typer

from nsys_digest.cli.options import (
    AllowUnlike,
    CategoriesFile,
    Compact,
    Folds,
    FormatChoice,
    Output,
    StepName,
    StoreFolder,
    Warmup,
    words_of,
)
from nsys_digest.cli.output import check_output, chosen_format, note, write_report
from nsys_digest.cli.runs import files_of, read_side
from nsys_digest.cli.selection import (
    Devices,
    Processes,
    SkipWarmup,
    Streams,
    Window,
    Within,
    selection_keywords,
    together,
)
from nsys_digest.errors import UsageInvalid


def sides(runs: list[str], base: list[str], head: list[str]) -> tuple[list[str], list[str]]:
    """Return the runs of BASE and of HEAD: two paths, or those of ``--base`` and ``--head``.

    With ``--base`` alone all paths are of HEAD.

    Raises:
        UsageInvalid: without the options there are not two; or a side has none.

    """
    if head:
        if runs or not base:
            wrong = f"{runs[0]} is of neither" if runs else "there is no --base"
            raise UsageInvalid(f"--head names the runs of HEAD, and --base those of BASE, but {wrong}")
        return base, head
    if base:
        if not runs:
            raise UsageInvalid("there is no run of HEAD; give one or more behind --head")
        return base, runs
    if len(runs) != 2:
        count = "no path is" if not runs else "1 path is" if len(runs) == 1 else f"{len(runs)} paths are"
        raise UsageInvalid(
            f"diff compares BASE with HEAD, but {count} given; for repeats give the runs of BASE after --base, and "
            "those of HEAD behind --head"
        )
    return runs[:1], runs[1:]


def command(
    runs: Annotated[
        list[str] | None,
        typer.Argument(metavar="BASE HEAD", help="Two traces or stored digests; with --base, runs of HEAD."),
    ] = None,
    base: Annotated[
        list[str] | None,
        typer.Option("--base", metavar="BASE", help="Runs of BASE; @NAME:5 takes five of a store."),
    ] = None,
    head: Annotated[
        list[str] | None, typer.Option("--head", metavar="HEAD", help="Runs of HEAD; both options take several.")
    ] = None,
    store: StoreFolder = None,
    format: FormatChoice = None,
    output: Output = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Rows of each list in text and markdown.")] = 10,
    min_change: Annotated[
        str,
        typer.Option(
            "--min-change", metavar="AMOUNT", help="Least change to list in text and markdown: 50us, 5%, both."
        ),
    ] = "0s",
    allow_mismatch: AllowUnlike = None,
    steps: StepName = None,
    window: Window = None,
    within: Within = None,
    skip_warmup: SkipWarmup = False,
    device: Devices = None,
    process: Processes = None,
    stream: Streams = None,
    warmup: Warmup = None,
    categories: CategoriesFile = None,
    fold: Folds = None,
    compact: Compact = False,
) -> None:
    """Say what moved from BASE to HEAD, and why.

    The change of the GPU span is split to the nanosecond.
    """
    of_base, of_head = sides(runs or [], base or [], head or [])
    for path in files_of([*of_base, *of_head]):
        check_output(output, path)
    chosen = chosen_format(format, output)
    from nsys_digest.api import diff
    from nsys_digest.compare.comparability import check_reasons
    from nsys_digest.compare.threshold import read_threshold

    threshold = read_threshold(min_change)
    reasons = words_of(allow_mismatch)
    check_reasons(reasons)
    looked_at = selection_keywords(window, within, skip_warmup, device, process, stream)
    options = together(looked_at, steps=steps, warmup=warmup, categories=categories, folds=fold or ())
    head_side = read_side(of_head, store, **options)
    base_side = read_side(of_base, store, head_side.side, **options)
    for text in (*head_side.notes, *base_side.notes):
        note(f"note: {text}", "baseline-short")
    found = diff(base_side.side, head_side.side, allow_mismatch=reasons, **together(looked_at, categories=categories))
    from nsys_digest.report.diff import diff_report

    write_report(lambda: found.to_json(compact=compact), lambda: diff_report(found, top, threshold), chosen, output)
