"""An nsys SQLite export as a source: opened read-only, with nothing written beside it.

Only plain tables are read. What else a schema may hold (views, virtual tables) would run what somebody wrote there.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from nsys_digest.errors import NotATrace, TraceUnreadable, UsageInvalid
from nsys_digest.trace import adbc, cursor
from nsys_digest.trace.connect import LEAST_ROW_BYTES, Connection
from nsys_digest.trace.header import CheckedFile, check_file, export_again
from nsys_digest.trace.source import Alternatives, Batch, Begins, Column, Less, Query, Reader, RowRange, Test, Value

_DENSE_ROW_BYTES: Final = 8
_STRINGS_AT_ONCE = 500
_EDGE_ROWS = 1000
_ROWS_AT_ONCE = 10_000

# SQLite writes the text of a table so, whatever its author wrote before the name: "build.c", sqlite3EndTable.
_TABLE = re.compile(r"CREATE\s+TABLE\b", re.IGNORECASE)


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
    checked = check_file(path)
    uri = path.absolute().as_uri() + "?mode=ro"
    if checked.has_log:
        # SQLite would make a -shm file beside it; the log is empty or not there, so that nothing is lost by this.
        uri += "&immutable=1"
    if reader == "auto":
        reader = "adbc" if adbc.has_room() and adbc.available() else "stdlib"
    return SqliteSource(path, uri, reader, checked)


class SqliteSource:
    """An open SQLite file; see :class:`nsys_digest.trace.source.Source`."""

    def __init__(self, path: Path, uri: str, reader: Reader, checked: CheckedFile) -> None:
        """Open the file and read its list of tables."""
        self.path, self.kind, self.made_by = path, "an SQLite file", "nsys export --type sqlite REPORT.nsys-rep"
        self.size_bytes = path.stat().st_size
        self.reader = reader
        self.most_rows = checked.data_bytes // LEAST_ROW_BYTES
        self._uri = uri
        self._data_bytes = checked.data_bytes
        self._local = threading.local()
        self._lock = threading.Lock()
        self._opened: list[adbc.AdbcConnection | Connection] = []
        self._connection = Connection(uri, path, checked.data_bytes)
        self._keys: dict[str, str | None] = {}
        self._tables, self._not_tables = self._read_schema()

    def _read_schema(self) -> tuple[dict[str, tuple[str, ...]], frozenset[str]]:
        """Return the columns of each plain table, and the names of what else can stand in the place of a table."""
        tables: dict[str, tuple[str, ...]] = {}
        others = set()
        for row in self._connection.all("SELECT name, type, sql, rootpage FROM sqlite_master"):
            name, kind, sql = ("" if value is None else _as_text(value) for value in row[:3])
            if kind == "table" and _TABLE.match(sql) and row[3]:
                info = self._connection.all(f"PRAGMA table_info({quoted(name)})")
                if info:
                    tables[name] = tuple(_as_text(column[1]) for column in info)
            elif kind in ("table", "view"):
                others.add(name)
        return tables, frozenset(others)

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the column names of each plain table."""
        return self._tables

    def refuse_other(self, name: str) -> None:
        """Raise :class:`NotATrace` where a view or a virtual table has that name."""
        if name in self._not_tables:
            raise NotATrace(
                f"{self.path}: {name} is not a table of rows but a view or virtual table, which nsys never writes; "
                f"export the report again: {export_again(self.path)}"
            )

    def _key(self, table: str) -> str | None:
        """Return a name of the row id of a table; None where it has none."""
        if table not in self._keys:
            taken = {column.lower() for column in self._tables[table]}
            free = [alias for alias in ("rowid", "_rowid_", "oid") if alias not in taken]
            self._keys[table] = (
                free[0] if free and self._connection.can(f"SELECT {free[0]} FROM {quoted(table)}") else None
            )
        return self._keys[table]

    def row_count(self, table: str, *, exact: bool) -> tuple[int, bool]:
        """Return (rows, exact). The quick answer is the range of row ids, which is the count where none was deleted.

        Where there are no row ids or they are far from dense, rows are counted all the same.
        """
        with self._lock:
            key = None if exact else self._key(table)
            if key is not None:
                low, high = self._range(table, key)
                if self._is_dense(low, high):
                    return high - low + 1, False
            # Not count(*), which SQLite works out in one step that nothing can end.
            return self._number(f"SELECT count(1) FROM {quoted(table)}") or 0, True

    def check_whole(self, table: str, rows_read: int) -> None:
        """Make sure that no row was missed: a search in a damaged table can end early without an error.

        Raises:
            TraceUnreadable: the table holds another number of rows.

        """
        there, _ = self.row_count(table, exact=True)
        if rows_read != there:
            raise TraceUnreadable(
                f"{self.path}: table {table} is damaged: {rows_read} of its {there} rows can be found; copy or export "
                f"it again: {export_again(self.path)}"
            )

    def _number(self, sql: str) -> int | None:
        """Return the integer that a query gives; None for NULL."""
        [(value,)] = self._connection.all(sql)
        return value if isinstance(value, int) else None

    def _range(self, table: str, key: str) -> tuple[int, int]:
        low, high = (self._number(f"SELECT {end}({key}) FROM {quoted(table)}") for end in ("min", "max"))
        return (1, 0) if low is None or high is None else (low, high)

    def _is_dense(self, low: int, high: int) -> bool:
        """Tell whether as many rows as there are row ids could be in a file with that much data.

        In a damaged table the last row id may be below the first.
        """
        return 0 <= high - low + 1 <= self._data_bytes // _DENSE_ROW_BYTES

    def parts(self, table: str, rows_per_part: int) -> list[RowRange]:
        """Return ranges of row ids; one part where the table has no row ids or they are far from dense."""
        with self._lock:
            key = self._key(table)
            if key is None:
                return [None]
            low, high = self._range(table, key)
        if not self._is_dense(low, high):
            return [None]
        count = max(1, -(-(high - low + 1) // rows_per_part))
        if count == 1:
            return [None]
        edges = [low + (high - low + 1) * i // count for i in range(count + 1)]
        return [(first, after - 1) for first, after in itertools.pairwise(edges)]

    def batches(self, query: Query, part: RowRange = None) -> Iterator[Batch]:
        """Yield the rows of a query, in the order of the file.

        Raises:
            ReaderUnfitError: the adbc reader cannot read this file; the standard library must.
            TraceUnreadable, TraceInUse, ValueUnreadable: the standard library cannot either.

        """
        sql = self._sql(query, part)
        if self.reader == "adbc":
            yield from self._adbc().batches(sql)
            return
        yield from cursor.batches(self._stdlib(), self.path, query, sql)

    def _sql(self, query: Query, part: RowRange) -> str:
        columns = self._tables[query.table]
        terms = ", ".join(f"{_term(column, columns)} AS {name}" for name, column in query.columns.items())
        tests = [] if part is None else [f"{self._key(query.table)} BETWEEN {part[0]} AND {part[1]}"]
        if query.where is not None:
            tests += [self._any_of(query, query.where.any_of)]
            tests += [f"NOT ({self._any_of(query, query.where.none_of)})"] if query.where.none_of else []
        where = f" WHERE {' AND '.join(tests)}" if tests else ""
        return f"SELECT {terms} FROM {quoted(query.table)}{where}"

    def _any_of(self, query: Query, alternatives: Alternatives) -> str:
        found = (" AND ".join(self._tests(query, tests)) or "1" for tests in alternatives)
        return "(" + (" OR ".join(f"({tests})" for tests in found) or "0") + ")"

    def _tests(self, query: Query, tests: Iterable[Test]) -> Iterator[str]:
        present = self._tables[query.table]
        for test in tests:
            term = _term(query.columns[test.column], present)
            if isinstance(test, Less):
                yield f"{term} < {_term(query.columns[test.other], present)}"
            elif isinstance(test, Begins):
                yield f"substr({term}, 1, {len(test.text)}) = {_literal(test.text)}"
            elif test.low is not None and test.high is not None:
                yield f"{term} = {test.low}" if test.low == test.high else f"{term} BETWEEN {test.low} AND {test.high}"
            else:
                yield from (f"{term} >= {low}" for low in (test.low,) if low is not None)
                yield from (f"{term} <= {high}" for high in (test.high,) if high is not None)

    def distinct(self, query: Query, columns: tuple[str, ...]) -> list[tuple[int, ...]]:
        """Return the different values that some columns have together."""
        terms = ", ".join(_term(query.columns[name], self._tables[query.table]) for name in columns)
        with self._lock:
            rows = self._connection.all(f"SELECT DISTINCT {terms} FROM {quoted(query.table)}")
        return [tuple(value for value in row if isinstance(value, int)) for row in rows]

    def least(self, query: Query, column: str, of: Iterable[Alternatives]) -> list[int | None]:
        """Return the least value of a column among the rows of each of several alternatives."""
        term = _term(query.columns[column], self._tables[query.table])
        cases = ", ".join(f"min(CASE WHEN {self._any_of(query, one)} THEN {term} END)" for one in of)
        with self._lock:
            [row] = self._connection.all(f"SELECT {cases} FROM {quoted(query.table)}")
        return [value if isinstance(value, int) else None for value in row]

    def greatest(self, query: Query, columns: tuple[str, ...]) -> int | None:
        """Return the greatest value of integer columns."""
        terms = ", ".join(f"max({_term(query.columns[name], self._tables[query.table])})" for name in columns)
        with self._lock:
            [row] = self._connection.all(f"SELECT {terms} FROM {quoted(query.table)}")
        return max((value for value in row if isinstance(value, int)), default=None)

    def rows_near(self, query: Query, column: str, low: int, high: int) -> RowRange:
        """Return the range of row ids in which values from ``low`` to ``high`` are, were the rows in order of them."""
        term = _term(query.columns[column], self._tables[query.table])
        with self._lock:
            key = self._key(query.table)
            first, last = (1, 0) if key is None else self._range(query.table, key)
            if first > last:
                return None
            sql = f"SELECT {term} FROM {quoted(query.table)} WHERE {key} >= ? ORDER BY {key} LIMIT 1"
            ends = []
            for value in (low, high):
                below, above = first, last
                while below < above:
                    middle = (below + above) // 2
                    [(found,)] = self._connection.all(sql.replace("?", str(middle)))
                    below, above = (middle + 1, above) if isinstance(found, int) and found < value else (below, middle)
                ends.append(below)
        return min(ends), max(ends)

    def ids_of_texts(self, table: str, beginnings: Iterable[str]) -> list[int]:
        """Return the ids of texts that begin so."""
        if not {"id", "value"} <= set(self._tables.get(table, ())):
            return []
        tests = " OR ".join(f"substr(value, 1, {len(text)}) = {_literal(text)}" for text in beginnings)
        with self._lock:
            rows = self._connection.all(f"SELECT id FROM {quoted(table)} WHERE {tests}")
        return [key for (key,) in rows if isinstance(key, int)]

    def _adbc(self) -> adbc.AdbcConnection:
        """Return this thread's own connection."""
        if not hasattr(self._local, "adbc"):
            self._local.adbc = adbc.AdbcConnection(self._uri)
            with self._lock:
                self._opened.append(self._local.adbc)
        connection: adbc.AdbcConnection = self._local.adbc
        return connection

    def _stdlib(self) -> Connection:
        if not hasattr(self._local, "stdlib"):
            self._local.stdlib = Connection(self._uri, self.path, self._data_bytes)
            with self._lock:
                self._opened.append(self._local.stdlib)
        connection: Connection = self._local.stdlib
        return connection

    def rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Value, ...]]:
        """Return all rows of a small table; a column or table that is not there gives None or no rows."""
        present = self._tables.get(table)
        if present is None:
            self.refuse_other(table)
            return []
        terms = ", ".join(quoted(name) if name in present else "NULL" for name in columns)
        with self._lock:
            found = self._connection.all(f"SELECT {terms} FROM {quoted(table)}")
        return [tuple(_as_value(value) for value in row) for row in found]

    def rows_at_once(self, table: str, terms: Sequence[str], where: str = "TRUE") -> Iterator[list[tuple[object, ...]]]:
        """Yield the rows of a table in the order of the file, many at once; the terms are SQL on its columns."""
        return self._stdlib().rows(f"SELECT {', '.join(terms)} FROM {quoted(table)} WHERE {where}", _ROWS_AT_ONCE)

    def time_range(self, table: str, start: str, end: str, *, exact: bool) -> tuple[int, int] | None:
        """Return (smallest start, largest end), of all rows or of the first and last thousand."""
        if not {start, end} <= set(self._tables[table]):
            return None
        with self._lock:
            key = None if exact else self._key(table)
        columns = f"{quoted(start)} AS first, coalesce({quoted(end)}, {quoted(start)}) AS last"
        orders = (f" ORDER BY {key} LIMIT {_EDGE_ROWS}", f" ORDER BY {key} DESC LIMIT {_EDGE_ROWS}") if key else ("",)
        found = []
        for order in orders:
            sql = f"SELECT min(first), max(last) FROM (SELECT {columns} FROM {quoted(table)}{order})"
            with self._lock:
                found += self._connection.all(sql)
        bounds = [(low, high) for low, high in found if isinstance(low, int) and isinstance(high, int)]
        return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None

    def strings(self, table: str, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of those ids; a text that is stored as something else is written out."""
        found: dict[int, str] = {}
        if not {"id", "value"} <= set(self._tables.get(table, ())):
            return found
        wanted = iter(ids)
        while chunk := list(itertools.islice(wanted, _STRINGS_AT_ONCE)):
            sql = f"SELECT id, value FROM {quoted(table)} WHERE id IN ({', '.join(map(str, chunk))})"
            with self._lock:
                rows = self._connection.all(sql)
            found.update((key, _as_text(value)) for key, value in rows if isinstance(key, int) and value is not None)
        return found

    def close(self) -> None:
        """Close every connection."""
        self._connection.close()
        for connection in self._opened:
            connection.close()
        self._opened.clear()


def _term(column: Column, present: tuple[str, ...]) -> str:
    # SQLite reads 9e999 as infinity
    absent = _literal(column.absent) if isinstance(column.absent, str) else str(column.absent).replace("inf", "9e999")
    if column.name is None or column.name not in present:
        return absent
    term = f"coalesce({quoted(column.name)}, {absent})"
    return f"CAST({term} AS TEXT)" if isinstance(column.absent, str) else term


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    """Return a name as SQL has it."""
    return '"' + name.replace('"', '""') + '"'


def _as_value(value: object) -> Value:
    return value if value is None or isinstance(value, int | float | str) else _as_text(value)


def _as_text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
