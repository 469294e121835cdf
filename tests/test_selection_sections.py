"""Every section of a part of a trace: against single nanoseconds, and as parts that add up to the whole."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from builder import RUNTIME, VERSIONS, TraceBuilder, global_pid
from nsys_digest import Digest, inspect, summarize
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.summary import summarize_selection
from nsys_digest.selection import Selection, select
from nsys_digest.trace import scan_window, sqlite
from nsys_digest.trace.collect.gpu import GpuPart
from oracle_account import random_account_trace
from oracle_selection import expected_sections, pid_of
from test_account import check_dispatch, check_idle, check_launch, check_memory, check_nvtx, class_of, measured_tails
from test_fixtures import REAL, named


def drawn(rng: random.Random, ticks: int) -> Selection:
    stretches = None
    if rng.random() < 0.8:
        starts = [rng.randint(-100, ticks) for _ in range(rng.randint(1, 3))]
        stretches = [(start, start + rng.randint(1, ticks // 2)) for start in starts]
    return select(
        stretches,
        devices=rng.sample([0, 1, 2], rng.randint(1, 2)) if rng.random() < 0.3 else None,
        processes=rng.sample([101, 202], 1) if rng.random() < 0.2 else None,
        streams=rng.sample([7, 8, 13], 2) if rng.random() < 0.2 else None,
    )


def check_sections(path: Path, selection: Selection, digest: Digest, gaps: int) -> None:
    reference = expected_sections(path, selection, class_of)
    check_idle(digest, reference["idle"], gaps)
    check_launch(digest, reference["launch"])
    check_memory(digest, reference["memory"])
    check_added(digest, reference, selection)
    check_nvtx(digest, reference["nvtx"])
    check_dispatch(digest, reference["dispatch_steps"])
    assert digest.api_durations == {name: measured_tails(sorted(v)) for name, v in reference["api_lengths"].items()}
    assert digest.kernel_durations == {
        name: measured_tails(sorted(values)) for name, values in reference["kernel_lengths"].items()
    }
    assert digest.categories is not None
    totals = reference["kernels"].values()
    assert sum(one.count for one in digest.categories.values()) == sum(count for count, _, _ in totals)
    assert sum(one.sum_ns for one in digest.categories.values()) == sum(ns for _, ns, _ in totals)


def check_added(digest: Digest, reference: dict[str, Any], selection: Selection) -> None:
    """Check what overheads, waits and page faults add to the sections, and that parts of causes add up to these."""
    assert digest.idle is not None
    assert digest.launch is not None
    assert digest.memory is not None
    overhead = digest.launch.driver_overhead
    got = None if overhead is None else {kind: (one.count, one.sum_ns) for kind, one in overhead.items()}
    assert got == reference["overhead"]
    for device, wanted in zip(digest.idle.devices, reference["idle"]["devices"], strict=True):
        assert (device.queue_full_ns is None) == (overhead is None)
        if selection.window is not None:
            assert (device.queue_full_ns or 0) == wanted["queue_full"]
        assert sum((device.sync_by_target_ns or {}).values()) == device.causes["sync"].sum_ns
    memory = digest.memory
    moved = [one for one in memory.copies if one.direction.startswith("UVM")]
    assert sum(one.sum_ns for one in memory.migrations or ()) == sum(one.sum_ns for one in moved)
    assert sum(one.count for one in memory.migrations or ()) == sum(one.count for one in moved)
    assert (memory.cpu_page_fault_count, memory.gpu_page_fault_count) == reference["page_faults"]


def draw_added(rng: random.Random, trace: TraceBuilder) -> None:
    """Add waits of the host's calls, records of events and page faults."""
    for row in list(trace._rows.get(RUNTIME, [])):
        if rng.random() < 0.3:
            process, correlation = pid_of(row["globalTid"]), row["correlationId"]  # type: ignore[arg-type]
            where = {"process": process, "correlation": correlation, "stream": rng.choice((7, 8, 0xFFFFFFFF))}
            trace.sync(0, 1, **where, eventId=rng.choice((1, 2, None)))  # type: ignore[arg-type]
    for _ in range(rng.choice((0, 5))):
        columns = {"streamId": rng.choice((7, 8)), "eventId": rng.choice((1, 2)), "contextId": 1, "deviceId": 0}
        trace.row("CUPTI_ACTIVITY_KIND_CUDA_EVENT", **columns, globalPid=global_pid(rng.choice((101, 202))))
    for _ in range(rng.choice((0, 9))):
        start, process = rng.randint(-100, 4000), global_pid(rng.choice((101, 202)))
        trace.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=start, globalPid=process)
        columns = {"start": start, "end": start + rng.choice((0, 5, 900)), "numberOfPageFaults": rng.randint(1, 99)}
        trace.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", **columns, globalPid=process, deviceId=0)


def check_reading(path: Path, selection: Selection, whole: Digest) -> None:
    """Compare all bytes with those from only the rows that the window needs: base figures, sections and warnings."""
    for options in (SummarizeOptions(gaps=9, reader="stdlib"), SummarizeOptions(sections=(), reader="adbc")):
        part = summarize_selection(path, selection, options, reading="part")
        if not options.sections:
            whole = summarize_selection(path, selection, options, reading="whole")
        assert part.to_json() == whole.to_json()


@pytest.mark.parametrize("version", VERSIONS)
def test_random_selections_of_random_traces(version: str, tmp_path: Path) -> None:
    for seed in range(6):
        rng = random.Random(f"sections {version} {seed}")
        trace = random_account_trace(rng, version)
        draw_added(rng, trace)
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        for number in range(4):
            selection = drawn(rng, 3000)
            digest = summarize_selection(path, selection, SummarizeOptions(gaps=9, reader="stdlib"))
            check_reading(path, selection, digest)
            try:
                check_sections(path, selection, digest, 9)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, selection {number}: {selection}") from error


def sums_of(digest: Digest) -> Counter[str]:
    """Return every figure that is a sum, or the length of a union, cut to what is looked at."""
    found: Counter[str] = Counter()
    found["busy"] = digest.gpu_busy_union_ns or 0
    found["idle"] = digest.gpu_idle_within_span_ns or 0
    found.update({f"api {name}": call.total_ns for name, call in digest.api.items()})
    found.update({f"kernel {name}": total.total_ns for name, total in digest.top_kernels})
    for name, ranges in digest.nvtx.items():
        assert ranges.detail is not None
        found[f"range {name} sum"], found[f"range {name} union"] = ranges.sum_ns, ranges.union_ns
        found[f"range {name} overlap"] = ranges.gpu_overlap_ns
        found[f"range {name} self"] = ranges.detail.self_ns or 0
        found[f"range {name} idle"] = ranges.detail.gpu_idle_ns or 0
    for device in digest.devices:
        found[f"device {device.device} busy"] = device.busy_ns or 0
        found.update({f"device {device.device} {kind} union": ns for kind, ns in device.union_ns.items()})
        found.update({f"device {device.device} {kind} sum": ns for kind, ns in device.sum_ns.items()})
    assert digest.idle is not None
    for account in digest.idle.devices:
        found.update({f"idle {account.device} {name}": cause.sum_ns for name, cause in account.causes.items()})
        found.update({f"host {account.device} {name}": ns for name, ns in account.host_by_nvtx_ns.items()})
    assert digest.categories is not None
    for name, category in digest.categories.items():
        found[f"category {name} sum"], found[f"category {name} union"] = category.sum_ns, category.union_ns
    for one in digest.communication or ():
        found[f"communication {one.device} hidden"], found[f"communication {one.device}"] = one.hidden_ns, one.union_ns
        found.update({f"communication {one.device} {kind}": total.sum_ns for kind, total in one.by_kind.items()})
    assert digest.memory is not None
    found["beside kernels"] = digest.memory.overlapped_with_kernels_ns
    found["sets"] = digest.memory.sets.sum_ns
    for row in digest.memory.copies:
        found[f"copies {row.direction} {row.source_kind} {row.destination_kind}"] = row.sum_ns
    return +found


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_parts_of_the_span_add_up_to_it(trace: Path) -> None:
    seen = inspect(trace)
    if seen.gpu_first_ns is None or seen.gpu_last_ns is None:
        assert trace.stem == "nogpu"
        return
    rng = random.Random(trace.stem)
    cuts = sorted(rng.sample(range(seen.gpu_first_ns + 1, seen.gpu_last_ns), 3))
    edges = [seen.gpu_first_ns, *cuts, seen.gpu_last_ns]
    parts = [summarize(trace, window=f"{low}ns:{high}ns", top=10_000) for low, high in pairwise(edges)]
    span = summarize(trace, window=":", top=10_000)
    together = sum(map(sums_of, parts), Counter())
    assert together == sums_of(span)
    for digest in (span, *parts):
        assert digest.capture.window is not None
        assert digest.idle is not None
        worked = [device for device in digest.devices if device.did_work]
        for device, account in zip(worked, digest.idle.devices, strict=True):
            assert device.span_ns == digest.gpu_activity_span_ns == digest.capture.window.length_ns
            assert account.idle_ns == device.idle_ns == digest.capture.window.length_ns - (device.busy_ns or 0)
    whole = summarize(trace, top=10_000)
    assert whole.idle is not None
    assert span.idle is not None
    assert (whole.gpu_busy_union_ns, whole.gpu_idle_within_span_ns) == (
        span.gpu_busy_union_ns,
        span.gpu_idle_within_span_ns,
    )
    if len(whole.idle.devices) == 1:  # else a device begins after the first and ends before the last
        assert span.idle.devices[0].causes == whole.idle.devices[0].causes
    assert {warn.code for digest in parts for warn in digest.warnings} <= {warn.code for warn in whole.warnings}


@pytest.mark.parametrize("trace", REAL, ids=named)
def test_processes_and_devices_of_real_traces_add_up(trace: Path) -> None:
    whole = summarize(trace)
    devices = [device.device for device in whole.devices if device.did_work]
    apart = [summarize(trace, device=device) for device in devices]
    assert [one.devices[0] for one in apart] == [device for device in whole.devices if device.did_work]
    assert sum(one.kernel_count for one in apart) == whole.kernel_count
    assert all(one.api == whole.api for one in apart)
    processes = [process.pid for process in whole.capture.processes if process.pid is not None]
    alone = [summarize(trace, process=pid) for pid in processes]
    assert sum(one.kernel_count for one in alone) == whole.kernel_count
    assert sum((Counter({n: c.count for n, c in one.api.items()}) for one in alone), Counter()) == Counter(
        {name: call.count for name, call in whole.api.items()}
    )


def test_a_gap_of_a_window(tmp_path: Path) -> None:
    # kernel     0 ██ 10                         60 ██ 70
    # call                         40 ██ 50                 launches the second
    # window          15 ████████████████ 45          65 ██████ 80
    path = TraceBuilder().kernel(0, 10, correlation=None, name="first")
    path.api("cudaLaunchKernel_v7000", 40, 50, correlation=1).kernel(60, 70, correlation=1, name="second")
    digest = summarize_selection(path.write(tmp_path / "t.sqlite"), select([(15, 45), (65, 80)]), SummarizeOptions())
    assert digest.idle is not None
    (account,) = digest.idle.devices
    assert (account.idle_ns, account.gap_count) == (30 + 10, 2)
    causes = {name: cause.sum_ns for name, cause in account.causes.items() if cause.sum_ns}
    assert causes == {"host": 25, "launch_call": 5, "unattributed": 10}  # what follows the last work has no call
    assert [(gap.start_ns, gap.length_ns, gap.before, gap.after) for gap in digest.idle.longest] == [
        (15, 30, "[window]", "[window]"),
        (70, 10, "second", "[window]"),
    ]
    assert (digest.gpu_busy_union_ns, digest.devices[0].span_ns) == (5, 45)


def test_rows_out_of_order_are_found_in_part(tmp_path: Path) -> None:
    # a range from the very start, written last, lies over the window; a kernel of it is written first
    trace = TraceBuilder().kernel(500, 520, correlation=7)
    for at in range(0, 400, 40):
        trace.api("cudaLaunchKernel_v7000", at, at + 5, correlation=at + 10).kernel(
            at + 10, at + 30, correlation=at + 10
        )
    trace.api("cudaLaunchKernel_v7000", 1, 3, correlation=7, thread=2).range("all", 0, None)
    path = trace.write(tmp_path / "t.sqlite")
    selection = select([(505, 600)])
    whole, part = (summarize_selection(path, selection, SummarizeOptions(), reading) for reading in ("whole", "part"))
    assert part.to_json() == whole.to_json()
    assert (part.nvtx["all"].count, part.nvtx["all"].sum_ns, part.nvtx["all"].whole_sum_ns) == (1, 15, 520)
    assert part.gpu_busy_union_ns == 15


def test_what_no_sample_finds_is_found_in_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # device 0      0 ██ 10  20 ██ 30  40 ██ 50   60 ██ 70     written first, second, fourth, fifth
    # device 1                25 █ 26                          written third: neither first nor last, nor in the window
    # call                                 45 ███████████ 99   the last time stamp, where the open range ends
    # range                   22 ████████████████████████
    # window                       35 ███████ 55
    monkeypatch.setattr(sqlite, "_EDGE_ROWS", 1)
    monkeypatch.setattr(scan_window, "_PLACE_SAMPLES", 1)
    trace = TraceBuilder().kernel(0, 10).kernel(20, 30).kernel(25, 26, device=1).kernel(40, 50).kernel(60, 70)
    trace.api("cudaMalloc", 1, 2).api("cudaFree", 45, 99).api("cudaMalloc", 61, 62).range("open", 22, None)
    path = trace.write(tmp_path / "t.sqlite")
    for options in (SummarizeOptions(), SummarizeOptions(sections=())):
        whole, part = (summarize_selection(path, select([(35, 55)]), options, how) for how in ("whole", "part"))
        assert part.to_json() == whole.to_json()
        assert [(device.device, device.busy_ns) for device in part.devices] == [(0, 10), (1, 0)]
        assert part.nvtx["open"].whole_sum_ns == 99 - 22


def test_a_part_is_read_and_not_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = TraceBuilder()
    for at in range(0, 20_000, 20):
        trace.api("cudaLaunchKernel_v7000", at, at + 5, correlation=at + 1).kernel(at + 6, at + 16, correlation=at + 1)
    path = trace.write(tmp_path / "t.sqlite")
    rows: list[int] = []
    take = GpuPart.add
    monkeypatch.setattr(GpuPart, "add", lambda self, kind, batch: (rows.append(len(batch)), take(self, kind, batch)))
    digest = summarize_selection(path, select([(10_000, 10_200)]), SummarizeOptions(), "part")
    assert digest.kernel_count == 10
    assert sum(rows) < 40  # of 1,000


def test_a_window_behind_all_work_read_in_part(tmp_path: Path) -> None:
    # kernel   0 ██ 10
    # call                         60 ██ 70
    # window                  50 ████████████ 80
    path = TraceBuilder().kernel(0, 10, correlation=None).api("cudaMalloc_v3020", 60, 70).write(tmp_path / "t.sqlite")
    for reading in ("whole", "part"):
        digest = summarize_selection(path, select([(50, 80)]), SummarizeOptions(), reading)  # type: ignore[arg-type]
        assert digest.idle is not None
        (account,) = digest.idle.devices
        assert {name: cause.sum_ns for name, cause in account.causes.items() if cause.sum_ns} == {"unattributed": 30}
