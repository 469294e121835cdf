"""Launches without a GPU row: what counts, and what the edge of a capture and a stream capture explain."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder import TraceBuilder
from nsys_digest import Digest, summarize

LAUNCH = "cudaLaunchKernel_v7000"
GRAPH = "cudaGraphLaunch_v10000"


def launches(count: int, having: range | set[int], *, name: str = LAUNCH, first: int = 1) -> TraceBuilder:
    """Draw launches of 10 ns, one each 100 ns, and the work of 50 ns of those in ``having``, 20 ns later."""
    trace = TraceBuilder()
    for index in range(count):
        at = 100 * index
        trace.api(name, at, at + 10, correlation=first + index)
        if index in having:
            (trace.graph if name == GRAPH else trace.kernel)(at + 20, at + 70, correlation=first + index)
    return trace


def digest(trace: TraceBuilder, folder: Path) -> Digest:
    return summarize(trace.write(folder / "t.sqlite"), sections=["launch", "idle"])


def lost(trace: TraceBuilder, folder: Path) -> list[str]:
    """Return the warnings of missing rows, up to the colon; the flag of the capture must say the same."""
    found = digest(trace, folder)
    told = [
        warn.message.partition(":")[0]
        for warn in found.warnings
        if warn.code in ("gpu-rows-missing", "graph-work-missing")
    ]
    assert found.capture.incomplete == bool(told)
    return told


def without(trace: TraceBuilder, folder: Path) -> int | None:
    section = digest(trace, folder).launch
    assert section is not None
    return section.without_work_count


def test_kernels_lost_all_over(tmp_path: Path) -> None:
    """Every tenth launch of a thousand has its kernel, and the last one: 899 have none."""
    trace = launches(1000, set(range(0, 1000, 10)) | {999})
    assert lost(trace, tmp_path) == ["899 of 1,000 kernel launches of process 1 have no GPU row"]
    assert without(trace, tmp_path) == 899


def test_graphs_lost_after_the_first_ten(tmp_path: Path) -> None:
    trace = launches(1000, range(10), name=GRAPH).api(LAUNCH, 100_000, 100_010, correlation=5000)
    trace.kernel(100_020, 100_030, correlation=5000)
    found = digest(trace, tmp_path)
    assert [(warn.code, warn.message[:12]) for warn in found.warnings] == [("graph-work-missing", "990 of 1,000")]
    assert found.launch is not None
    assert found.launch.without_work_count == 990


def test_graphs_lost_of_those_traced_node_by_node(tmp_path: Path) -> None:
    trace = launches(3, range(0), name=GRAPH).kernel(220, 230, correlation=3, graph_node=8)
    assert lost(trace, tmp_path) == ["2 of 3 CUDA graph launches of process 1 have no GPU row"]


@pytest.mark.parametrize(("count", "having"), [(4, 2), (2000, 1000), (2100, 1076)])
def test_work_that_had_not_run_at_the_end(count: int, having: int, tmp_path: Path) -> None:
    """Up to half of a thread's launches, and 1,024 of them, may wait behind its last one with a row."""
    trace = launches(count, range(having))
    assert lost(trace, tmp_path) == []
    assert without(trace, tmp_path) == count - having


@pytest.mark.parametrize(("count", "having"), [(5, 2), (2100, 1075)])
def test_more_than_can_have_waited_at_the_end(count: int, having: int, tmp_path: Path) -> None:
    assert lost(launches(count, range(having)), tmp_path) == [
        f"{count - having:,} of {count:,} kernel launches of process 1 have no GPU row"
    ]


@pytest.mark.parametrize(("at", "told"), [(6000, 0), (1000, 1)])
def test_threads_that_launch_only_at_the_end(at: int, told: int, tmp_path: Path) -> None:
    """Four threads launch once each: behind the last launch with work, at 5,900, they may wait; at 1,000 not."""
    trace = launches(60, range(60))
    for thread in range(2, 6):
        trace.api(LAUNCH, at, at + 10, thread=thread, correlation=100 + thread)
    assert len(lost(trace, tmp_path)) == told


@pytest.mark.parametrize(("missing", "told"), [(10, 0), (11, 1)])
def test_a_few_that_wait_in_another_stream(missing: int, told: int, tmp_path: Path) -> None:
    """Of 1,000 launches 10 are 1 %, and no fault where later ones of the thread have rows."""
    assert len(lost(launches(1000, range(missing, 1000)), tmp_path)) == told


@pytest.mark.parametrize(("result", "told"), [(0, 1), (719, 0)])
def test_a_wait_that_returned_proves_that_all_had_run(result: int, told: int, tmp_path: Path) -> None:
    # launches   1  2  3   cudaDeviceSynchronize
    # kernels     1  2
    trace = launches(4, range(2)).api("cudaDeviceSynchronize_v3020", 500, 600, correlation=9, returnValue=result)
    assert len(lost(trace, tmp_path)) == told


@pytest.mark.parametrize(("context", "told"), [(1, 1), (2, 0)])
def test_a_wait_for_another_device_proves_nothing(context: int, told: int, tmp_path: Path) -> None:
    trace = launches(4, range(2)).api("cudaDeviceSynchronize_v3020", 500, 600, correlation=9)
    trace.sync(510, 590, kind=4, context=context, stream=0xFFFFFFFF, correlation=9)
    assert len(lost(trace, tmp_path)) == told


def test_a_wait_proves_nothing_where_the_process_has_two_contexts(tmp_path: Path) -> None:
    trace = launches(4, range(2)).api("cudaDeviceSynchronize_v3020", 500, 600, correlation=9)
    trace.api(LAUNCH, -20, -10, correlation=8).kernel(-9, -1, correlation=8, context=2)
    assert lost(trace, tmp_path) == []


def test_what_is_captured_into_a_graph_runs_later(tmp_path: Path) -> None:
    """A capture of one thread holds what others launch meanwhile; before and after it launches count."""
    #            begin 100            end 200
    # thread 1     ├──────────────────────┤
    # thread 2          launch 120                launch 250: lost, launch 300: has work
    trace = TraceBuilder().api("cudaStreamBeginCapture_v10000", 100, 105, correlation=1)
    trace.api("cudaStreamEndCapture_v10000", 190, 200, correlation=2)
    trace.api(LAUNCH, 120, 130, thread=2, correlation=3).api(LAUNCH, 300, 310, thread=2, correlation=5)
    trace.kernel(320, 330, correlation=5)
    assert lost(trace, tmp_path) == []
    assert without(trace, tmp_path) == 0
    trace.api(LAUNCH, 250, 260, thread=2, correlation=4)
    assert lost(trace, tmp_path) == ["1 of 2 kernel launches of process 1 has no GPU row"]


def test_a_capture_may_end_on_another_thread(tmp_path: Path) -> None:
    """Begun on thread 1 and ended on thread 2: what follows counts, what lies within does not."""
    # thread 1   begin 100    launch 120                 launch 300: has work
    # thread 2                            end 190 - 200           launch 400: lost
    trace = TraceBuilder().api("cudaStreamBeginCapture_v10000", 100, 105, correlation=1)
    trace.api("cudaStreamEndCapture_v10000", 190, 200, thread=2, correlation=2)
    trace.api(LAUNCH, 120, 130, correlation=3).api(LAUNCH, 300, 310, correlation=4).kernel(320, 330, correlation=4)
    assert without(trace, tmp_path) == 0
    trace.api(LAUNCH, 400, 410, thread=2, correlation=5)
    assert without(trace, tmp_path) == 1


def test_captures_that_began_before_the_trace_and_on_another_thread(tmp_path: Path) -> None:
    """The end of thread 2 at 50 has no begin before it; that of thread 3 at 200 is that of the begin of thread 1."""
    trace = TraceBuilder().api("cudaStreamEndCapture_v10000", 40, 50, thread=2, correlation=1)
    trace.api("cudaStreamBeginCapture_v10000", 100, 105, correlation=2)
    trace.api("cudaStreamEndCapture_v10000", 190, 200, thread=3, correlation=3)
    for at in (10, 60, 150, 250):  # captured, not, captured, not
        trace.api(LAUNCH, at, at + 5, thread=4, correlation=at)
    assert without(trace, tmp_path) == 2


def test_a_capture_that_began_before_the_trace(tmp_path: Path) -> None:
    trace = launches(1, range(1), first=9).api(LAUNCH, -50, -40, correlation=1)
    trace.api("cuStreamEndCapture", -30, -20, correlation=2)
    assert lost(trace, tmp_path) == []


def test_a_capture_that_did_not_begin_captures_nothing(tmp_path: Path) -> None:
    trace = launches(1, range(1), first=9).api(
        "cudaStreamBeginCapture_v10000", -90, -80, correlation=1, returnValue=900
    )
    trace.api(LAUNCH, -50, -40, correlation=2)
    assert lost(trace, tmp_path) == ["1 of 2 kernel launches of process 1 has no GPU row"]


def test_an_end_of_a_capture_that_failed_excuses_nothing(tmp_path: Path) -> None:
    """No capture was begun, so that the call to end one failed: the launch without a row lacks it all the same."""
    trace = launches(2, {1}).api("cudaStreamEndCapture_v10000", 500, 510, correlation=90, returnValue=400)
    assert without(trace, tmp_path) == 1


def test_many_processes_are_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each process has a launch with its kernel and one without: twice the processes are twice the rows, not four.

    Rows are counted that numpy looks through for those that meet a condition.
    """
    looked_at = []
    flatnonzero = np.flatnonzero

    def counted(values: Any) -> Any:
        looked_at[-1] += np.size(values)
        return flatnonzero(values)

    monkeypatch.setattr(np, "flatnonzero", counted)
    for processes in (200, 400):
        trace = TraceBuilder()
        for process in range(1, processes + 1):
            at = 100 * process
            trace.api("cudaStreamBeginCapture_v10000", at, at + 1, process=process, correlation=1)
            trace.api("cudaStreamEndCapture_v10000", at + 2, at + 3, process=process, correlation=2)
            trace.api(LAUNCH, at + 10, at + 11, process=process, correlation=3)
            trace.kernel(at + 12, at + 14, process=process, correlation=3)
            trace.api(LAUNCH, at + 20, at + 21, process=process, correlation=4)
        path = trace.write(tmp_path / f"{processes}.sqlite")
        looked_at.append(0)
        summarize(path, threads=1)
    assert looked_at[1] < 3 * looked_at[0]


def test_a_launch_that_failed_has_no_work(tmp_path: Path) -> None:
    trace = launches(1, range(1)).api(LAUNCH, -50, -40, correlation=7, returnValue=222)
    assert lost(trace, tmp_path) == []
    assert without(trace, tmp_path) == 0


@pytest.mark.parametrize("id_of_work", [1, 2])
def test_of_nested_launches_one_has_the_work(id_of_work: int, tmp_path: Path) -> None:
    # cudaLaunchKernel  0 ├──────────┤ 20
    # cuLaunchKernel     5 ├────┤ 15
    trace = TraceBuilder().api(LAUNCH, 0, 20, correlation=1).api("cuLaunchKernel", 5, 15, correlation=2, event_class=1)
    assert lost(trace.kernel(30, 40, correlation=id_of_work), tmp_path) == []


@pytest.mark.parametrize(("copies", "having", "told"), [(20, 10, 0), (20, 9, 1), (9, 1, 0)])
def test_copies_may_leave_no_row(copies: int, having: int, told: int, tmp_path: Path) -> None:
    trace = launches(1, range(1))
    for index in range(copies):
        at = 200 + 10 * index
        trace.api("cudaMemcpyAsync_v3020", at, at + 2, correlation=10 + index)
        if index < having:
            trace.memcpy(at + 3, at + 5, correlation=10 + index)
    assert lost(trace, tmp_path) == [f"{copies - having} of {copies} copies of process 1 have no GPU row"][:told]


def test_prefetches_are_no_copies(tmp_path: Path) -> None:
    trace = launches(1, range(1))
    for index in range(20):
        trace.api("cuMemPrefetchAsync", 200 + index, 201 + index, correlation=10 + index)
    assert lost(trace, tmp_path) == []


def test_an_export_without_correlation_ids_tells_nothing(tmp_path: Path) -> None:
    trace = launches(10, range(10)).drop_columns("CUPTI_ACTIVITY_KIND_KERNEL", "correlationId")
    assert lost(trace, tmp_path) == []
    assert without(trace, tmp_path) is None


def test_lost_events_of_the_collector_make_a_capture_incomplete(tmp_path: Path) -> None:
    def incomplete(kind: str) -> bool:
        trace = launches(1, range(1)).diagnostic(f"Not all {kind} events might have been collected.")
        return digest(trace, tmp_path).capture.incomplete

    assert incomplete("CUDA")
    assert not incomplete("NVTX")


@pytest.mark.parametrize(
    ("result", "words", "incomplete"),
    [
        (0, "The driver or permissions kept it from nsys", True),
        (222, "1 call that should put work on it returned an error, and no other was made", False),
    ],
)
def test_why_there_is_no_gpu_activity(result: int, words: str, incomplete: bool, tmp_path: Path) -> None:
    found = digest(TraceBuilder().api(LAUNCH, 0, 5, returnValue=result), tmp_path)
    (message,) = [warn.message for warn in found.warnings if warn.code == "no-gpu-activity"]
    assert words in message
    assert found.capture.incomplete == incomplete


def test_a_program_that_launched_nothing(tmp_path: Path) -> None:
    (warn,) = digest(TraceBuilder().api("cudaMalloc_v3020", 0, 5), tmp_path).warnings
    assert "No kernel, CUDA graph, copy or set was launched" in warn.message
    assert "permissions" not in warn.message


def test_failed_calls_by_name_and_error(tmp_path: Path) -> None:
    trace = launches(1, range(1))
    for at, name, value in (
        (200, LAUNCH, 222),
        (210, LAUNCH, 222),
        (220, "cuModuleLoadData", 218),
        (230, "cudaMalloc_v3020", 2),
        (240, "cudaEventQuery_v3020", 600),
        (250, "cuEventQuery", 600),
        (260, "cudaFree_v3020", 12345),
    ):
        trace.api(name, at, at + 1, correlation=at, returnValue=value)
    found = digest(trace, tmp_path)
    assert found.failed_calls is not None
    assert [(one.name, one.error, one.value, one.count) for one in found.failed_calls] == [
        (LAUNCH, "cudaErrorUnsupportedPtxVersion", 222, 2),
        ("cuModuleLoadData", "CUDA_ERROR_INVALID_PTX", 218, 1),
        ("cudaFree_v3020", None, 12345, 1),
        ("cudaMalloc_v3020", "cudaErrorMemoryAllocation", 2, 1),
    ]
    (warn,) = found.warnings
    assert warn.message.startswith(
        f"5 CUDA API calls returned an error: 2 {LAUNCH} cudaErrorUnsupportedPtxVersion (222), 1 cuModuleLoadData"
    )
    assert "and 1 more in failed_calls" in warn.message
    assert Digest.from_json(found.to_json()) == found


def test_an_export_that_does_not_say_what_calls_returned(tmp_path: Path) -> None:
    found = digest(launches(1, range(1)).drop_columns("CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue"), tmp_path)
    assert found.failed_calls is None
    assert [warn.code for warn in found.warnings] == ["reduced-schema"]


@pytest.mark.parametrize("name", [LAUNCH, GRAPH])
@pytest.mark.parametrize(("having", "told"), [(50, 0), (49, 1)])
def test_without_sections_counts_are_compared(name: str, having: int, told: int, tmp_path: Path) -> None:
    found = summarize(launches(100, range(having), name=name).write(tmp_path / "t.sqlite"), sections=[])
    assert len(found.warnings) == told
    assert found.capture.incomplete == bool(told)


def test_without_sections_captures_excuse_kernel_launches(tmp_path: Path) -> None:
    trace = launches(100, range(1)).api("cudaStreamBeginCapture_v10000", -9, -8, correlation=900)
    assert summarize(trace.write(tmp_path / "t.sqlite"), sections=[]).warnings == ()


@pytest.mark.parametrize("sections", [[], ["launch"]])
def test_gpu_rows_that_name_no_process_are_of_some_process(sections: list[str], tmp_path: Path) -> None:
    trace = launches(10, range(10)).drop_columns("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid")
    found = summarize(trace.write(tmp_path / "t.sqlite"), sections=sections)
    assert [warn.code for warn in found.warnings] == ["reduced-schema"]
    assert not found.capture.incomplete
