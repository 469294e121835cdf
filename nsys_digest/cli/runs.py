"""Reading the sides of a comparison, with a bar for each large trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.output import note, tell
from nsys_digest.cli.progress import progress_bar

if TYPE_CHECKING:
    from nsys_digest.api import Resolved
    from nsys_digest.compare.runs import RunSet
    from nsys_digest.model.digest import Digest
    from nsys_digest.options import SummarizeKeywords, SummarizeOptions


def read_side(
    runs: Sequence[str | Path],
    store: Path | None = None,
    like: RunSet | None = None,
    **options: Unpack[SummarizeKeywords],
) -> Resolved:
    """Return the side of these traces, stored digests and runs of a store; what is damaged is warned of.

    Raises:
        DigestError: as :func:`nsys_digest.api.resolve`.

    """
    from nsys_digest.api import resolve
    from nsys_digest.gate.baselines import Store
    from nsys_digest.options import options_of

    found = resolve(runs, options_of(options), Store(store), like=like, read=_read)
    warn_of_damaged(found.damaged)
    return found


def _read(path: Path, options: SummarizeOptions) -> Digest:
    from nsys_digest.api import load_with

    with progress_bar(path) as show:
        return load_with(path, replace(options, progress=show, when_read=give_back_freed_memory, tell=tell))


def warn_of_damaged(damaged: Sequence[str]) -> None:
    """Write a warning of each file of a store that was left out."""
    for text in damaged:
        note(f"warning: {text}", "digest-invalid")


def files_of(runs: Sequence[str]) -> list[Path]:
    """Return those that are files, and no names of a store."""
    return [Path(run) for run in runs if not run.startswith("@")]
