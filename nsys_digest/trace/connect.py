"""Connections of Python's own sqlite3 that read plain tables and do nothing else, whatever the file holds.

A file's schema is text that SQLite runs: views, triggers and virtual tables are programs by whoever wrote the file
(www.sqlite.org/security.html, "Untrusted SQLite Database Files"). Even plain tables can be made endless, by pages of a
tree that name the same page again and again.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from nsys_digest.errors import DigestError, TraceInUse, TraceUnreadable
from nsys_digest.files import open_regular
from nsys_digest.trace.header import export_again, unopened

GUARDS: Final = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")
"""What every connection says first: no function of the schema that could do harm, and pages are checked when read."""

LEAST_ROW_BYTES: Final = 4
"""What a row takes of a page at the least: two bytes of the page's list, and its own length and key."""

_LEAST_STEPS = 10_000_000
_STEPS_PER_BYTE = 20
_STEPS_AT_ONCE = 100_000
_LONGEST_REASON = 200
_INTERRUPTED = "interrupted"
_LONGEST_POSSIBLE = 1_000_000_000  # SQLITE_MAX_LENGTH, www.sqlite.org/limits.html

_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 1_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 16,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 100,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
"""For our queries and the text of a schema: the widest table of nsys has 41 columns, its longest text 4,500 letters."""

# Python 3.12 has these, by name and number: www.sqlite.org/c3ref/c_dbconfig_defensive.html
_SETTINGS = (
    ("SQLITE_DBCONFIG_DEFENSIVE", True),
    ("SQLITE_DBCONFIG_ENABLE_TRIGGER", False),
    ("SQLITE_DBCONFIG_ENABLE_VIEW", False),
    ("SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION", False),
)
_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_PRAGMA})


class Connection:
    """A connection that ends a query which takes longer than any over the tables of a file of that size."""

    def __init__(self, uri: str, path: Path, data_bytes: int) -> None:
        """Open an SQLite URI; text that is not UTF-8 is decoded with replacement, and the path is for messages."""
        self._path = path
        self._data_bytes = data_bytes
        self._allowance = (_LEAST_STEPS + _STEPS_PER_BYTE * data_bytes) // _STEPS_AT_ONCE
        self._left = self._allowance
        self._raised: BaseException | None = None
        with self._faults():
            self._connection = sqlite3.connect(uri, uri=True, timeout=0.2, check_same_thread=False)
            self._connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
            for guard in GUARDS:
                self._connection.execute(guard)
            for limit, value in {**_LIMITS, sqlite3.SQLITE_LIMIT_LENGTH: _longest_value(data_bytes)}.items():
                self._connection.setlimit(limit, value)
            for name, on in _SETTINGS:
                if hasattr(sqlite3, name):
                    self._connection.setconfig(getattr(sqlite3, name), on)  # type: ignore[attr-defined]
            self._connection.set_authorizer(_only_tables)
            self._connection.set_progress_handler(self._goes_on_too_long, _STEPS_AT_ONCE)

    def rows(self, sql: str, at_once: int) -> Iterator[list[tuple[object, ...]]]:
        """Run a query and yield its rows, so many at once.

        Raises:
            TraceUnreadable: SQLite cannot read the file, or the query does not end.
            TraceInUse: the file is locked.

        """
        with self._faults():
            self._left = self._allowance
            cursor = self._connection.execute(sql)
            while rows := cursor.fetchmany(at_once):
                yield rows

    def all(self, sql: str) -> list[tuple[object, ...]]:
        """Return every row of a query whose result is small; see :meth:`rows`.

        Raises:
            TraceUnreadable: the rows are more, or their texts longer, than a file of that size holds.

        """
        found: list[tuple[object, ...]] = []
        text_length = 0
        for rows in self.rows(sql, 1000):
            found += rows
            text_length += sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))
            if max(len(found) * LEAST_ROW_BYTES, text_length) > self._data_bytes:
                raise self._fault(_INTERRUPTED)
        return found

    def can(self, sql: str) -> bool:
        """Tell whether SQLite understands a query on the tables as they are."""
        with self._faults():
            try:
                self._connection.execute(f"{sql} LIMIT 0").close()
            except sqlite3.OperationalError as error:
                if "no such column" in _reason(error):
                    return False
                raise
        return True

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def _goes_on_too_long(self) -> bool:
        """Say whether to end the query: SQLite asks every so many steps.

        An exception must not leave this function, where SQLite would lose it: Ctrl-C is raised wherever Python runs.
        """
        try:
            self._left -= 1
        except BaseException as error:
            self._raised = error
            return True
        return self._left < 0

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn an error of SQLite into one of ours."""
        try:
            yield
        except sqlite3.Error as error:
            text = _reason(error)
            if isinstance(error, sqlite3.OperationalError) and text == _INTERRUPTED and self._left >= 0:
                raised, self._raised = self._raised, None
                raise raised or KeyboardInterrupt from None
            raise self._fault(text) from None
        except UnicodeDecodeError as error:  # sqlite3 reads SQLite's message, which quotes the file, as UTF-8
            raise self._fault(_clean(error.object.decode("utf-8", "replace"))) from None

    def _fault(self, text: str) -> DigestError:
        again = f"copy or export it again: {export_again(self._path)}"
        if text == _INTERRUPTED:
            return TraceUnreadable(f"{self._path}: it is damaged: a table in it has no end; {again}")
        if "locked" in text or "busy" in text:
            return TraceInUse(
                f"{self._path}: another program holds it locked; wait until the export or the other tool has ended"
            )
        if text == "unable to open database file":
            with contextlib.suppress(ValueError):
                try:
                    open_regular(self._path).close()
                except OSError as error:
                    return unopened(self._path, error)
        return TraceUnreadable(f"{self._path}: SQLite cannot read it ({text}); {again}")


def _longest_value(data_bytes: int) -> int:
    """Return how long a text or blob can be that a file holds: one of UTF-16 grows by half when it becomes UTF-8."""
    return min(1_000 + 2 * data_bytes, _LONGEST_POSSIBLE)


def _only_tables(action: int, _first: str | None, _second: str | None, _database: str | None, view: str | None) -> int:
    """Allow what reads a table; refuse everything else, and whatever a view or trigger does."""
    return sqlite3.SQLITE_OK if action in _ALLOWED and view is None else sqlite3.SQLITE_DENY


def _reason(error: Exception) -> str:
    try:
        return _clean(str(error))
    except UnicodeDecodeError as undecoded:
        return _clean(undecoded.object.decode("utf-8", "replace"))


def _clean(text: str) -> str:
    """Return SQLite's message on one line; it quotes the file's own text."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_REASON else line[:_LONGEST_REASON] + "…"
