"""The sections that split figures further, of a part of a trace: against single nanoseconds, and parts that add up."""

from __future__ import annotations

import random
import sqlite3
from collections import defaultdict
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from builder import VERSIONS, TraceBuilder
from nsys_digest import Digest
from nsys_digest.model.base_types import CountTotal
from nsys_digest.model.digest import SECTIONS
from nsys_digest.model.split_types import RangeCommunication
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.summary import summarize_selection
from nsys_digest.selection import Selection, select
from nsys_digest.trace.scan import Reading
from oracle_account import Call, Work, random_account_trace
from oracle_selection import Part, part_of
from test_account import class_of
from test_fixtures import REAL, named
from test_selection_sections import drawn
from test_splits import category_of, device_of, name_of

READINGS: tuple[Reading, ...] = ("whole", "part")
PROCESS_COLUMNS = {
    "CUPTI_ACTIVITY_KIND_KERNEL": "globalPid",
    "CUPTI_ACTIVITY_KIND_MEMCPY": "globalPid",
    "CUPTI_ACTIVITY_KIND_MEMSET": "globalPid",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": "globalPid",
    "CUPTI_ACTIVITY_KIND_RUNTIME": "globalTid",
    "NVTX_EVENTS": "globalTid",
}
OPTIONS = SummarizeOptions(by_device=True, sections=(*SECTIONS, "nvtx_payload"), reader="stdlib")


def owners(work: list[Work]) -> dict[int, str]:
    """Give each single nanosecond of a device to one kind of work, whatever the window."""
    took_time = [one for one in work if one.end > one.start]
    got: dict[int, str] = {}
    for low, high in pairwise(sorted({time for one in took_time for time in (one.start, one.end)})):
        names = sorted(name_of(one) for one in took_time if one.start <= low and high <= one.end)
        for offset in range(high - low if names else 0):
            in_full_round = offset < (high - low) // len(names) * len(names)
            got[low + offset] = names[offset % len(names)] if in_full_round else names[0]
    return got


def check_shares(digest: Digest, part: Part) -> None:
    assert digest.busy_shares is not None
    found = {one.device: dict(one.shares_ns) for one in digest.busy_shares}
    for device in {one.device for one in part.trace.work}:
        wanted: dict[str, int] = defaultdict(int)
        for time, name in owners([one for one in part.trace.work if one.device == device]).items():
            if part.window is None or time in part.window:
                wanted[name] += 1
        assert found.pop(device, {}) == wanted
    assert not any(found.values())
    for one in digest.busy_shares:
        assert sum(one.shares_ns.values()) == one.busy_ns


def check_communication(digest: Digest, part: Part) -> None:
    kernels = [one for one in part.trace.work if one.kind == "kernel"]
    others = {
        (one.device, time)
        for one in kernels
        if category_of(one.name) != "communication"
        for time in range(one.start, one.end)
    }
    launched: dict[str, set[Work]] = defaultdict(set)
    for note in filter(part.counts, part.trace.ranges):
        for work in kernels:
            launch = work.launch
            if launch is None or category_of(work.name) != "communication" or not part.counts(work):
                continue
            if (
                note.one_thread
                and note.thread == launch.thread
                and note.start <= launch.start <= launch.end <= note.end
            ):
                launched[note.name].add(work)
    wanted = {}
    for name, own in launched.items():
        ran = {(one.device, time) for one in own for time in part.ticks(one.start, one.end)}
        bare = len(ran - others)
        sum_ns = sum(len(part.ticks(one.start, one.end)) for one in own)
        wanted[name] = RangeCommunication(len(own), sum_ns, len(ran), len(ran) - bare, bare)
    assert digest.communication_by_range == wanted


def check_devices(digest: Digest, part: Part) -> None:
    launched: dict[Call, list[Work]] = defaultdict(list)
    for work in part.trace.work:
        if work.launch is not None:
            launched[work.launch].append(work)
    api: dict[int | None, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for call in part.trace.calls:
        if part.counts(call):
            device = device_of(call, part.trace, launched)
            api[device][call.name].append(len(part.ticks(call.start, call.end)))
    kernels: dict[int | None, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for work in part.trace.work:
        if work.kind == "kernel" and part.counts(work):
            kernels[work.device][work.name].append(len(part.ticks(work.start, work.end)))
    assert digest.by_device is not None
    for use in digest.by_device:
        for found, wanted in ((use.api, api[use.device]), (use.kernels, kernels[use.device])):
            assert found == {name: CountTotal(len(lengths), sum(lengths)) for name, lengths in wanted.items()}
        for name, category in use.categories.items():
            own = [
                one
                for one in part.trace.work
                if one.kind == "kernel" and one.device == use.device and category_of(one.name) == name
            ]
            assert category.count == sum(map(part.counts, own))
            assert category.sum_ns == sum(len(part.ticks(one.start, one.end)) for one in own)
            assert category.union_ns == len(part.union(own))
    devices = {use.device for use in digest.by_device}
    assert not any(api[device] for device in set(api) - devices)


def check_graphs(digest: Digest, part: Part) -> None:
    assert digest.graphs is not None
    nodes = [one for one in part.trace.work if one.row.get("graphNodeId") and one.kind == "kernel" and part.counts(one)]
    assert sum(one.node_kernel_count or 0 for one in digest.graphs) == len(nodes)
    lengths = sum(len(part.ticks(one.start, one.end)) for one in nodes)
    assert sum(one.node_kernel_sum_ns or 0 for one in digest.graphs) == lengths
    whole = [one for one in part.trace.work if one.kind == "graph" and part.counts(one)]
    nodes_of: set[tuple[object, ...]] = set()
    for one in part.trace.work:
        if one.row.get("graphNodeId") and one.correlation and part.counts(one):
            nodes_of.add((one.process, one.row["graphNodeId"] >> 32, one.correlation))
    assert sum(one.launch_count for one in digest.graphs) == len(whole) + len(nodes_of)


@pytest.mark.parametrize("version", VERSIONS)
def test_random_selections_of_random_traces(version: str, tmp_path: Path) -> None:
    for seed in range(5):
        rng = random.Random(f"split selection {version} {seed}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        for number in range(4):
            selection = drawn(rng, 3000)
            digest = summarize_selection(path, selection, OPTIONS)
            part = part_of(path, selection, class_of)
            try:
                check_shares(digest, part)
                check_communication(digest, part)
                check_devices(digest, part)
                check_graphs(digest, part)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, selection {number}: {selection}") from error


def test_payloads_are_those_of_ranges_that_count(tmp_path: Path) -> None:
    for seed in range(8):
        rng = random.Random(f"payloads {seed}")
        trace, rows = TraceBuilder().kernel(0, 400), []
        for number in range(30):
            start = rng.randint(0, 380)
            row = (rng.choice("ab"), start, start + rng.randint(0, 30), 2**number)
            rows.append(row)
            trace.range(*row[:3], int64Value=row[3])
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        edges = sorted(rng.sample(range(410), 4))
        ticks = {tick for low, high in (edges[:2], edges[2:]) for tick in range(low, high)}
        wanted: dict[str, list[int]] = defaultdict(list)
        for name, start, end, number in rows:
            if ticks & set(range(start, max(end, start + 1))):
                wanted[name].append(number)
        options = SummarizeOptions(sections=("nvtx_payload",))
        for reading in READINGS:
            digest = summarize_selection(path, select([edges[:2], edges[2:]]), options, reading)
            assert digest.nvtx_payload is not None
            found = {name: (one.count, one.sum) for name, one in digest.nvtx_payload.items()}
            assert found == {name: (len(numbers), sum(numbers)) for name, numbers in wanted.items()}, seed


@pytest.mark.parametrize("version", VERSIONS)
def test_filters_leave_the_candidates_of_what_is_left(version: str, tmp_path: Path) -> None:
    """A process looked at alone has the candidates of a trace without the others; a window has none."""
    rng = random.Random(f"candidates {version}")
    trace = random_account_trace(rng, version)
    path = trace.write(tmp_path / "t.sqlite")
    for pid in (101, 202):
        alone = summarize_selection(path, select(processes=[pid]), SummarizeOptions())
        with closing(sqlite3.connect(trace.write(tmp_path / f"{pid}.sqlite"))) as database:
            for table, column in PROCESS_COLUMNS.items():
                if database.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone():
                    database.execute(f"DELETE FROM {table} WHERE coalesce({column}, 0) >> 24 & 16777215 <> {pid}")
            database.commit()
        bare = summarize_selection(tmp_path / f"{pid}.sqlite", select(), SummarizeOptions())
        assert alone.step_candidates == bare.step_candidates
        assert alone.dispatch_steps == bare.dispatch_steps


def shares_of(digest: Digest) -> dict[tuple[int, str], int]:
    assert digest.busy_shares is not None
    return {(one.device, name): ns for one in digest.busy_shares for name, ns in one.shares_ns.items()}


@pytest.mark.parametrize("trace", REAL[:3], ids=named)
def test_shares_of_windows_that_partition_the_span_add_up_to_the_whole(trace: Path) -> None:
    options = SummarizeOptions(sections=("busy_shares", "idle"))
    whole = summarize_selection(trace, Selection(), options)
    if whole.gpu_activity_span_ns is None:
        assert whole.busy_shares == ()
        return
    assert whole.idle is not None
    rng = random.Random(trace.name)
    cuts = sorted(gap.start_ns + rng.randint(-2000, 2000) for gap in whole.idle.longest)
    added: dict[tuple[int, str], int] = defaultdict(int)
    for stretch in pairwise((-(2**61), *cuts, 2**61)):
        if stretch[0] < stretch[1]:
            for key, ns in shares_of(summarize_selection(trace, select([stretch]), options)).items():
                added[key] += ns
    assert added == shares_of(whole)
