"""Scrubbing a trace, and searching a copy."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from nsys_digest.errors import OutputFailed, UsageInvalid
from nsys_digest.files import whole
from nsys_digest.model.scrubbed import Scrubbed, Verified
from nsys_digest.trace.nsys.private import Private, identify
from nsys_digest.trace.open import opened, unpacked
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
            f"{source.path}: scrub copies SQLite exports; make one of the report with: nsys export --type sqlite"
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
