"""The whole command against a reference that counts single nanoseconds, on random traces of every age."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from builder import VERSIONS
from nsys_digest import Digest, summarize
from nsys_digest.trace.source import Reader
from oracle import expected, random_trace


def measured(digest: Digest) -> dict[str, Any]:
    """Return a digest in the shape of the reference."""
    return {
        "gpu_activity_span_ns": digest.gpu_activity_span_ns,
        "gpu_busy_union_ns": digest.gpu_busy_union_ns,
        "gpu_idle_within_span_ns": digest.gpu_idle_within_span_ns,
        "kernel_count": digest.kernel_count,
        "graph_node_kernel_count": digest.graph_node_kernel_count,
        "api": {name: [call.count, call.total_ns] for name, call in digest.api.items()},
        "nvtx": {
            name: {
                "count": ranges.count,
                "sum_ns": ranges.sum_ns,
                "union_ns": ranges.union_ns,
                "gpu_overlap_ns": ranges.gpu_overlap_ns,
            }
            for name, ranges in digest.nvtx.items()
        },
        "dispatch": dict(digest.dispatch),
        "dispatch_timeline": [[mark.start_ns, mark.name] for mark in digest.dispatch_timeline],
        "top_kernels": [[name, [total.count, total.total_ns]] for name, total in digest.top_kernels],
        "api_backtrace_rows": digest.api_backtrace_rows,
        "devices": [
            {
                "device": device.device,
                "span_ns": device.span_ns,
                "busy_ns": device.busy_ns,
                "idle_ns": device.idle_ns,
                "union_ns": dict(device.union_ns),
                "sum_ns": dict(device.sum_ns),
                "count": dict(device.count),
                "streams": [
                    {
                        "process": stream.process,
                        "context": stream.context,
                        "stream": stream.stream,
                        "busy_ns": stream.busy_ns,
                        "count": stream.count,
                    }
                    for stream in device.streams
                ],
                "processes": list(device.processes),
            }
            for device in digest.devices
            if device.streams
        ],
    }


def in_order(value: Any) -> Any:
    """Return a document whose comparison also compares the order of keys."""
    if isinstance(value, dict):
        return [(key, in_order(item)) for key, item in value.items()]
    return [in_order(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_random_traces(version: str, reader: Reader, tmp_path: Path) -> None:
    for seed in range(40):
        rng = random.Random(f"{version} {seed}")
        path = random_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        for raw in (False, True):
            reference = expected(path, raw_nvtx_names=raw, top=7)
            digest = summarize(path, raw_nvtx_names=raw, top=7, reader=reader, threads=1 + seed % 2)
            got = measured(digest)
            for key, value in got.items():
                assert in_order(value) == in_order(reference[key]), f"{key}, seed {seed}, raw names {raw}"
