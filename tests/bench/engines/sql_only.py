"""Rival: everything in SQL, with GROUP BY for totals and window functions for unions.

Usage: ``python -m tests.bench.engines.sql_only TRACE``
"""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any
from urllib.parse import quote

P = "CUPTI_ACTIVITY_KIND_"
GPU_TABLES = (f"{P}KERNEL", f"{P}MEMCPY", f"{P}MEMSET", f"{P}GRAPH_TRACE")
COLUMNS = {
    f"{P}KERNEL": 'start, "end", deviceId, shortName, graphNodeId',
    f"{P}MEMCPY": 'start, "end", deviceId',
    f"{P}MEMSET": 'start, "end", deviceId',
    f"{P}GRAPH_TRACE": 'start, "end", deviceId',
    f"{P}RUNTIME": 'start, "end", eventClass, nameId',
    "NVTX_EVENTS": 'start, "end", eventType, text, textId, domainId, globalTid',
}


def cut(text: str) -> str:
    """Return the SQL that takes PyTorch's suffix off a text."""
    for key in ("seq", "op_id", "sizes", "input_op_ids"):
        text = f"substr({text}, 1, instr({text} || ', {key} = ', ', {key} = ') - 1)"
    return text


def union(source: str, by: str) -> str:
    """Return the SQL for the merged intervals of each group of ``by`` in a table of (by, start, stop)."""
    return f"""
        SELECT {by}, min(start) AS start, max(stop) AS stop FROM (
            SELECT *, sum(opens) OVER (
                PARTITION BY {by} ORDER BY start, stop ROWS UNBOUNDED PRECEDING
            ) AS stretch
            FROM (
                SELECT {by}, start, stop, coalesce(start > max(stop) OVER (
                    PARTITION BY {by} ORDER BY start, stop ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                ), 1) AS opens FROM {source}
            )
        ) GROUP BY {by}, stretch"""


def prepare(db: sqlite3.Connection) -> None:
    """Make the temporary tables: operations, busy time, named ranges and their unions."""
    present = {row[0] for row in db.execute("SELECT name FROM main.sqlite_master")}
    for table, columns in COLUMNS.items():
        if table not in present:
            db.execute(f"CREATE TEMP TABLE {table} ({columns})")
    gpu = " UNION ALL ".join(f'SELECT 0 AS one, deviceId, start, "end" AS stop FROM {t}' for t in GPU_TABLES)
    times = " UNION ALL ".join(
        f'SELECT max(max(start), coalesce(max("end"), max(start))) AS t FROM {t}' for t in COLUMNS
    )
    db.executescript(f"""
        CREATE TEMP TABLE gpu AS {gpu};
        CREATE TEMP TABLE busy AS {union("gpu", "one")};
        CREATE TEMP TABLE domains AS
            SELECT n.globalTid >> 24 AS process, n.domainId AS domain, coalesce(s.value, n.text) AS name
            FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType = 75;
        CREATE TEMP TABLE ranges AS
            SELECT CASE WHEN n.domainId <> 0 AND d.name IS NOT NULL THEN d.name || ':' ELSE '' END
                || {cut("coalesce(s.value, n.text, '')")} AS name,
                n.start AS start, coalesce(n."end", (SELECT max(t) FROM ({times}))) AS stop
            FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId
            LEFT JOIN domains d ON d.process = n.globalTid >> 24 AND d.domain = n.domainId
            WHERE n.eventType IN (59, 60, 70, 71);
        CREATE TEMP TABLE stretches AS {union("ranges", "name")};
    """)


OVERLAP = """
    SELECT name, sum(sign * before) FROM (
        SELECT name, sign, sum(CASE edge WHEN 1 THEN -t WHEN -1 THEN t ELSE 0 END) OVER passed
            + t * sum(edge) OVER passed AS before
        FROM (
            SELECT start - (SELECT min(start) FROM busy) AS t, 1 AS edge, NULL AS name, 0 AS sign FROM busy
            UNION ALL SELECT stop - (SELECT min(start) FROM busy), -1, NULL, 0 FROM busy
            UNION ALL SELECT start - (SELECT min(start) FROM busy), 0, name, -1 FROM stretches
            UNION ALL SELECT stop - (SELECT min(start) FROM busy), 0, name, 1 FROM stretches
        ) WINDOW passed AS (ORDER BY t RANGE UNBOUNDED PRECEDING)
    ) WHERE name IS NOT NULL GROUP BY name"""
"""Overlap with busy time: the busy time before t is the sum of the ends passed, less the starts passed, and
t as often as there are more starts than ends."""


def digest(path: str) -> dict[str, Any]:
    """Return the numbers of a trace."""
    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    db.execute("pragma temp_store = memory")
    prepare(db)
    span, busy = db.execute(
        "SELECT coalesce(max(stop) - min(start), 0), coalesce(sum(stop - start), 0) FROM busy"
    ).fetchone()
    kernels, graph = db.execute(f"SELECT count(*), coalesce(sum(graphNodeId <> 0), 0) FROM {P}KERNEL").fetchone()
    api = db.execute(
        f'SELECT s.value, count(*), sum(r."end" - r.start) FROM {P}RUNTIME r '
        "JOIN StringIds s ON s.id = r.nameId "
        "WHERE r.eventClass IN (0, 1) GROUP BY s.value"
    )
    top = db.execute(
        f'SELECT s.value, count(*), sum(k."end" - k.start) AS ns FROM {P}KERNEL k '
        "JOIN StringIds s ON s.id = k.shortName GROUP BY s.value ORDER BY ns DESC, s.value LIMIT 20"
    )
    sums = db.execute("SELECT name, count(*), sum(stop - start) FROM ranges GROUP BY name")
    unions = dict(db.execute("SELECT name, sum(stop - start) FROM stretches GROUP BY name"))
    overlaps = dict(db.execute(OVERLAP)) if kernels or span else {}
    devices = db.execute(
        f"SELECT deviceId, max(stop) - min(start), sum(stop - start) FROM ({union('gpu', 'deviceId')}) "
        "GROUP BY deviceId"
    )
    return {
        "gpu_activity_span_ns": span,
        "gpu_busy_union_ns": busy,
        "gpu_idle_within_span_ns": span - busy,
        "kernel_count": kernels,
        "graph_node_kernel_count": graph,
        "api": {name: [calls, ns] for name, calls, ns in api},
        "kernels": [[name, [count, ns]] for name, count, ns in top],
        "nvtx": {
            name: {"count": n, "sum_ns": t, "union_ns": unions[name], "gpu_overlap_ns": overlaps.get(name, 0)}
            for name, n, t in sums
        },
        "devices": {str(device): [length, ns] for device, length, ns in devices},
    }  # fmt: skip


if __name__ == "__main__":
    json.dump(digest(sys.argv[1]), sys.stdout)
