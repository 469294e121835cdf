"""Rival: the standard library alone, a cursor with Python loops and dictionaries, as most scripts have it.

Usage: ``python -m tests.bench.engines.cursor_loop TRACE``
"""

from __future__ import annotations

import json
import re
import sqlite3
import sys
from bisect import bisect_right
from typing import Any
from urllib.parse import quote

KERNEL, RUNTIME, NVTX = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
OTHER_GPU = [f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("MEMCPY", "MEMSET", "GRAPH_TRACE")]
SUFFIX = re.compile(r", (?:seq|op_id|sizes|input_op_ids) = .*$")
Interval = tuple[int, int]


def merge(intervals: list[Interval]) -> list[Interval]:
    """Merge intervals into their union."""
    out: list[Interval] = []
    for start, end in sorted(intervals):
        if out and start <= out[-1][1]:
            if end > out[-1][1]:
                out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def total(intervals: list[Interval]) -> int:
    """Return the sum of the lengths."""
    return sum(end - start for start, end in intervals)


def overlap(intervals: list[Interval], busy: list[Interval], starts: list[int]) -> int:
    """Return how much of merged intervals lies in the merged busy time, whose starts are given beside it."""
    out = 0
    for start, end in intervals:
        i = max(0, bisect_right(starts, start) - 1)
        while i < len(busy) and busy[i][0] < end:
            out += max(0, min(end, busy[i][1]) - max(start, busy[i][0]))
            i += 1
    return out


def digest(path: str) -> dict[str, Any]:
    """Return the numbers of a trace."""
    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    present = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    strings = dict(db.execute("SELECT id, value FROM StringIds"))
    devices: dict[int, list[Interval]] = {}
    kernels: dict[str, list[int]] = {}
    kernel_count = graph_count = last = 0
    if KERNEL in present:
        for start, end, device, name, node in db.execute(
            f'SELECT start, "end", deviceId, shortName, graphNodeId FROM {KERNEL}'
        ):
            devices.setdefault(device, []).append((start, end))
            kernel_count += 1
            if node:
                graph_count += 1
            entry = kernels.setdefault(strings[name], [0, 0])
            entry[0] += 1
            entry[1] += end - start
    for table in OTHER_GPU:
        if table in present:
            for start, end, device in db.execute(f'SELECT start, "end", deviceId FROM {table}'):
                devices.setdefault(device, []).append((start, end))
    api: dict[str, list[int]] = {}
    if RUNTIME in present:
        for start, end, kind, name in db.execute(f'SELECT start, "end", eventClass, nameId FROM {RUNTIME}'):
            last = max(last, start, end)
            if kind in (0, 1):
                entry = api.setdefault(strings[name], [0, 0])
                entry[0] += 1
                entry[1] += end - start
    domains: dict[tuple[int, int], str] = {}
    ranges: list[tuple[int, int | None, str, tuple[int, int]]] = []
    if NVTX in present:
        for start, end, kind, text, text_id, domain, tid in db.execute(
            f'SELECT start, "end", eventType, text, textId, domainId, globalTid FROM {NVTX}'
        ):
            last = max(last, start, end or start)
            key = ((tid or 0) >> 24, domain)
            if text_id is not None and text_id in strings:
                text = strings[text_id]
            if kind == 75:
                domains[key] = text
            elif kind in (59, 60, 70, 71):
                ranges.append((start, end, text or "", key))

    everything = [interval for intervals in devices.values() for interval in intervals]
    busy = merge(everything)
    first_start = min((start for start, _ in busy), default=0)
    last_end = max((end for _, end in busy), default=0)
    last = max(last, last_end)
    by_name: dict[str, list[Interval]] = {}
    for start, end, text, key in ranges:
        name = SUFFIX.sub("", text)
        if key[1] and key in domains:
            name = f"{domains[key]}:{name}"
        by_name.setdefault(name, []).append((start, last if end is None else end))
    nvtx = {}
    busy_starts = [start for start, _ in busy]
    for name, intervals in by_name.items():
        union = merge(intervals)
        nvtx[name] = {"count": len(intervals), "sum_ns": total(intervals), "union_ns": total(union),
                      "gpu_overlap_ns": overlap(union, busy, busy_starts)}  # fmt: skip
    per_device = {}
    for device, intervals in devices.items():
        union = merge(intervals)
        per_device[str(device)] = [union[-1][1] - union[0][0], total(union)]
    top = sorted(kernels.items(), key=lambda item: (-item[1][1], item[0]))[:20]
    return {
        "gpu_activity_span_ns": last_end - first_start,
        "gpu_busy_union_ns": total(busy),
        "gpu_idle_within_span_ns": last_end - first_start - total(busy),
        "kernel_count": kernel_count,
        "graph_node_kernel_count": graph_count,
        "api": api,
        "kernels": [[name, entry] for name, entry in top],
        "nvtx": nvtx,
        "devices": per_device,
    }


if __name__ == "__main__":
    json.dump(digest(sys.argv[1]), sys.stdout)
