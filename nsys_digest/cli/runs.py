"""Reading the sides of a comparison, with a bar for each large trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.output import note
from nsys_digest.cli.progress import progress_bar

if TYPE_CHECKING:
    from nsys_digest.compare.runs import RunSet


def read_side(paths: Sequence[Path], **options: Any) -> RunSet:
    """Return the side of these traces and stored digests; ``options`` are those of ``summarize``.

    Raises:
        DigestError: as :func:`nsys_digest.load`.

    """
    from nsys_digest.compare.runs import Run, RunSet
    from nsys_digest.comparison import load

    runs = []
    for path in paths:
        with progress_bar(path) as show:
            digest = load(path, progress=show, when_read=give_back_freed_memory, **options)
            runs.append(Run(os.fspath(path), digest))
    return RunSet(tuple(runs))


def read_baseline(
    spellings: Sequence[str], store: Path | None, head: RunSet, options: dict[str, Any]
) -> tuple[RunSet, list[str], list[str]]:
    """Return the side of files and of runs of a store, ``@NAME`` or ``@NAME:5``; what is damaged; and other notes.

    What is damaged was warned of on standard error.

    Raises:
        BaselineMissing: there is no such run. DigestError: as :func:`nsys_digest.load`.

    """
    from nsys_digest.compare.runs import Run, RunSet
    from nsys_digest.gate.baselines import Store

    runs: list[Run] = []
    damaged: list[str] = []
    notes: list[str] = []
    for spelling in spellings:
        if spelling.startswith("@"):
            picked = Store(store).pick(spelling, head)
            runs += picked.runs
            damaged += picked.damaged
            notes += picked.notes
            for text in picked.damaged:
                note(f"warning: {text}", "digest-invalid")
        else:
            runs += read_side([Path(spelling)], **options).runs
    return RunSet(tuple(runs)), damaged, notes


def files_of(spellings: Sequence[str]) -> list[Path]:
    """Return those that are files, and no names of a store."""
    return [Path(spelling) for spelling in spellings if not spelling.startswith("@")]
