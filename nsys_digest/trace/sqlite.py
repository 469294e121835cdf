"""An nsys SQLite export as a source: opened read-only, with nothing written beside it.

Facts about the file format are from www.sqlite.org/fileformat2.html (header) and www.sqlite.org/uri.html.
"""

from __future__ import annotations

import itertools
import os
import shlex
import sqlite3
import stat
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nsys_digest.errors import NotATrace, TraceInUse, TraceUnreadable, UsageInvalid
from nsys_digest.trace import adbc, cursor
from nsys_digest.trace.source import Batch, Column, Part, Query, Reader, Value

_MAGIC = b"SQLite format 3\0"
_LFS_MAGIC = b"version https://git-lfs"
_REPORT_SUFFIXES = {".nsys-rep", ".qdrep"}
_HEADER_BYTES = 100
_SPARSE = 8
_STRINGS_AT_ONCE = 500
_EDGE_ROWS = 1000


def open_sqlite(path: Path, reader: Reader = "auto") -> SqliteSource:
    """Open an SQLite file for reading only.

    Raises:
        TraceUnreadable: it is missing, a folder, not readable, damaged or cut short.
        NotATrace: it is no SQLite file.
        TraceInUse: it is locked, or a write-ahead log or journal beside it is not merged.
        UsageInvalid: ``reader`` is "adbc" and the driver is not installed.

    """
    if reader == "adbc" and not adbc.available():
        raise UsageInvalid(
            "the adbc reader is not installed here; use --reader stdlib, or: pip install adbc-driver-sqlite"
        )
    header = _checked_header(path)
    uri = path.absolute().as_uri() + "?mode=ro"
    if _is_wal(header):
        # A write-ahead-log database would get a -shm file beside it; without a log nothing is lost by this.
        uri += "&immutable=1"
    return SqliteSource(path, uri, reader if reader != "auto" else "adbc" if adbc.available() else "stdlib")


def _checked_header(path: Path) -> bytes:
    """Return the first 100 bytes after every check that needs no SQLite."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise TraceUnreadable(f"{path}: this is a folder; name the .sqlite file in it")
        if not stat.S_ISREG(mode):
            raise TraceUnreadable(f"{path}: this is not a regular file; SQLite needs one, so save it to disk first")
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
        size = path.stat().st_size
    except FileNotFoundError:
        raise TraceUnreadable(f"{path}: no such file; check the path") from None
    except PermissionError:
        raise TraceUnreadable(f"{path}: no permission to read it; ask its owner, or: chmod +r") from None
    except OSError as error:
        raise TraceUnreadable(f"{path}: cannot be read ({error.strerror or error}); check the path") from None
    export = _export_again(path)
    if not header:
        raise TraceUnreadable(f"{path}: the file is empty; export the report again: {export}")
    if header.startswith(_LFS_MAGIC):
        raise NotATrace(f"{path}: this is a Git LFS pointer, not the trace; fetch it with: git lfs pull")
    if not header.startswith(_MAGIC):
        if path.suffix in _REPORT_SUFFIXES:
            raise NotATrace(
                f"{path}: this is an nsys report, not an export; export it with: nsys export --type sqlite "
                f"{shlex.quote(str(path))}"
            )
        if path.suffix == ".qdstrm":
            raise NotATrace(
                f"{path}: this is raw nsys data, not an export; make a report of it with QdstrmImporter, then an "
                "export of that with: nsys export --type sqlite REPORT.nsys-rep"
            )
        if not header.strip(b"\0"):
            raise TraceUnreadable(
                f"{path}: its header is all zeros, as an interrupted export leaves it; again: {export}"
            )
        raise NotATrace(f"{path}: this is not an SQLite file; make one from the report with: {export}")
    _check_length(path, header, size, export)
    _check_unmerged(path, wal=_is_wal(header))
    return header


def _export_again(path: Path) -> str:
    """Return the command that replaces an export, given that nsys named it after its report."""
    report = shlex.quote(str(path.with_suffix(".nsys-rep")))
    return f"nsys export --type sqlite --force-overwrite true {report}"


def _is_wal(header: bytes) -> bool:
    return header[18] == 2 or header[19] == 2


def _check_unmerged(path: Path, *, wal: bool) -> None:
    """Refuse a file whose newest state is in a log or journal beside it: merging that would change the file."""
    beside = Path(os.path.realpath(path) + ("-wal" if wal else "-journal"))
    try:
        with beside.open("rb") as file:
            pending = file.read(8).strip(b"\0")
    except FileNotFoundError:
        return
    except OSError:
        pending = b"?"
    if pending:
        cure = "PRAGMA wal_checkpoint(TRUNCATE)" if wal else "PRAGMA user_version"
        raise TraceInUse(
            f"{path}: {beside.name} beside it holds changes that are not in the file yet; close the program that "
            f'has it open, or merge them with: sqlite3 {shlex.quote(str(path))} "{cure}"'
        )


def _check_length(path: Path, header: bytes, size: int, export: str) -> None:
    """Compare the length with the header's page count, where that is valid (change counter 24 equals 92)."""
    if len(header) < _HEADER_BYTES:
        raise TraceUnreadable(f"{path}: the file is cut short, to {size} bytes; copy or export it again: {export}")
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big")
    if header[24:28] == header[92:96] and size < pages * page_size:
        raise TraceUnreadable(
            f"{path}: the file is cut short: its header says {pages * page_size} bytes, it has {size}; copy or "
            f"export it again: {export}"
        )


class SqliteSource:
    """An open SQLite file; see :class:`nsys_digest.trace.source.Source`."""

    def __init__(self, path: Path, uri: str, reader: Reader) -> None:
        """Open the file and read its list of tables."""
        self.path = path
        self.reader = reader
        self._uri = uri
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: list[adbc.AdbcConnection | sqlite3.Connection] = []
        with self._faults():
            self._connection = cursor.connect(uri)
            self._tables, self._keys = self._read_tables()

    def _read_tables(self) -> tuple[dict[str, tuple[str, ...]], dict[str, str | None]]:
        """Return the columns of each table, and the name of its row id, None where it has none."""
        tables: dict[str, tuple[str, ...]] = {}
        keys: dict[str, str | None] = {}
        listed = self._connection.execute("SELECT name, type, sql FROM sqlite_master WHERE type IN ('table', 'view')")
        for name, kind, sql in listed.fetchall():
            try:
                info = self._connection.execute(f"PRAGMA table_info({_quoted(name)})").fetchall()
            except sqlite3.OperationalError:
                if kind == "table":
                    raise
                continue  # a view of a table that is gone
            tables[name] = tuple(column[1] for column in info)
            taken = {column.lower() for column in tables[name]}
            free = [alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken]
            without_rowid = kind == "view" or "without rowid" in " ".join((sql or "").lower().split())
            keys[name] = None if without_rowid or not free else free[0]
        return tables, keys

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Turn an error of SQLite into one of ours."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            text = str(error)
            if "locked" in text or "busy" in text:
                raise TraceInUse(
                    f"{self.path}: another program holds it locked; wait until the export or the other tool has ended"
                ) from None
            raise TraceUnreadable(
                f"{self.path}: SQLite cannot read it ({text}); copy or export it again: {_export_again(self.path)}"
            ) from None

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the column names of each table and view."""
        return self._tables

    def row_count(self, table: str, *, exact: bool) -> tuple[int, bool]:
        """Return (rows, exact). The quick answer is the range of row ids, which is the count where none was deleted.

        Where there are no row ids or they are far from dense, rows are counted all the same.
        """
        key = self._keys[table]
        with self._faults(), self._lock:
            if not exact and key is not None:
                low, high = self._range(table, key)
                if self._is_dense(low, high):
                    return high - low + 1, False
            return int(self._connection.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0]), True

    def check_whole(self, table: str, rows_read: int) -> None:
        """Make sure that no row was missed: a search in a damaged table can end early without an error.

        Raises:
            TraceUnreadable: the table holds another number of rows.

        """
        there, _ = self.row_count(table, exact=True)
        if rows_read != there:
            raise TraceUnreadable(
                f"{self.path}: table {table} is damaged: {rows_read} of its {there} rows can be found; copy or export "
                f"it again: {_export_again(self.path)}"
            )

    def _range(self, table: str, key: str) -> tuple[int, int]:
        low = self._connection.execute(f"SELECT min({key}) FROM {_quoted(table)}").fetchone()[0]
        if low is None:
            return 1, 0
        return int(low), int(self._connection.execute(f"SELECT max({key}) FROM {_quoted(table)}").fetchone()[0])

    def _is_dense(self, low: int, high: int) -> bool:
        """Tell whether as many rows as there are row ids could be in a file of this size."""
        return high - low + 1 <= self.path.stat().st_size // _SPARSE

    def parts(self, table: str, rows_per_part: int) -> list[Part]:
        """Return ranges of row ids; one part where the table has no row ids or they are far from dense."""
        key = self._keys[table]
        if key is None:
            return [None]
        with self._faults(), self._lock:
            low, high = self._range(table, key)
        if not self._is_dense(low, high):
            return [None]
        count = max(1, -(-(high - low + 1) // rows_per_part))
        if count == 1:
            return [None]
        edges = [low + (high - low + 1) * i // count for i in range(count + 1)]
        return [(first, after - 1) for first, after in itertools.pairwise(edges)]

    def batches(self, query: Query, part: Part = None) -> Iterator[Batch]:
        """Yield the rows of a query, in the order of the file.

        Raises:
            ReaderUnfitError: the adbc reader cannot read this file; the standard library must.
            TraceUnreadable, TraceInUse, ValueUnreadable: the standard library cannot either.

        """
        sql = self._sql(query, part)
        if self.reader == "adbc":
            yield from self._adbc().batches(sql)
            return
        with self._faults():
            yield from cursor.batches(self._stdlib(), self.path, query, sql)

    def _sql(self, query: Query, part: Part) -> str:
        columns = self._tables[query.table]
        terms = ", ".join(_term(column, columns) for column in query.columns)
        where = "" if part is None else f" WHERE {self._keys[query.table]} BETWEEN {part[0]} AND {part[1]}"
        return f"SELECT {terms} FROM {_quoted(query.table)}{where}"

    def _adbc(self) -> adbc.AdbcConnection:
        """Return this thread's own connection."""
        if not hasattr(self._local, "adbc"):
            self._local.adbc = adbc.AdbcConnection(self._uri)
            with self._lock:
                self._opened.append(self._local.adbc)
        connection: adbc.AdbcConnection = self._local.adbc
        return connection

    def _stdlib(self) -> sqlite3.Connection:
        if not hasattr(self._local, "stdlib"):
            self._local.stdlib = cursor.connect(self._uri)
            with self._lock:
                self._opened.append(self._local.stdlib)
        connection: sqlite3.Connection = self._local.stdlib
        return connection

    def rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Value, ...]]:
        """Return all rows of a small table; a column or table that is not there gives None or no rows."""
        present = self._tables.get(table)
        if present is None:
            return []
        terms = ", ".join(_quoted(name) if name in present else "NULL" for name in columns)
        with self._faults(), self._lock:
            found = self._connection.execute(f"SELECT {terms} FROM {_quoted(table)}").fetchall()
        return [tuple(_as_text(value) if isinstance(value, bytes) else value for value in row) for row in found]

    def time_range(self, table: str, start: str, end: str, *, exact: bool) -> tuple[int, int] | None:
        """Return (smallest start, largest end), of all rows or of the first and last thousand."""
        if not {start, end} <= set(self._tables[table]):
            return None
        key = None if exact else self._keys[table]
        columns = f"{_quoted(start)} AS first, coalesce({_quoted(end)}, {_quoted(start)}) AS last"
        orders = (f" ORDER BY {key} LIMIT {_EDGE_ROWS}", f" ORDER BY {key} DESC LIMIT {_EDGE_ROWS}") if key else ("",)
        found = []
        for order in orders:
            sql = f"SELECT min(first), max(last) FROM (SELECT {columns} FROM {_quoted(table)}{order})"
            with self._faults(), self._lock:
                found.append(self._connection.execute(sql).fetchone())
        bounds = [(low, high) for low, high in found if isinstance(low, int) and isinstance(high, int)]
        return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None

    def strings(self, table: str, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of those ids; a text that is stored as something else is written out."""
        found: dict[int, str] = {}
        if not {"id", "value"} <= set(self._tables.get(table, ())):
            return found
        wanted = iter(ids)
        while chunk := list(itertools.islice(wanted, _STRINGS_AT_ONCE)):
            sql = f"SELECT id, value FROM {_quoted(table)} WHERE id IN ({', '.join(map(str, chunk))})"
            with self._faults(), self._lock:
                rows = self._connection.execute(sql).fetchall()
            found.update((key, _as_text(value)) for key, value in rows if value is not None)
        return found

    def close(self) -> None:
        """Close every connection."""
        self._connection.close()
        for connection in self._opened:
            connection.close()
        self._opened.clear()


def _term(column: Column, present: tuple[str, ...]) -> str:
    absent = str(column.absent) if isinstance(column.absent, int) else "'" + column.absent.replace("'", "''") + "'"
    if column.name is None or column.name not in present:
        return absent
    term = f"coalesce({_quoted(column.name)}, {absent})"
    return term if isinstance(column.absent, int) else f"CAST({term} AS TEXT)"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
