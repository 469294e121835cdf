"""The engine: however rows are cut into parts, batches and threads, one document, and nothing is left behind."""

from __future__ import annotations

import itertools
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builder import GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, NVTX, RUNTIME, VERSIONS, TraceBuilder
from nsys_digest import TraceUnreadable, summarize
from nsys_digest.errors import ValueUnreadable
from nsys_digest.trace import adbc, cursor
from nsys_digest.trace.source import Batch, Column, Query, Reader, RowRange
from nsys_digest.trace.sqlite import SqliteSource, open_sqlite
from oracle import random_trace
from support import READERS, ROOT

EVENTS = (KERNEL, MEMCPY, MEMSET, GRAPH_TRACE, RUNTIME, NVTX)
FIXTURES = sorted((ROOT / "fixtures" / "traces").glob("*.sqlite"))


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    """Fail when a test leaves a thread alive, whether what it ran ended well or not."""
    before = set(threading.enumerate())
    yield
    assert set(threading.enumerate()) <= before


@pytest.fixture
def small_cuts(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], None]:
    """Return a function that sets the least rows of a part, and the rows of a batch of both readers."""

    def cut(part_rows: int, batch_rows: int) -> None:
        monkeypatch.setattr("nsys_digest.trace.threads.LEAST_JOB_ROWS", part_rows)
        monkeypatch.setattr(adbc, "BATCH_ROWS", batch_rows)
        monkeypatch.setattr(cursor, "BATCH_ROWS", batch_rows)

    return cut


def change(path: Path, edit: Callable[[sqlite3.Connection, str], object]) -> Path:
    """Edit every event table of a file, and return its path."""
    with closing(sqlite3.connect(path)) as db:
        present = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
        for table in EVENTS:
            if table in present:
                edit(db, table)
        db.commit()
    return path


def rebuild(db: sqlite3.Connection, table: str, *, kinds: bool = True, behind: str = "", end: str = "") -> None:
    """Make a table again with the same rows; its columns with or without types, with more behind them."""
    info = db.execute(f"PRAGMA table_info({table})").fetchall()
    columns = ", ".join(f'"{name}" {kind if kinds else ""}' for _, name, kind, *_ in info)
    db.execute(f"CREATE TABLE again ({columns}{behind}) {end}")
    db.execute(f"INSERT INTO again SELECT *{', rowid' if behind else ''} FROM {table}")
    db.execute(f"DROP TABLE {table}")
    db.execute(f"ALTER TABLE again RENAME TO {table}")


def drawn(seed: int) -> TraceBuilder:
    return random_trace(random.Random(f"scan {seed}"), VERSIONS[seed % len(VERSIONS)])


def chain(length: int) -> TraceBuilder:
    """Draw kernels, calls and ranges, each ``length`` of them."""
    trace = TraceBuilder()
    for index in range(length):
        trace.kernel(10 * index, 10 * index + 5).api("cudaLaunchKernel", 10 * index, 10 * index + 3)
        trace.range(f"step {index % 3}", 10 * index, 10 * index + 9)
    return trace


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.slow
def test_random_traces_however_they_are_cut(
    reader: Reader, threads: int, tmp_path: Path, small_cuts: Callable[[int, int], None]
) -> None:
    for seed in range(15):
        path = drawn(seed).write(tmp_path / f"{seed}.sqlite")
        whole = summarize(path, reader="stdlib", threads=1).to_json()
        for part_rows, batch_rows in ((1, 1), (3, 2), (5, 1000), (1000, 4)):
            small_cuts(part_rows, batch_rows)
            assert summarize(path, reader=reader, threads=threads).to_json() == whole


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_fixtures_however_they_are_cut(path: Path, small_cuts: Callable[[int, int], None]) -> None:
    whole = summarize(path, reader="stdlib", threads=1).to_json()
    small_cuts(100, 64)
    for reader, threads in itertools.product(READERS, (1, 2, 3, 7)):
        assert summarize(path, reader=reader, threads=threads).to_json() == whole


EDITS: dict[str, Callable[[sqlite3.Connection, str], object]] = {
    "one huge row id": lambda db, t: db.execute(
        f"UPDATE {t} SET rowid = {2**62} WHERE rowid = (SELECT max(rowid) FROM {t})"
    ),
    "the largest and the smallest row id": lambda db, t: db.executescript(
        f"UPDATE {t} SET rowid = {2**63 - 1} WHERE rowid = (SELECT max(rowid) FROM {t});"
        f"UPDATE {t} SET rowid = {-(2**63)} WHERE rowid = 1 AND (SELECT count(*) FROM {t}) > 1"
    ),
    "negative row ids": lambda db, t: db.execute(f"UPDATE {t} SET rowid = -rowid"),
    "row ids around zero": lambda db, t: db.execute(f"UPDATE {t} SET rowid = -rowid WHERE rowid % 2"),
    "gaps": lambda db, t: db.execute(f"UPDATE {t} SET rowid = 3 * rowid + 5000"),
    "deleted rows": lambda db, t: db.executescript(
        f"INSERT INTO {t} SELECT * FROM {t}; DELETE FROM {t} WHERE rowid <= (SELECT count(*) FROM {t}) / 2"
    ),
    "a column named rowid": lambda db, t: db.execute(f"ALTER TABLE {t} ADD COLUMN RowId INTEGER DEFAULT 7"),
    "columns of every name of a row id": lambda db, t: [
        db.execute(f"ALTER TABLE {t} ADD COLUMN {name} DEFAULT 7") for name in ("rowid", "_ROWID_", "oid")
    ],
    "a row id of its own name": lambda db, t: rebuild(db, t, behind=", k INTEGER PRIMARY KEY"),
    "no row ids": lambda db, t: rebuild(db, t, behind=", k INTEGER PRIMARY KEY", end="WITHOUT  rowid"),
}


@pytest.mark.parametrize("what", EDITS)
@pytest.mark.slow
def test_odd_row_ids(what: str, tmp_path: Path, small_cuts: Callable[[int, int], None]) -> None:
    """Rows, and not their ids, are what counts, and each counts once; progress knows how many there are."""
    small_cuts(3, 2)
    for seed in range(8):
        path = drawn(seed).write(tmp_path / "t.sqlite")
        whole = summarize(path, reader="stdlib", threads=1).to_json()
        change(path, EDITS[what])
        for reader, threads in itertools.product(READERS, (1, 3)):
            assert summarize(path, reader=reader, threads=threads).to_json() == whole


@given(
    ids=st.sets(st.integers(-40, 400) | st.integers(-(2**63), 2**63 - 1), max_size=40),
    rows_per_part=st.integers(1, 60),
)
@settings(deadline=None, max_examples=60)
@pytest.mark.slow
def test_parts_hold_each_row_once(ids: set[int], rows_per_part: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.sqlite"
        with closing(sqlite3.connect(path)) as db:
            db.execute("CREATE TABLE t (v INTEGER)")
            db.executemany("INSERT INTO t (rowid, v) VALUES (?, ?)", [(row, row) for row in ids])
            db.commit()
        source = open_sqlite(path, "stdlib")
        try:
            query = Query("t", {"value": Column("v")})
            parts = source.parts("t", rows_per_part)
            found = [v for part in parts for batch in source.batches(query, part) for v in batch.ints("value").tolist()]
            rows, exact = source.row_count("t", exact=False)
        finally:
            source.close()
    assert sorted(found) == sorted(ids)
    assert rows == len(ids) if exact else rows >= len(ids)
    if parts != [None]:
        assert len(parts) == max(1, -(-rows // rows_per_part))
        assert all(part is not None and part[1] - part[0] < rows_per_part for part in parts)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_in_a_thread_reaches_the_caller_and_stops_the_others(
    reader: Reader,
    threads: int,
    tmp_path: Path,
    small_cuts: Callable[[int, int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_cuts(1, 1)
    path = chain(200).write(tmp_path / "t.sqlite")
    begun = itertools.count()
    read = SqliteSource.batches
    error = TraceUnreadable(f"{path}: the disk is gone")

    def batches(self: SqliteSource, query: Query, part: RowRange = None) -> Iterator[Batch]:
        for batch in read(self, query, part):
            time.sleep(0.001)
            if next(begun) == 20:
                raise error
            yield batch

    monkeypatch.setattr(SqliteSource, "batches", batches)
    with pytest.raises(TraceUnreadable) as raised:
        summarize(path, reader=reader, threads=threads)
    assert raised.value is error
    assert next(begun) < 100


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_a_type_that_changes_late_is_read_by_the_standard_library(
    threads: int, tmp_path: Path, small_cuts: Callable[[int, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The fast reader has handed out batches by then; none of them may count twice."""
    small_cuts(50, 4)
    handed_out = []
    read = adbc.AdbcConnection.batches

    def batches(self: adbc.AdbcConnection, sql: str) -> Iterator[adbc.ArrowBatch]:
        for batch in read(self, sql):
            handed_out.append(len(batch))
            yield batch

    monkeypatch.setattr(adbc.AdbcConnection, "batches", batches)
    path = change(chain(100).write(tmp_path / "t.sqlite"), lambda db, t: rebuild(db, t, kinds=False))
    whole = summarize(path, reader="stdlib", threads=1).to_json()
    assert not handed_out
    for table in (KERNEL, RUNTIME, NVTX):
        with closing(sqlite3.connect(path)) as db:
            db.execute(f'UPDATE {table} SET "end" = CAST("end" AS REAL) WHERE rowid = 90')
            db.commit()
        handed_out.clear()
        assert summarize(path, reader="adbc", threads=threads).to_json() == whole
        assert len(handed_out) > 2


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("threads", [1, 3])
def test_a_late_value_of_a_wrong_type_is_an_error_in_either_reader(
    reader: Reader, threads: int, tmp_path: Path, small_cuts: Callable[[int, int], None]
) -> None:
    small_cuts(10, 4)
    path = chain(60).write(tmp_path / "t.sqlite")
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {KERNEL} SET \"end\" = 'soon' WHERE rowid = 55")
        db.commit()
    with pytest.raises(ValueUnreadable, match="column end of table CUPTI_ACTIVITY_KIND_KERNEL holds 'soon'"):
        summarize(path, reader=reader, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress(
    threads: int, tmp_path: Path, small_cuts: Callable[[int, int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is told in the calling thread, and its total is the number of rows, odd row ids or not."""
    small_cuts(10, 5)
    monkeypatch.setattr("nsys_digest.trace.threads.TICK_S", 0.001)
    path = change(chain(100).write(tmp_path / "t.sqlite"), EDITS["one huge row id"])
    slow_down(monkeypatch, lambda: time.sleep(0.002))
    told: list[tuple[int, int]] = []
    tellers = set()

    def progress(rows: int, total: int) -> None:
        tellers.add(threading.get_ident())
        told.append((rows, total))

    summarize(path, threads=threads, progress=progress)
    assert tellers == {threading.get_ident()}
    assert {total for _, total in told} == {300}
    rows = [rows for rows, _ in told]
    assert len(set(rows)) > 5
    assert max(rows) <= 300
    if threads == 1:
        assert rows == sorted(rows)


def slow_down(monkeypatch: pytest.MonkeyPatch, wait: Callable[[], object]) -> None:
    """Wait before each batch is handed out."""
    read = SqliteSource.batches

    def batches(self: SqliteSource, query: Query, part: RowRange = None) -> Iterator[Batch]:
        for batch in read(self, query, part):
            wait()
            yield batch

    monkeypatch.setattr(SqliteSource, "batches", batches)


@pytest.mark.parametrize("reader", READERS)
def test_a_source_that_stands_still_shows_progress_and_can_be_interrupted(
    reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = chain(50).write(tmp_path / "t.sqlite")
    before = set(threading.enumerate())
    go_on = threading.Event()
    slow_down(monkeypatch, lambda: go_on.wait(30))
    told: list[tuple[int, int]] = []

    def progress(rows: int, total: int) -> None:
        told.append((rows, total))
        if len(told) == 3:
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        summarize(path, reader=reader, threads=2, progress=progress)
    assert time.monotonic() - began < 5
    assert told == [(0, 150)] * 3
    assert list(tmp_path.iterdir()) == [path]
    go_on.set()
    for thread in set(threading.enumerate()) - before:
        thread.join(5)
