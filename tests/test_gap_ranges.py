"""The ranges that stand for a gap; one letter is ten nanoseconds. The launch that ends the gap is at its end."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest.model.section_types import Gap
from test_sections import digest_of


def gap_of(trace: TraceBuilder, folder: Path) -> Gap:
    """Return the longest gap of a trace, in which kernels run until 100 and from 200 on."""
    trace.kernel(0, 100, name="first").kernel(200, 210, name="second", correlation=2)
    trace.api("cudaLaunchKernel_v7000", 190, 195, correlation=2)
    idle = digest_of(trace, folder).idle
    assert idle is not None
    return idle.longest[0]


# GPU     kkkkkkkkkk..........k
# launch                     l
@pytest.mark.parametrize(
    ("ranges", "expected"),
    [
        # most of the gap is in compile, the launch in allocate
        #           ccccccccc     compile 90 to 180
        #                    aa   allocate
        ([("compile", 90, 180), ("allocate", 180, 200)], ("compile",)),
        # as far in as one range still covers more than half
        # ooooooooooooooooooooo   outer
        #           iiiiii        inner 100 to 160
        #           dd            deep
        ([("outer", 0, 210), ("inner", 100, 160), ("deep", 100, 120)], ("outer", "inner")),
        # ranges of a name count together: 40 and 30
        ([("outer", 0, 210), ("layer", 100, 140), ("layer", 150, 180)], ("outer", "layer")),
        # exactly half is not most
        ([("outer", 0, 210), ("half", 100, 150)], ("outer",)),
        # none covers half: the largest part, 45, against 30 and 25 in no range
        ([("load", 100, 145), ("forward", 160, 190)], ("load",)),
        # more lies in no range, 60, than in any
        ([("load", 100, 140)], ()),
        # as much in no range as in one
        ([("load", 100, 150)], ()),
        # outside of the gap, and touching it
        ([("before", 20, 100), ("after", 200, 260)], ()),
        # a range within one of its name is one name
        ([("step", 90, 205), ("step", 110, 195)], ("step",)),
        # of two that cover the whole gap the one that began first is outer
        ([("b", 50, 250), ("a", 40, 260)], ("a", "b")),
    ],
)
def test_ranges_of_a_gap(ranges: list[tuple[str, int, int]], expected: tuple[str, ...], tmp_path: Path) -> None:
    trace = TraceBuilder()
    for name, start, end in ranges:
        trace.range(name, start, end)
    assert gap_of(trace, tmp_path).nvtx == expected


def test_ranges_of_other_threads_and_start_end_ranges_do_not_count(tmp_path: Path) -> None:
    trace = TraceBuilder().range("other thread", 90, 210, thread=2).range("loose", 90, 210, kind="startend")
    assert gap_of(trace, tmp_path).nvtx == ()


def test_of_ranges_that_never_end_the_innermost_are_listed(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for number in range(40):
        trace.range(f"r{number}", number, None)
    assert gap_of(trace, tmp_path).nvtx == tuple(f"r{number}" for number in range(8, 40))
