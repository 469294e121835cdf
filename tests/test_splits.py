"""Sections that split figures further: busy time by kind of work, devices, CUDA graphs, ranges, payloads."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from builder import VERSIONS, TraceBuilder
from nsys_digest import Digest, diff, summarize
from nsys_digest.errors import CategoriesInvalid, ValueUnreadable
from nsys_digest.model.base_types import CountTotal
from nsys_digest.model.kernel_categories import OTHER, KernelCategories
from nsys_digest.model.section_types import Category
from nsys_digest.model.split_types import RangeCommunication
from nsys_digest.trace.source import Reader
from oracle_account import Call, Trace, Work, random_account_trace, read_trace
from support import call
from test_fixtures import REAL, SHARED, named

CATEGORIES = KernelCategories.shipped()
GRAPH_2 = 2 << 32
"""The first node of executable graph 2."""


def digest_of(trace: TraceBuilder, folder: Path, **options: Any) -> Digest:
    digest = summarize(trace.write(folder / "t.sqlite"), **options)
    assert Digest.from_json(digest.to_json()) == digest
    return digest


def category_of(name: str) -> str:
    found = CATEGORIES.classify(name)
    return found.category if found else OTHER


# busy time, shared out


def test_busy_time_of_two_streams_is_shared_out(tmp_path: Path) -> None:
    # ns       0    5    10   15   20   25
    # gemm     ███████████████              [0, 15)
    # relu          ███████████████         [5, 20), elementwise
    # copy                         █████    [20, 25)
    #          g    ½    ½    e    m          [5, 15) is of both: 5 each
    trace = TraceBuilder().kernel(0, 15, name="ampere_sgemm_128x64_tn").memcpy(20, 25)
    trace.kernel(5, 20, name="vectorized_elementwise_kernel", stream=8)
    digest = digest_of(trace, tmp_path)
    assert digest.categories == {"elementwise": Category(1, 15, 15, 10), "gemm": Category(1, 15, 15, 10)}
    assert digest.busy_shares is not None
    (shares,) = digest.busy_shares
    assert (shares.device, shares.busy_ns) == (0, 25)
    assert list(shares.shares_ns.items()) == [("elementwise", 10), ("gemm", 10), ("memcpy", 5)]


def test_odd_nanoseconds_go_to_the_first_by_name(tmp_path: Path) -> None:
    # a copy, a set, a whole graph and a kernel of category gemm, all [0, 7): 7 // 4 = 1 each, 3 left over for gemm;
    # [7, 8) is of the set alone
    trace = TraceBuilder().kernel(0, 7, name="sgemm").memcpy(0, 7).memset(0, 8).graph(0, 7)
    digest = digest_of(trace, tmp_path, sections=["busy_shares"])
    assert digest.busy_shares is not None
    assert dict(digest.busy_shares[0].shares_ns) == {"gemm": 4, "memset": 2, "graph": 1, "memcpy": 1}
    assert digest.categories is None


def test_each_device_has_its_own_time_to_share(tmp_path: Path) -> None:
    # device 0  gemm ██████████   [0, 10)
    # device 1  gemm ████         [0, 4): another device does not halve it
    trace = TraceBuilder().kernel(0, 10, name="gemm").kernel(0, 4, name="gemm", device=1)
    digest = digest_of(trace, tmp_path)
    assert digest.categories is not None
    assert digest.categories["gemm"] == Category(2, 14, 10, 14)
    assert digest.busy_shares is not None
    assert [dict(one.shares_ns) for one in digest.busy_shares] == [{"gemm": 10}, {"gemm": 4}]


def single_nanoseconds(work: Iterable[tuple[int, int, str]]) -> dict[str, int]:
    """Give each single nanosecond of a device to one kind of work, as the definition says."""
    took_time = [one for one in work if one[1] > one[0]]
    got: dict[str, int] = defaultdict(int)
    for low, high in pairwise(sorted({time for start, end, _ in took_time for time in (start, end)})):
        names = sorted(name for start, end, name in took_time if start <= low and high <= end)
        for nanosecond in range(high - low if names else 0):
            in_full_round = nanosecond < (high - low) // len(names) * len(names)
            got[names[nanosecond % len(names)] if in_full_round else names[0]] += 1
    return dict(got)


def name_of(work: Work) -> str:
    return category_of(work.name) if work.kind == "kernel" else work.kind


def check_shares(digest: Digest, trace: Trace) -> None:
    wanted: dict[int, dict[str, int]] = {}
    for device in {work.device for work in trace.work}:
        rows = [(work.start, work.end, name_of(work)) for work in trace.work if work.device == device]
        if found := single_nanoseconds(rows):
            wanted[device] = found
    assert digest.busy_shares is not None
    assert {one.device: dict(one.shares_ns) for one in digest.busy_shares} == wanted
    assert digest.categories is not None
    for name, category in digest.categories.items():
        assert category.share_ns == sum(shares.get(name, 0) for shares in wanted.values()), name


# communication by range


def check_communication(digest: Digest, trace: Trace) -> None:
    """Look at every range, every call, every operation, and every single nanosecond of these."""
    others: dict[int, set[int]] = defaultdict(set)
    for work in trace.work:
        if work.kind == "kernel" and category_of(work.name) != "communication":
            others[work.device].update(range(work.start, work.end))
    launched: dict[str, set[Work]] = defaultdict(set)
    for note in trace.ranges:
        for work in trace.work:
            launch = work.launch
            if launch is None or work.kind != "kernel" or category_of(work.name) != "communication":
                continue
            if (
                note.one_thread
                and note.thread == launch.thread
                and note.start <= launch.start <= launch.end <= note.end
            ):
                launched[note.name].add(work)
    wanted = {}
    for name, own in launched.items():
        ran = {(work.device, time) for work in own for time in range(work.start, work.end)}
        bare = sum(time not in others[device] for device, time in ran)
        sum_ns = sum(max(work.end - work.start, 0) for work in own)
        wanted[name] = RangeCommunication(len(own), sum_ns, len(ran), len(ran) - bare, bare)
    assert digest.communication_by_range == wanted


def test_communication_is_of_every_range_around_its_launch(tmp_path: Path) -> None:
    # host   step     ├──────────────────────────────────────────┤        [0, 40]
    #        reduce     ├────────┤   ├────────┤                           [2, 10], [14, 22]
    #        launch       L1           L2             L3                  all NCCL but L3
    # GPU    nccl               ██████████                                [10, 20)  of L1
    #        nccl                         ██████████                     [18, 30)  of L2
    #        gemm                             ████████████               [25, 45)  of L3
    # union of step and of reduce [10, 30), of which [25, 30) is hidden by the gemm
    trace = TraceBuilder().range("step", 0, 40).range("reduce", 2, 10).range("reduce", 14, 22)
    for correlation, start in ((1, 3), (2, 15), (3, 30)):
        trace.api("cudaLaunchKernel_v7000", start, start + 2, correlation=correlation)
    trace.kernel(10, 20, name="ncclDevKernel_AllReduce", correlation=1)
    trace.kernel(18, 30, name="ncclDevKernel_AllReduce", correlation=2, stream=8)
    trace.kernel(25, 45, name="gemm", correlation=3, stream=9)
    found = digest_of(trace.range("other", 50, 60), tmp_path).communication_by_range
    both = RangeCommunication(kernel_count=2, sum_ns=22, union_ns=20, hidden_ns=5, exposed_ns=15)
    assert found == {"reduce": both, "step": both}


# by device


def totals_of(rows: Iterable[tuple[str, int]]) -> dict[str, CountTotal]:
    lengths: dict[str, list[int]] = defaultdict(list)
    for name, length in rows:
        lengths[name].append(max(length, 0))
    return {name: CountTotal(len(all_of), sum(all_of)) for name, all_of in lengths.items()}


def device_of(one: Call, trace: Trace, launched: dict[Call, list[Work]]) -> int | None:
    def ran(owner: Call) -> int | None:
        work = launched.get(owner)
        return min(work, key=lambda work: (work.start, work.device)).device if work else None

    if (own := ran(one)) is not None:
        return own
    process = None if one.thread is None else one.thread >> 24
    for alike in (
        [other for other in trace.calls if other.thread == one.thread],
        [
            other
            for other in trace.calls
            if process is not None and other.thread is not None and other.thread >> 24 == process
        ],
    ):
        devices = {found for other in alike if (found := ran(other)) is not None}
        if devices:
            return devices.pop() if len(devices) == 1 else None
    return None


def check_devices(digest: Digest, trace: Trace) -> None:
    launched: dict[Call, list[Work]] = defaultdict(list)
    for work in trace.work:
        if work.launch is not None:
            launched[work.launch].append(work)
    calls: dict[int | None, list[tuple[str, int]]] = defaultdict(list)
    for one in trace.calls:
        calls[device_of(one, trace, launched)].append((one.name, one.end - one.start))
    assert digest.by_device is not None
    found = {one.device: one for one in digest.by_device}
    assert len(found) == len(digest.by_device)
    assert [one.device for one in digest.by_device] == [
        *(device.device for device in digest.devices),
        *([None] if None in calls else []),
    ]
    for device, use in found.items():
        assert dict(use.api) == totals_of(calls[device])
        kernels = [work for work in trace.work if work.kind == "kernel" and work.device == device]
        assert dict(use.kernels) == totals_of((work.name, work.end - work.start) for work in kernels)
        shares = single_nanoseconds(
            (work.start, work.end, name_of(work)) for work in trace.work if work.device == device
        )
        for name, category in use.categories.items():
            own = [work for work in kernels if category_of(work.name) == name]
            union = {time for work in own for time in range(work.start, work.end)}
            sum_ns = sum(max(work.end - work.start, 0) for work in own)
            assert category == Category(len(own), sum_ns, len(union), shares.get(name, 0))
        assert sum(category.count for category in use.categories.values()) == len(kernels)


def test_unequal_devices_are_told_apart(tmp_path: Path) -> None:
    # thread 1 (device 0)  L1 M      thread 2 (device 1)  L2     process 2, which did nothing: M
    # device 0  gemm ██████████ [10, 20)      device 1  gemm ████ [10, 14)
    trace = TraceBuilder().api("cudaLaunchKernel_v7000", 0, 2, correlation=1).api("cudaMalloc_v3020", 3, 8)
    trace.api("cudaLaunchKernel_v7000", 0, 3, correlation=2, thread=2).kernel(10, 20, name="gemm", correlation=1)
    trace.kernel(10, 14, name="gemm", correlation=2, device=1).api("cudaMalloc_v3020", 0, 4, process=2)
    # thread 3 launches nothing, and its process used both devices
    trace.api("cudaMalloc_v3020", 0, 1, thread=3, correlation=9)
    digest = digest_of(trace, tmp_path, by_device=True)
    assert digest.by_device is not None
    first, second, unknown = digest.by_device
    assert (first.device, second.device, unknown.device) == (0, 1, None)
    assert (first.kernels, second.kernels) == ({"gemm": CountTotal(1, 10)}, {"gemm": CountTotal(1, 4)})
    assert first.api == {"cudaMalloc_v3020": CountTotal(1, 5), "cudaLaunchKernel_v7000": CountTotal(1, 2)}
    assert second.api == {"cudaLaunchKernel_v7000": CountTotal(1, 3)}
    assert unknown.api == {"cudaMalloc_v3020": CountTotal(2, 5)}
    assert (unknown.kernels, unknown.categories) == ({}, {})
    assert digest.capture.sections[-1] == "by_device"
    assert digest_of(trace, tmp_path).by_device is None
    ran = call("summarize", tmp_path / "t.sqlite", "--by-device", "--format", "text")
    assert "Kernels by device" in ran.out
    assert "unknown" in ran.out


# CUDA graphs


def node_mode() -> TraceBuilder:
    """Draw two launches of graph 2 and one of graph 5, node by node, in one process, and one of graph 2 in another.

    launch 1 of 2   kernel [10, 20) kernel [22, 30) copy [30, 35)    25 from first to last, kernels 18
    launch 2 of 2   kernel [50, 55) kernel [52, 60)                  10, kernels 13
    launch of 5     kernel [70, 71)                                   1
    process 2       kernel [70, 90)                                  20
    """
    trace = TraceBuilder().kernel(10, 20, graph_node=GRAPH_2, correlation=1).kernel(0, 5, correlation=7)
    trace.kernel(22, 30, graph_node=GRAPH_2 + 1, correlation=1).memcpy(30, 35, graph_node=GRAPH_2 + 2, correlation=1)
    trace.kernel(50, 55, graph_node=GRAPH_2, correlation=2).kernel(52, 60, graph_node=GRAPH_2 + 1, correlation=2)
    trace.kernel(70, 71, graph_node=5 << 32, correlation=3)
    return trace.kernel(70, 90, graph_node=GRAPH_2, correlation=1, process=2)


def graphs_of(digest: Digest) -> list[tuple[Any, ...]]:
    assert digest.graphs is not None
    return [
        (
            one.process,
            one.graph,
            one.launch_count,
            (one.durations.count, one.durations.total_ns, one.durations.p50_ns, one.durations.max_ns),
            one.node_kernel_count,
            one.node_kernel_sum_ns,
        )
        for one in digest.graphs
    ]


def test_graphs_node_by_node(tmp_path: Path) -> None:
    assert graphs_of(digest_of(node_mode(), tmp_path)) == [
        (1, 2, 2, (2, 35, 10, 25), 4, 31),
        (1, 5, 1, (1, 1, 1, 1), 1, 1),
        (2, 2, 1, (1, 20, 20, 20), 1, 20),
    ]


def test_whole_graphs(tmp_path: Path) -> None:
    # graph 1, executable 2: [0, 10), [20, 25) and one of no known time; executable 5: [30, 37)
    trace = TraceBuilder().graph(0, 10, graph=1, graph_exec=2).graph(20, 25, graph=1, graph_exec=2, correlation=2)
    trace.graph(0, 0, graph=1, graph_exec=2, correlation=3).graph(30, 37, graph=1, graph_exec=5, correlation=4)
    digest = digest_of(trace, tmp_path)
    assert graphs_of(digest) == [
        (1, 2, 3, (2, 15, 5, 10), None, None),
        (1, 5, 1, (1, 7, 7, 7), None, None),
    ]
    assert digest_of(trace, tmp_path, sections=["idle"]).graphs is None


def test_nodes_that_do_not_say_of_which_graph_or_launch(tmp_path: Path) -> None:
    # small ids name no graph; without a correlation id nobody knows which launch it was
    trace = TraceBuilder().kernel(0, 5, graph_node=3, correlation=1).kernel(7, 9, graph_node=4, correlation=None)
    assert graphs_of(digest_of(trace, tmp_path)) == [(1, None, 1, (1, 5, 5, 5), 2, 7)]


def check_graphs(digest: Digest, trace: Trace) -> None:
    launches: dict[tuple[Any, Any], dict[Any, list[Work]]] = defaultdict(lambda: defaultdict(list))
    nodes: dict[tuple[Any, Any], list[Work]] = defaultdict(list)
    for number, work in enumerate(trace.work):
        process = None if work.process is None else work.process >> 24 & 0xFFFFFF
        if work.kind == "graph":
            launches[process, work.row["graphExecId"]]["whole", number].append(work)
        elif work.row.get("graphNodeId"):
            key = process, work.row["graphNodeId"] >> 32 or None
            nodes[key].append(work)
            if work.correlation:
                launches[key][work.correlation].append(work)
    assert digest.graphs is not None
    found = {(one.process, one.graph): one for one in digest.graphs}
    assert set(found) == {*launches, *nodes}
    for key, one in found.items():
        assert one.launch_count == len(launches[key])
        lengths = []
        for rows in launches[key].values():
            real = [work for work in rows if work.end > work.start]
            if real:
                lengths.append(max(work.end for work in real) - min(work.start for work in real))
        assert (one.durations.count, one.durations.total_ns) == (len(lengths), sum(lengths))
        assert one.durations.max_ns == max(lengths, default=None)
        kernels = [work for work in nodes[key] if work.kind == "kernel"]
        assert one.node_kernel_count == (len(kernels) if nodes[key] else None)
        sum_ns = sum(max(work.end - work.start, 0) for work in kernels)
        assert one.node_kernel_sum_ns == (sum_ns if nodes[key] else None)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("small", [False, True], ids=["whole", "in-parts"])
def test_random_traces(small: bool, version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if small:
        monkeypatch.setattr("nsys_digest.algorithms.streaming._WINDOW", 3)
        monkeypatch.setattr("nsys_digest.sections.launched._SLICE", 4)
        monkeypatch.setattr("nsys_digest.sections.launched._LONG", 2)
        monkeypatch.setattr("nsys_digest.trace.adbc.BATCH_ROWS", 5)
    for seed in range(8):
        rng = random.Random(f"splits {version} {seed} {small}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        reader: Reader = "stdlib" if seed % 2 else "adbc"
        digest = summarize(path, by_device=True, reader=reader, threads=1 + seed % 2)
        trace = read_trace(path)
        check_shares(digest, trace)
        check_communication(digest, trace)
        check_devices(digest, trace)
        check_graphs(digest, trace)


# real traces


def check_sums(digest: Digest) -> None:
    """See that the parts add up to the whole, to the nanosecond."""
    did_work = [device for device in digest.devices if device.did_work]
    assert digest.busy_shares is not None
    assert [one.busy_ns for one in digest.busy_shares] == [device.busy_ns for device in did_work]
    for shares in digest.busy_shares:
        assert sum(shares.shares_ns.values()) == shares.busy_ns
    assert digest.categories is not None
    assert digest.by_device is not None
    for name, category in digest.categories.items():
        assert category.share_ns == sum(one.shares_ns.get(name, 0) for one in digest.busy_shares)
        of_devices = [one.categories[name] for one in digest.by_device if name in one.categories]
        assert category.sum_ns == sum(one.sum_ns for one in of_devices)
        assert category.share_ns == sum(one.share_ns or 0 for one in of_devices)
    for what, whole in (("api", digest.api), ("kernels", dict(digest.top_kernels))):
        added: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        for one in digest.by_device:
            for name, total in getattr(one, what).items():
                added[name][0] += total.count
                added[name][1] += total.total_ns
        assert {name: CountTotal(*both) for name, both in added.items()} == whole
    assert digest.graphs is not None
    assert sum(one.node_kernel_count or 0 for one in digest.graphs) == digest.graph_node_kernel_count
    whole_graphs = sum(device.count["graph"] for device in digest.devices)
    assert sum(one.launch_count for one in digest.graphs if one.node_kernel_count is None) == whole_graphs
    if not digest.graph_node_kernel_count:
        graph_ns = sum(device.sum_ns["graph"] for device in digest.devices)
        assert sum(one.durations.total_ns for one in digest.graphs) == graph_ns
    assert digest.communication_by_range is not None
    for ranges in digest.communication_by_range.values():
        assert ranges.hidden_ns + ranges.exposed_ns == ranges.union_ns <= ranges.sum_ns


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_parts_of_fixtures_add_up(trace: Path) -> None:
    check_sums(summarize(trace, by_device=True, top=10_000))


@pytest.mark.slow
@pytest.mark.skipif(not SHARED, reason="the collection of published traces is not beside this checkout")
@pytest.mark.parametrize("trace", SHARED, ids=named)
def test_parts_of_published_traces_add_up(trace: Path) -> None:
    check_sums(summarize(trace, by_device=True, top=10_000))


def test_a_graph_has_one_id_in_both_modes() -> None:
    """One program was traced in either mode: the ids of its graphs and how often they ran are the same."""
    folder = REAL[0].parent
    whole, nodes = (summarize(folder / f"graph_{mode}.sqlite", sections=["graphs"]) for mode in ("graph", "node"))
    assert [row[1:3] for row in graphs_of(whole)] == [row[1:3] for row in graphs_of(nodes)] == [(2, 40)]


# payloads


def pread(trace: TraceBuilder) -> TraceBuilder:
    """Draw twenty reads of 4,096 or 8,192 bytes in turn, as their payload says."""
    for number in range(20):
        trace.range("pread", number * 1_000, number * 1_000 + 500, int64Value=4096 * (1 + number % 2))
    return trace


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
def test_payload_numbers(reader: Reader, tmp_path: Path) -> None:
    trace = pread(TraceBuilder()).domain(1, "lib").range("plain", 0, 5)
    trace.range("loss", 0, 1, doubleValue=0.5).range("loss", 2, 3, doubleValue=-1.25).range("loss", 4, 5, int32Value=2)
    trace.range("size", 0, 1, uint64Value=-1, domain=1).range("f", 0, 1, floatValue=1.5).range("u", 0, 1, uint32Value=7)
    trace.range("odd", 0, 1, doubleValue=float("inf")).mark("mark", 3, int64Value=9)
    trace.range("huge", 0, 1, doubleValue=1.7e308).range("huge", 2, 3, doubleValue=1.7e308)
    trace.range("open", 0, None, int64Value=-(2**60))
    digest = digest_of(trace, tmp_path, sections=["nvtx_payload"], reader=reader)
    assert digest.nvtx_payload is not None
    found = {
        name: (one.count, one.sum, one.min, one.p50, one.p95, one.p99, one.max)
        for name, one in digest.nvtx_payload.items()
    }
    assert found == {
        "pread": (20, 122_880, 4096, 4096, 8192, 8192, 8192),
        "loss": (3, 1.25, -1.25, 0.5, 2.0, 2.0, 2.0),
        "huge": (2, None, 1.7e308, 1.7e308, 1.7e308, 1.7e308, 1.7e308),
        "f": (1, *[1.5] * 6),
        "lib:size": (1, *[2.0**64] * 6),
        "open": (1, *[-(2.0**60)] * 6),
        "u": (1, *[7] * 6),
    }
    assert list(found) == ["pread", "loss", "huge", "f", "lib:size", "open", "u"]
    assert isinstance(digest.nvtx_payload["pread"].sum, int)
    json.loads(digest.to_json(), parse_constant=lambda text: pytest.fail(f"{text} is no JSON"))


def test_payloads_are_read_where_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = pread(TraceBuilder()).kernel(0, 5).write(tmp_path / "t.sqlite")
    asked: list[str] = []
    from nsys_digest.trace.sqlite import SqliteSource

    plain = SqliteSource._sql
    monkeypatch.setattr(SqliteSource, "_sql", lambda *given: asked.append(plain(*given)) or asked[-1])
    assert summarize(path).nvtx_payload is None
    assert not any("Value" in sql for sql in asked if "NVTX" in sql)
    assert summarize(path, sections=["nvtx_payload"]).nvtx_payload
    assert any("int64Value" in sql for sql in asked)
    ran = call("summarize", path, "--sections", "all,nvtx_payload", "--format", "text")
    assert "Payload numbers of NVTX ranges" in ran.out
    assert "122,880" in ran.out


def test_payloads_of_names_beyond_the_limit(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for number in range(6):
        trace.range(f"r{number}", 0, 10 - number, int64Value=number)
    found = digest_of(trace, tmp_path, sections=["nvtx_payload"], max_nvtx_names=2).nvtx_payload
    assert found is not None
    assert {name: (one.count, one.sum) for name, one in found.items()} == {
        "(other)": (4, 14),
        "r0": (1, 0),
        "r1": (1, 1),
    }


def test_text_for_a_number_is_one_line(tmp_path: Path) -> None:
    path = TraceBuilder().range("r", 0, 1, doubleValue="much").write(tmp_path / "t.sqlite")
    with pytest.raises(ValueUnreadable, match="column doubleValue of table NVTX_EVENTS holds 'much' where a number"):
        summarize(path, sections=["nvtx_payload"])


# all of them


def test_no_category_has_the_name_of_other_work(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[[category]]\nname = 'memcpy'\npattern = 'k'\n")
    path = TraceBuilder().kernel(0, 5).write(tmp_path / "t.sqlite")
    with pytest.raises(CategoriesInvalid, match="memcpy is the name of a kind of work"):
        summarize(path, categories=file)


def test_a_digest_without_the_new_sections_is_still_compared(tmp_path: Path) -> None:
    """As one is that was stored before there were any."""
    path = node_mode().write(tmp_path / "t.sqlite")
    new = summarize(path)
    old = summarize(path, sections=[name for name in new.capture.sections if name not in {"busy_shares", "graphs"}])
    tables = diff(old, new).tables
    assert tables["busy_shares"] is None
    assert tables["graphs"] is None
    same = diff(new, new).tables
    assert same["busy_shares"] is not None
    assert same["graphs"] is not None
    assert [row.name for row in same["graphs"].rows] == ["2", "2#2", "5"]
