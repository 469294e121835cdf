"""Rival: ``pandas.read_sql`` of the columns that are needed, then groupby and sort.

Usage: ``python -m tests.bench.engines.pandas_columns TRACE``
"""

from __future__ import annotations

import json
import sqlite3
import sys
from typing import Any
from urllib.parse import quote

import numpy as np
import pandas as pd

KERNEL, RUNTIME, NVTX = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
COLUMNS = {
    KERNEL: ["start", "end", "deviceId", "shortName", "graphNodeId"],
    "CUPTI_ACTIVITY_KIND_MEMCPY": ["start", "end", "deviceId"],
    "CUPTI_ACTIVITY_KIND_MEMSET": ["start", "end", "deviceId"],
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": ["start", "end", "deviceId"],
    RUNTIME: ["start", "end", "eventClass", "nameId"],
    NVTX: ["start", "end", "eventType", "text", "textId", "domainId", "globalTid"],
}
SUFFIX = r", (?:seq|op_id|sizes|input_op_ids) = .*$"


def read(db: sqlite3.Connection, star: bool) -> dict[str, pd.DataFrame]:
    """Read every table that the trace has; an absent one is an empty frame."""
    present = set(pd.read_sql("SELECT name FROM sqlite_master", db)["name"])
    frames = {}
    for table, columns in COLUMNS.items():
        if table in present:
            chosen = "*" if star else ", ".join(f'"{c}"' for c in columns)
            frames[table] = pd.read_sql(f"SELECT {chosen} FROM {table}", db)
        else:
            frames[table] = pd.DataFrame({c: pd.Series(dtype="int64") for c in columns})
    return frames


def merged(frame: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Merge the intervals of each group: one row for each stretch without a gap."""
    frame = frame.sort_values([*by, "start"])
    if by:
        reach = frame.groupby(by, sort=False)["end"].cummax()
        before = reach.groupby([frame[c] for c in by], sort=False).shift()
    else:
        before = frame["end"].cummax().shift()
    opens = before.isna() | (frame["start"] > before)
    return (
        frame.groupby([*by, opens.cumsum()], sort=False).agg(start=("start", "first"), end=("end", "max")).reset_index()
    )


def busy_before(busy: pd.DataFrame, times: pd.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the busy time before each time."""
    starts, ends = busy["start"].to_numpy(), busy["end"].to_numpy()
    total = np.concatenate(([0], np.cumsum(ends - starts)))
    at = np.searchsorted(starts, times, side="right")
    over = np.where(at > 0, ends[at - 1] - times.to_numpy(), 0) if len(ends) else np.zeros(len(times), np.int64)
    return total[at] - np.maximum(over, 0)


def nvtx_names(nvtx: pd.DataFrame, strings: pd.Series) -> pd.Series:
    """Return the name of each range: the registered text or the inline one, folded, after its domain."""
    process = nvtx["globalTid"].fillna(0).astype("int64") // 2**24
    registered = nvtx["textId"].map(strings)
    text = registered.where(registered.notna(), nvtx["text"]).fillna("").astype("str")
    created = nvtx["eventType"] == 75
    keys = zip(process[created], nvtx["domainId"][created], strict=True)
    domains = dict(zip(keys, text[created], strict=True))
    pairs = zip(process, nvtx["domainId"], strict=True)
    prefix = pd.Series([domains.get(k, "") if k[1] else "" for k in pairs], index=nvtx.index, dtype="str")
    folded = text.str.replace(SUFFIX, "", regex=True)
    return folded.where(prefix == "", prefix + ":" + folded)


def digest(path: str, star: bool = False) -> dict[str, Any]:
    """Return the numbers of a trace; times stay below 2^53, so a column with NULLs is exact as floats too."""
    db = sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)
    frames = read(db, star)
    strings = pd.read_sql("SELECT id, value FROM StringIds", db).set_index("id")["value"]
    kernel, api, nvtx = frames[KERNEL], frames[RUNTIME], frames[NVTX]
    gpu = pd.concat([f[["start", "end", "deviceId"]] for t, f in frames.items() if t not in (RUNTIME, NVTX)])
    busy = merged(gpu, [])
    span = int(gpu["end"].max() - gpu["start"].min()) if len(gpu) else 0
    length = int((busy["end"] - busy["start"]).sum())

    by_device = merged(gpu, ["deviceId"])
    by_device["busy"] = by_device["end"] - by_device["start"]
    devices = by_device.groupby("deviceId").agg(start=("start", "min"), end=("end", "max"), busy=("busy", "sum"))

    kernels = pd.DataFrame({"name": kernel["shortName"].map(strings), "ns": kernel["end"] - kernel["start"]})
    top = kernels.groupby("name")["ns"].agg(["size", "sum"]).reset_index()
    top = top.sort_values(["sum", "name"], ascending=[False, True]).head(20)

    edges = (x for f in frames.values() for x in (f["start"].max(), f["end"].max()))
    last = max((int(x) for x in edges if pd.notna(x)), default=0)
    api = api[api["eventClass"].isin([0, 1])]
    calls = pd.DataFrame({"name": api["nameId"].map(strings), "ns": api["end"] - api["start"]})
    calls = calls.groupby("name")["ns"].agg(["size", "sum"])

    ranges = pd.DataFrame({"name": nvtx_names(nvtx, strings), "start": nvtx["start"]})
    ranges["end"] = nvtx["end"].fillna(last).astype("int64")
    ranges = ranges[nvtx["eventType"].isin([59, 60, 70, 71])]
    ranges["ns"] = ranges["end"] - ranges["start"]
    stretches = merged(ranges, ["name"])
    stretches["union"] = stretches["end"] - stretches["start"]
    stretches["overlap"] = busy_before(busy, stretches["end"]) - busy_before(busy, stretches["start"])
    sums = ranges.groupby("name")["ns"].agg(["size", "sum"])
    unions = stretches.groupby("name")[["union", "overlap"]].sum()
    nvtx_out = sums.join(unions)
    return {
        "gpu_activity_span_ns": span,
        "gpu_busy_union_ns": length,
        "gpu_idle_within_span_ns": span - length,
        "kernel_count": len(kernel),
        "graph_node_kernel_count": int((kernel["graphNodeId"].fillna(0) != 0).sum()),
        "api": {n: [int(c), int(s)] for n, c, s in calls.itertuples()},
        "kernels": [[n, [int(c), int(s)]] for n, c, s in top.itertuples(index=False)],
        "nvtx": {n: {"count": int(c), "sum_ns": int(s), "union_ns": int(u), "gpu_overlap_ns": int(o)}
                 for n, c, s, u, o in nvtx_out.itertuples()},
        "devices": {str(d): [int(e - s), int(b)] for d, s, e, b in devices.itertuples()},
    }  # fmt: skip


if __name__ == "__main__":
    json.dump(digest(sys.argv[1]), sys.stdout)
