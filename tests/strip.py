"""Take a trace's machine out of it, and what nothing here reads, so that it can be committed.

Usage: ``python -m tests.strip IN OUT``

What stays is what a digest and ``nsys stats`` read: events, the strings that they name, the processes and threads that
have any, GPUs by a made-up uuid, settings that are a number, a truth value or a known word. Everything else goes:
tables that are not in the list below, the environment, commands, folders, user and host, the program's output, other
processes, messages of the collector that hold a path, the profiler's own overhead, dates, payloads of ranges, and of
kernels the mangled name, the grid's number and sizes of memory that follow from the others. The input is never
written to.

Names of kernels, ranges and threads are the program's own words and stay. When one of them holds the name of the host,
the user or a folder that was taken out elsewhere, nothing is written, and the line says what was found.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

_EVENTS = ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_", "CUDA_GRAPH_", "CUDA_UM_", "CUDA_GPU_MEMORY_USAGE_EVENTS")
_FACTS = (
    "StringIds", "PROCESSES", "ThreadNames", "DIAGNOSTIC_EVENT", "ANALYSIS_DETAILS", "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_GPU", "TARGET_INFO_CUDA_", "META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA", "ENUM_",
)  # fmt: skip
_UNREAD = {
    "NVTX_EVENTS": {"jsonTextId": "NULL", "jsonText": "NULL", "binaryData": "NULL"},
    "CUPTI_ACTIVITY_KIND_KERNEL": {
        "mangledName": "NULL",
        "gridId": "0",
        "localMemoryTotal": "0",
        "sharedMemoryExecuted": "NULL",
    },
}
_PAGE_BYTES = 1024  # half of the tables of an export have a row or two, and each takes a page
_NAMES = ("demangledName", "shortName", "nameId", "textId")
_PLAIN = re.compile(r"(true|false|-?\d+(\.\d+)?)?\Z")
_WORDS = re.compile(
    r"(CAPTURE_EVENT_TYPE|START_TRIGGER|STOP_TRIGGER|.*CUDA_GRAPH_TRACE_OPTIONS:MODE|.*:COLLECT_(CUDA|NVTX)_TRACE|EXPORT_PRODUCT_\w+|"
    r"EXPORT_SCHEMA_\w+|EXPORT_PLATFORM|EXPORT_ARCH)\Z"
)
_PRIVATE = re.compile(r"COMMAND|ARGUMENT|ENVIRONMENT|WORKING_DIR|USER|HOST|PATH|UUID")
_THREAD_BITS = 0xFFFFFF
_SHORTEST_SECRET = 4


class NotStripped(Exception):
    """The trace cannot be stripped; the message says why, in one line."""


def strip(trace: Path, to: Path) -> None:
    """Write a stripped copy of a trace, whole or not at all.

    Raises:
        NotStripped: the trace cannot be read, the copy's name is taken, or a name that stays holds a secret.

    """
    if to.exists():
        raise NotStripped(f"{to} is there already; remove it or choose another name")
    with tempfile.TemporaryDirectory(dir=to.parent, prefix=".strip-") as folder:
        copy = Path(folder) / "copy.sqlite"
        try:
            secrets = _write(trace, copy)
        except sqlite3.Error as error:
            raise NotStripped(f"{trace}: {error}") from error
        content = copy.read_bytes()
        found = sorted(secret for secret in secrets if secret.encode() in content)
        if found:
            raise NotStripped(f"{trace}: {found[0]!r} is in the name of an event, which a digest reads")
        copy.replace(to)


def _write(trace: Path, copy: Path) -> set[str]:
    """Copy a trace and strip the copy; return what was taken out that must be nowhere else."""
    with (
        closing(sqlite3.connect(f"{trace.absolute().as_uri()}?mode=ro", uri=True)) as source,
        closing(sqlite3.connect(copy)) as target,
    ):
        source.backup(target)
        target.execute("PRAGMA journal_mode = MEMORY")
        tables = {
            table: [column for _, column, *_ in target.execute(f"PRAGMA table_info({table})")]
            for (table,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        }
        if "StringIds" not in tables:
            raise NotStripped(f"{trace}: not an export of nsys: it has no table StringIds")
        secrets = set(_secrets(target, tables))
        _empty_what_nothing_reads(target, tables)
        _forget_other_processes(target, tables)
        _forget_the_machine(target, tables)
        _forget_unused_strings(target, tables)
        target.commit()
        target.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
        target.execute("VACUUM")
    return secrets


def _events(tables: dict[str, list[str]]) -> Iterator[tuple[str, list[str]]]:
    return ((table, columns) for table, columns in tables.items() if table.startswith(_EVENTS))


def _secrets(target: sqlite3.Connection, tables: dict[str, list[str]]) -> Iterator[str]:
    """Yield the host, the user and the folders that the trace names."""
    for table in {"META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA"} & tables.keys():
        for name, value in target.execute(f"SELECT name, value FROM {table}"):
            telling = name.endswith(("_HOST", "USER_NAME", "_USER", "DISPLAY_NAME")) or str(value).startswith("/")
            if value and telling and not _PLAIN.match(value) and len(value) >= _SHORTEST_SECRET:
                yield value
    if "TARGET_INFO_SYSTEM_ENV" in tables:
        for (value,) in target.execute("SELECT value FROM TARGET_INFO_SYSTEM_ENV WHERE name LIKE '%host%name%'"):
            if value and len(value) >= _SHORTEST_SECRET:
                yield value


def _empty_what_nothing_reads(target: sqlite3.Connection, tables: dict[str, list[str]]) -> None:
    for table in tables:
        if not table.startswith((*_EVENTS, *_FACTS)):
            target.execute(f"DELETE FROM {table}")
    for table, values in _UNREAD.items():
        for column in values.keys() & set(tables.get(table, ())):
            target.execute(f"UPDATE {table} SET {column} = {values[column]}")


def _forget_other_processes(target: sqlite3.Connection, tables: dict[str, list[str]]) -> None:
    threads: set[int] = set()
    processes: set[int] = set()
    for table, columns in _events(tables):
        for column, found in (("globalTid", threads), ("endGlobalTid", threads), ("globalPid", processes)):
            if column in columns:
                found.update(one for (one,) in target.execute(f"SELECT DISTINCT {column} FROM {table}") if one)
    processes |= {thread & ~_THREAD_BITS for thread in threads}
    for table, column, kept in (("PROCESSES", "globalPid", processes), ("ThreadNames", "globalTid", threads)):
        if table in tables:
            rows = target.execute(f"SELECT rowid, {column} FROM {table}").fetchall()
            gone = [(row,) for row, one in rows if one not in kept]
            target.executemany(f"DELETE FROM {table} WHERE rowid = ?", gone)
    if "PROCESSES" in tables:
        for row, name in target.execute("SELECT rowid, name FROM PROCESSES WHERE name IS NOT NULL").fetchall():
            target.execute("UPDATE PROCESSES SET name = ? WHERE rowid = ?", (re.split(r"[/\\]", name)[-1], row))


def _forget_the_machine(target: sqlite3.Connection, tables: dict[str, list[str]]) -> None:
    for table in {"META_DATA_CAPTURE", "META_DATA_EXPORT", "EXPORT_META_DATA"} & tables.keys():
        for row, name, value in target.execute(f"SELECT rowid, name, value FROM {table}").fetchall():
            if table == "META_DATA_CAPTURE" and _PRIVATE.search(name):
                target.execute(f"DELETE FROM {table} WHERE rowid = ?", (row,))
            elif value is not None and not _WORDS.match(name) and (_PRIVATE.search(name) or not _PLAIN.match(value)):
                target.execute(f"UPDATE {table} SET value = '' WHERE rowid = ?", (row,))
    if "DIAGNOSTIC_EVENT" in tables:
        target.execute(r"DELETE FROM DIAGNOSTIC_EVENT WHERE text LIKE '%/%' OR text LIKE '%\%'")
    for column, value in (("utcEpochNs", "0"), ("utcTime", "'1970-01-01T00:00:00'"), ("localTime", "NULL")):
        if column in tables.get("TARGET_INFO_SESSION_START_TIME", ()):
            target.execute(f"UPDATE TARGET_INFO_SESSION_START_TIME SET {column} = {value}")
    made_up = {
        "uuid": "printf('00000000-0000-4000-8000-%012d', {id} + 1)",
        "busLocation": "printf('0000:00:%02x.0', {id})",
        "pciBusId": "printf('0000:00:%02x.0', {id})",
        "luid": "0",
        "ctxswDevPath": "''",
        "ctrlDevPath": "''",
    }
    for table, columns in tables.items():
        if table.startswith(("TARGET_INFO_GPU", "TARGET_INFO_CUDA_GPU", "TARGET_INFO_CUDA_DEVICE")):
            own_id = next(column for column in ("gpuId", "id", "deviceId") if column in columns)
            for column in made_up.keys() & set(columns):
                value = made_up[column].format(id=own_id)
                target.execute(f"UPDATE {table} SET {column} = {value} WHERE {column} IS NOT NULL")


def _forget_unused_strings(target: sqlite3.Connection, tables: dict[str, list[str]]) -> None:
    used: set[int] = set()
    for table, columns in (*_events(tables), ("ThreadNames", tables.get("ThreadNames", []))):
        for column in set(_NAMES) & set(columns):
            used.update(one for (one,) in target.execute(f"SELECT DISTINCT {column} FROM {table}") if one is not None)
    unused = [(one,) for (one,) in target.execute("SELECT id FROM StringIds").fetchall() if one not in used]
    target.executemany("DELETE FROM StringIds WHERE id = ?", unused)


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.strip", description="Take a trace's machine out of it.")
    parser.add_argument("trace", metavar="IN", type=Path)
    parser.add_argument("to", metavar="OUT", type=Path)
    arguments = parser.parse_args()
    try:
        strip(arguments.trace, arguments.to)
    except NotStripped as error:
        print(f"strip: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
