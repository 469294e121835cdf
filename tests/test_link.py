"""Which call launched which work: ids in use once, twice, nested, and of any size."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, summarize

LAUNCH = "cudaLaunchKernel_v7000"
MS = 1_000_000


def digest(trace: TraceBuilder, folder: Path) -> Digest:
    return summarize(trace.write(folder / "t.sqlite", shuffle=Random(1)))


def launched(trace: TraceBuilder, folder: Path) -> dict[str, int | None]:
    """Return how many kernels each range launched."""
    return {
        name: one.detail.launched_kernel_count if one.detail else None
        for name, one in digest(trace, folder).nvtx.items()
    }


@pytest.mark.parametrize("other_id", [2, 10**9])
def test_ids_that_start_anew(other_id: int, tmp_path: Path) -> None:
    """Two runs of one process; with the other id so far away, ids are looked up by search, not in a table."""
    # call     id 1 ├┤ 5 µs                 1000.001 ms ├── id 1 ──┤ 1009 ms
    # kernel         a 6 to 16 µs                                     b 1009.001 to 1009.5 ms
    late = 1_000 * MS
    trace = TraceBuilder().api(LAUNCH, 0, 5_000, correlation=1).kernel(6_000, 16_000, correlation=1)
    trace.range("second run", late, late + 10 * MS)
    trace.api(LAUNCH, late + 1_000, late + 9 * MS, correlation=1)
    trace.kernel(late + 9 * MS + 1_000, late + 9 * MS + 500_000, correlation=1)
    trace.api("cudaMalloc_v3020", 5_000, 5_000, correlation=other_id)
    found = digest(trace, tmp_path)
    assert found.nvtx["second run"].detail is not None
    assert found.nvtx["second run"].detail.launched_kernel_count == 1
    assert found.launch is not None
    assert found.launch.kernels.api.count == 2
    assert found.idle is not None
    causes = found.idle.devices[0].causes
    assert {name: cause.sum_ns for name, cause in causes.items() if cause.sum_ns} == {
        "host": 999_985_000,
        "launch_call": 8_999_000,
        "queued": 1_000,
    }
    assert found.warnings == ()


@pytest.mark.parametrize("start", [15, 25])
def test_of_nested_calls_the_outer_is_the_launch(start: int, tmp_path: Path) -> None:
    # outer  0 ├────────────────┤ 30
    # inner      10 ├────┤ 20           a second run: 100 ├┤ 105
    trace = TraceBuilder().api(LAUNCH, 0, 30, correlation=1).range("outer", -1, 31)
    trace.api("cuLaunchKernel", 10, 20, correlation=1, event_class=1).range("inner", 9, 21)
    trace.api(LAUNCH, 100, 105, correlation=1).range("second", 99, 106)
    trace.kernel(start, 40, correlation=1).kernel(120, 130, correlation=1).kernel(100, 101, correlation=1)
    assert launched(trace, tmp_path) == {"outer": 1, "inner": 0, "second": 2}


def test_work_before_every_call_of_its_id_is_of_the_first(tmp_path: Path) -> None:
    trace = TraceBuilder().api(LAUNCH, 10, 15, correlation=1).range("first", 9, 16)
    trace.api(LAUNCH, 20, 25, correlation=1).range("second", 19, 26).kernel(5, 7, correlation=1)
    assert launched(trace, tmp_path) == {"first": 1, "second": 0}


def test_ids_start_anew_in_one_process_and_not_in_another(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for process in (1, 2):
        for at in (0, 100)[:process]:
            trace.api(LAUNCH, at, at + 5, correlation=1, process=process, thread=process)
            trace.range(f"{process} at {at}", at - 1, at + 6, process=process, thread=process)
    trace.kernel(110, 120, correlation=1, process=1).kernel(110, 120, correlation=1, process=2)
    assert launched(trace, tmp_path) == {"1 at 0": 1, "2 at 0": 0, "2 at 100": 1}


@pytest.mark.parametrize("ids", [(5, 40_000), (40_000, 5), (5, 2**31), (-3, 2**40), (2**62, -(2**62))])
def test_ids_of_work_and_of_calls_far_apart(ids: tuple[int, int], tmp_path: Path) -> None:
    """Neither fits in the integers of the other's column; no call is found, and none is made up."""
    work, call = ids
    trace = TraceBuilder().api(LAUNCH, 0, 5, correlation=call).range("r", -1, 6).kernel(6, 9, correlation=work)
    assert launched(trace, tmp_path) == {"r": 0}
    trace.kernel(10, 20, correlation=call)
    assert launched(trace, tmp_path) == {"r": 1}


def test_an_export_whose_rows_and_calls_all_name_no_process(tmp_path: Path) -> None:
    """Some tools cut globalTid down to the thread: there is one program, so its calls launched the work."""
    trace = TraceBuilder().api(LAUNCH, 0, 5, correlation=1, globalTid=1).kernel(6, 9, correlation=1)
    found = digest(trace.drop_columns("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid"), tmp_path)
    assert found.launch is not None
    assert (found.launch.kernels.api.count, found.launch.unmatched_kernel_count) == (1, 0)
    assert [warn.code for warn in found.warnings] == ["reduced-schema"]
