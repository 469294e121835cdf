"""The figures that findings need, against the dumbest count over the rows of each trace, and drawn ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from builder import TraceBuilder
from digests import TRACES
from nsys_digest import Digest, summarize
from nsys_digest.model.section_types import MoveCost
from support import ROOT

REAL = sorted((*TRACES.glob("*.sqlite"), *(ROOT / "fixtures" / "workloads").glob("*.sqlite")))
_PROCESS = ~0xFFFFFF
_PAGEABLE, _HTOD, _DTOH = 0, 1, 2
_MIGRATIONS = (11, 12, 13)


def rows(trace: Path, table: str, *columns: str) -> list[tuple[int, ...]]:
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        known = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
        return list(database.execute(f"SELECT {', '.join(columns)} FROM {table}")) if table in known else []


def calls_of(trace: Path) -> dict[tuple[int, int], tuple[str, int, int]]:
    """Return (name, start, end) of each call by process and correlation id; of nested ones the outer."""
    with closing(sqlite3.connect(f"file:{trace}?mode=ro", uri=True)) as database:
        names = dict(database.execute("SELECT id, value FROM StringIds"))
    found: dict[tuple[int, int], tuple[str, int, int]] = {}
    for thread, correlation, name, start, end, kind in rows(
        trace, "CUPTI_ACTIVITY_KIND_RUNTIME", "globalTid", "correlationId", "nameId", "start", "end", "eventClass"
    ):
        key = (thread & _PROCESS, correlation)
        if kind in (0, 1) and (key not in found or start < found[key][1]):
            found[key] = (names[name], start, end)
    return found


def cost(moves: list[tuple[int, int, tuple[str, int, int] | None]], word: str) -> MoveCost:
    own = {call for _, _, call in moves if call is not None and word in call[0]}
    return MoveCost(
        len(moves), sum(end - start for start, end, _ in moves), sum(max(end - start, 0) for _, start, end in own)
    )


def blocks(call: tuple[str, int, int] | None) -> bool:
    return call is not None and "Mem" in call[0] and "Async" not in call[0] and "Graph" not in call[0]


@pytest.mark.parametrize("trace", REAL, ids=lambda path: path.stem)
def test_costs_of_copies_and_sets(trace: Path) -> None:
    calls = calls_of(trace)
    found = summarize(trace, sections=["memory"], threads=2).memory
    assert found is not None
    copies = [
        (start, end, calls.get((process, correlation)), kind, source, destination, size)
        for start, end, process, correlation, kind, source, destination, size in rows(
            trace,
            "CUPTI_ACTIVITY_KIND_MEMCPY",
            *["start", "end", "globalPid", "correlationId", "copyKind", "srcKind", "dstKind", "bytes"],
        )
    ]
    pageable = [one for one in copies if _PAGEABLE in (one[4], one[5]) and one[3] not in _MIGRATIONS]
    other = [one for one in copies if one not in pageable and one[3] not in _MIGRATIONS]
    sets = [
        (start, end, calls.get((process, correlation)))
        for start, end, process, correlation in rows(
            trace, "CUPTI_ACTIVITY_KIND_MEMSET", "start", "end", "globalPid", "correlationId"
        )
    ]
    assert found.costs is not None
    assert found.costs.pageable_async == cost([one[:3] for one in pageable if not blocks(one[2])], "Memcpy")
    assert found.costs.pageable_blocking == cost([one[:3] for one in pageable if blocks(one[2])], "Memcpy")
    assert found.costs.pinned_blocking == cost([one[:3] for one in other if blocks(one[2])], "Memcpy")
    small = [one[:3] for one in copies if one[3] in (_HTOD, _DTOH) and one[6] < 65_536]
    assert found.costs.small == cost(small, "Memcpy")
    assert found.costs.sets == cost(sets, "Memset")
    assert found.costs.blocking_sets == cost([one for one in sets if blocks(one[2])], "Memset")


def union(intervals: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for start, end in sorted(one for one in intervals if one[1] > one[0]):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], end))
        else:
            if last is not None:
                yield last
            last = (start, end)
    if last is not None:
        yield last


@pytest.mark.parametrize("trace", REAL, ids=lambda path: path.stem)
def test_busy_time_before_the_longest_gaps(trace: Path) -> None:
    digest = summarize(trace, sections=["idle"])
    work: dict[int, list[tuple[int, int]]] = {}
    for table in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE"):
        for device, start, end in rows(trace, f"CUPTI_ACTIVITY_KIND_{table}", "deviceId", "start", "end"):
            work.setdefault(device, []).append((start, end))
    busy = {device: list(union(own)) for device, own in work.items()}
    assert digest.idle is not None
    for gap in digest.idle.longest:
        before = sum(end - start for start, end in busy[gap.device] if end <= gap.start_ns)
        assert gap.busy_before_ns == before
    for device in digest.devices:
        assert device.start_ns == (busy[device.device][0][0] if device.did_work else None)


def drawn() -> TraceBuilder:
    """Draw two gaps of one thread, from 10 to 30 and from 40 to 60; the ranges are on that thread.

    kernel   0-10          30-40        60-70
    wait        12--16             45-48
    launch            26-30           55-60
    log      0--14                 44---50

    The first gap is wait 4, launch 4, host 12; the second wait 3, launch 5, host 12.
    """
    trace = TraceBuilder().kernel(0, 10, correlation=1).kernel(30, 40, correlation=2).kernel(60, 70, correlation=3)
    trace.api("cudaStreamSynchronize_v3020", 12, 16, correlation=8).api("cudaLaunchKernel_v7000", 26, 30, correlation=2)
    trace.api("cudaStreamSynchronize_v3020", 45, 48, correlation=9).api("cudaLaunchKernel_v7000", 55, 60, correlation=3)
    return trace.range("log", 0, 14).range("log", 44, 50)


def idle_of(digest: Digest) -> tuple[dict[str, int] | None, dict[str, int] | None]:
    assert digest.idle is not None
    (device,) = digest.idle.devices
    return (
        None if device.gaps_with_ns is None else dict(device.gaps_with_ns),
        None if device.sync_by_nvtx_ns is None else dict(device.sync_by_nvtx_ns),
    )


def test_gaps_count_for_causes_of_a_fifth_and_more(tmp_path: Path) -> None:
    """A fifth of 20 is 4: the wait of 3 in the second gap is too short, all else counts with the whole gap."""
    trace = drawn().write(tmp_path / "trace.sqlite", shuffle=Random(5))
    gaps_with, sync_by_nvtx = idle_of(summarize(trace))
    assert gaps_with == {"launch_call": 40, "sync": 20, "host": 40}
    assert sync_by_nvtx == {"log": 5, "(none)": 2}


def test_copies_keep_their_bytes_in_whatever_order_they_are_stored(tmp_path: Path) -> None:
    """The small copy is the one of 10 ns, whose call takes 3; the large one comes first in time."""
    trace = TraceBuilder().memcpy(100, 200, bytes=1 << 20, correlation=1).memcpy(300, 310, bytes=10, correlation=2)
    trace.api("cudaMemcpyAsync_v3020", 90, 97, correlation=1).api("cudaMemcpyAsync_v3020", 290, 293, correlation=2)
    for seed in range(4):
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=Random(seed))
        memory = summarize(path).memory
        assert memory is not None
        assert memory.costs is not None
        assert memory.costs.small == MoveCost(1, 10, 3)
