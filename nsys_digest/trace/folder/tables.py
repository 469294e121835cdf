"""The files of an export's folder: which table each is of, its columns and rows, and its record batches.

``nsys export --type parquetdir`` (2025.3) writes ``TABLE.parquet`` for each table, by Arrow's own writer; ``arrowdir``
writes ``TABLE.arrow``, an Arrow IPC stream, though its help says IPC file: both are read. Either names the table in the
schema's metadata, as ``table_name``. Files that name the same table are read one behind the other, by name.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from nsys_digest.errors import TraceUnreadable

BATCH_ROWS: Final = 32_768  # what the columns of a batch take stays in the cache
SUFFIXES: Final = (".parquet", ".arrow")
_TABLE_NAME: Final = b"table_name"
_NUMBERED = re.compile(r"(?<=.)[.-](?:part[.-]?)?\d{1,9}$")
_DIGITS = re.compile(r"(\d+)")
_STREAM_END: Final = b"\xff\xff\xff\xff\0\0\0\0"
_FILE_MAGIC: Final = b"ARROW1"
_ROWS_PER_BYTE: Final = 100
"""More rows than that many a byte no table of events has: time stamps differ."""
_FEW_ROWS: Final = 1_000_000


class TableFile(Protocol):
    """A file with rows of a table."""

    path: Path
    schema: Any
    bounds: tuple[int, ...]
    """The rows before each part that can be read on its own, and of all: 0, …, rows."""

    def batches(self, columns: list[str], first: int, after: int) -> Iterator[Any]:
        """Yield the record batches of those rows; both ends are bounds."""
        ...


class ParquetTable:
    """A Parquet file; its parts are the row groups."""

    def __init__(self, path: Path) -> None:
        """Read the footer."""
        import pyarrow.parquet

        self.path = path
        self._file = pyarrow.parquet.ParquetFile(path, memory_map=True)
        self.schema = self._file.schema_arrow
        groups = (self._file.metadata.row_group(index).num_rows for index in range(self._file.num_row_groups))
        self.bounds = tuple(itertools.accumulate(groups, initial=0))

    def batches(self, columns: list[str], first: int, after: int) -> Iterator[Any]:
        """Yield batches of the row groups between; through a reader of its own, as each thread needs one."""
        import pyarrow.parquet

        groups = [index for index, low in enumerate(self.bounds[:-1]) if first <= low < after]
        with pyarrow.parquet.ParquetFile(self.path, memory_map=True, metadata=self._file.metadata) as file:
            yield from file.iter_batches(BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False)


class ArrowTable:
    """An Arrow IPC stream or file, mapped into memory; its parts are the record batches."""

    def __init__(self, path: Path) -> None:
        """Read the schema and count the rows of each batch; of a whole stream the end is marked."""
        self.path = path
        with self._reader(None) as reader:
            self.schema = reader.schema
        with self._reader([0] if len(self.schema) else []) as reader:
            rows = [batch.num_rows for batch in _batches_of(reader)]
        self.bounds = tuple(itertools.accumulate(rows, initial=0))

    def _reader(self, fields: list[int] | None) -> Any:
        """Open the file; only those fields are read, None means all."""
        from pyarrow import ipc, memory_map

        source = memory_map(str(self.path))
        is_file = source.read(len(_FILE_MAGIC)) == _FILE_MAGIC
        if not is_file:
            source.seek(max(source.size() - len(_STREAM_END), 0))
            if source.read() != _STREAM_END:
                raise TraceUnreadable(f"{self.path}: the file is cut short: the mark at its end is not there")
        source.seek(0)
        options = ipc.IpcReadOptions(included_fields=fields)
        return (ipc.open_file if is_file else ipc.open_stream)(source, options=options)

    def batches(self, columns: list[str], first: int, after: int) -> Iterator[Any]:
        """Yield slices of the record batches between; they are views of the file."""
        with self._reader(sorted(map(self.schema.get_field_index, columns))) as reader:
            low = 0
            for batch in _batches_of(reader):
                if first <= low < after:
                    batch.validate()
                    for column in batch.columns:
                        if "string" in str(column.type):  # text need not be UTF-8, but must lie within its buffer
                            column.view(str(column.type).replace("string", "binary")).validate(full=True)
                    yield from (batch.slice(start, BATCH_ROWS) for start in range(0, batch.num_rows, BATCH_ROWS))
                low += batch.num_rows
                if low >= after:
                    return


def _batches_of(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
    else:
        yield from reader


@dataclass(slots=True, frozen=True)
class Table:
    """A table: its files in order."""

    name: str
    files: list[TableFile] = field(default_factory=list)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns: those of every file."""
        return tuple(dict.fromkeys(name for file in self.files for name in file.schema.names))

    @property
    def rows(self) -> int:
        """How many rows it has."""
        return sum(file.bounds[-1] for file in self.files)

    def bounds(self) -> list[int]:
        """Return the rows before each part of all files that can be read on its own, and of all."""
        sizes = (high - low for file in self.files for low, high in itertools.pairwise(file.bounds))
        return list(itertools.accumulate(sizes, initial=0))

    def batches(self, columns: list[str], first: int, after: int) -> Iterator[Any]:
        """Yield the record batches of those rows, of the columns that the file at hand has."""
        before = 0
        for file in self.files:
            here = file.bounds[-1]
            low, high = max(first - before, 0), min(after - before, here)
            if low < high:
                present = [name for name in columns if name in file.schema.names]
                # a batch without columns would have no rows
                yield from file.batches(present or file.schema.names[:1], low, high)
            before += here


@dataclass(slots=True, frozen=True)
class TableFiles:
    """The files with tables in a folder, all of one format."""

    suffix: str
    files: tuple[Path, ...]

    @property
    def size_bytes(self) -> int:
        """The size of all of them."""
        return sum(path.stat().st_size for path in self.files)

    def tables(self) -> dict[str, Table]:
        """Open all files; return the tables by name.

        Raises:
            TraceUnreadable: a file is damaged, or claims more rows than it can hold.

        """
        import pyarrow

        kind = ParquetTable if self.suffix == SUFFIXES[0] else ArrowTable
        found: dict[str, Table] = {}
        for path in self.files:
            try:
                file: TableFile = kind(path)
                _ = file.schema.names  # raises where one is not UTF-8
                named = (file.schema.metadata or {}).get(_TABLE_NAME, b"").decode("utf-8", "replace")
            except (pyarrow.ArrowException, OSError, ValueError) as error:
                raise damaged(path, error) from None
            if file.bounds[-1] > max(_FEW_ROWS, _ROWS_PER_BYTE * path.stat().st_size):
                raise TraceUnreadable(f"{path}: it claims {file.bounds[-1]:,} rows in so few bytes; it is damaged")
            name = named or _name_of(path, self.suffix)
            found.setdefault(name, Table(name)).files.append(file)
        return found


def files_of(folder: Path) -> TableFiles | None:
    """Return the files with tables in a folder, and in folders that are called as a table is; None without any."""
    for suffix in SUFFIXES:
        below = [folder, *sorted(path for path in folder.iterdir() if path.is_dir() and _is_split(path, suffix))]
        found = [path for place in below for path in place.iterdir() if path.suffix == suffix and path.is_file()]
        if found:
            return TableFiles(suffix, tuple(sorted(found, key=_natural)))
    return None


def _is_split(folder: Path, suffix: str) -> bool:
    """Tell whether a folder holds the parts of one table."""
    return folder.suffix == suffix


def _natural(path: Path) -> list[tuple[bool, int, str]]:
    """Return a key by which numbers in names count as numbers: 2 before 10."""
    parts = _DIGITS.split(os.fspath(path))
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _name_of(path: Path, suffix: str) -> str:
    """Return the table that a file is of, where it does not say: TABLE.parquet, TABLE-0.parquet, TABLE.parquet/0."""
    if path.parent.suffix == suffix:
        return path.parent.stem
    return _NUMBERED.sub("", path.stem)


def damaged(path: Path, error: Exception) -> TraceUnreadable:
    """Return what is said of a file that Arrow cannot read."""
    said = " ".join(str(error).split())[:200]
    return TraceUnreadable(f"{path}: this file of the export is damaged or cut short ({said}); copy the folder again")
