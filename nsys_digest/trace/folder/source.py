"""A folder of Parquet or Arrow files as a source; see :class:`nsys_digest.trace.source.Source`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from nsys_digest.errors import NotATrace, TraceUnreadable
from nsys_digest.trace.arrow_texts import decoded
from nsys_digest.trace.folder.batch import FolderBatch, signed, values_of
from nsys_digest.trace.folder.batch import as_text as text_column
from nsys_digest.trace.folder.tables import SUFFIXES, Table, TableFiles, damaged, files_of
from nsys_digest.trace.packings.magic import is_table
from nsys_digest.trace.packings.room import head_of
from nsys_digest.trace.source import Batch, Query, Reader, RowRange, Value

_KINDS: Final = {".parquet": ("Parquet", "parquetdir"), ".arrow": ("Arrow", "arrowdir")}


def is_export_folder(path: Path) -> bool:
    """Tell whether a path is a folder with tables in it, or one of its files."""
    try:
        if path.is_dir():
            return files_of(path) is not None
    except OSError:
        return False
    return path.suffix in SUFFIXES and is_table(head_of(path))


def open_folder(path: Path, reader: Reader = "auto") -> FolderSource:
    """Open the folder of an export; the reader makes no difference.

    Raises:
        NotATrace: the path is that of one table's file. TraceUnreadable: a file is damaged.

    """
    files = files_of(path) if path.is_dir() else None
    if files is None:
        raise NotATrace(f"{path}: this is one table of an export; name the folder that it is in: {path.parent}")
    return FolderSource(path, files)


class FolderSource:
    """An open folder of tables."""

    def __init__(self, path: Path, files: TableFiles) -> None:
        """Read what each file says of itself."""
        name, kind = _KINDS[files.suffix]
        self.path, self.kind = path, f"a folder of {name} files"
        self.made_by = f"nsys export --type {kind} REPORT.nsys-rep"
        self.size_bytes = files.size_bytes
        self._tables: dict[str, Table] = files.tables()
        self.most_rows = max((table.rows for table in self._tables.values()), default=0)

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """Return the column names of each table."""
        return {name: table.columns for name, table in self._tables.items()}

    def refuse_other(self, name: str) -> None:
        """Refuse nothing: a folder holds tables alone."""

    def row_count(self, table: str, *, exact: bool) -> tuple[int, bool]:
        """Return the rows that the files say they have, which is exact."""
        return self._tables[table].rows, True

    def check_whole(self, table: str, rows_read: int) -> None:
        """Raise TraceUnreadable unless that is the number of rows of the table."""
        there = self._tables[table].rows
        if rows_read != there:
            raise TraceUnreadable(
                f"{self.path}: table {table} is damaged: {rows_read} of its {there} rows can be found; copy the folder "
                f"again, or export the report again: {self.made_by}"
            )

    def parts(self, table: str, rows_per_part: int) -> list[RowRange]:
        """Return ranges of rows that begin and end where a file can be read from: a row group, a record batch."""
        found: list[RowRange] = []
        low = 0
        bounds = self._tables[table].bounds()
        for high in bounds[1:]:
            if high - low >= rows_per_part or high == bounds[-1]:
                if high > low:
                    found.append((low, high - 1))
                low = high
        return found or [None]

    def batches(self, query: Query, part: RowRange = None) -> Iterator[Batch]:
        """Yield the rows of a query."""
        wanted = list(dict.fromkeys(column.name for column in query.columns.values() if column.name is not None))
        for batch in self._batches(query.table, wanted, part):
            yield FolderBatch(self.path, self.made_by, query, batch)

    def _batches(self, name: str, columns: list[str], part: RowRange = None) -> Iterator[Any]:
        table = self._tables[name]
        first, last = (0, table.rows - 1) if part is None else part
        with self._faults(name):
            yield from table.batches(columns, first, last + 1)

    @contextmanager
    def _faults(self, name: str) -> Iterator[None]:
        import pyarrow

        try:
            yield
        except (pyarrow.ArrowException, OSError) as error:
            raise damaged(self.path / name, error) from None

    def rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Value, ...]]:
        """Return all rows of a small table; a column or table that is not there gives None or no rows."""
        if table not in self._tables:
            return []
        found: list[tuple[Value, ...]] = []
        for batch in self._batches(table, list(columns)):
            nothing = [None] * batch.num_rows
            present = batch.schema.names
            found += zip(
                *(values_of(batch.column(name)) if name in present else nothing for name in columns), strict=True
            )
        return found

    def time_range(self, table: str, start: str, end: str, *, exact: bool) -> tuple[int, int] | None:
        """Return (smallest start, largest end) of all rows; a row without an end ends where it starts."""
        if not {start, end} <= set(self._tables[table].columns):
            return None
        bounds = []
        for batch in self._batches(table, [start, end]):
            starts, ends = (signed(batch.column(name)) for name in (start, end))
            if starts is None or ends is None:
                return None
            ends = _coalesced(ends, starts)
            lows, highs = starts.drop_null(), ends.drop_null()
            if len(lows) and len(highs):
                bounds.append((int(_ints(lows).min()), int(_ints(highs).max())))
        return (min(low for low, _ in bounds), max(high for _, high in bounds)) if bounds else None

    def strings(self, table: str, ids: Iterable[int]) -> dict[int, str]:
        """Return the texts of those ids."""
        found: dict[int, str] = {}
        if table not in self._tables or not {"id", "value"} <= set(self._tables[table].columns):
            return found
        wanted = np.fromiter(ids, np.int64)
        for batch in self._batches(table, ["id", "value"]):
            keys, texts = signed(batch.column("id")), text_column(batch.column("value"))
            if keys is None:
                continue
            kept = np.isin(_ints(keys.fill_null(-1)), wanted) & _valid(keys) & _valid(texts)
            rows = np.flatnonzero(kept)
            if rows.size:
                found.update(zip(_ints(keys)[rows].tolist(), decoded(_taken(texts, rows)), strict=True))
        return found

    def close(self) -> None:
        """Let go of the files."""
        self._tables = {}


def _ints(column: Any) -> Any:
    return np.frombuffer(column.buffers()[1], np.int64, len(column), column.offset * 8)


def _coalesced(first: Any, second: Any) -> Any:
    from pyarrow import compute

    return compute.coalesce(first, second)


def _valid(column: Any) -> Any:
    """Return which rows are no nulls: bool, shape (n,)."""
    if not column.null_count:
        return np.ones(len(column), np.bool_)
    return np.array(column.is_valid().to_pylist(), np.bool_)


def _taken(column: Any, rows: Any) -> Any:
    import pyarrow

    return column.take(pyarrow.array(rows))
