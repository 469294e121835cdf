"""The sections that explain, against an independent slow reference on real and random traces."""

from __future__ import annotations

import math
import random
from pathlib import Path
from typing import Any

import pytest

from builder import VERSIONS
from nsys_digest import Digest, summarize
from nsys_digest.model.cuda_calls import call_class
from nsys_digest.model.section_types import Durations, LaunchCost
from nsys_digest.trace.source import Reader
from oracle_account import CAUSES, expected_account, random_account_trace
from test_fixtures import REAL, SHARED, named
from valid import validate

MEMORY_KINDS = {
    None: None,
    0: "pageable",
    1: "pinned",
    2: "device",
    3: "array",
    4: "managed",
    5: "device static",
    7: None,  # what nsys itself calls unknown
}


def class_of(name: str) -> str:
    return call_class(name).value


def measured_tails(values: list[int]) -> Durations:
    """Return the tails of sorted values by the definition of nearest rank."""

    def at(percent: int) -> int | None:
        return values[max(math.ceil(percent / 100 * len(values)), 1) - 1] if values else None

    return Durations(len(values), sum(values), at(0), at(50), at(95), at(99), at(100))


def check_idle(digest: Digest, reference: dict[str, Any], top: int) -> None:
    assert digest.idle is not None
    got = [
        {
            "device": device.device,
            "idle_ns": device.idle_ns,
            "gap_count": device.gap_count,
            "causes": {
                name: {"sum_ns": cause.sum_ns, "gaps": cause.gaps, "longest_ns": cause.longest_ns}
                for name, cause in device.causes.items()
            },
            "host_by_nvtx": dict(device.host_by_nvtx_ns),
            "histogram": [
                {"from_ns": one.from_ns, "to_ns": one.to_ns, "gaps": one.gaps, "sum_ns": one.sum_ns}
                for one in device.histogram
            ],
        }
        for device in digest.idle.devices
    ]
    assert got == [{key: device[key] for key in got[0]} for device in reference["devices"]] if got else True
    assert len(got) == len(reference["devices"])
    gaps = [
        {
            "device": gap.device,
            "start_ns": gap.start_ns,
            "length_ns": gap.length_ns,
            "before": gap.before,
            "after": gap.after,
            "causes": dict(gap.causes_ns),
            "nvtx": list(gap.nvtx),
        }
        for gap in digest.idle.longest
    ]
    assert gaps == reference["gaps"][:top]


def check_cost(got: LaunchCost, wanted: dict[str, Any]) -> None:
    for key in ("api", "queue_delay", "latency"):
        assert getattr(got, key) == measured_tails(sorted(wanted[key])), key
    assert got.started_before_return_count == wanted["started_before_return_count"]


def check_launch(digest: Digest, reference: dict[str, Any]) -> None:
    assert digest.launch is not None
    whole = {"kernels": digest.launch.kernels, "graphs": digest.launch.graphs}
    nothing = {"api": [], "queue_delay": [], "latency": [], "started_before_return_count": 0}
    for name, cost in (dict(digest.launch.by_api) | whole).items():
        check_cost(cost, reference["by_api"].get(name, nothing))
    assert set(digest.launch.by_api) == set(reference["by_api"]) - set(whole)
    assert digest.launch.unmatched_kernel_count == reference["unmatched_kernel_count"]


def check_memory(digest: Digest, reference: dict[str, Any]) -> None:
    assert digest.memory is not None
    got = {
        (row.direction, row.source_kind, row.destination_kind): (
            row.count,
            row.bytes,
            row.sum_ns,
            row.gbps.p50,
            row.gbps.max,
            row.gbps.p5,
        )
        for row in digest.memory.copies
    }
    wanted = {}
    for (direction, source, destination), row in reference["copies"].items():
        speeds = sorted(size / ns for size, ns in row["timed"])
        middle = speeds[math.ceil(len(speeds) / 2) - 1] if speeds else None
        slow = speeds[math.ceil(len(speeds) * 5 / 100) - 1] if speeds else None
        key = (direction, MEMORY_KINDS[source], MEMORY_KINDS[destination])
        wanted[key] = (row["count"], row["bytes"], row["sum_ns"], middle, speeds[-1] if speeds else None, slow)
    assert got == wanted
    sets = digest.memory.sets
    assert {"count": sets.count, "bytes": sets.bytes, "sum_ns": sets.sum_ns} == reference["sets"]
    assert digest.memory.overlapped_with_kernels_ns == reference["overlapped_with_kernels_ns"]


def check_nvtx(digest: Digest, reference: dict[str, Any]) -> None:
    assert set(digest.nvtx) == set(reference)
    for name, ranges in digest.nvtx.items():
        detail, wanted = ranges.detail, reference[name]
        assert detail is not None
        lengths = measured_tails(sorted(wanted["lengths"]))
        got_tails = (detail.min_ns, detail.p50_ns, detail.p95_ns, detail.p99_ns, detail.max_ns)
        assert got_tails == (lengths.min_ns, lengths.p50_ns, lengths.p95_ns, lengths.p99_ns, lengths.max_ns), name
        for key in ("threads", "open_count", "self_ns", "launched_busy_ns", "launched_kernel_count", "gpu_idle_ns"):
            assert getattr(detail, key) == wanted[key], (name, key)


def check_dispatch(digest: Digest, reference: list[dict[str, Any]]) -> None:
    assert digest.dispatch_steps is not None
    timed = [step for step in reference if step["wall_ns"] is not None]
    whole = [step for step in digest.dispatch_steps if step.padded is None]
    assert sum(step.steps for step in whole) == len(reference)
    assert sum(step.wall.count for step in whole) == len(timed)
    assert sum(step.wall.total_ns for step in whole) == sum(step["wall_ns"] for step in timed)
    assert sum(step.graph_launch_count for step in whole) == sum(step["graph_launch_count"] for step in timed)
    for key in ("gpu_overlap_ns", "launched_busy_ns"):
        if digest.gpu_busy_union_ns is None:
            assert all(getattr(step, key) is None for step in whole)
            assert all(step[key] is None for step in timed)
        else:
            assert sum(getattr(step, key) for step in whole) == sum(step[key] for step in timed), key


def check(digest: Digest, reference: dict[str, Any], top: int) -> None:
    """Compare every section with the reference, and the document with its schema and itself."""
    check_idle(digest, reference["idle"], top)
    check_launch(digest, reference["launch"])
    check_memory(digest, reference["memory"])
    check_nvtx(digest, reference["nvtx"])
    check_dispatch(digest, reference["dispatch_steps"])
    assert digest.api_durations == {name: measured_tails(values) for name, values in reference["api_lengths"].items()}
    assert digest.kernel_durations == {
        name: measured_tails(values) for name, values in reference["kernel_lengths"].items()
    }
    validate(digest.to_dict())
    assert Digest.from_json(digest.to_json()) == digest


@pytest.mark.parametrize("trace", REAL, ids=named)
@pytest.mark.slow
def test_fixtures(trace: Path) -> None:
    check(summarize(trace, gaps=50), expected_account(trace, classify=class_of), 50)


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_random_traces(version: str, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if reader == "stdlib":  # and however few gaps, calls and operations are looked at together
        for name, size in {
            "idle._SLICE": 3,
            "launched._SLICE": 4,
            "launched._LONG": 1,
            "launched._TOGETHER": 1,
            "durations._SLICE": 2,
        }.items():
            monkeypatch.setattr(f"nsys_digest.sections.{name}", size)
        monkeypatch.setattr("nsys_digest.algorithms.lines._ROWS", 2)
    for seed in range(25):
        rng = random.Random(f"account {version} {seed}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        digest = summarize(path, gaps=9, reader=reader, threads=1 + seed % 2)
        check(digest, expected_account(path, classify=class_of), 9)


def check_sums(digest: Digest) -> None:
    """Whatever the trace, the parts of each account add up to the whole, to the nanosecond."""
    assert digest.idle is not None
    busy_devices = [device for device in digest.devices if device.span_ns is not None]
    assert [account.idle_ns for account in digest.idle.devices] == [device.idle_ns for device in busy_devices]
    for account in digest.idle.devices:
        assert tuple(account.causes) == CAUSES
        assert sum(cause.sum_ns for cause in account.causes.values()) == account.idle_ns
        assert sum(account.host_by_nvtx_ns.values()) == account.causes["host"].sum_ns
        assert sum(one.sum_ns for one in account.histogram) == account.idle_ns
        assert sum(one.gaps for one in account.histogram) == account.gap_count
    for gap in digest.idle.longest:
        assert sum(gap.causes_ns.values()) == gap.length_ns
    for name, ranges in digest.nvtx.items():
        assert ranges.detail is not None
        assert (ranges.detail.self_ns or 0) <= ranges.union_ns, name
    assert digest.launch is not None
    for name, cost in digest.launch.by_api.items():
        assert cost.api.count == cost.queue_delay.count == cost.latency.count > 0, name
        assert (cost.queue_delay.p50_ns or 0) <= max(cost.latency.p50_ns or 0, 0), name
    kernel_ns = sum(device.sum_ns["kernel"] for device in digest.devices)
    assert digest.categories is not None
    assert sum(category.sum_ns for category in digest.categories.values()) == kernel_ns
    assert sum(category.count for category in digest.categories.values()) == digest.kernel_count
    assert digest.kernel_durations is not None
    assert sum(tails.total_ns for tails in digest.kernel_durations.values()) == kernel_ns
    assert digest.communication is not None
    collectives = digest.categories.get("communication")
    by_kind = [total.sum_ns for device in digest.communication for total in device.by_kind.values()]
    assert sum(by_kind) == (collectives.sum_ns if collectives else 0)
    for device in digest.communication:
        assert device.hidden_ns + device.exposed_ns == device.union_ns
    assert digest.memory is not None
    copies = digest.memory.copies
    assert sum(row.count for row in copies) == sum(device.count["memcpy"] for device in digest.devices)
    assert sum(row.sum_ns for row in copies) == sum(device.sum_ns["memcpy"] for device in digest.devices)
    assert digest.api_durations is not None
    assert {name: (tails.count, tails.total_ns) for name, tails in digest.api_durations.items()} == {
        name: (call.count, call.total_ns) for name, call in digest.api.items()
    }


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_sums_of_fixtures(trace: Path) -> None:
    check_sums(summarize(trace))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED, reason="the collection of published traces is not beside this checkout")
@pytest.mark.parametrize("trace", SHARED, ids=named)
def test_sums_of_published_traces(trace: Path) -> None:
    check_sums(summarize(trace))
