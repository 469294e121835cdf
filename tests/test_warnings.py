"""Every warning code, each from the smallest trace that deserves it, and its neighbour that does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.model.warning_codes import CODES


def codes(trace: TraceBuilder, folder: Path) -> list[str]:
    return [warn.code for warn in summarize(trace.write(folder / "t.sqlite")).warnings]


def launched() -> TraceBuilder:
    """Draw one launch and its kernel: nothing to warn about."""
    return TraceBuilder().api("cudaLaunchKernel_v7000", 0, 5, correlation=1).kernel(6, 9, correlation=1)


def graph_launch(trace: TraceBuilder, process: int = 1) -> TraceBuilder:
    return trace.api("cudaGraphLaunch_v10000", 10, 12, correlation=2, process=process)


def many_sizes() -> TraceBuilder:
    trace = launched()
    for number in range(1_000):
        trace.mark(f"CG_DISPATCH:actual=1:mode=NONE:padded={number}", 100 + number)
    return trace


def many_streams(count: int = 1_001) -> TraceBuilder:
    trace = TraceBuilder()
    for stream in range(1, count + 1):
        trace.api("cudaLaunchKernel_v7000", 10 * stream, 10 * stream + 1, correlation=stream)
        trace.kernel(10 * stream + 1, 10 * stream + 2, stream=stream, correlation=stream)
    return trace


def two_processes() -> TraceBuilder:
    """Draw a launch and its kernel in each of two processes, both on device 0."""
    return (
        launched().api("cudaLaunchKernel_v7000", 0, 5, process=2, correlation=1).kernel(6, 9, process=2, correlation=1)
    )


DESERVED = {
    "truncated-capture": launched().diagnostic("Not all CUDA events might have been collected."),
    "collector-report": launched().diagnostic("CUPTI: ActivityFlushAll failed", severity=3),
    "range-captured": (
        launched()
        .diagnostic("Profiling started due to cudaProfilerStart API invoked in the application.", severity=1)
        .diagnostic("Not all NVTX events might have been collected.")
        .diagnostic("Not all CUDA events might have been collected.")
    ),
    "graph-work-missing": graph_launch(launched()),
    "gpu-rows-missing": launched().api("cudaLaunchKernel_v7000", -9, -5, correlation=2),
    "impossible-times": launched().session(100).kernel(3_000_000_000, 3_000_000_001),
    "failed-calls": launched().api("cudaMalloc_v3020", 10, 12, returnValue=2),
    "no-gpu-activity": TraceBuilder().api("cudaMalloc_v3020", 0, 5),
    "process-without-gpu": launched().api("cuLaunchKernelEx", 0, 5, process=2, correlation=9),
    "open-ranges": launched().range("r", 1, None),
    "skipped-intervals": launched().kernel(20, 20),
    "unattributed-work": launched().kernel(20, 30, correlation=99),
    "graph-kernels-unseen": graph_launch(launched()).graph(13, 20, correlation=2),
    "dispatch-capped": many_sizes(),
    "streams-capped": many_streams(),
    "dispatch-disagrees": (
        launched()
        .mark("CG_DISPATCH:actual=1:mode=FULL:padded=8", -5)
        .mark("CG_DISPATCH:actual=1:mode=NONE:padded=1", 50)
    ),
    "newer-schema": launched().meta("EXPORT_SCHEMA_VERSION", "3.26.0"),
    "reduced-schema": launched().drop_columns("CUPTI_ACTIVITY_KIND_KERNEL", "contextId"),
    "gpu-name-guessed": (launched().gpu(0, "first", id=0, processes=()).gpu(1, "second", id=1, processes=())),
    "device-ambiguous": (two_processes().gpu(0, "a", id=0, processes=()).gpu(1, "b", id=1, processes=())),
    "ordinal-shared": (
        launched()
        .api("cudaLaunchKernel_v7000", 0, 5, process=2, correlation=1)
        .kernel(6, 9, process=2)
        .gpu(0, "a", id=0, processes=(1,))
        .gpu(0, "b", id=1, processes=(2,))
    ),
    "nothing-recorded": TraceBuilder(lazy=False),
}


def test_each_code_has_a_trace() -> None:
    assert {*DESERVED, "names-capped", "steps-cut", "steps-unmeasured"} == set(CODES)


@pytest.mark.parametrize("code", DESERVED)
def test_a_trace_that_deserves_it(code: str, tmp_path: Path) -> None:
    assert codes(DESERVED[code], tmp_path) == [code]


@pytest.mark.parametrize(
    "trace",
    [
        pytest.param(launched(), id="plain"),
        pytest.param(graph_launch(launched()).kernel(13, 20, correlation=2, graph_node=4), id="graph nodes"),
        pytest.param(launched().range("r", 1, 2), id="closed range"),
        pytest.param(launched().diagnostic("No OpenGL events collected."), id="diagnostic of no concern"),
        pytest.param(
            launched().diagnostic("Not all OpenGL events might have been collected."), id="lost, of no concern"
        ),
        pytest.param(launched().diagnostic("CUDA is fine", severity=1), id="information"),
        pytest.param(launched().meta("EXPORT_SCHEMA_VERSION", "3.25.9"), id="known schema"),
        pytest.param(launched().gpu(0, "only", processes=()), id="one GPU"),
        pytest.param(launched().gpu(0, "a", id=3).gpu(1, "b", id=0), id="mapped GPUs"),
        pytest.param(two_processes().gpu(0, "only", processes=()), id="two processes, one GPU"),
        pytest.param(many_streams(1_000), id="as many streams as are listed"),
        pytest.param(
            two_processes().gpu(0, "a", id=0, processes=(1, 2)).gpu(1, "b", id=1, processes=()),
            id="two mapped processes",
        ),
        pytest.param(launched().api("cudaMalloc_v3020", 0, 1, process=2), id="a process that launches nothing"),
    ],
)
def test_a_trace_that_does_not(trace: TraceBuilder, tmp_path: Path) -> None:
    assert codes(trace, tmp_path) == []


def test_graph_rows_are_no_fault_where_no_section_looks_inside(tmp_path: Path) -> None:
    path = graph_launch(launched()).graph(13, 20, correlation=2).write(tmp_path / "t.sqlite")
    assert summarize(path, sections=["idle", "launch", "memory"]).warnings == ()


def test_marks_and_graph_launches_that_disagree(tmp_path: Path) -> None:
    # mark    full      none     full     full (last: no step)
    # graph       |        |
    trace = launched().kernel(100, 110, graph_node=1, correlation=7)
    for at, mode in ((10, "FULL"), (20, "NONE"), (30, "FULL"), (40, "FULL")):
        trace.mark(f"CG_DISPATCH:mode={mode}", at)
    trace.api("cudaGraphLaunch_v10000", 12, 13, correlation=7).api("cudaGraphLaunch_v10000", 22, 23, correlation=8)
    messages = [warn.message for warn in summarize(trace.write(tmp_path / "t.sqlite")).warnings]
    assert [message.split(";")[0] for message in messages] == [
        "1 of 2 steps whose mark says mode FULL, a CUDA graph, launched none",
        "1 of 1 steps whose mark says mode NONE, no CUDA graph, launched one",
    ]


def test_more_range_names_than_are_kept(tmp_path: Path) -> None:
    trace = launched().range("a", 0, 1).range("b", 0, 1)
    path = trace.write(tmp_path / "t.sqlite")
    assert [warn.code for warn in summarize(path, max_nvtx_names=1).warnings] == ["names-capped"]
    assert summarize(path, max_nvtx_names=2).warnings == ()


def test_ranges_that_nsys_ended_with_the_session_count_as_open(tmp_path: Path) -> None:
    trace = launched().session(100).range("left open", 1, 100).range("ended", 1, 99)
    assert codes(trace, tmp_path) == ["open-ranges"]


def test_ranges_without_any_cuda(tmp_path: Path) -> None:
    assert codes(TraceBuilder().range("cpu only", 0, 5), tmp_path) == ["no-gpu-activity"]


def test_graph_launches_are_told_apart_by_process(tmp_path: Path) -> None:
    """Graph rows of one process do not excuse another, whose launch has the same correlation id."""
    trace = graph_launch(graph_launch(launched()).graph(13, 20, correlation=2), process=2)
    trace.kernel(6, 9, process=2).gpu(0, "only", processes=())
    digest = summarize(trace.write(tmp_path / "t.sqlite"), sections=[])
    assert [(warn.code, "process 2 launched 1 CUDA graph," in warn.message) for warn in digest.warnings] == [
        ("graph-work-missing", True)
    ]


def test_reversed_calls_and_ranges_are_counted_and_add_no_time(tmp_path: Path) -> None:
    trace = launched().api("cudaFree_v3020", 9, 4).range("r", 8, 2)
    digest = summarize(trace.write(tmp_path / "t.sqlite"))
    assert [warn.message.split(" ", 1)[0] for warn in digest.warnings] == ["1", "1"]
    assert digest.api["cudaFree_v3020"].total_ns == 0
    assert (digest.nvtx["r"].count, digest.nvtx["r"].sum_ns, digest.nvtx["r"].union_ns) == (1, 0, 0)


@pytest.mark.parametrize(
    ("trace", "lost", "words"),
    [
        (launched(), "CUDA", "Counts, sums and busy time are lower bounds: capture a shorter stretch"),
        (launched(), "NVTX", "The trace has no NVTX range or mark: none is missing unless the program makes some"),
        (launched().range("r", 1, 2), "NVTX", "Counts and times of NVTX ranges and marks are lower bounds, GPU"),
    ],
    ids=["CUDA", "no NVTX", "NVTX"],
)
def test_lost_events_say_which_figures_they_touch(trace: TraceBuilder, lost: str, words: str, tmp_path: Path) -> None:
    said = f"Not all {lost} events might have been collected."
    (warn,) = summarize(trace.diagnostic(said).write(tmp_path / "t.sqlite")).warnings
    assert warn.message.startswith(f"The collector says: {said} {words}")
    assert ("GPU and API figures are not touched" in warn.message) == (lost == "NVTX")


def test_of_very_many_lines_of_the_collector_the_first_are_told(tmp_path: Path) -> None:
    """25 different errors, the first of them twice: 20 are told, and how many more there are."""
    trace = launched()
    for number in (0, *range(25)):
        trace.diagnostic(f"CUPTI error {number:02}", severity=3)
    messages = [warn.message for warn in summarize(trace.write(tmp_path / "t.sqlite")).warnings]
    assert len(messages) == 21
    assert messages[0] == "The collector reports: CUPTI error 00 (2 times)"
    assert messages[19] == "The collector reports: CUPTI error 19"
    assert messages[20].startswith("The collector has 5 further lines of this kind")
