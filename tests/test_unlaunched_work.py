"""GPU rows without a launch call: counted for each process and kind, page migrations apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from test_lost_rows import LAUNCH, launches

UVM_HTOD = 11


def told(trace: TraceBuilder, folder: Path, sections: tuple[str, ...] = ("launch",), step: str | None = None) -> str:
    """Return what the warning says before its first colon; nothing without one."""
    found = summarize(trace.write(folder / "t.sqlite"), sections=list(sections), steps=step)
    messages = [warn.message for warn in found.warnings if warn.code == "unattributed-work"]
    assert len(messages) < 2
    assert not found.capture.incomplete
    return messages[0].partition(":")[0] if messages else ""


def test_each_kind_is_counted_and_linked_work_is_not(tmp_path: Path) -> None:
    """Three launches with their kernels, and of what no call launched: two kernels, a copy, a set, a graph."""
    trace = launches(3, range(3)).kernel(1000, 1010, correlation=90).kernel(1010, 1020, correlation=0)
    trace.memcpy(1020, 1030, correlation=91).memset(1030, 1040, correlation=92).graph(1040, 1050, correlation=93)
    assert told(trace, tmp_path) == (
        "2 of 5 kernels, 1 of 1 CUDA graph, 1 of 1 copy and 1 of 1 set have no launch call in the trace"
    )


def test_one_row(tmp_path: Path) -> None:
    trace = launches(3, range(3)).kernel(1000, 1010, correlation=90)
    assert told(trace, tmp_path) == "1 of 4 kernels has no launch call in the trace"


def test_processes_of_equal_correlation_ids_are_counted_apart(tmp_path: Path) -> None:
    """Process 2 has kernels of the ids that process 1 launched, and a copy; process 3 launched its own."""
    trace = launches(3, range(3))
    for index in range(2):
        trace.kernel(1000 + index, 1001 + index, correlation=1 + index, process=2)
    trace.memcpy(1010, 1020, correlation=3, process=2).memcpy(1020, 1030, correlation=4, process=2)
    trace.api(LAUNCH, 0, 10, correlation=1, process=3).kernel(20, 30, correlation=1, process=3)
    trace.api("cudaMemcpyAsync_v3020", 900, 905, correlation=4, process=2)
    trace.kernel(50, 60, correlation=2, process=3)
    assert told(trace, tmp_path) == (
        "2 of 2 kernels and 1 of 2 copies of process 2; 1 of 2 kernels of process 3 have no launch call in the trace"
    )


def test_of_many_processes_three_are_told(tmp_path: Path) -> None:
    """Process p has p kernels without a call, and 1 launched a kernel: 5, 4 and 3 are told, 2 + 1 remain."""
    trace = launches(1, range(1))
    for process in range(1, 6):
        for index in range(process):
            trace.kernel(1000 + index, 1001 + index, correlation=100 + index, process=process)
    assert told(trace, tmp_path) == (
        "5 of 5 kernels of process 5; 4 of 4 kernels of process 4; 3 of 3 kernels of process 3; "
        "3 GPU operations of 2 other processes have no launch call in the trace"
    )


def test_page_migrations_have_no_launch_by_nature(tmp_path: Path) -> None:
    trace = launches(3, range(3))
    for index in range(5):
        trace.memcpy(1000 + 10 * index, 1005 + 10 * index, correlation=0, copyKind=UVM_HTOD)
    assert told(trace, tmp_path) == ""
    trace.memcpy(2000, 2010, correlation=0, copyKind=1)
    assert told(trace, tmp_path) == "1 of 1 copy has no launch call in the trace"


def test_a_trace_without_any_call_says_so_once(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 10).kernel(10, 20, process=2).memcpy(20, 30, copyKind=UVM_HTOD, correlation=0)
    assert told(trace, tmp_path) == "The trace has no CUDA API call for its 2 GPU operations"


def test_work_of_nodes_of_a_graph_has_the_call_of_the_graph(tmp_path: Path) -> None:
    trace = TraceBuilder().api("cudaGraphLaunch_v10000", 0, 10, correlation=7)
    trace.kernel(20, 30, correlation=7, graph_node=1).memcpy(30, 40, correlation=7).memset(40, 50, correlation=7)
    assert told(trace, tmp_path) == ""


@pytest.mark.parametrize(
    ("sections", "step", "expected"),
    [(("memory",), None, False), ((), None, False), ((), "s", True), (("idle",), None, True)],
)
def test_it_is_said_where_a_section_links_work(
    sections: tuple[str, ...], step: str | None, expected: bool, tmp_path: Path
) -> None:
    trace = launches(3, range(3)).kernel(1000, 1010, correlation=90).range("s", 0, 10)
    assert bool(told(trace, tmp_path, sections, step)) == expected
