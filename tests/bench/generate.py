"""Make a synthetic Nsight Systems export of any size.

Usage: ``python -m tests.bench.generate OUT.sqlite SIZE [--variant plain|sparse|unique]``

The file has the tables, columns and row widths of an nsys 2025.3 SQLite export: no indices, 4 KiB pages,
the pages of the tables interleaved, rows in order of start except for a few. Four processes drive a device
each. The same arguments give the same data.

Variants: ``plain``; ``sparse``, the same operations with their starts so far apart that hardly any two merge;
``unique``, where every range is called ``request-N`` with an N of its own.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.bench import SIZES, VARIANTS
from tests.bench.activity import (
    A_GRAPH,
    A_MEMCPY,
    A_MEMSET,
    FIRST_NS,
    N_EAGER,
    PIDS,
    Activity,
    Int64s,
    Names,
    Strings,
    correlation,
    global_pid,
    make_names,
    make_process,
    thread_of_call,
)
from tests.bench.layout import TABLES, create, write_facts
from tests.bench.ranges import make_nvtx

Column = list[Any] | str
"""Values of a column in row order, or one SQL literal for all the rows."""

SPREAD = 200
"""The factor between the times of the sparse variant and the plain one."""


def near_order(rng: np.random.Generator, start: Int64s) -> Int64s:
    """Return the order of start, with one row in two hundred a little out of place."""
    late = np.where(rng.random(start.size) < 0.005, rng.integers(-60_000, 60_000, start.size), 0)
    return np.argsort(start + late, kind="stable")


def make_columns(
    processes: list[Activity], names: Names, strings: Strings, variant: str
) -> dict[str, tuple[dict[str, Column], int]]:
    """Return each event table: its columns in row order (those left out are NULL) and how many rows."""
    rng = np.random.default_rng(20250301)
    scale = SPREAD if variant == "sparse" else 1
    out: dict[str, tuple[dict[str, Column], int]] = {}

    def put(table: str, columns: dict[str, Any], start: Int64s) -> None:
        order = near_order(rng, start)
        as_rows: dict[str, Column] = {}
        for name, values in columns.items():
            if isinstance(values, np.ndarray):
                as_rows[name] = values[order].tolist()
            elif isinstance(values, list):
                as_rows[name] = [values[i] for i in order.tolist()]
            else:
                as_rows[name] = str(values)
        out[table] = (as_rows, start.size)

    def join(parts: Iterable[Int64s]) -> Int64s:
        return np.concatenate(list(parts))

    calls = [np.arange(p.start.size) for p in processes]
    start = join(p.start for p in processes) * scale
    api = join(p.api for p in processes)
    put("CUPTI_ACTIVITY_KIND_RUNTIME", {
        "start": start, "end": join(p.end for p in processes) * scale, "eventClass": names.api_class[api],
        "globalTid": join(global_pid(i) + PIDS[i] + thread_of_call(c) for i, c in enumerate(calls)),
        "correlationId": join(correlation(i, c) for i, c in enumerate(calls)), "nameId": names.api[api],
        "returnValue": 0,
    }, start)  # fmt: skip

    device = join(np.full(p.op_kind.size, i) for i, p in enumerate(processes))
    kind, stream, node = (join(getattr(p, a) for p in processes) for a in ("op_kind", "op_stream", "op_node"))
    op_start, op_end = (join(getattr(p, a) for p in processes) for a in ("op_start", "op_end"))
    op_end = op_end - op_start + op_start * scale
    op_start = op_start * scale
    corr = join(correlation(i, p.op_call) for i, p in enumerate(processes))
    pid = np.array([global_pid(i) for i in range(4)])[device]
    draw, size = rng.random(kind.size), 1 << rng.integers(2, 25, kind.size)

    def place(mask: npt.NDArray[np.bool_]) -> dict[str, Any]:
        return {"start": op_start[mask], "end": op_end[mask], "deviceId": device[mask], "contextId": 1,
                "greenContextId": "NULL", "streamId": stream[mask], "correlationId": corr[mask],
                "globalPid": pid[mask]}  # fmt: skip

    kernel = (kind < N_EAGER) | (kind == A_GRAPH)
    n = int(kernel.sum())
    k_node, zipf = node[kernel], np.minimum(rng.zipf(1.3, n), 600) - 1
    which = np.where(k_node >= 0, (k_node * 13) % 600, zipf)
    nccl = kind[kernel] < 0
    nccl_name = names.nccl[rng.integers(0, 3, n)]
    demangled = np.where(nccl, nccl_name, names.demangled[which])
    node_id = [None if i < 0 else 8589934592 + i for i in k_node.tolist()]
    put("CUPTI_ACTIVITY_KIND_KERNEL", place(kernel) | {
        "demangledName": demangled, "shortName": np.where(nccl, nccl_name, names.short[which]),
        "mangledName": demangled, "launchType": 1, "cacheConfig": 1,
        "registersPerThread": rng.integers(16, 255, n),
        "gridX": np.minimum(rng.zipf(1.2, n), 1 << 20), "gridY": 1, "gridZ": 1,
        "blockX": rng.choice([64, 128, 256, 512, 1024], n), "blockY": 1, "blockZ": 1,
        "staticSharedMemory": rng.choice([0, 1024, 49152], n),
        "dynamicSharedMemory": rng.choice([0, 0, 101376], n),
        "localMemoryPerThread": 0, "localMemoryTotal": 250871808, "gridId": np.arange(n) + 8,
        "sharedMemoryExecuted": rng.choice([8192, 32768, 135168, 233472], n), "graphNodeId": node_id,
        "sharedMemoryLimitConfig": 0,
    }, op_start[kernel])  # fmt: skip

    mask = kind == A_MEMCPY
    direction = np.where(draw[mask] < 0.4, 1, np.where(draw[mask] < 0.7, 2, 8))
    pinned = (draw[mask] * 100).astype(np.int64) % 2
    put("CUPTI_ACTIVITY_KIND_MEMCPY", place(mask) | {
        "bytes": size[mask], "copyKind": direction, "srcKind": np.where(direction == 1, pinned, 2),
        "dstKind": np.where(direction == 2, pinned, 2), "copyCount": 1,
    }, op_start[mask])  # fmt: skip
    mask = kind == A_MEMSET
    put(
        "CUPTI_ACTIVITY_KIND_MEMSET",
        place(mask) | {"value": 0, "bytes": size[mask], "memKind": 2},
        op_start[mask],
    )

    nvtx = make_nvtx(processes, strings)
    start = np.array(nvtx.pop("start")) * scale
    nvtx["end"] = [None if end is None else end * scale for end in nvtx["end"]]
    if variant == "unique":
        is_range = [event in (59, 60) for event in nvtx["eventType"]]
        texts = zip(is_range, nvtx["text"], strict=True)
        nvtx["text"] = [f"request-{i}" if named else text for i, (named, text) in enumerate(texts)]
        nvtx["textId"] = [None] * len(is_range)
    put("NVTX_EVENTS", {"start": start, "color": "4278190335", **nvtx}, start)
    return out


def write_events(db: sqlite3.Connection, tables: dict[str, tuple[dict[str, Column], int]]) -> None:
    """Insert the rows of all the tables slice by slice, so that their pages are interleaved."""
    slices = max(1, max(n for _, n in tables.values()) // 20_000)
    for s in range(slices):
        for table, (columns, n) in tables.items():
            low, high = n * s // slices, n * (s + 1) // slices
            bound = [name for name, values in columns.items() if not isinstance(values, str)]
            values = ", ".join("?" if not isinstance(v, str) else v for v in columns.values())
            names = ", ".join(f'"{name}"' for name in columns)
            rows = zip(*(columns[name][low:high] for name in bound), strict=True)
            db.executemany(f"INSERT INTO {table} ({names}) VALUES ({values})", rows)


def open_empty(path: Path) -> sqlite3.Connection:
    """Create a database file for one fast bulk load, with the event tables and StringIds."""
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path, isolation_level=None)
    for setting in ("page_size=4096", "journal_mode=off", "synchronous=off"):
        db.execute(f"pragma {setting}")
    db.execute("begin")
    create(db, "StringIds", {"id": "INTEGER NOT NULL PRIMARY KEY", "value": "TEXT NOT NULL"})
    for table, columns in TABLES.items():
        create(db, table, columns)
    return db


def last_time(db: sqlite3.Connection, schema: str = "main") -> int:
    """Return the largest end of any event."""
    ends: list[int] = [db.execute(f'SELECT max("end") FROM {schema}.{t}').fetchone()[0] for t in TABLES]
    return max(ends)


def build(path: Path, steps: int, variant: str) -> None:
    """Write a trace of this many steps a process."""
    strings = Strings()
    names = make_names(strings)
    processes = [make_process(i, steps) for i in range(4)]
    tables = make_columns(processes, names, strings, variant)
    db = open_empty(path)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", ((i, s) for s, i in strings.ids.items()))
    write_events(db, tables)
    write_facts(db, last_time(db))
    db.execute("commit")
    db.close()


def repeat(base: Path, path: Path, copies: int) -> None:
    """Write a trace that is another one repeated along time, correlation ids and serial numbers moved on.

    Ranges that never end are kept in the last copy alone, domains are created in the first alone.
    """
    db = open_empty(path)
    db.execute("commit")
    db.execute("attach ? as base", (str(base),))
    db.execute("begin")
    db.execute("INSERT INTO StringIds SELECT * FROM base.StringIds")
    period = last_time(db, "base") - FIRST_NS + 1_000_000
    ids = db.execute("SELECT max(correlationId) FROM base.CUPTI_ACTIVITY_KIND_RUNTIME").fetchone()[0] + 10
    texts = db.execute("SELECT max(rowid) FROM base.NVTX_EVENTS").fetchone()[0]
    slices = 20
    for copy in range(copies):
        moved = {
            "start": f"start + {copy * period}", "end": f'"end" + {copy * period}',
            "correlationId": f"correlationId + {copy * ids}",
            "text": "CASE WHEN text LIKE 'request-%' THEN 'request-' || (CAST(substr(text, 9) AS INTEGER) "
            f"+ {copy * texts}) ELSE replace(text, ', op_id = ', ', op_id = {copy or ''}') END",
        }  # fmt: skip
        for part in range(slices):
            for table, columns in TABLES.items():
                last = db.execute(f"SELECT max(rowid) FROM base.{table}").fetchone()[0]
                chosen = ", ".join(moved.get(c, f'"{c}"') for c in columns)
                where = f"rowid > {last * part // slices} AND rowid <= {last * (part + 1) // slices}"
                if table == "NVTX_EVENTS":
                    where += "" if copy == copies - 1 else ' AND NOT ("end" IS NULL AND eventType IN (59, 60))'
                    where += "" if copy == 0 else " AND eventType <> 75"
                db.execute(f"INSERT INTO main.{table} SELECT {chosen} FROM base.{table} WHERE {where}")
    write_facts(db, last_time(db))
    db.execute("commit")
    db.close()


def generate(path: Path, size: str, variant: str = "plain") -> None:
    """Write a trace; the file appears under its name only when it is whole."""
    steps, copies = SIZES[size]
    partial = path.with_name(path.name + ".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    if copies == 1:
        build(partial, steps, variant)
    else:
        base = path.with_name(path.name + ".base")
        build(base, steps, variant)
        repeat(base, partial, copies)
        base.unlink()
    partial.replace(path)


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.generate", description="Make a synthetic nsys export.")
    parser.add_argument("out", type=Path)
    parser.add_argument("size", choices=list(SIZES))
    parser.add_argument("--variant", choices=VARIANTS, default="plain")
    options = parser.parse_args(argv)
    began = time.perf_counter()
    generate(options.out, options.size, options.variant)
    megabytes = options.out.stat().st_size / 1e6
    print(f"{options.out}: {megabytes:.1f} MB in {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
