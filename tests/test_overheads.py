"""Overhead of the driver and of the profiler on the thread that ended a gap, and moves of unified memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, summarize
from nsys_digest.compare.span_breakdown import device_breakdowns
from nsys_digest.model.idle_causes import NEWER_CAUSES
from nsys_digest.report.digest import digest_report
from nsys_digest.trace.nsys.overheads import Overhead, overhead_of
from nsys_digest.trace.nsys.tables import OVERHEAD_TABLES

LAUNCH = "cudaLaunchKernel_v7000"


def gap(version: str = "2026.1") -> TraceBuilder:
    """Draw a gap of 900 ns that a launch call of 500 ns ends.

    GPU    #####                                    #####
           0  100                                   1000
    calls                    launch============
                             400            900
    """
    trace = TraceBuilder(version).api(LAUNCH, -20, 0, correlation=1).kernel(0, 100, correlation=1, name="a")
    return trace.api(LAUNCH, 400, 900, correlation=2).kernel(1000, 1100, correlation=2, name="b")


def digest_of(trace: TraceBuilder, tmp_path: Path) -> Digest:
    return summarize(trace.write(tmp_path / "t.sqlite"))


def causes(digest: Digest) -> dict[str, int]:
    assert digest.idle is not None
    (device,) = digest.idle.devices
    return {name: cause.sum_ns for name, cause in device.causes.items() if cause.sum_ns}


def test_without_overhead(tmp_path: Path) -> None:
    digest = digest_of(gap(), tmp_path)
    assert causes(digest) == {"queued": 100, "launch_call": 500, "host": 300}
    assert digest.idle is not None
    assert digest.launch is not None
    assert (digest.idle.devices[0].queue_full_ns, digest.launch.driver_overhead) == (None, None)


def test_loading_in_a_launch_and_the_profiler_around_it(tmp_path: Path) -> None:
    """What began last decides.

    launch        400=================900
    flush      300-----450
    loading             500--------800
    instrumentation        600-650
    """
    trace = gap().overhead("CUPTI Buffer flush", 300, 450).overhead("CUPTI Instrumentation", 600, 650)
    trace.overhead("Runtime Triggered Module Loading", 500, 800, driver=True, kind=6)
    assert causes(digest_of(trace, tmp_path)) == {
        "queued": 100,
        "launch_call": 500 - 300,
        "host": 200,
        "profiler": (400 - 300) + 50,
        "module_call": 300 - 50,
    }


def test_a_full_queue_is_told_apart_from_other_time_in_launches(tmp_path: Path) -> None:
    trace = gap().overhead("Command Buffer Full", 450, 850, driver=True, kind=8)
    digest = digest_of(trace.overhead("Lazy Function Loading", 420, 430, driver=True, kind=7), tmp_path)
    assert causes(digest) == {"queued": 100, "launch_call": 490, "host": 300, "module_call": 10}
    assert digest.idle is not None
    assert digest.idle.devices[0].queue_full_ns == 400
    assert digest.launch is not None
    assert digest.launch.driver_overhead is not None
    totals = {kind: (one.count, one.sum_ns) for kind, one in digest.launch.driver_overhead.items()}
    assert totals == {"loading": (1, 10), "queue_full": (1, 400)}


@pytest.mark.parametrize(
    "trace",
    [
        gap().overhead("Unknown", 150, 800, kind=1),
        gap().overhead("dlopen(libtorch.so)", 120, 390),
        gap().overhead("CUPTI Buffer flush", 150, 800, thread=2),
        gap().overhead("CUPTI Buffer flush", 150, 800, process=2),
        gap().overhead("CUPTI Buffer flush", 900, 1000),
        gap().overhead("CUPTI Buffer flush", 150, 150).overhead("CUPTI Buffer flush", 200, 100),
        gap().overhead("Something New", 150, 800, driver=True, kind=77),
    ],
    ids=["unknown", "dlopen", "thread", "process", "queued", "no length", "new kind of the driver"],
)
def test_overhead_that_explains_nothing(trace: TraceBuilder, tmp_path: Path) -> None:
    assert causes(digest_of(trace, tmp_path)) == {"queued": 100, "launch_call": 500, "host": 300}


@pytest.mark.parametrize(
    ("table", "name", "kind", "overhead"),
    [
        (0, "CUPTI: Buffer flush", -1, Overhead.profiler),
        (0, "CUPTI buffer flush", 0, Overhead.profiler),
        (0, "CUDA profiling initialization", 0, Overhead.profiler),
        (0, "A name of tomorrow", -1, Overhead.profiler),
        (0, "Runtime Triggered Module Loading", 0, Overhead.loading),
        (0, "A name of tomorrow", 2, Overhead.loading),
        (0, "dlopen(libcuda.so.1)", 0, Overhead.unknown),
        (0, "dlclose", -1, Overhead.unknown),
        (0, "Unknown", 1, Overhead.unknown),
        (1, "Lazy Function Loading", 7, Overhead.loading),
        (1, "[string 9]", 8, Overhead.queue_full),
        (1, "A name of tomorrow", 99, Overhead.unknown),
    ],
)
def test_what_a_row_says(table: int, name: str, kind: int, overhead: Overhead) -> None:
    assert overhead_of(OVERHEAD_TABLES[table], name, kind) is overhead


def test_the_first_launch_of_each_kernel_name(tmp_path: Path) -> None:
    """Of process 1 `a` took 20 ns and `b` 500, whatever ran later; of process 2 `a` took 7."""
    trace = gap().api(LAUNCH, 1200, 1203, correlation=3).kernel(1300, 1310, correlation=3, name="a")
    trace.api(LAUNCH, 1300, 1307, correlation=1, process=2).kernel(1400, 1410, correlation=1, process=2, name="a")
    trace.api("cudaGraphLaunch_v10000", 1500, 1600, correlation=4)
    trace.kernel(1610, 1620, correlation=4, name="in a graph", graph_node=3)
    digest = digest_of(trace, tmp_path)
    assert digest.launch is not None
    first = digest.launch.first_of_kernel
    assert first is not None
    assert (first.count, first.total_ns, first.min_ns, first.p50_ns, first.max_ns) == (3, 527, 7, 20, 500)


def moves() -> TraceBuilder:
    """Draw moves of unified memory between kernels.

    GPU   k=====      move===   move===        k====
          0   100     300 400   500 600        900
    """
    trace = TraceBuilder().api(LAUNCH, -20, 0, correlation=1).kernel(0, 100, correlation=1)
    for start in (300, 500):
        trace.memcpy(start, start + 100, kind=12, correlation=0, stream=0, bytes=4096)
    return trace.api(LAUNCH, 650, 700, correlation=2).kernel(900, 950, correlation=2)


def test_gaps_that_moves_of_unified_memory_end(tmp_path: Path) -> None:
    digest = digest_of(moves(), tmp_path)
    assert causes(digest) == {"migration": 200 + 100, "queued": 200, "launch_call": 50, "host": 50}


def test_moves_by_direction_and_cause_and_page_faults(tmp_path: Path) -> None:
    trace = moves()
    for cause, size in ((2, 100), (1, 50), (2, 8), (None, 3)):
        trace.memcpy(400, 410, kind=11, correlation=0, stream=0, bytes=size, migrationCause=cause)
    for at in (5, 6, 7):
        trace.row("CUDA_UM_CPU_PAGE_FAULT_EVENTS", start=at, address=4096)
    for faults in (40, 2):
        trace.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=8, end=9, numberOfPageFaults=faults)
    digest = digest_of(trace, tmp_path)
    assert digest.memory is not None
    assert [(one.direction, one.cause, one.count, one.bytes, one.sum_ns) for one in digest.memory.migrations] == [
        ("to host", None, 2, 8192, 200),
        ("to device", "page fault", 2, 108, 20),
        ("to device", None, 1, 3, 10),
        ("to device", "prefetch", 1, 50, 10),
    ]
    assert (digest.memory.cpu_page_fault_count, digest.memory.gpu_page_fault_count) == (3, 42)
    (block,) = [block for block in digest_report(digest, top=20).blocks if block.title == "Memory"]
    assert [row[-1] for row in block.rows] == ["migration to host (UVM DtoH)", "migration to device (UVM HtoD)"]
    assert "2 migrations to device by page fault" in block.note
    assert "42 GPU page faults" in block.note


def test_page_faults_that_were_not_traced_are_no_zero(tmp_path: Path) -> None:
    memory = digest_of(moves(), tmp_path).memory
    assert memory is not None
    assert (memory.cpu_page_fault_count, memory.gpu_page_fault_count) == (None, None)


def before_there_were_more_causes(digest: Digest) -> Digest:
    """Return the digest as a version without ``profiler`` and ``migration`` would have written it."""
    document: dict[str, Any] = digest.to_dict()
    for device in document["idle"]["devices"]:
        folded = device["causes"]
        folded["unattributed"] = folded["migration"]
        for name in NEWER_CAUSES:
            del folded[name]
    return Digest.from_dict(document)


def test_a_document_of_before_is_read_and_compared_by_what_it_knew(tmp_path: Path) -> None:
    """Its ``unattributed`` holds what is ``migration`` now, so nothing moved; ``profiler`` time nobody can place."""
    now = digest_of(moves(), tmp_path)
    before = before_there_were_more_causes(now)
    assert before.idle is not None
    assert set(before.idle.devices[0].causes).isdisjoint(NEWER_CAUSES)
    (pair,) = device_breakdowns(before, now)
    terms = {term.name: (term.base_ns, term.head_ns) for term in pair.breakdown.terms}
    assert terms["idle unattributed"] == (300, 300)
    assert "idle migration" not in terms
    flushed = digest_of(moves().overhead("CUPTI Buffer flush", 610, 640), tmp_path)
    (pair,) = device_breakdowns(before, flushed)
    terms = {term.name: (term.base_ns, term.head_ns) for term in pair.breakdown.terms if term.group == "idle"}
    assert terms == {"idle": (600, 600)}
