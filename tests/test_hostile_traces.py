"""Traces made to hurt: each is refused in one line, or read as if nothing were odd, and none hangs."""

from __future__ import annotations

import os
import resource
import signal
import socket
import sqlite3
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from builder import GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, NVTX, RUNTIME, TraceBuilder
from nsys_digest import DigestError, NotATrace, OutOfResources, TraceUnreadable, inspect, summarize
from nsys_digest.cli.memory import make_sure_of_room
from nsys_digest.gate.policy import load_policy
from nsys_digest.model.kernel_categories import load_kernel_categories
from nsys_digest.trace import adbc
from nsys_digest.trace.collect.whole import Scanned
from nsys_digest.trace.connect import Connection
from nsys_digest.workloads.phases.reader import read_log
from support import READERS, call, digest_json, refused, small_trace, spawn, the_line, untouched
from test_bad_input import SUMMARIES, execute, wal_mode

ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS id, 'v' AS value FROM c"
YEARS_146 = 2**62  # nanoseconds


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "trace.sqlite")


def rewrite_schema(path: Path, change: str, where: str) -> None:
    execute(path, "PRAGMA writable_schema = ON", f"UPDATE sqlite_master SET {change} WHERE {where}")


# The schema


def test_message_of_sqlite_that_is_not_utf8(trace: Path) -> None:
    data = bytearray(trace.read_bytes())
    at = data.index(b"CREATE TABLE NVTX_EVENTS") + len(b"CREATE ")
    data[at] ^= 0x80
    trace.write_bytes(data)
    line = refused(trace, "trace-unreadable", folder=trace.parent)
    assert 'SQLite cannot read it (malformed database schema (NVTX_EVENTS) - near "\ufffdABLE": syntax error)' in line


def test_message_of_sqlite_with_line_ends(trace: Path) -> None:
    rewrite_schema(trace, "sql = 'CREATE TABLE a' || char(10) || 'b' || char(8232) || '(' ", "name = 'NVTX_EVENTS'")
    for read in (summarize, inspect):
        with pytest.raises(TraceUnreadable) as caught:
            read(trace)
        assert len(str(caught.value).splitlines()) == 1


def test_path_with_line_ends_in_the_message_of_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceUnreadable) as caught:
        summarize(tmp_path / "a\nb\u2028.sqlite")
    assert str(caught.value) == rf"{tmp_path}/a\nb\u2028.sqlite: no such file; check the path"


def test_path_with_line_ends_is_named_once(tmp_path: Path) -> None:
    path = tmp_path / "a\nb.sqlite"
    execute(path, "CREATE TABLE places (a)")
    with pytest.raises(NotATrace) as caught:
        summarize(path)
    assert str(caught.value).count(rf"{tmp_path}/a\nb.sqlite") == 1


@pytest.mark.parametrize("column", ["name", "sql", "type", "tbl_name"])
def test_schema_that_is_stored_as_blobs(trace: Path, column: str) -> None:
    expected = digest_json(trace, folder=trace.parent)
    rewrite_schema(trace, f"{column} = CAST({column} AS BLOB)", "type = 'table'")
    assert digest_json(trace, folder=trace.parent) == expected
    assert call("inspect", trace).status == 0


@pytest.mark.parametrize("value", ["7", "NULL", "x'ff00'"])
def test_name_in_the_schema_that_is_no_text(trace: Path, value: str) -> None:
    execute(trace, "CREATE TABLE mine (a)")
    expected = digest_json(trace, folder=trace.parent)
    rewrite_schema(trace, f"name = {value}", "name = 'mine'")
    for words in (*SUMMARIES, ("inspect",)):
        with untouched(trace.parent):
            ran = call(*words, "-q", trace) if words[0] == "summarize" else call(*words, trace)
        assert (ran.status, ran.out == expected) in {(0, words[0] == "summarize"), (3, False)}
        assert ran.err.count("\n") == (ran.status == 3)


def test_numbered_table_of_a_number_beyond_reading(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    execute(trace, f"CREATE TABLE {KERNEL}_V{'9' * 5000} (start)")
    assert digest_json(trace, folder=trace.parent) == expected


# Numbers with more digits than Python reads


def test_schema_version_of_thousands_of_digits(tmp_path: Path) -> None:
    path = TraceBuilder().kernel(0, 10).meta("EXPORT_SCHEMA_VERSION", "9" * 5000 + ".1").write(tmp_path / "t.sqlite")
    [message] = [warn.message for warn in summarize(path).warnings if warn.code == "newer-schema"]
    assert message.startswith(f"Export schema {'9' * 40} is newer than ")


def test_dispatch_mark_of_thousands_of_digits(tmp_path: Path) -> None:
    mark = "CG_DISPATCH:mode=NONE:padded=" + "9" * 5000
    path = TraceBuilder().kernel(0, 10).mark(mark, 1).mark(mark, 2).write(tmp_path / "t.sqlite")
    assert summarize(path).dispatch == {mark: 2}


# Row ids


def test_row_ids_far_apart_in_a_file_with_holes(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "t.sqlite")
    expected = digest_json(path, folder=tmp_path)
    execute(path, f"UPDATE {KERNEL} SET rowid = 13000000000 WHERE rowid = 2")
    os.truncate(path, 110 * 10**9)
    for reader in READERS:
        ran = call("summarize", "-q", "--reader", reader, path)
        assert (ran.status, ran.out) == (0, expected)


def test_row_ids_at_both_ends(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    execute(
        trace,
        f"UPDATE {KERNEL} SET rowid = -9223372036854775808 WHERE rowid = 1",
        f"UPDATE {KERNEL} SET rowid = 9223372036854775807 WHERE rowid = 2",
    )
    assert digest_json(trace, folder=trace.parent, options=("--threads", "2")) == expected


@pytest.mark.parametrize("table", [KERNEL, RUNTIME, NVTX])
def test_row_ids_that_go_down(table: str, trace: Path) -> None:
    """The first row of the only page gets id 100: from there to the last is no way up, yet every row is there."""
    expected = digest_json(trace, folder=trace.parent)
    root, size = page_of(trace, table)
    data = bytearray(trace.read_bytes())
    page = size * (root - 1)
    assert data[page] == 13
    cell = page + int.from_bytes(data[page + 8 : page + 10], "big")
    at = cell + 1 + (data[cell] >> 7)  # behind the length, of one or two bytes
    assert data[at] == 1
    data[at] = 100
    trace.write_bytes(data)
    assert digest_json(trace, folder=trace.parent, options=("--threads", "2")) == expected
    assert call("inspect", trace).status == 0


# Stamps and sums that do not fit


def test_stamps_as_far_apart_as_they_may_be(tmp_path: Path) -> None:
    """One nanosecond of work at each end: 2**63 - 2 of span, all but two of them idle."""
    path = (
        TraceBuilder()
        .kernel(1 - YEARS_146, 2 - YEARS_146)
        .kernel(YEARS_146 - 2, YEARS_146 - 1)
        .write(tmp_path / "t.sqlite")
    )
    for reader in READERS:
        digest = summarize(path, reader=reader)
        assert (digest.gpu_activity_span_ns, digest.gpu_busy_union_ns) == (2**63 - 2, 2)
        assert digest.gpu_idle_within_span_ns == 2**63 - 4
        assert digest.idle is not None
        assert [device.idle_ns for device in digest.idle.devices] == [2**63 - 4]


EVENTS = {
    KERNEL: lambda trace, start, end: trace.kernel(start, end),
    MEMCPY: lambda trace, start, end: trace.memcpy(start, end),
    MEMSET: lambda trace, start, end: trace.memset(start, end),
    GRAPH_TRACE: lambda trace, start, end: trace.graph(start, end),
    RUNTIME: lambda trace, start, end: trace.api("cudaFree", start, end),
    NVTX: lambda trace, start, end: trace.range("r", start, end),
}


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (-YEARS_146, 5),
        (5, YEARS_146),
        (YEARS_146, YEARS_146 + 1),
        (-(2**63), 2**63 - 1),
        (5, 1 - 2**63),
        (2**63 - 1, -(2**63)),
    ],
)
@pytest.mark.parametrize("table", EVENTS)
def test_stamps_whose_difference_could_wrap(table: str, start: int, end: int, tmp_path: Path) -> None:
    path = EVENTS[table](small_trace(), start, end).write(tmp_path / "t.sqlite")
    line = refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)
    assert line.startswith(f"{path}: the events of table {table} have a time stamp more than 146 years from the start")


def test_end_of_a_kernel_that_would_stand_for_an_open_range(tmp_path: Path) -> None:
    path = small_trace().kernel(5, -(2**63)).write(tmp_path / "t.sqlite")
    assert "more than 146 years" in refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)


def test_mark_whose_stamp_could_wrap(tmp_path: Path) -> None:
    path = small_trace().mark("anything", 2**63 - 1).write(tmp_path / "t.sqlite")
    assert "more than 146 years" in refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)


def test_idle_time_of_two_gpus_that_would_wrap(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for device in (0, 1):
        trace.kernel(-(2**61) - 9, -(2**61), device=device).kernel(2**61, 2**61 + 9, device=device)
    path = trace.write(tmp_path / "t.sqlite")
    line = refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)
    assert line.startswith(f"{path}: the GPU activity spans more than 292 years over all GPUs")


def test_latencies_that_add_up_beyond_64_bits(tmp_path: Path) -> None:
    """Twelve kernels at 1.7e18, each launched by a call that ends at 1: 2.04e19 of latency together."""
    trace = TraceBuilder()
    late = 17 * 10**17
    for number in range(1, 13):
        trace.api("cudaLaunchKernel", 0, 1, correlation=number).kernel(late, late + 1, correlation=number)
    digest = summarize(trace.write(tmp_path / "t.sqlite"))
    assert digest.launch is not None
    assert digest.launch.kernels.latency.total_ns == 12 * late


@pytest.mark.parametrize("sizes", [[2**62] * 2, [-1], [2**63 - 1, 1]])
@pytest.mark.parametrize("table", [MEMCPY, MEMSET])
def test_bytes_that_do_not_fit(table: str, sizes: list[int], tmp_path: Path) -> None:
    trace = TraceBuilder()
    for size in sizes:
        _ = trace.memcpy(0, 10, bytes=size) if table == MEMCPY else trace.memset(0, 10, bytes=size)
    path = trace.write(tmp_path / "t.sqlite")
    line = refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)
    assert line.startswith(f"{path}: the events of table {table} move a negative number of bytes, or 8 EiB together")


# More of a thing than there can be


@pytest.mark.parametrize(
    ("devices", "words"),
    [(1025, "the GPU activity is of more than 1,024 GPUs"), (16_385, "name more than 16,384 processes, devices")],
)
def test_kernels_on_more_gpus_than_a_machine_has(devices: int, words: str, tmp_path: Path) -> None:
    trace = TraceBuilder()
    for device in range(devices):
        trace.kernel(device, device + 1, device=device)
    path = trace.write(tmp_path / "t.sqlite")
    assert words in refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)


def test_table_of_more_gpus_than_a_machine_has(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 1)
    for ordinal in range(1025):
        trace.gpu(ordinal, "GPU")
    path = trace.write(tmp_path / "t.sqlite")
    assert "TARGET_INFO_GPU names more than 1,024 GPUs" in refused(path, "value-unreadable", folder=tmp_path)


def test_session_that_no_clock_measures(tmp_path: Path) -> None:
    for length in (-5, 2**62):
        path = TraceBuilder().kernel(0, 1).session(length).write(tmp_path / "t.sqlite")
        assert summarize(path).capture.session_ns is None


# What is no plain table


@pytest.mark.parametrize("table", ["StringIds", KERNEL, RUNTIME, NVTX, "PROCESSES", "ANALYSIS_DETAILS"])
def test_view_in_the_place_of_a_table(trace: Path, table: str) -> None:
    execute(trace, f"DROP TABLE {table}", f"CREATE VIEW {table} AS {ENDLESS}")
    line = refused(trace, "not-a-trace", folder=trace.parent)
    assert line.startswith(f"{trace}: {table} is not a table of rows but a view or virtual table, which nsys never wri")


def test_virtual_table_in_the_place_of_a_table(trace: Path) -> None:
    execute(trace, "DROP TABLE PROCESSES", "CREATE VIRTUAL TABLE PROCESSES USING rtree(globalPid, a, b)")
    assert "PROCESSES is not a table of rows" in refused(trace, "not-a-trace", folder=trace.parent)


def test_view_that_says_it_is_a_table(trace: Path) -> None:
    """SQLite itself refuses such a schema, in the versions at hand; the text of the entry would be refused next."""
    text = f"CREATE VIEW StringIds AS {ENDLESS}".replace("'", "''")
    rewrite_schema(trace, f"rootpage = 0, sql = '{text}'", "name = 'StringIds'")
    assert "malformed database schema (StringIds)" in refused(trace, "trace-unreadable", folder=trace.parent)


def test_view_behind_the_name_of_another_entry(trace: Path) -> None:
    """The schema lists PROCESSES as a plain table, whose text makes another one, and a view of that name elsewhere."""
    execute(trace, "CREATE VIEW other AS SELECT 1 AS globalPid, 'x' AS name")
    rewrite_schema(trace, "sql = replace(sql, 'TABLE PROCESSES', 'TABLE unasked')", "name = 'PROCESSES'")
    rewrite_schema(trace, "sql = replace(sql, 'VIEW other', 'VIEW PROCESSES')", "name = 'other'")
    for words in (*SUMMARIES, ("inspect",)):
        with untouched(trace.parent):
            the_line(call(*words, trace), 3, "trace-unreadable")


@pytest.mark.parametrize("view", [ENDLESS, "SELECT hex(zeroblob(499999990)) AS a", "SELECT * FROM missing"])
def test_view_that_nobody_asks_for(trace: Path, view: str) -> None:
    expected = digest_json(trace, folder=trace.parent)
    before = inspect(trace)
    execute(trace, f"CREATE VIEW mine AS {view}")
    assert digest_json(trace, folder=trace.parent) == expected
    assert inspect(trace).tables == before.tables


def test_views_of_views(trace: Path) -> None:
    """Each view asks twice for the one before it: to know the columns of the last takes 2**60 steps."""
    doubled = [
        f"CREATE VIEW v{n} AS SELECT (SELECT a FROM v{n - 1}) + (SELECT a FROM v{n - 1}) a" for n in range(1, 60)
    ]
    execute(trace, "CREATE VIEW v0 AS SELECT 1 a", *doubled)
    assert call("summarize", "-q", trace).status == 0
    assert call("inspect", trace).status == 0


def test_table_without_row_ids_in_other_words(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    execute(
        trace,
        "ALTER TABLE PROCESSES RENAME TO old",
        "CREATE TABLE PROCESSES (globalPid PRIMARY KEY, pid, name) WITHOUT /* any */ ROWID",
        "INSERT INTO PROCESSES SELECT globalPid, pid, name FROM old",
        "DROP TABLE old",
    )
    assert digest_json(trace, folder=trace.parent) == expected
    assert call("inspect", trace).status == 0


def test_damaged_table_that_nobody_asks_for(trace: Path) -> None:
    execute(trace, "CREATE TABLE mine (a)", "INSERT INTO mine VALUES (zeroblob(3000))")
    damage_root(trace, "mine", b"\xff" * 100)
    found = inspect(trace)
    assert found.missing[-1] == "table mine is damaged; no digest needs it"
    assert "mine" not in [table.name for table in found.tables]
    assert call("summarize", "-q", trace).status == 0


def page_of(path: Path, table: str) -> tuple[int, int]:
    """Return the number of a table's root page, from 1, and the size of pages."""
    with closing(sqlite3.connect(path)) as connection:
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
        return root, connection.execute("PRAGMA page_size").fetchone()[0]


def damage_root(path: Path, table: str, content: bytes) -> None:
    root, size = page_of(path, table)
    data = bytearray(path.read_bytes())
    data[size * (root - 1) : size * (root - 1) + len(content)] = content
    path.write_bytes(data)


def inner_page(size: int, child: int) -> bytes:
    """Return an inner page of a table's tree (type 5) whose entries, about 300, all name one child."""
    count = size // 16
    cells = b"".join(child.to_bytes(4, "big") + b"\x01" for _ in range(count))
    first = size - len(cells)
    header = b"\x05\0\0" + count.to_bytes(2, "big") + first.to_bytes(2, "big") + b"\0" + child.to_bytes(4, "big")
    pointers = b"".join((first + 5 * index).to_bytes(2, "big") for index in range(count))
    return (header + pointers).ljust(first, b"\0") + cells


def without_end(path: Path, table: str) -> None:
    """Make a table's tree nine levels deep, of pages that each name the next one 256 times: 256**8 leaves."""
    execute(path, "CREATE TABLE pad (a)", *["INSERT INTO pad VALUES (zeroblob(4000))"] * 10)
    root, size = page_of(path, table)
    data = bytearray(path.read_bytes())
    pages = [root, *range(len(data) // size - 8, len(data) // size)]
    leaf = len(data) // size
    data[size * (leaf - 1) :] = data[size * (root - 1) : size * root]  # the rows of the table, in a page of their own
    for page, child in zip(pages, [*pages[1:], leaf], strict=True):
        data[size * (page - 1) : size * page] = inner_page(size, child)
    path.write_bytes(data)


@pytest.mark.parametrize("table", [KERNEL, RUNTIME, NVTX, "PROCESSES", "DIAGNOSTIC_EVENT"])
@pytest.mark.slow
def test_table_without_an_end(tmp_path: Path, table: str) -> None:
    path = small_trace().diagnostic("a", severity=2).write(tmp_path / "t.sqlite")
    without_end(path, table)
    commands = (*SUMMARIES, ("summarize", "--threads", "2"), ("inspect",))
    line = refused(path, "trace-unreadable", folder=tmp_path, commands=commands)
    assert line.startswith(f"{path}: it is damaged: a table in it has no end; copy or export it again")


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (f"CREATE TABLE wide ({', '.join(f'c{number}' for number in range(1001))})", "too many columns on wide"),
        (f"CREATE TABLE long (c DEFAULT '{'x' * 1_000_000}')", "malformed database schema"),
        (f"CREATE TABLE deep (c CHECK (c{' + 1' * 90} > 0))", None),
        (f"CREATE TABLE deep (c CHECK (c{' + 1' * 120} > 0))", "Expression tree is too large"),
    ],
)
@pytest.mark.parametrize("reader", READERS)
def test_a_schema_beyond_what_nsys_writes(trace: Path, statement: str, reason: str | None, reader: str) -> None:
    """The widest table of nsys has 41 columns; the limits of a connection are for the schema too."""
    execute(trace, statement)
    if reason is None:
        assert call("summarize", "-q", "--reader", reader, trace).status == 0
    else:
        with untouched(trace.parent):
            line = the_line(call("summarize", "--reader", reader, trace), 3, "trace-unreadable")
        assert f"{trace}: SQLite cannot read it (" in line
        assert reason in line


@pytest.mark.parametrize("reader", READERS)
def test_a_column_that_is_worked_out_when_it_is_read_is_none(trace: Path, reader: str) -> None:
    """It would take 800 MB for each row."""
    execute(
        trace,
        "ALTER TABLE StringIds RENAME TO old",
        "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT AS (hex(zeroblob(400000000))))",
        "INSERT INTO StringIds SELECT id FROM old",
        "DROP TABLE old",
    )
    assert call("summarize", "-q", "--reader", reader, trace).status == 0


@pytest.mark.parametrize(("data_bytes", "longest"), [(4096, 9_192), (2**50, 1_000_000_000)])
def test_no_value_is_longer_than_the_file(trace: Path, data_bytes: int, longest: int) -> None:
    """Of UTF-16 two bytes may become three; SQLite's own limit is a milliard."""
    with closing(Connection(trace.as_uri() + "?mode=ro", trace, data_bytes)) as connection:
        assert connection.all(f"SELECT length(zeroblob({longest}))") == [(longest,)]
        with pytest.raises(TraceUnreadable, match="too big"):
            connection.all(f"SELECT zeroblob({longest + 1})")


def test_ctrl_c_ends_a_query(trace: Path) -> None:
    """What interrupts comes in the middle of a query of some seconds, which nothing but the query's own end follows."""
    without_end(trace, KERNEL)
    connection = Connection(trace.as_uri() + "?mode=ro", trace, 10_000_000)

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt("from the test")

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            connection.all(f"SELECT count(1) FROM {KERNEL}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        connection.close()


# What is no regular file, and what lies beside


def other_files(folder: Path) -> dict[str, Path]:
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("pipe")
    (folder / "zero").symlink_to("/dev/zero")
    with closing(socket.socket(socket.AF_UNIX)) as opened:
        opened.bind(str(folder / "socket"))
    return {name: folder / name for name in ("pipe", "link", "zero", "socket")}


@pytest.mark.parametrize("kind", ["pipe", "link", "zero", "socket"])
def test_trace_that_is_no_regular_file(kind: str, tmp_path: Path) -> None:
    path = other_files(tmp_path)[kind]
    line = refused(path, "trace-unreadable", folder=tmp_path)
    assert line == f"{path}: this is not a regular file; SQLite needs one, so save it to disk first"


READS: dict[str, Callable[[Path], object]] = {
    "policy": load_policy,
    "categories": load_kernel_categories,
    "log": read_log,
}


@pytest.mark.parametrize("kind", ["pipe", "zero", "socket"])
@pytest.mark.parametrize("read", READS)
def test_other_input_that_is_no_regular_file(kind: str, read: str, tmp_path: Path) -> None:
    path = other_files(tmp_path)[kind]
    with pytest.raises(DigestError, match=r"not a regular file; save it to disk first") as caught:
        READS[read](path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("kind", ["pipe", "zero"])
def test_stored_digest_that_is_no_regular_file(kind: str, trace: Path) -> None:
    path = other_files(trace.parent)[kind]
    for words in (("diff", trace, path), ("check", path)):
        assert "this is not a regular file" in the_line(call(*words), 3, "trace-unreadable")


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
@pytest.mark.parametrize("wal", [False, True])
def test_what_lies_beside_is_no_regular_file(suffix: str, wal: bool, trace: Path) -> None:
    if wal:
        wal_mode(trace)
    beside = trace.with_name(trace.name + suffix)
    for make in (os.mkfifo, os.mkdir):
        make(beside)
        line = refused(trace, "trace-in-use", folder=trace.parent)
        assert line.startswith(f"{trace}: {beside.name} beside it is where SQLite keeps changes, and is not a regular ")
        _ = beside.rmdir() if beside.is_dir() else beside.unlink()


def test_log_beside_a_file_that_says_it_has_none(trace: Path) -> None:
    """SQLite would read the pages of the log all the same, and make a -shm file for that."""
    wal_mode(trace)
    with closing(sqlite3.connect(trace)) as connection:
        connection.execute("UPDATE StringIds SET value = 'from the log'")
        connection.commit()
        kept = {path.name: path.read_bytes() for path in trace.parent.iterdir() if not path.name.endswith("-shm")}
    for path in trace.parent.iterdir():
        path.unlink()
    for name, content in kept.items():
        (trace.parent / name).write_bytes(content)
    with trace.open("r+b") as file:
        file.seek(18)
        file.write(b"\1\1")
    line = refused(trace, "trace-in-use", folder=trace.parent)
    assert "trace.sqlite-wal beside it holds changes" in line
    assert "its header says that it has no log, so that this one may be of another file: move it away" in line


@pytest.mark.parametrize("content", [b"", bytes(4096)])
@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_empty_log_beside_a_file_that_says_it_has_none(suffix: str, content: bytes, trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    trace.with_name(trace.name + suffix).write_bytes(content)
    assert digest_json(trace, folder=trace.parent) == expected
    with untouched(trace.parent):
        assert call("inspect", trace).status == 0


# A system that has nothing left to give

FEW_HANDLES = """
import os, resource, sys
from nsys_digest.cli import main
assert main(["summarize", "--quiet", "--reader", "adbc", "-o", os.devnull, sys.argv[1]]) == 0
handles = [os.open(os.devnull, os.O_RDONLY) for _ in range(3)]
resource.setrlimit(resource.RLIMIT_NOFILE, (max(handles) + 1 + int(sys.argv[2]),) * 2)
sys.exit(main(sys.argv[3:]))
"""


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.slow
def test_no_handle_is_left(reader: str, trace: Path) -> None:
    ran = spawn(trace, "0", "summarize", "--reader", reader, trace, script=FEW_HANDLES)
    line = the_line(ran, 1, "out-of-resources")
    assert line.startswith(f"{trace}: cannot be opened (Too many open files); raise the limit")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("left", range(1, 6))
@pytest.mark.slow
def test_few_handles_are_left(reader: str, left: int, trace: Path) -> None:
    ran = spawn(trace, str(left), "summarize", "-q", "--threads", "8", "--reader", reader, trace, script=FEW_HANDLES)
    if ran.status:
        assert "limit" in the_line(ran, 1, "out-of-resources")


LITTLE_MEMORY = """
import resource, sys
from nsys_digest.__main__ import main
limit, megabytes = sys.argv[1:3]
sys.argv[1:3] = []
resource.setrlimit(getattr(resource, limit), (int(megabytes) << 20,) * 2)
sys.exit(main())
"""


@pytest.mark.parametrize(
    ("limit", "megabytes"),
    [
        *(("RLIMIT_AS", megabytes) for megabytes in (4, 16, 20, 24, 26, 60, 110, 150, 220, 300)),
        *(("RLIMIT_DATA", megabytes) for megabytes in (2, 8, 10, 24, 70, 90)),
    ],
)
@pytest.mark.slow
def test_little_memory(limit: str, megabytes: int, trace: Path) -> None:
    """From too little for the program's own modules on to nearly enough, which libraries of C do not stand."""
    ran = spawn(limit, str(megabytes), "summarize", "-q", "-f", "text", trace, script=LITTLE_MEMORY)
    if ran.status or megabytes < 75:
        assert "memory" in the_line(ran, 1, "out-of-resources")


def test_memory_is_probed_only_where_it_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = dict.fromkeys((resource.RLIMIT_AS, resource.RLIMIT_DATA), resource.RLIM_INFINITY)
    asked: list[int] = []

    def refuse(_file: int, size: int, **_: int) -> None:
        asked.append(size)
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr("resource.getrlimit", lambda which: (limits[which], resource.RLIM_INFINITY))
    monkeypatch.setattr("mmap.mmap", refuse)
    monkeypatch.delitem(sys.modules, "numpy")
    make_sure_of_room()
    assert asked == []
    for which in limits:
        with monkeypatch.context() as limited:
            limited.setitem(limits, which, 1 << 30)
            with pytest.raises(OutOfResources, match="there is not enough memory"):
                make_sure_of_room()
    assert len(asked) == len(limits)
    monkeypatch.setitem(sys.modules, "numpy", np)  # it is there, and needs no more
    make_sure_of_room()
    assert len(asked) == len(limits)


@pytest.mark.parametrize("which", [resource.RLIMIT_AS, resource.RLIMIT_DATA])
def test_the_driver_is_left_where_memory_is_limited(which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[int, int] = {}
    monkeypatch.setattr("resource.getrlimit", lambda which: (limits.get(which, resource.RLIM_INFINITY), 0))
    assert adbc.has_room()
    limits[which] = 256 << 20
    assert not adbc.has_room()
    limits[which] = 64 << 30
    assert adbc.has_room()


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (MemoryError(), "there is not enough memory"),
        (RuntimeError("can't start new thread"), "no further thread can be started"),
        (ImportError("numpy: failed to map segment from shared object"), "there is not enough memory"),
        (OSError(24, "Too many open files", "numpy"), "no further file can be opened"),
        (RecursionError("maximum recursion depth exceeded"), "it is nested too deeply"),
    ],
)
def test_shortage_anywhere(error: Exception, words: str, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> Scanned:
        raise error

    monkeypatch.setattr("nsys_digest.sections.summary.scan", fail)
    assert the_line(call("summarize", trace), 1, "out-of-resources").startswith(f"{trace}: {words}")


def test_other_failures_are_not_called_a_shortage(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_arguments: object, **_options: object) -> Scanned:
        raise RuntimeError("a fault of the program")

    monkeypatch.setattr("nsys_digest.sections.summary.scan", fail)
    with pytest.raises(RuntimeError, match="a fault of the program"):
        call("summarize", trace)


@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("reader", READERS)
def test_no_further_thread_can_be_started(
    reader: str, granted: int, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = digest_json(trace, folder=trace.parent)
    start, left = threading.Thread.start, granted

    def limited(thread: threading.Thread) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", limited)
    ran = call("summarize", "-q", "--threads", "4", "--reader", reader, trace)
    assert (ran.status, ran.out, ran.err) == (0, expected, "")


def test_not_a_trace_is_the_error_of_a_view(trace: Path) -> None:
    execute(trace, "DROP TABLE PROCESSES", "CREATE VIEW PROCESSES AS SELECT 1 AS globalPid, 'x' AS name")
    with pytest.raises(NotATrace):
        summarize(trace)
