"""The public functions that compare: traces or stored digests in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from nsys_digest import __version__
from nsys_digest.compare.diff import Diff, compare
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import DigestInvalid
from nsys_digest.model.digest import Digest
from nsys_digest.model.kernel_categories import load_kernel_categories
from nsys_digest.pipeline import summarize

Runs: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | RunSet
"""A side: one path, several of them, or what was read of them."""

_JSON_STARTS = (b"{", b"[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def load(path: str | os.PathLike[str], **options: Any) -> Digest:
    """Return the digest of a trace, or a digest that was stored as JSON; the content of the file says which it is.

    Args:
        path: an nsys SQLite export, or the JSON document of a digest.
        options: those of :func:`nsys_digest.summarize`; a stored digest is read as it is.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read, or is neither.
        DigestInvalid: it is JSON, but no digest of a known version.

    """
    file = Path(path)
    if not _is_json(file):
        return summarize(file, **options)
    try:
        return Digest.from_json(file.read_bytes().decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DigestInvalid(f"{file}: this is not UTF-8 ({error.reason}); write the digest again") from None
    except DigestInvalid as error:
        raise DigestInvalid(f"{file}: {error}") from None


def load_side(paths: Sequence[str | os.PathLike[str]], **options: Any) -> RunSet:
    """Return a side of one or more traces and stored digests: the repeats of the same run.

    Raises:
        UsageInvalid: there is none. What :func:`load` raises.

    """
    return RunSet(tuple(Run(os.fspath(path), load(path, **options)) for path in paths))


def _is_json(file: Path) -> bool:
    """Tell whether a file begins as a JSON document; one that cannot be read does not."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            start = stream.read(4096)
    except (OSError, ValueError):
        return False
    return start.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(_JSON_STARTS)


def diff(
    base: Runs,
    head: Runs,
    *,
    allow_mismatch: Iterable[str] = (),
    categories: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Diff:
    """Compare two sides: each a path of a trace or stored digest, several of them, or a :class:`RunSet`.

    Args:
        base: what HEAD is compared with.
        head: what is compared with BASE.
        allow_mismatch: reasons not to compare that are allowed, from ``MISMATCH_CODES``.
        categories: a TOML file of kernel categories, for traces; stored digests keep theirs.
        options: further options of :func:`nsys_digest.summarize`, for traces.

    Raises:
        CapturesMismatch: the captures differ in a way that is not allowed.
        UsageInvalid: there is no such reason, or an option makes no sense.
        CategoriesInvalid: the categories file is wrong.
        What :func:`load` raises.

    """
    options["categories"] = categories
    return compare(
        _side(base, options),
        _side(head, options),
        allow_mismatch=allow_mismatch,
        kernel_categories=lambda: load_kernel_categories(None if categories is None else Path(categories)),
        tool_version=__version__,
    )


def _side(runs: Runs, options: dict[str, Any]) -> RunSet:
    if isinstance(runs, RunSet):
        return runs
    return load_side([runs] if isinstance(runs, str | os.PathLike) else runs, **options)
