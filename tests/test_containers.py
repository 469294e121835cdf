"""A second container: what it must offer is what ``Source`` asks for, and nothing of it is SQLite's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from builder import TraceBuilder
from nsys_digest import NotATrace, classify, inspect, summarize
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace import open as open_module
from nsys_digest.trace.open import CONTAINERS, Container
from nsys_digest.trace.source import Column, Query, Reader, RowRange, Source, Tail, Value
from oracle_account import random_account_trace

Rows = list[dict[str, Any]]
_HEAD = "LIST "


class _ListBatch:
    """Some rows of a list."""

    def __init__(self, columns: Mapping[str, Column], rows: Rows) -> None:
        self._columns, self._rows = columns, rows

    def __len__(self) -> int:
        return len(self._rows)

    def _values(self, name: str) -> list[Any]:
        column = self._columns[name]
        found = (row.get(column.name or "") for row in self._rows)
        return [column.absent if value is None else value for value in found]

    def ints(self, name: str) -> Int64s:
        return np.array(self._values(name), np.int64)

    def texts(self, name: str, cut: Tail | None = None) -> tuple[Int64s, list[str]]:
        values = self._values(name)
        return np.arange(len(values)), [cut.off(value) if cut else value for value in values]


class _ListSource:
    """Tables as lists of rows, in a file whose lines are their names and rows."""

    kind, made_by, most_rows = "a list", "make-list REPORT", 10**9

    def __init__(self, path: Path, _reader: Reader) -> None:
        self.path, self.size_bytes = path, path.stat().st_size
        text = path.read_text(encoding="utf-8").removeprefix(_HEAD)
        self._tables: dict[str, tuple[tuple[str, ...], Rows]] = json.loads(text)

    def tables(self) -> Mapping[str, tuple[str, ...]]:
        return {name: tuple(columns) for name, (columns, _) in self._tables.items()}

    def refuse_other(self, name: str) -> None:
        pass

    def row_count(self, table: str, *, exact: bool) -> tuple[int, bool]:
        return len(self._tables[table][1]), True

    def parts(self, table: str, rows_per_part: int) -> list[RowRange]:
        count = len(self._tables[table][1])
        return [(low, min(low + rows_per_part, count) - 1) for low in range(0, count, rows_per_part)] or [None]

    def check_whole(self, table: str, rows_read: int) -> None:
        assert rows_read == len(self._tables[table][1])

    def batches(self, query: Query, part: RowRange = None) -> Iterator[_ListBatch]:
        rows = self._tables[query.table][1]
        yield _ListBatch(query.columns, rows if part is None else rows[part[0] : part[1] + 1])

    def rows(self, table: str, columns: tuple[str, ...]) -> list[tuple[Value, ...]]:
        _, rows = self._tables.get(table, ((), []))
        return [tuple(row.get(column) for column in columns) for row in rows]

    def time_range(self, table: str, start: str, end: str, *, exact: bool) -> tuple[int, int] | None:
        rows = self._tables[table][1]
        lasts = [row[start] if row[end] is None else row[end] for row in rows]
        return (min(row[start] for row in rows), max(lasts)) if rows else None

    def strings(self, table: str, ids: Iterable[int]) -> dict[int, str]:
        wanted = set(ids)
        return {row["id"]: row["value"] for row in self._tables[table][1] if row["id"] in wanted}

    def close(self) -> None:
        pass


def listed(path: Path) -> Path:
    """Write the tables of an SQLite file as a list of the same name in a folder beside it."""
    tables = {}
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            columns = tuple(row["name"] for row in db.execute(f"PRAGMA table_info({name})"))
            tables[name] = columns, [dict(row) for row in db.execute(f"SELECT * FROM {name}")]
    folder = path.parent / "lists"
    folder.mkdir(exist_ok=True)
    (folder / path.name).write_text(_HEAD + json.dumps(tables), encoding="utf-8")
    return folder / path.name


def open_list(path: Path, reader: Reader) -> Source:
    return _ListSource(path, reader)


@pytest.fixture
def lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put lists in front of the containers."""
    container = Container("list", lambda path: path.parent.name == "lists", open_list)
    monkeypatch.setattr(open_module, "CONTAINERS", (container, *CONTAINERS))


@pytest.mark.usefixtures("lists")
def test_a_second_container_gives_the_same_documents(tmp_path: Path) -> None:
    for seed in range(4):
        rng = Random(seed)
        path = random_account_trace(rng).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        other = listed(path)
        whole, again = summarize(path).to_dict(), summarize(other, threads=2).to_dict()
        assert again | {"path": whole["path"]} == whole
        assert classify(other).kernels == classify(path).kernels
        assert inspect(other).tables == inspect(path).tables


@pytest.mark.usefixtures("lists")
def test_messages_speak_of_the_container_at_hand(tmp_path: Path) -> None:
    path = listed(TraceBuilder().kernel(0, 1).write(tmp_path / "t.sqlite"))
    path.write_text(_HEAD + '{"bookmarks": [["url"], []]}', encoding="utf-8")
    with pytest.raises(NotATrace, match=r"this is a list, but no nsys export .*; make one with: make-list REPORT"):
        summarize(path)
