"""Damaged traces: real exports with changed values, columns, tables, schema text and bytes."""

from __future__ import annotations

import dataclasses
import shutil
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

from nsys_digest import Digest, DigestError, inspect, summarize
from nsys_digest.trace.source import Reader

_TRACES = Path(__file__).resolve().parents[2] / "fixtures" / "traces"
_EXACT_NS = 2**51
"""Seconds are doubles in JSON, which holds times below 26 days exactly; see nsys_digest/units.py."""

_SMALL = ("nogpu.sqlite", "graph_graph.sqlite", "graph_graph.sqlite", "graph_node.sqlite", "rank_0.sqlite")
_READ = (
    *("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
    *("CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"),
    *("ANALYSIS_DETAILS", "DIAGNOSTIC_EVENT", "META_DATA_EXPORT", "META_DATA_CAPTURE", "PROCESSES"),
    *("TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"),
)
_INTEGERS = (0, -1, 1, 7, 2**15, -(2**15) - 1, 2**24, 2**31, 2**32 + 5, 2**53 + 1, 2**61, 2**62, 2**63 - 1, -(2**63))
_OTHERS: tuple[Any, ...] = (
    *(None, b"", b"\xff\0\x80", b"17", "", "x", "12", "-3.5", "a\nb\u2028c\0d", "9" * 5000, "\ud7ff\U0001f600"),
    *(0.5, 3.0, -0.0, 1e18, 1e300, float("inf"), float("-inf")),
)
_TEXTS = (
    *("CG_DISPATCH:mode=FULL:padded=8:actual=7", "CG_DISPATCH:mode=PIECEWISE:padded=" + "9" * 5000, "CG_DISPATCH"),
    *("ncclDevKernel_AllReduce", "aten::mm, seq = 1, sizes = [[1]]", "(other)", "x" * 100_000),
)


def case(rng: Random, folder: Path) -> str:
    """Damage a trace once or a few times and read it with both readers, which must agree."""
    path = folder / "trace.sqlite"
    shutil.copyfile(_TRACES / rng.choice(_SMALL), path)
    if rng.random() < 0.3:
        _damage_bytes(rng, path)
    else:
        damage_rows(rng, path)
    threads = rng.choice((1, 2))
    found = {reader: read(path, reader, threads) for reader in ("adbc", "stdlib")}
    assert found["adbc"] == found["stdlib"], f"the readers disagree: {_shown(found)}"
    inspected = _inspect(path)
    assert sorted(folder.iterdir()) == [path], "something was left beside the trace"
    return found["adbc"] if isinstance(found["adbc"], str) else f"digest, inspect: {inspected}"


def damage_rows(rng: Random, path: Path) -> None:
    """Change an export through SQL, once or a few times."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA writable_schema = ON")
        connection.text_factory = bytes
        connection.create_function("draw", 0, lambda: rng.getrandbits(64) - 2**63)
        for _ in range(rng.choice((1, 1, 2, 4))):
            try:
                rng.choice(_MUTATIONS)(rng, connection)
            except (sqlite3.Error, IndexError):  # this trace has no such table any more
                connection.rollback()
        connection.commit()


def read(path: Path, reader: Reader, threads: int) -> Digest | str:
    """Return a digest that is right in itself, or the code of an error whose message is one line."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            digest = summarize(path, reader=reader, threads=threads, steps=None)
        except DigestError as error:
            return _code(error)
    _check(digest)
    return digest


def _inspect(path: Path) -> str:
    try:
        inspect(path).to_json()
    except DigestError as error:
        return _code(error)
    return "done"


def _code(error: DigestError) -> str:
    assert len(str(error).splitlines()) == 1, repr(str(error))
    assert error.exit_status in (3, 4), error
    return error.code


def _check(digest: Digest) -> None:
    again = Digest.from_json(digest.to_json())
    exact = max(map(abs, _integers(digest)), default=0) < _EXACT_NS
    assert again == digest or not exact, "the JSON does not give the digest again"
    span, busy, idle = digest.gpu_activity_span_ns, digest.gpu_busy_union_ns, digest.gpu_idle_within_span_ns
    if span is None or busy is None or idle is None:
        assert span is busy is idle is None
    else:
        assert busy + idle == span
        assert 0 <= busy <= span
    for device in digest.devices:
        assert (device.span_ns is None) == (device.busy_ns is None)
        assert device.span_ns is None or 0 <= (device.busy_ns or 0) <= device.span_ns
        assert min((*device.union_ns.values(), *device.sum_ns.values(), *device.count.values())) >= 0
    for total in (*digest.api.values(), *(total for _, total in digest.top_kernels)):
        assert total.count >= 1
        assert total.total_ns >= 0


def _integers(value: object) -> Iterator[int]:
    """Return every integer in a digest."""
    if isinstance(value, int):
        yield value
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            yield from _integers(getattr(value, field.name))
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _integers(part)
    elif isinstance(value, tuple):
        for part in value:
            yield from _integers(part)


def _shown(found: dict[Reader, Digest | str]) -> str:
    return "; ".join(f"{reader}: {text if isinstance(text, str) else 'a digest'}" for reader, text in found.items())


def _damage_bytes(rng: Random, path: Path) -> None:
    data = bytearray(path.read_bytes())
    kind = rng.randrange(6)
    if kind == 0:
        del data[rng.randrange(len(data)) :]
    elif kind == 1:
        at, to = (4096 * rng.randrange(len(data) // 4096) for _ in range(2))
        data[to : to + 4096] = data[at : at + 4096]
    elif kind == 2:
        at = rng.randrange(100)
        data[at] = rng.randrange(256)
    elif kind == 3:  # the schema's first pages, whose text is in SQLite's messages
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(100, min(len(data), 40_000))] ^= 1 << rng.randrange(8)
    else:
        for _ in range(rng.choice((1, 2, 20, 200))):
            data[rng.randrange(100, len(data))] = rng.randrange(256)
    path.write_bytes(data)


def _name(rng: Random, connection: sqlite3.Connection) -> str:
    """Return a table, mostly one of those that are read."""
    there = [
        str(row[0], "utf-8", "replace")
        for row in connection.execute("SELECT name FROM sqlite_master WHERE typeof(name) = 'text'")
    ]
    read = [name for name in there if name in _READ]
    return rng.choice(read if read and rng.random() < 0.9 else there)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1], "utf-8", "replace") for row in connection.execute(f'PRAGMA table_info("{table}")')]


def _value(rng: Random) -> Any:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.choice(_OTHERS)
    if kind == 1:
        return rng.choice(_TEXTS)
    return rng.choice(_INTEGERS) if kind == 2 else rng.getrandbits(64) - 2**63


def _where(rng: Random) -> str:
    one = f"rowid = (SELECT rowid FROM {{}} LIMIT 1 OFFSET {rng.randrange(50)})"
    return rng.choice(("1", one, one, f"rowid % {rng.randrange(2, 9)} = 0"))


def _change_values(rng: Random, connection: sqlite3.Connection) -> None:
    table = _name(rng, connection)
    column = rng.choice(_columns(connection, table) or ["start"])
    where = _where(rng).format(f'"{table}"')
    connection.execute(f'UPDATE OR REPLACE "{table}" SET "{column}" = ? WHERE {where}', (_value(rng),))


def _change_times(rng: Random, connection: sqlite3.Connection) -> None:
    table = rng.choice(_READ[:6])
    column = rng.choice(("start", "end"))
    change = rng.choice(
        (
            '"end" - ("end" - start) * 2',
            f"{column} * {rng.choice((1000, 10**9, -1))}",
            f"{column} + {rng.choice(_INTEGERS)}",
            "draw() >> 2",
            "0",
        )
    )
    connection.execute(f'UPDATE "{table}" SET "{column}" = {change} WHERE {_where(rng).format(table)}')


def _change_ids(rng: Random, connection: sqlite3.Connection) -> None:
    table = rng.choice(_READ[:6])
    columns = ("deviceId", "contextId", "streamId", "correlationId", "globalPid", "globalTid", "domainId", "textId")
    column = rng.choice([name for name in columns if name in _columns(connection, table)])
    change = rng.choice(("draw()", f"{column} + {rng.choice(_INTEGERS)}", "rowid", "rowid % 5", "-rowid", "NULL"))
    connection.execute(f'UPDATE "{table}" SET "{column}" = {change} WHERE {_where(rng).format(table)}')


def _change_texts(rng: Random, connection: sqlite3.Connection) -> None:
    text = rng.choice(_TEXTS)
    if rng.random() < 0.5:
        where = _where(rng).format("StringIds")
        connection.execute(f"UPDATE StringIds SET value = CAST(? AS TEXT) WHERE {where}", (text.encode(),))
    else:
        where = _where(rng).format("NVTX_EVENTS")
        connection.execute(f"UPDATE NVTX_EVENTS SET textId = NULL, text = ? || (rowid % 3) WHERE {where}", (text,))


def _lose_types(rng: Random, connection: sqlite3.Connection) -> None:
    """Make a table of any types, so that text stays text."""
    table = _name(rng, connection)
    names = ", ".join(f'"{name}"' for name in _columns(connection, table))
    key = rng.choice(("", "", ", PRIMARY KEY (rowkey)) WITHOUT ROWID"))
    connection.execute(f'ALTER TABLE "{table}" RENAME TO old')
    if key:
        connection.execute(f'CREATE TABLE "{table}" (rowkey, {names}{key}')
        connection.execute(f'INSERT INTO "{table}" SELECT rowid, * FROM old')
    else:
        connection.execute(f'CREATE TABLE "{table}" ({names})')
        connection.execute(f'INSERT INTO "{table}" SELECT * FROM old')
    connection.execute("DROP TABLE old")
    _change_values(rng, connection)


def _lose_table(rng: Random, connection: sqlite3.Connection) -> None:
    connection.execute(f'DROP TABLE "{_name(rng, connection)}"')


def _lose_column(rng: Random, connection: sqlite3.Connection) -> None:
    table = _name(rng, connection)
    connection.execute(f'ALTER TABLE "{table}" DROP COLUMN "{rng.choice(_columns(connection, table))}"')


def _rename(rng: Random, connection: sqlite3.Connection) -> None:
    table, fresh = _name(rng, connection), rng.choice(("x", "_V2", "_V" + "9" * 5000, "\n", '"', "\xe9"))
    if rng.random() < 0.5:
        fresh = fresh.replace('"', '""')
        connection.execute(f'ALTER TABLE "{table}" RENAME TO "{table}{fresh}"')
    else:
        column = rng.choice(_columns(connection, table))
        connection.execute(f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "{column.upper()}"')


def _lose_rows(rng: Random, connection: sqlite3.Connection) -> None:
    table = _name(rng, connection)
    connection.execute(f'DELETE FROM "{table}" WHERE {_where(rng)}'.format(f'"{table}"'))


def _move_rows(rng: Random, connection: sqlite3.Connection) -> None:
    table = _name(rng, connection)
    where = _where(rng).format(f'"{table}"')
    connection.execute(f'UPDATE OR IGNORE "{table}" SET rowid = rowid + ? WHERE {where}', (rng.choice(_INTEGERS),))


def _repeat_rows(rng: Random, connection: sqlite3.Connection) -> None:
    table = _name(rng, connection)
    connection.execute(f'INSERT OR IGNORE INTO "{table}" SELECT * FROM "{table}"')


def _view(rng: Random, connection: sqlite3.Connection) -> None:
    """Put a view in the place of a table, or beside it."""
    name = "mine" if rng.random() < 0.3 else _name(rng, connection)
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, x AS start FROM c"
    big = "SELECT 1 AS globalPid, hex(zeroblob(400000000)) AS name"
    if name != "mine":
        connection.execute(f'ALTER TABLE "{name}" RENAME TO real_one')
    body = rng.choice((endless, big, "SELECT * FROM nothing", "SELECT * FROM real_one"))
    connection.execute(f'CREATE VIEW "{name}" AS {body}')


def _schema(rng: Random, connection: sqlite3.Connection) -> None:
    column = rng.choice(("type", "name", "tbl_name", "rootpage", "sql"))
    change = rng.choice((f"CAST({column} AS BLOB)", "NULL", "7", "x'ff'", f"{column} || x'ff'", f"upper({column})"))
    where = "name = ?" if rng.random() < 0.7 else "rowid % 3 = 0 AND ? IS NOT NULL"
    connection.execute(f"UPDATE sqlite_master SET {column} = {change} WHERE {where}", (_name(rng, connection),))


_MUTATIONS: tuple[Callable[[Random, sqlite3.Connection], None], ...] = (
    *(_change_values,) * 6,
    *(_change_times,) * 4,
    *(_change_ids,) * 4,
    *(_change_texts, _lose_types, _lose_types, _lose_table, _lose_column, _rename, _lose_rows, _move_rows),
    *(_repeat_rows, _view, _schema),
)
