"""What threads did in host code, against the brute force of single nanoseconds, and drawn by hand."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builder import VERSIONS, TraceBuilder
from nsys_digest import Digest, json_schema, summarize
from nsys_digest.model.host_types import HostCall, HostFunction, HostSplit
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.summary import summarize_selection
from nsys_digest.selection import WHOLE
from nsys_digest.trace.source import Reader
from oracle_account import random_account_trace
from oracle_host import draw_host, expected_host
from test_account import class_of
from test_fixtures import REAL, SHARED, named
from test_selection_sections import drawn

LAUNCH = "cudaLaunchKernel_v7000"


def splits(digest: Digest) -> list[HostSplit]:
    assert digest.idle is not None
    found = [device.host for device in digest.idle.devices]
    assert None not in found
    return [one for one in found if one is not None]


def some(times: dict[str, int]) -> dict[str, int]:
    return {name: ns for name, ns in times.items() if ns}


def counted(functions: tuple[HostFunction, ...] | None) -> dict[tuple[str, str], int]:
    return {(one.function, one.module): one.sample_count for one in functions or ()}


def check_sums(digest: Digest) -> None:
    assert digest.idle is not None
    for device, split in zip(digest.idle.devices, splits(digest), strict=True):
        host_ns = device.causes["host"].sum_ns
        assert sum(split.states_ns.values()) == host_ns
        assert {name: sum(ns.values()) for name, ns in split.states_by_nvtx_ns.items()} == device.host_by_nvtx_ns
        assert list(split.states_by_nvtx_ns) == list(device.host_by_nvtx_ns)
        in_calls = [split.states_ns.get(state, 0) for state in ("blocked", "io", "sleep", "other_os_call")]
        assert sum(call.sum_ns for call in split.calls or ()) == sum(in_calls)
    jsonschema.Draft202012Validator(json_schema()).validate(digest.to_dict())
    assert Digest.from_json(digest.to_json()) == digest


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_random_traces_by_single_nanoseconds(
    version: str, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if reader == "stdlib":  # and however few gaps and threads are looked at together
        monkeypatch.setattr("nsys_digest.sections.device_gaps._SLICE", 3)
        monkeypatch.setattr("nsys_digest.algorithms.lines._ROWS", 2)
    seen: set[str] = set()
    sampled = 0
    for seed in range(20):
        rng = random.Random(f"host {version} {seed}")
        trace = random_account_trace(rng, version)
        draw_host(rng, trace, (101, 202), (1, 2))
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        options = SummarizeOptions(sections=("idle", "host"), reader=reader, threads=1 + seed % 2)
        for selection in (WHOLE, drawn(rng, 3000))[: 2 - seed % 2]:
            digest = summarize_selection(path, selection, options)
            check_sums(digest)
            wanted = expected_host(path, class_of, selection)
            for split, one in zip(splits(digest), wanted, strict=True):
                assert some(dict(split.states_ns)) == one["states"], seed
                assert {name: dict(ns) for name, ns in split.states_by_nvtx_ns.items()} == one["by_range"], seed
                assert {call.name: call.sum_ns for call in split.calls or ()} == one["calls"], seed
                assert counted(split.functions) == one["functions"], seed
                assert counted(split.leaves) == one["leaves"], seed
                assert (split.sample_count or 0) == sum(one["leaves"].values())
                seen |= one["states"].keys()
                sampled += split.sample_count or 0
    assert len(seen) == 7
    assert sampled


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_sums_of_fixtures(trace: Path) -> None:
    check_sums(summarize(trace, sections=["host"]))


@pytest.mark.skipif(not SHARED, reason="the collection of published traces is not beside this checkout")
@pytest.mark.parametrize("trace", SHARED, ids=named)
def test_sums_of_published_traces(trace: Path) -> None:
    check_sums(summarize(trace, sections=["host"]))


def host_trace() -> TraceBuilder:
    """Draw a gap of 800 ns of host code.

    GPU    #####                                                            #####
           0  100                                                           900 950
    calls  launch                                                      launch
                                                                       880 890
    read        150------250
    futex             200--300
    sleep                            400---500
    on CPU ----------------------350              450--------600  700-----------
    """
    trace = TraceBuilder().api(LAUNCH, -20, 0, correlation=1).kernel(0, 100, correlation=1, name="a")
    trace.api(LAUNCH, 880, 890, correlation=2).kernel(900, 950, correlation=2, name="b")
    trace.os_call("read", 150, 250).os_call("futex", 200, 300).os_call("usleep", 400, 500)
    trace.os_call("read", 0, 900, thread=2)  # of a thread that ended no gap
    trace.scheduled(350, on=False).scheduled(450, on=True).scheduled(600, on=False).scheduled(700, on=True)
    trace.scheduled(-50, on=True, thread=2)
    return trace.scheduled(1000, on=False, thread=2).range("outer", 120, 620).range("inner", 130, 260)


def split_of(trace: TraceBuilder, tmp_path: Path) -> HostSplit:
    (split,) = splits(summarize(trace.write(tmp_path / "t.sqlite"), sections=["host"]))
    return split


def test_host_code_by_what_the_thread_did(tmp_path: Path) -> None:
    trace = host_trace()
    trace.sample(160, [("__read", "/lib/libc.so.6"), ("load", "/app/main"), ("main", "/app/main")])
    trace.sample(210, [("spin", "/app/main")]).sample(885, [("cuLaunch", "/lib/libcuda.so")])
    trace.sample(650, [("memcpy", "/lib/libc.so.6"), (None, "/lib/libtorch.so")])
    split = split_of(trace, tmp_path)
    assert split.states_ns == {
        "running": (150 - 100) + (350 - 300) + (600 - 500) + (880 - 700),
        "blocked": 100,
        "io": 50,
        "sleep": 100,
        "other_os_call": 0,
        "descheduled": (400 - 350) + (700 - 600),
        "unknown": 0,
    }
    assert split.states_by_nvtx_ns == {
        "outer": {"running": 10 + 50 + 100, "blocked": 40, "sleep": 100, "descheduled": 50 + 20},
        "(none)": {"running": 20 + 180, "descheduled": 80},
        "inner": {"running": 20, "blocked": 60, "io": 50},
    }
    assert split.calls == (
        HostCall("futex", "blocked", 100),
        HostCall("usleep", "sleep", 100),
        HostCall("read", "io", 50),
    )
    assert split.sample_count == 3
    assert split.functions == (
        HostFunction("(unresolved)", "libtorch.so", 1),
        HostFunction("load", "main", 1),
        HostFunction("spin", "main", 1),
    )
    assert split.leaves == (
        HostFunction("__read", "libc.so.6", 1),
        HostFunction("memcpy", "libc.so.6", 1),
        HostFunction("spin", "main", 1),
    )


@pytest.mark.parametrize(
    ("lacks", "states"),
    [
        ("OSRT_API", {"running": 780 - 200, "descheduled": 200, "unknown": 0}),
        ("SCHED_EVENTS", {"running": 530, "blocked": 100, "io": 50, "sleep": 100, "other_os_call": 0, "unknown": 0}),
    ],
)
def test_states_that_a_trace_cannot_show_are_left_out(lacks: str, states: dict[str, int], tmp_path: Path) -> None:
    """Of the 780 ns 250 are in calls; without calls 350 to 450 and 600 to 700 are off the CPU."""
    assert split_of(host_trace().drop_table(lacks), tmp_path).states_ns == states


def test_without_any_table_all_is_unknown_and_said_so(tmp_path: Path) -> None:
    trace = host_trace().drop_table("OSRT_API").drop_table("SCHED_EVENTS")
    digest = summarize(trace.write(tmp_path / "t.sqlite"), sections=["host"])
    (split,) = splits(digest)
    assert (split.states_ns, split.calls, split.sample_count, split.functions) == ({"unknown": 780}, None, None, None)
    (warn,) = [warn for warn in digest.warnings if warn.code == "host-unseen"]
    assert "-t cuda,nvtx,osrt --cpuctxsw=process-tree --sample=process-tree" in warn.message


def test_scheduling_is_known_as_far_as_it_was_recorded(tmp_path: Path) -> None:
    """Of any thread from 350 to 800: before and after nobody knows."""
    trace = host_trace().drop_table("OSRT_API")
    trace._rows["SCHED_EVENTS"] = trace._rows["SCHED_EVENTS"][:4]
    trace.scheduled(800, on=False, thread=2)
    assert split_of(trace, tmp_path).states_ns == {
        "running": (600 - 450) + (800 - 700),
        "descheduled": 200,
        "unknown": (350 - 100) + (880 - 800),
    }


def test_host_is_made_on_request_alone(tmp_path: Path) -> None:
    """Nothing of it is read or written unless it is asked for; asking for it makes the section that it splits."""
    path = host_trace().write(tmp_path / "t.sqlite")
    idle: Any = summarize(path).to_dict()["idle"]
    assert "host_states" not in idle["devices"][0]
    digest = summarize(path, sections=["host"])
    assert digest.to_dict()["capture"]["filters"]["sections"] == ["idle", "host"]
    assert "host_states" in digest.to_dict()["idle"]["devices"][0]
