"""Scrubbing a trace, and searching a copy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from nsys_digest.errors import OutputFailed, UsageInvalid
from nsys_digest.files import whole
from nsys_digest.model.scrubbed import Scrubbed, Verified
from nsys_digest.trace.nsys.private import Private, identify
from nsys_digest.trace.open import opened, unpacked
from nsys_digest.trace.packings.input_path import input_path
from nsys_digest.trace.scrub.copy import Copied, copy_scrubbed
from nsys_digest.trace.scrub.names import Names
from nsys_digest.trace.scrub.texts import PrivateWords, Salt
from nsys_digest.trace.scrub.verify import search
from nsys_digest.trace.source import Source
from nsys_digest.trace.sqlite import SqliteSource


@dataclass(frozen=True, slots=True)
class ScrubOptions:
    """How a trace is scrubbed: ``salt`` None is a random one, ``keep`` are tables to copy as they are."""

    hash_names: bool = False
    salt: str | None = None
    keep: tuple[str, ...] = ()
    dispatch_prefix: str = "CG_DISPATCH"


def scrub(
    trace: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    hash_names: bool = False,
    salt: str | None = None,
    keep: Iterable[str] = (),
    dispatch_prefix: str = "CG_DISPATCH",
) -> Scrubbed:
    """Copy a trace without what identifies people and machines, and search the copy; see docs/scrub.md.

    The copy is written whole or not at all. What the search found is in ``found`` of the result: nothing, or the copy
    must not be shared.

    Args:
        trace: an nsys SQLite export, which is only read.
        output: the copy.
        hash_names: hash the names of kernels, ranges, threads, programs and calls that are not CUDA's.
        salt: what hashes are made with; the same for all ranks of a job keeps their names alike. Random by default.
        keep: tables to copy as they are that would be dropped.
        dispatch_prefix: how the text of a dispatch mark begins, which stays when names are hashed.

    Raises:
        UsageInvalid: the copy would take the place of the trace, its folder is not there, the salt is empty, or a table
            to keep is copied in any case.
        MissingData: the trace has no such table to keep. OutputFailed: the copy cannot be written.
        TraceUnreadable, NotATrace, TraceInUse: the trace cannot be read.

    """
    tables = (keep,) if isinstance(keep, str) else tuple(keep)
    return scrub_trace(input_path(trace), Path(output), ScrubOptions(hash_names, salt, tables, dispatch_prefix))


def verify_scrub(
    copy: str | os.PathLike[str], trace: str | os.PathLike[str] | None = None, *, keep: Iterable[str] = ()
) -> Verified:
    """Search a file for what a scrubbed copy must not have: the values of ``trace``, and what has a telling form.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse: a file cannot be read.

    """
    tables = (keep,) if isinstance(keep, str) else tuple(keep)
    return verify_copy(input_path(copy), None if trace is None else input_path(trace), tables)


def scrub_trace(trace: Path, to: Path, options: ScrubOptions) -> Scrubbed:
    """Write a scrubbed copy of a trace, whole or not at all, and search it.

    Raises:
        UsageInvalid: the copy would take the place of the trace or stand in a folder that is not there, a table to
            keep is copied in any case, or the salt is empty.
        MissingData: there is no table to keep of that name. OutputFailed: the copy cannot be written.
        TraceUnreadable, NotATrace, TraceInUse: the trace cannot be read.

    """
    if options.salt == "":
        raise UsageInvalid("the salt is empty; give a text that others cannot guess, or none for a random one")
    target = Path(os.path.realpath(to))
    _check_target(trace, to, target)
    with opened(trace, "stdlib") as source:
        tables = _sqlite(source)
        private, salt = identify(tables), Salt(options.salt)
        words = PrivateWords(private, salt)
        names = Names(words, salt, hashed=options.hash_names, dispatch_prefix=options.dispatch_prefix)
        try:
            with whole(target) as part:
                copied = copy_scrubbed(tables, part, names, words, salt, options.keep)
                return _searched(trace, to, part, private, copied, options)
        except (sqlite3.Error, OSError) as error:
            reason = (error.strerror or error) if isinstance(error, OSError) else error
            raise OutputFailed(
                f"{to}: cannot be written ({reason}); nothing there was changed, make room or choose another place"
            ) from None


def _searched(trace: Path, to: Path, part: Path, private: Private, copied: Copied, options: ScrubOptions) -> Scrubbed:
    with opened(part, "stdlib") as copy:
        found = search(_sqlite(copy), part, private, options.keep)
    return Scrubbed(
        file=trace.name,
        output=to.name,
        size_bytes=part.stat().st_size,
        names_hashed=options.hash_names,
        removed=copied.removed,
        replaced=copied.replaced,
        kept=copied.kept,
        searched_count=_count(private),
        found=found,
    )


def verify_copy(copy: Path, trace: Path | None, keep: Collection[str]) -> Verified:
    """Search a copy for what the trace tells of people and machines, or without it by form alone.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse: a file cannot be read.

    """
    private = Private()
    if trace is not None:
        with opened(trace, "stdlib") as source:
            private = identify(source)
    with unpacked(copy) as file, opened(file, "stdlib") as source:
        found = search(_sqlite(source), file.local, private, keep)
    return Verified(
        file=copy.name,
        against=None if trace is None else trace.name,
        searched_count=_count(private),
        found=found,
    )


def _count(private: Private) -> int:
    return len({value for values in private.values.values() for value in values})


def _sqlite(source: Source) -> SqliteSource:
    if not isinstance(source, SqliteSource):
        raise UsageInvalid(
            f"{source.path}: scrub copies SQLite exports; make one with: nsys export --type sqlite REPORT.nsys-rep"
        )
    return source


def _check_target(trace: Path, to: Path, target: Path) -> None:
    if target.is_dir():
        raise UsageInvalid(f"{to}: this is a folder; name a file in it")
    if not target.parent.is_dir():
        raise UsageInvalid(f"{to}: the folder {target.parent} is not there; make it first")
    if target.exists():
        if trace.exists() and target.samefile(trace):
            raise UsageInvalid(f"{to}: this is the trace itself; choose another file for the copy")
        if not target.is_file():
            raise UsageInvalid(f"{to}: this is no regular file; choose another file for the copy")
