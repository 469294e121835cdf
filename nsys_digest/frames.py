"""The digest as pandas tables, one row a thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas

from nsys_digest.units import to_seconds

if TYPE_CHECKING:
    from nsys_digest.model import Digest


def frames(digest: Digest) -> dict[str, pandas.DataFrame]:
    """Return the tables of :meth:`nsys_digest.Digest.to_pandas`; an empty table keeps its columns."""
    totals = ["name", "count", "total_s"]
    devices = []
    for device in digest.devices:
        row = device.to_dict()
        nested = {
            f"{kind}_{key}": row[key].get(kind)
            for key in ("union_s", "sum_s", "count")
            for kind in ("kernel", "memcpy", "memset", "graph")
        }
        flat = {key: value for key, value in row.items() if not isinstance(value, dict | list)}
        devices.append(flat | nested | {"stream_count": len(device.streams), "process_count": len(device.processes)})
    return {
        "kernels": pandas.DataFrame(
            [(name, total.count, to_seconds(total.total_ns)) for name, total in digest.top_kernels], columns=totals
        ),
        "api": pandas.DataFrame(
            [(name, call.count, to_seconds(call.total_ns)) for name, call in digest.api.items()], columns=totals
        ),
        "nvtx": pandas.DataFrame(
            [{"name": name, **ranges.to_dict()} for name, ranges in digest.nvtx.items()],
            columns=["name", "count", "sum_s", "union_s", "gpu_overlap_s"],
        ),
        "dispatch": pandas.DataFrame(
            [(mark.start_ns, mark.name) for mark in digest.dispatch_timeline], columns=["start_ns", "name"]
        ),
        "devices": pandas.DataFrame(devices),
    }
