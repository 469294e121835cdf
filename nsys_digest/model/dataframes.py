"""The digest as pandas tables, one row a thing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas

from nsys_digest.model.base_types import KINDS
from nsys_digest.units import to_seconds

if TYPE_CHECKING:
    from nsys_digest.model.base_types import Device
    from nsys_digest.model.digest import Digest


_FLAT = ("device", "name", "uuid", "span_s", "busy_s", "idle_s", "busy_ratio", "concurrency_mean")
_NESTED = [(kind, key) for key in ("union_s", "sum_s", "count") for kind in KINDS]
_DEVICE_COLUMNS = [*_FLAT, *(f"{kind}_{key}" for kind, key in _NESTED), "stream_count", "process_count"]


def _device_row(device: Device) -> list[object]:
    data = device.to_dict()
    flat = [data[key] for key in _FLAT]
    return [*flat, *(data[key][kind] for kind, key in _NESTED), len(device.streams), len(device.processes)]


def frames(digest: Digest) -> dict[str, pandas.DataFrame]:
    """Return the tables of :meth:`nsys_digest.Digest.to_pandas`; an empty table keeps its columns."""
    totals = ["name", "count", "total_s"]
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
        "devices": pandas.DataFrame([_device_row(device) for device in digest.devices], columns=_DEVICE_COLUMNS),
    }
