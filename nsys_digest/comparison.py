"""The public functions that read sides and compare them: traces, stored digests, or runs of a store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, Unpack

from nsys_digest import __version__
from nsys_digest.compare.diff import Diff, compare
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.gate.baselines import Store
from nsys_digest.model.digest import Digest
from nsys_digest.model.kernel_categories import load_kernel_categories
from nsys_digest.options import SummarizeKeywords, SummarizeOptions, options_of
from nsys_digest.pipeline import summarize_with
from nsys_digest.stored import is_stored, read_stored

OneRun: TypeAlias = str | os.PathLike[str] | Digest
Runs: TypeAlias = OneRun | Sequence[OneRun] | RunSet
"""A side: a trace, a stored digest or a digest; several of them; or a side that was read. ``@NAME:N`` is a baseline."""


def load(path: str | os.PathLike[str], **options: Unpack[SummarizeKeywords]) -> Digest:
    """Return the digest of a trace, or a digest that was stored as JSON; the content of the file says which it is.

    Args:
        path: an nsys SQLite export, or the JSON document of a digest.
        options: those of :func:`nsys_digest.summarize`; a stored digest is read as it is.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read, or is neither.
        DigestInvalid: it is JSON, but no digest of a known version.
        TypeError: there is no such option. UsageInvalid: one is out of range.

    """
    return load_with(Path(path), options_of(options))


def load_with(path: Path, options: SummarizeOptions) -> Digest:
    """Return a digest with options that were read; see :func:`load`."""
    return read_stored(path) if is_stored(path) else summarize_with(path, options)


def load_side(runs: Runs, **options: Unpack[SummarizeKeywords]) -> RunSet:
    """Return a side of one or more traces and stored digests: the repeats of the same run.

    Raises:
        UsageInvalid: there is none. What :func:`load` raises.

    """
    return resolve(runs, options_of(options), Store()).side


@dataclass(frozen=True, slots=True)
class Resolved:
    """A side that was read; ``notes`` say what a store has fewer of, ``damaged`` what was left out of it."""

    side: RunSet
    notes: tuple[str, ...]
    damaged: tuple[str, ...]


def resolve(
    runs: Runs,
    options: SummarizeOptions,
    store: Store,
    *,
    like: RunSet | None = None,
    read: Callable[[Path, SummarizeOptions], Digest] = load_with,
) -> Resolved:
    """Read a side, whatever its runs are; those of the store are of the GPUs of ``like``.

    ``read`` reads a file.

    Raises:
        BaselineMissing: there is no such baseline. StoreUnreadable: the store cannot be read.
        UsageInvalid: there is no run. What :func:`load` raises.

    """
    if isinstance(runs, RunSet):
        return Resolved(runs, (), ())
    found: list[Run] = []
    notes: list[str] = []
    damaged: list[str] = []
    for run in [runs] if isinstance(runs, str | os.PathLike | Digest) else runs:
        if isinstance(run, Digest):
            found.append(Run(run.file, run))
        elif is_baseline(run):
            picked = store.pick(os.fspath(run), like)
            found += picked.runs
            notes += picked.notes
            damaged += picked.damaged
        else:
            found.append(Run(os.fspath(run), read(Path(run), options)))
    return Resolved(RunSet(tuple(found)), tuple(notes), tuple(damaged))


def is_baseline(run: str | os.PathLike[str]) -> bool:
    """Tell whether a run is one of a store: ``@NAME``; a file of such a name is ``./@NAME``."""
    return str(os.fspath(run)).startswith("@")


def diff(
    base: Runs,
    head: Runs,
    *,
    allow_mismatch: Iterable[str] = (),
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[SummarizeKeywords],
) -> Diff:
    """Compare two sides.

    Args:
        base: what HEAD is compared with; ``@NAME`` is the last run saved under a name, ``@NAME:5`` the last five.
        head: what is compared with BASE.
        allow_mismatch: reasons not to compare that are allowed, from ``MISMATCH_CODES``.
        store: folder of the baselines; ``.nsys-digest/baselines`` by default.
        options: those of :func:`nsys_digest.summarize`, for traces; stored digests are as they are.

    Raises:
        CapturesMismatch: the captures differ in a way that is not allowed.
        UsageInvalid: there is no such reason, or an option makes no sense. TypeError: there is no such option.
        CategoriesInvalid: the categories file is wrong. BaselineMissing: there is no such baseline.
        What :func:`load` raises.

    """
    chosen = options_of(options)
    of_head = resolve(head, chosen, Store(store)).side
    of_base = resolve(base, chosen, Store(store), like=of_head).side
    return compare(
        of_base,
        of_head,
        allow_mismatch=allow_mismatch,
        kernel_categories=lambda: load_kernel_categories(chosen.categories),
        tool_version=__version__,
    )
