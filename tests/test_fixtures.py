"""The committed traces against an exact reference, against `nsys stats`, and against their golden digests."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nsys_digest import Digest, summarize
from nsys_digest.model.cuda_calls import call_name
from test_against_oracle import in_order, measured
from valid import validate

FIXTURES = Path(__file__).parent.parent / "fixtures"
TRACES = sorted((FIXTURES / "traces").glob("*.sqlite"))
REAL = [*TRACES, *sorted((FIXTURES / "workloads").glob("*.sqlite"))]
"""With the traces of the workloads, which have neither an exact reference nor a golden digest."""
COUNTED = [trace for trace in REAL if trace.stem != "patterns_2gpu"]
"""Those that `nsys stats` was run on; of the one left out the program's own account says what is in it."""
SHARED = sorted((Path(__file__).parents[2] / "shared" / "traces").glob("*/*.sqlite"))


def named(path: Path) -> str:
    return path.stem


@pytest.fixture(scope="module")
def digests() -> dict[Path, Digest]:
    return {path: summarize(path) for path in REAL}


def agrees_with_reference(digest: Digest, reference: dict[str, Any]) -> None:
    """Compare with what an independent program, exact and slow, found in the same file."""
    got = measured(digest)
    if not reference["devices"]:
        assert got["gpu_activity_span_ns"] is None
        assert got["gpu_busy_union_ns"] is None
        assert got["gpu_idle_within_span_ns"] is None
    else:
        for key in ("gpu_activity_span_ns", "gpu_busy_union_ns", "gpu_idle_within_span_ns"):
            assert got[key] == reference[key], key
    for key in ("kernel_count", "graph_node_kernel_count", "api", "dispatch_timeline"):
        assert got[key] == reference[key], key
    for key in ("nvtx", "dispatch"):
        assert in_order(got[key]) == in_order(reference[key]), key
    kernels = sorted(reference["kernels"].items(), key=lambda item: (-item[1][1], item[0]))
    assert got["top_kernels"] == [[name, total] for name, total in kernels[:20]]
    devices = {str(device["device"]): [device["span_ns"], device["busy_ns"]] for device in got["devices"]}
    assert devices == reference["devices"]


@pytest.mark.parametrize("trace", TRACES, ids=named)
@pytest.mark.slow
def test_exact_reference(trace: Path, digests: dict[Path, Digest]) -> None:
    reference = json.loads((FIXTURES / "expected" / f"{trace.stem}.json").read_text(encoding="utf-8"))
    agrees_with_reference(digests[trace], reference)


@pytest.mark.skipif(not SHARED, reason="the collection of published traces is not beside this checkout")
@pytest.mark.parametrize("trace", SHARED, ids=named)
@pytest.mark.slow
def test_exact_reference_of_published_traces(trace: Path) -> None:
    """Real exports of nsys 2020 to 2026, through both readers and one or two threads: the same document."""
    reference = json.loads((trace.parent / "expected" / f"{trace.stem}.json").read_text(encoding="utf-8"))
    digest = summarize(trace)
    agrees_with_reference(digest, reference)
    validate(digest.to_dict())
    for threads in (1, 2):
        assert summarize(trace, reader="stdlib", threads=threads).to_json() == digest.to_json()
        assert summarize(trace, reader="adbc", threads=threads).to_json() == digest.to_json()


def stats(trace: Path, report: str) -> list[dict[str, str]]:
    """Return the rows of an `nsys stats` report of the trace, none where nsys had nothing to report."""
    path = FIXTURES / "nsys-stats" / trace.stem / f"s_{report}.csv"
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("trace", COUNTED, ids=named)
@pytest.mark.slow
def test_api_totals_equal_nsys_stats(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_api_sum` prints names without their ABI version, and adds backtrace rows, which these traces lack."""
    theirs = Counter[tuple[str, str]]()
    for row in stats(trace, "cuda_api_sum"):
        theirs[call_name(row["Name"]), "calls"] += int(row["Num Calls"])
        theirs[call_name(row["Name"]), "total"] += int(row["Total Time (ns)"])
    ours = Counter[tuple[str, str]]()
    for name, call in digests[trace].api.items():
        ours[call_name(name), "calls"] += call.count
        ours[call_name(name), "total"] += call.total_ns
    assert ours == theirs
    assert digests[trace].api_backtrace_rows == 0


@pytest.mark.parametrize("trace", COUNTED, ids=named)
def test_nvtx_totals_equal_nsys_stats(trace: Path, digests: dict[Path, Digest]) -> None:
    """`nvtx_sum` lists push/pop and start/end ranges of one name apart, and writes the default domain as `:name`."""
    theirs = Counter[tuple[str, str]]()
    for row in stats(trace, "nvtx_sum"):
        name = row["Range"].removeprefix(":")
        theirs[name, "count"] += int(row["Instances"])
        theirs[name, "sum"] += int(row["Total Time (ns)"])
    ours = Counter[tuple[str, str]]()
    for name, ranges in digests[trace].nvtx.items():
        ours[name, "count"] += ranges.count
        ours[name, "sum"] += ranges.sum_ns
    assert ours == theirs


@pytest.mark.parametrize("trace", COUNTED, ids=named)
def test_kernel_totals_equal_nsys_stats(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_gpu_kern_sum` groups by full name; over all kernels count and time are the same."""
    rows = stats(trace, "cuda_gpu_kern_sum")
    assert digests[trace].kernel_count == sum(int(row["Instances"]) for row in rows)
    ours = sum(device.sum_ns["kernel"] for device in digests[trace].devices)
    assert ours == sum(int(row["Total Time (ns)"]) for row in rows)


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_golden_digest(trace: Path, digests: dict[Path, Digest]) -> None:
    """The whole document, byte for byte; fixtures/README.md says how to write it again after a wanted change."""
    golden = FIXTURES / "golden" / f"{trace.stem}.json"
    digest = replace(digests[trace], path=f"fixtures/traces/{trace.name}")  # as the golden ones were written
    assert digest.to_json() + "\n" == golden.read_text(encoding="utf-8")


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_documents_are_valid_and_come_back(trace: Path, digests: dict[Path, Digest]) -> None:
    digest = digests[trace]
    validate(json.loads(digest.to_json()))
    assert Digest.from_json(digest.to_json(compact=True)) == digest


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_busy_and_idle_add_up(trace: Path, digests: dict[Path, Digest]) -> None:
    digest = digests[trace]
    for device in digest.devices:
        if device.span_ns is None:
            assert device.busy_ns is None
            assert not device.streams
            continue
        assert device.busy_ns is not None
        assert device.idle_ns is not None
        assert device.busy_ns + device.idle_ns == device.span_ns
        assert max(device.union_ns.values()) <= device.busy_ns <= sum(device.union_ns.values())
        assert max(stream.busy_ns for stream in device.streams) <= device.busy_ns
        assert sum(stream.count for stream in device.streams) == sum(device.count.values())


def test_one_program_in_both_graph_modes_is_busy_alike(digests: dict[Path, Digest]) -> None:
    """Graph rows stand in for the kernels of a graph: the idle share must not hang on the trace mode."""
    by_name = {path.stem: digest for path, digest in digests.items()}
    graph, node = by_name["graph_graph"], by_name["graph_node"]
    assert graph.devices[0].count["graph"] == 40
    assert node.devices[0].count["graph"] == 0
    assert graph.graph_node_kernel_count == 0
    assert node.graph_node_kernel_count == 1600
    assert node.kernel_count - graph.kernel_count == 1600
    assert not [warn for warn in (*graph.warnings, *node.warnings) if warn.code == "graph-work-missing"]
