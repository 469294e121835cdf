"""``nsys-digest baseline``: digests that are kept to check against."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nsys_digest.cli.options import (
    CategoriesFile,
    Compact,
    Folds,
    FormatChoice,
    Full,
    Output,
    StepName,
    StoreFolder,
    Warmup,
)
from nsys_digest.cli.output import check_output, chosen_format, note, write_paths, write_report
from nsys_digest.cli.runs import read_side, warn_of_damaged
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
from nsys_digest.model.views import Shown
from nsys_digest.units import counted

if TYPE_CHECKING:
    from nsys_digest.gate.baselines import Listing

app = typer.Typer(
    help="Keep digests in a folder, to check later runs against.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Name: TypeAlias = Annotated[str, typer.Argument(metavar="NAME", help="What to call it, such as a branch.")]
Runs: TypeAlias = Annotated[list[str], typer.Argument(metavar="RUN", help="Traces or stored digests.")]
Commit: TypeAlias = Annotated[
    str | None, typer.Option("--commit", metavar="ID", help="The commit. Default: $GITHUB_SHA or $CI_COMMIT_SHA.")
]


@app.command("save")
def save(
    name: Name,
    runs: Runs,
    commit: Commit = None,
    store: StoreFolder = None,
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
) -> None:
    """Keep the digest of each run under a name.

    What is kept there stays.
    """
    from nsys_digest.gate.baselines import Store

    looked_at = selection_keywords(window, within, skip_warmup, device, process, stream)
    side = read_side(
        runs, **together(looked_at, steps=steps, warmup=warmup, categories=categories, folds=fold or ())
    ).side
    saved = Store(store).save(name, side, commit or _commit())
    write_paths(saved)


@app.command("update")
def update(
    name: Name,
    runs: Runs,
    keep: Annotated[int, typer.Option("--keep", min=0, metavar="N", help="Earlier runs to keep.")] = 0,
    commit: Commit = None,
    store: StoreFolder = None,
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
) -> None:
    """Keep the digest of each run in place of earlier ones.

    Those of the same name on the same GPUs are dropped.
    """
    from nsys_digest.gate.baselines import Store

    looked_at = selection_keywords(window, within, skip_warmup, device, process, stream)
    side = read_side(
        runs, **together(looked_at, steps=steps, warmup=warmup, categories=categories, folds=fold or ())
    ).side
    saved, dropped = Store(store).update(name, side, commit or _commit(), keep)
    write_paths(saved)
    if dropped:
        said = f"{counted(len(dropped), 'earlier run')} of {name} dropped"
        note(f"note: {dropped[0].parent}: {said}", "baseline-dropped")


@app.command("list")
def list_entries(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only those of this name.")] = None,
    store: StoreFolder = None,
    format: FormatChoice = None,
    output: Output = None,
    compact: Compact = False,
) -> None:
    """List what is kept: by name, the oldest first."""
    chosen = chosen_format(format, output)
    from nsys_digest.gate.baselines import Store

    folder = Store(store)
    check_output(output, folder.folder)
    listing = folder.entries(name)
    warn_of_damaged(listing.damaged)
    from nsys_digest.report.baseline import listing_report

    write_report(
        lambda: _document(listing, compact=compact), lambda: listing_report(listing, str(folder.folder)), chosen, output
    )


@app.command("show")
def show(
    baseline: Annotated[str, typer.Argument(metavar="@NAME", help="The last run kept under a name.")],
    store: StoreFolder = None,
    format: FormatChoice = None,
    output: Output = None,
    full: Full = False,
    top: Annotated[
        int | None,
        typer.Option("--top", min=0, metavar="N", help="Rows of each list in text and markdown. Default: 5, or 20."),
    ] = None,
    compact: Compact = False,
) -> None:
    """Show the digest of the last run kept under a name.

    As JSON it is a stored digest as any other.
    """
    chosen = chosen_format(format, output)
    from nsys_digest.gate.baselines import Store

    folder = Store(store)
    picked = folder.pick(baseline if baseline.startswith("@") else f"@{baseline}")
    for entry in picked.entries:
        check_output(output, entry.path)
    warn_of_damaged(picked.damaged)
    from nsys_digest.report.chosen import chosen_report

    digest, shown = picked.runs[-1].digest, Shown(top, full)
    write_report(lambda: digest.to_json(compact=compact), lambda: chosen_report(digest, shown), chosen, output)


def _commit() -> str | None:
    return os.environ.get("GITHUB_SHA") or os.environ.get("CI_COMMIT_SHA") or None


def _document(listing: Listing, *, compact: bool) -> str:
    entries = [entry.to_dict() for entry in listing.entries]
    document = {"entries": entries, "damaged": list(listing.damaged)}
    if compact:
        return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return json.dumps(document, ensure_ascii=False, indent=2)
