"""The sections that explain, against `nsys stats` on the same traces, wherever the two mean the same.

The CSV files are in `fixtures/nsys-stats`. Each test states where the definitions part.
"""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

import pytest

from nsys_digest import Digest, summarize
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, call_name
from nsys_digest.model.section_types import Durations
from oracle_account import Call, Work, read_trace
from test_fixtures import COUNTED, named, stats

ON_GPU = [trace for trace in COUNTED if trace.stem != "nogpu"]
DIRECTIONS = {
    "[CUDA memcpy Host-to-Device]": "HtoD",
    "[CUDA memcpy Device-to-Host]": "DtoH",
    "[CUDA memcpy Device-to-Device]": "DtoD",
    "[CUDA memcpy Unified Host-to-Device]": "UVM HtoD",
    "[CUDA memcpy Unified Device-to-Host]": "UVM DtoH",
}
ROUNDED = 0.051
"""`nsys stats` prints averages and medians with one digit behind the point."""


@pytest.fixture(scope="module")
def digests() -> dict[Path, Digest]:
    return {path: summarize(path) for path in ON_GPU}


def range_name(printed: str) -> str:
    """Return our name of a range: nsys writes the default domain as an empty one."""
    return printed.removeprefix(":")


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
@pytest.mark.slow
def test_kernels_launched_from_ranges(trace: Path, digests: dict[Path, Digest]) -> None:
    """`nvtx_kern_sum` has a row for each range name, thread and kernel name; over the kernels its counts are ours.

    Both take a kernel for a range's when its launch call lies within the range, on the same thread. A range that no
    kernel was launched from has no row there and a zero here. A range without an end on its thread cannot be told
    apart, as none in these traces launched anything. Kernels outside of all ranges stand under an empty name there.
    """
    theirs: Counter[str] = Counter()
    for row in stats(trace, "nvtx_kern_sum"):
        theirs[range_name(row["NVTX Range"])] += int(row["Kern Inst"])
    theirs.pop("", None)
    ours = {name: ranges.detail.launched_kernel_count for name, ranges in digests[trace].nvtx.items() if ranges.detail}
    assert {name: count for name, count in ours.items() if count} == theirs


def launched_from_ranges(trace: Path) -> dict[str, list[list[Work]]]:
    """Return, for each range name, the operations that each instance launched, by a slow reference."""
    read = read_trace(trace)
    by_thread: defaultdict[int | None, list[Work]] = defaultdict(list)
    for work in read.work:
        if work.launch is not None:
            by_thread[work.launch.thread].append(work)
    found: defaultdict[str, list[list[Work]]] = defaultdict(list)
    for note in read.ranges:
        inside = [
            work
            for work in by_thread[note.thread]
            if work.launch is not None and note.start <= work.launch.start and work.launch.end <= note.end
        ]
        found[note.name].append(inside if note.one_thread else [])
    return found


def is_replay(call: Call | None) -> bool:
    return call is not None and call_name(call.name) in GRAPH_LAUNCH_CALLS


def as_nsys_counts(operations: list[Work]) -> int:
    """Return how many operations `nvtx_gpu_proj_sum` sees: no graph rows, and a replay node by node as one."""
    replays = {id(work.launch) for work in operations if work.kind != "graph" and is_replay(work.launch)}
    return sum(work.kind != "graph" and not is_replay(work.launch) for work in operations) + len(replays)


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
@pytest.mark.slow
def test_operations_launched_from_ranges(trace: Path, digests: dict[Path, Digest]) -> None:
    """`nvtx_gpu_proj_sum` counts operations of all kinds; the digest counts kernels, and joins through the reference.

    Differences: nsys leaves out CUDA graphs traced as a whole, and counts a graph traced node by node as one
    operation. It counts an operation for each instance around it, we count it once where a range is in another of its
    name. It counts the instances that launched something, we count all. Its projected time reaches from the first
    start to the last end, so that idle time inside counts; `launched_busy_ns` is the union, and never more.
    """
    launched = launched_from_ranges(trace)
    operations = {
        name: sum(map(as_nsys_counts, instances))
        for name, instances in launched.items()
        if any(map(as_nsys_counts, instances))
    }
    rows = {range_name(row["Range"]): row for row in stats(trace, "nvtx_gpu_proj_sum")}
    assert operations == {name: int(row["Total GPU Ops"]) for name, row in rows.items()}
    for name, ranges in digests[trace].nvtx.items():
        assert ranges.detail is not None
        instances = launched[name]
        kernels = {id(work) for instance in instances for work in instance if work.kind == "kernel"}
        assert ranges.detail.launched_kernel_count == len(kernels), name
        if name not in rows:
            seen = [work for instance in instances for work in instance if work.kind != "graph"]
            assert not seen, name
            continue
        assert int(rows[name]["Range Instances"]) == sum(as_nsys_counts(instance) > 0 for instance in instances)
        if not any(work.kind == "graph" for instance in instances for work in instance):
            assert ranges.detail.launched_busy_ns <= int(rows[name]["Total Proj Time (ns)"]), name


def test_projection_counts_idle_time_that_launched_busy_leaves_out(digests: dict[Path, Digest]) -> None:
    by_name = {trace.stem: (trace, digest) for trace, digest in digests.items()}
    trace, digest = by_name["rank_0"]
    rows = {range_name(row["Range"]): row for row in stats(trace, "nvtx_gpu_proj_sum")}
    detail = digest.nvtx["train_step"].detail
    assert detail is not None
    assert int(rows["train_step"]["Total Proj Time (ns)"]) == 401_118_342
    assert detail.launched_busy_ns == 41_935_046


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
def test_copies_and_sets(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_gpu_mem_time_sum` and `cuda_gpu_mem_size_sum` go by direction; we also tell kinds of memory apart."""
    memory = digests[trace].memory
    assert memory is not None
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for row in memory.copies:
        counts[row.direction] += row.count
        times[row.direction] += row.sum_ns
        sizes[row.direction] += row.bytes
    if memory.sets.count:
        counts["set"], times["set"], sizes["set"] = memory.sets.count, memory.sets.sum_ns, memory.sets.bytes
    their_times = {DIRECTIONS.get(row["Operation"], "set"): row for row in stats(trace, "cuda_gpu_mem_time_sum")}
    assert dict(times) == {name: int(row["Total Time (ns)"]) for name, row in their_times.items()}
    assert dict(counts) == {name: int(row["Count"]) for name, row in their_times.items()}
    for printed in stats(trace, "cuda_gpu_mem_size_sum"):  # not every trace has this report
        name = DIRECTIONS.get(printed["Operation"], "set")
        assert int(printed["Count"]) == counts[name]
        assert float(printed["Total (MB)"]) == pytest.approx(sizes[name] / 1e6, abs=0.00051)


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
def test_launches(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_kern_exec_sum` goes by API name and kernel name; over the kernels its API times and queue times are ours.

    Differences: it has no row for CUDA graphs traced as a whole. Traced node by node it counts each kernel of a graph
    with the whole launch call, where a graph launch is one launch here. Its Q is over kernels that began after their
    call had returned; `queue_delay` has a 0 for each of the others too. Its T ends with the kernel, or with the call
    where that ends later; less the kernel's own time it is our latency only where each kernel began after its call.
    """
    launch = digests[trace].launch
    assert launch is not None
    theirs: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in stats(trace, "cuda_kern_exec_sum"):
        theirs[call_name(row["API Name"])].append(row)
    ours = {call_name(name): cost for name, cost in launch.by_api.items()}
    assert theirs.keys() - GRAPH_LAUNCH_CALLS == ours.keys() - GRAPH_LAUNCH_CALLS
    assert launch.unmatched_kernel_count == 0
    for name, rows in theirs.items():
        if name in GRAPH_LAUNCH_CALLS:
            assert sum(int(row["Count"]) for row in rows) == digests[trace].graph_node_kernel_count
            continue
        cost = ours[name]
        count = sum(int(row["Count"]) for row in rows)
        queued = [row for row in rows if int(row["QCount"])]
        queue_count = sum(int(row["QCount"]) for row in queued)
        assert cost.api.count == cost.latency.count == cost.queue_delay.count == count
        assert cost.started_before_return_count == count - queue_count
        assert cost.api.total_ns == pytest.approx(total(rows, "A", "Count"), abs=ROUNDED * count)
        assert cost.queue_delay.total_ns == pytest.approx(total(queued, "Q", "QCount"), abs=ROUNDED * queue_count)
        latency = total(rows, "T", "Count") - total(rows, "K", "Count")
        assert cost.latency.total_ns <= latency + 2 * ROUNDED * count
        if not cost.started_before_return_count:
            assert cost.latency.total_ns == pytest.approx(latency, abs=2 * ROUNDED * count)
        for tails, letter, some in ((cost.api, "A", rows), (cost.queue_delay, "Q", queued)):
            if letter == "A" or not cost.started_before_return_count:
                assert tails.min_ns == min(round(float(row[f"{letter}Min (ns)"])) for row in some)
            assert tails.max_ns == max(round(float(row[f"{letter}Max (ns)"])) for row in some)


def total(rows: list[dict[str, str]], letter: str, count: str) -> float:
    return sum(float(row[f"{letter}Avg (ns)"]) * int(row[count]) for row in rows)


def check_tails(tails: Durations, row: dict[str, str], count: str) -> None:
    """Compare with one row; the median of an even count lies between two values there, and is the lower one here."""
    assert (tails.count, tails.total_ns) == (int(row[count]), int(row["Total Time (ns)"]))
    assert (tails.min_ns, tails.max_ns) == (int(row["Min (ns)"]), int(row["Max (ns)"]))
    assert tails.p50_ns is not None
    assert tails.p95_ns is not None
    median = float(row["Med (ns)"])
    if tails.count % 2:
        assert tails.p50_ns == median
    else:
        assert tails.p50_ns <= median + ROUNDED
        assert tails.count < 20 or median <= tails.p95_ns
    assert tails.mean_s is not None
    assert tails.mean_s * 1e9 == pytest.approx(float(row["Avg (ns)"]), abs=ROUNDED)


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
def test_api_durations(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_api_sum` prints names without their four-digit ABI version; in these traces no two versions meet."""
    api_durations = digests[trace].api_durations
    assert api_durations is not None
    ours = {call_name(name): tails for name, tails in api_durations.items()}
    assert len(ours) == len(api_durations)
    rows = stats(trace, "cuda_api_sum")
    assert len(rows) == len(ours)
    for row in rows:
        check_tails(ours[call_name(row["Name"])], row, "Num Calls")


@pytest.mark.parametrize("trace", ON_GPU, ids=named)
def test_kernel_durations(trace: Path, digests: dict[Path, Digest]) -> None:
    """`cuda_gpu_kern_sum` goes by full name, we by short name: a short name's rows are joined, as far as can be.

    Counts, totals, minima and maxima join; medians do not, and are compared where one full name has the short name
    to itself.
    """
    with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)) as file:
        short_of = dict(
            file.execute(
                "SELECT DISTINCT full.value, short.value FROM CUPTI_ACTIVITY_KIND_KERNEL AS k "
                "JOIN StringIds AS full ON full.id = k.demangledName JOIN StringIds AS short ON short.id = k.shortName"
            )
        )
    kernel_durations = digests[trace].kernel_durations
    assert kernel_durations is not None
    rows: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in stats(trace, "cuda_gpu_kern_sum"):
        rows[short_of[row["Name"]]].append(row)
    assert rows.keys() == kernel_durations.keys()
    for name, tails in kernel_durations.items():
        if len(rows[name]) == 1:
            check_tails(tails, rows[name][0], "Instances")
        assert tails.count == sum(int(row["Instances"]) for row in rows[name])
        assert tails.total_ns == sum(int(row["Total Time (ns)"]) for row in rows[name])
        assert tails.min_ns == min(int(row["Min (ns)"]) for row in rows[name])
        assert tails.max_ns == max(int(row["Max (ns)"]) for row in rows[name])
