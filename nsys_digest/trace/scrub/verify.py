"""The second look: a file is searched, byte by byte and text by text, for what a scrubbed copy must not have."""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np

from nsys_digest.algorithms.needles import Needles
from nsys_digest.files import open_regular
from nsys_digest.model.scrubbed import Found
from nsys_digest.trace.nsys import scrub_rules as rules
from nsys_digest.trace.nsys.private import Private
from nsys_digest.trace.scrub.copy import texts_of
from nsys_digest.trace.scrub.names import is_cuda_call
from nsys_digest.trace.scrub.texts import LONG, PrivateWords, Salt
from nsys_digest.trace.sqlite import SqliteSource, quoted

_MOST_OFFSETS: Final = 5
_CHUNK: Final = 1 << 22
_OVERLAP: Final = 512
_FREE_PAGES_AT: Final = 36  # www.sqlite.org/fileformat2.html, 1.3
_HOMES: Final = (b"/home/", b"/Users/", b":\\Users\\")
_HOME: Final = re.compile(rb"/(?:home|Users)/[\w.-]{2}|:\\Users\\[\w.-]{2}")
_EMAIL: Final = re.compile(rb"@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.[A-Za-z]{2,12}")
_MAC: Final = re.compile(
    rb"(?<![\w:-])[0-9A-Fa-f]{2}([:-])[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1[0-9A-Fa-f]{2}\1"
    rb"[0-9A-Fa-f]{2}(?![\w:-])"
)
_MAC_STEP: Final = 3
_WORD_BYTES: Final = np.zeros(256, bool)
_WORD_BYTES[[*range(48, 58), *range(65, 91), *range(97, 123)]] = True


@dataclass(slots=True)
class _Places:
    counts: defaultdict[tuple[str, str], int] = field(default_factory=lambda: defaultdict(int))
    offsets: defaultdict[tuple[str, str], list[int]] = field(default_factory=lambda: defaultdict(list))

    def add(self, kind: str, where: str, offset: int | None = None, count: int = 1) -> None:
        self.counts[kind, where] += count
        offsets = self.offsets[kind, where]
        if offset is not None and len(offsets) < _MOST_OFFSETS and offset not in offsets:
            offsets.append(offset)


def values_to_find(private: Private) -> dict[bytes, str]:
    """Return the values that are looked for byte by byte, and the kind of each."""
    found = {}
    for value, kind in private.kind_of().items():
        if len(value) >= LONG:
            found[value.encode("utf-8", "replace")] = kind
            found[value.encode("utf-16-le", "replace")] = kind
    return found


def search(source: SqliteSource, path: Path, private: Private, keep: Collection[str]) -> tuple[Found, ...]:
    """Look in the file at ``path`` for the values of a trace, paths and addresses by form, and tables that do not stay.

    Values of fewer than six characters are looked for in texts alone, as words: in numbers they are there by chance.

    Raises:
        OSError: the file cannot be read. TraceUnreadable: it is damaged.

    """
    places = _Places()
    with open_regular(path) as file:
        _bytes(file, values_to_find(private), places)
    _texts(source, private, places, keep)
    _structure(source, path, places, keep)
    return tuple(
        Found(kind, count, tuple(places.offsets[kind, where]), where)
        for (kind, where), count in sorted(places.counts.items())
    )


def _bytes(file: BinaryIO, values: dict[bytes, str], places: _Places) -> None:
    if values:
        for offset, value in Needles(values).find(file):
            places.add(values[value], "bytes", offset)
    file.seek(_FREE_PAGES_AT)
    free = int.from_bytes(file.read(4), "big")
    if free:
        places.add("free pages", "structure", _FREE_PAGES_AT, free)
    file.seek(0)
    for kind, offset in _by_form(file):
        places.add(kind, "bytes", offset)


def _by_form(file: BinaryIO) -> Iterator[tuple[str, int]]:
    begin, kept = 0, b""
    while chunk := file.read(_CHUNK):
        data = kept + chunk
        whole = max(len(data) - _OVERLAP, 0)  # what begins behind it may not be whole yet
        yield from ((kind, begin + at) for kind, at in _forms_in(data) if at < whole)
        kept = data[whole:]
        begin += whole
    yield from ((kind, begin + at) for kind, at in _forms_in(kept))


def _forms_in(data: bytes) -> Iterator[tuple[str, int]]:
    """Yield (kind, offset) of home folders, addresses of mail and of network cards.

    Few places have the signs that each of them needs; only there is looked closer.
    """
    for home in _HOMES:
        at = data.find(home)
        while at >= 0:
            if _HOME.match(data, at):
                yield "path", at
            at = data.find(home, at + 1)
    values = np.frombuffer(data, np.uint8)
    if values.size < _OVERLAP // 16:
        return
    is_word = _WORD_BYTES[values]
    between = np.flatnonzero((values[1:-1] == ord("@")) & is_word[:-2] & is_word[2:]) + 1
    yield from (("email", at) for at in between.tolist() if _EMAIL.match(data, at))
    for sign in b":-":
        is_sign = values == sign
        last = values.size - 4 * _MAC_STEP
        at_all = np.logical_and.reduce([is_sign[shift : last + shift] for shift in range(0, 5 * _MAC_STEP, _MAC_STEP)])
        yield from (("mac", at - 2) for at in np.flatnonzero(at_all).tolist() if at >= 2 and _MAC.match(data, at - 2))


def _texts(source: SqliteSource, private: Private, places: _Places, keep: Collection[str]) -> None:
    words = PrivateWords(private, Salt(None))
    fixed = set(rules.SETTINGS)
    for table, texts in texts_of(source):
        if table in keep or table in fixed or rules.enum_rows(table) is not None:
            continue
        words.counts.clear()
        words.scrub(text for text in texts if not is_cuda_call(text))
        for kind, count in words.counts.items():
            places.add(kind, f"texts of {table}", None, count)


def _structure(source: SqliteSource, path: Path, places: _Places, keep: Collection[str]) -> None:
    roots = _roots(path)
    for table, columns in source.tables().items():
        if table in keep:
            continue
        rows, _ = source.row_count(table, exact=not rules.is_ruled(table))
        if not rows:
            continue
        if not rules.is_ruled(table):
            places.add(rules.kind_of_table(table), f"table {table}", roots.get(table), rows)
            continue
        if table in rules.SETTINGS:
            for name, value in source.rows(table, ("name", "value")):
                if not rules.setting_stays(str(name), None if value is None else str(value)):
                    places.add(rules.kind_of_setting(str(name)), f"table {table}", roots.get(table))
        chosen = rules.treatments(table, columns)
        for column in columns:
            if chosen is not None and column not in chosen and _any(source, table, column):
                places.add(rules.kind_of_column(column), f"column {column} of {table}", roots.get(table))


def _any(source: SqliteSource, table: str, column: str) -> bool:
    name = quoted(column)
    return any(rows for rows in source.rows_at_once(table, ("1",), f"{name} IS NOT NULL LIMIT 1"))


def _roots(path: Path) -> dict[str, int]:
    """Return where each table begins in the file."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        [(size,)] = connection.execute("PRAGMA page_size").fetchall()
        rows = connection.execute("SELECT name, rootpage FROM sqlite_master WHERE type = 'table'").fetchall()
    return {str(name): (int(page) - 1) * int(size) for name, page in rows if page}
