"""An SQLite export as the folder that ``nsys export --type parquetdir`` or ``arrowdir`` makes of the same report.

The types of the columns are those of nsys 2025.3 (``fixtures/nsys-arrow-types.json``, from exports of real reports):
ids without a sign, flags as bits, text as large strings. Where a value does not fit, the column has a roomier type.
``python -m tests.folders TRACE.sqlite FOLDER.parquetdir`` writes one.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

_TYPES = json.loads((Path(__file__).parent.parent / "fixtures" / "nsys-arrow-types.json").read_text())
_DECLARED = {"INTEGER": "int64", "TEXT": "large_string", "REAL": "double"}
_ARROW = {"bool": pa.bool_(), "float": pa.float32(), "double": pa.float64(), "large_string": pa.large_string()}
_MANY = 1 << 18


def write_folder(
    trace: Path, folder: Path, *, rows_per_batch: int = 1 << 20, files: int = 1, named: bool = True
) -> Path:
    """Write each table of a trace into a folder whose suffix says how: ``.parquetdir`` or ``.arrowdir``.

    ``files`` splits each table; ``named`` says whether a file names its table in its metadata, as nsys does.
    """
    folder.mkdir()
    with closing(sqlite3.connect(f"{trace.absolute().as_uri()}?mode=ro", uri=True)) as db:
        db.text_factory = lambda raw: raw.decode("utf-8", "replace")
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            _write_table(db, name, folder, rows_per_batch, files, named)
    return folder


def _write_table(db: sqlite3.Connection, name: str, folder: Path, rows: int, files: int, named: bool) -> None:
    kind = folder.suffix.removesuffix("dir")
    schema = _schema(db, name).with_metadata({"table_name": name} if named else {"other": "x"})
    (count,) = db.execute(f'SELECT count(*) FROM "{name}"').fetchone()
    share = -(-count // files) or 1
    for index in range(min(files, max(1, -(-count // share)))):
        path = folder / f"{name}{f'-{index}' if files > 1 else ''}{kind}"
        batches = _batches(db, name, schema, share, index * share)
        if kind == ".parquet":
            with pq.ParquetWriter(path, schema, compression="snappy") as writer:
                for batch in batches:
                    writer.write_batch(batch, row_group_size=rows)
        else:
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_stream(out, schema) as writer:
                for batch in batches:
                    for start in range(0, batch.num_rows, rows):
                        writer.write_batch(batch.slice(start, rows))


def _schema(db: sqlite3.Connection, name: str) -> pa.Schema:
    fields = []
    for _, column, declared, *_ in db.execute(f'PRAGMA table_info("{name}")').fetchall():
        kind = _TYPES.get(name, {}).get(column, _DECLARED.get(declared, "int64"))
        low, high, found = db.execute(
            f'SELECT min("{column}"), max("{column}"), group_concat(DISTINCT typeof("{column}")) FROM "{name}"'
        ).fetchone()
        stored = set((found or "").split(",")) - {"null", ""}
        if stored - {"integer"} and "string" not in kind and kind not in {"float", "double"}:
            kind = "double" if stored <= {"integer", "real"} else "large_string"
        elif stored == {"integer"} and kind != "uint64" and not _fits(low, high, kind):
            kind = "int64"
        fields.append(pa.field(column, _ARROW.get(kind) or getattr(pa, kind)()))
    return pa.schema(fields)


def _fits(low: int, high: int, kind: str) -> bool:
    bounds = {"bool": (0, 1), "int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
    least, most = bounds.get(kind, (-(2**63), 2**63 - 1))
    return least <= low and high <= most


def _batches(db: sqlite3.Connection, name: str, schema: pa.Schema, count: int, skip: int) -> Iterator[pa.RecordBatch]:
    cursor = db.execute(f'SELECT * FROM "{name}" LIMIT {count} OFFSET {skip}')
    while rows := cursor.fetchmany(_MANY):
        columns = [_column(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
        yield pa.record_batch(columns, schema=schema)


def _column(values: tuple[Any, ...], kind: pa.DataType) -> pa.Array:
    if kind == pa.uint64():  # SQLite has them with a sign
        return pa.array(values, pa.int64()).view(pa.uint64())
    if kind == pa.bool_():
        return pa.array([None if value is None else bool(value) for value in values], kind)
    if kind == pa.large_string():
        return pa.array([None if value is None else str(value) for value in values], kind)
    return pa.array(values, kind)


if __name__ == "__main__":
    write_folder(Path(sys.argv[1]), Path(sys.argv[2]))
