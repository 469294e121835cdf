"""The reference of the account itself: timelines worked by hand, and sums that must hold on every trace.

In the drawings `=` is a CUDA call, `#` GPU work, `-` an NVTX range, `.` a gap; times are nanoseconds.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from builder import RUNTIME, VERSIONS, TraceBuilder
from oracle import expected
from oracle_account import CAUSES, Call, cause_of_call, expected_account, random_account_trace, read_trace

TRACES = sorted((Path(__file__).parent.parent / "fixtures" / "traces").glob("*.sqlite"))
LAUNCH = "cudaLaunchKernel_v7000"


def account(trace: TraceBuilder, folder: Path, **options: Any) -> dict[str, Any]:
    """Return the account of a drawn trace."""
    return expected_account(trace.write(folder / "trace.sqlite"), **options)


def causes(trace: TraceBuilder, folder: Path) -> list[dict[str, int]]:
    """Return the causes of each gap of a drawn trace in order of time."""
    gaps = account(trace, folder)["idle"]["gaps"]
    return [gap["causes"] for gap in sorted(gaps, key=lambda gap: (gap["device"], gap["start_ns"]))]


def test_a_gap_is_cut_along_the_launching_thread(tmp_path: Path) -> None:
    """Every cause but `unattributed`, each with lengths of its own.

    GPU    a###.......................................................................b######....c###
           0  100                                                                  1000   1100  1200
    calls     sync=======     malloc====module==     event==       launch c==     launch b====
              60     200      300    400      450    500 520       600    650     700      800
    outer                   -----------------------------------------------------------------
                            250                                                             900
    lib:inner                                      ------------
                                                   480      560
    """
    trace = TraceBuilder().domain(3, "lib")
    trace.api(LAUNCH, -50, -20, correlation=1).kernel(0, 100, name="a", correlation=1)
    trace.api("cudaStreamSynchronize_v3020", 60, 200, correlation=4)
    trace.api("cudaMalloc_v3020", 300, 400, correlation=5)
    trace.api("cuModuleLoadData", 400, 450, correlation=6, event_class=1)
    trace.api("cudaEventRecord_v3020", 500, 520, correlation=7)
    trace.api(LAUNCH, 600, 650, correlation=3).kernel(1200, 1300, name="c", correlation=3)
    trace.api(LAUNCH, 700, 800, correlation=2).kernel(1000, 1100, name="b", correlation=2)
    trace.range("outer", 250, 900).range("inner", 480, 560, domain=3)
    # Neither another thread nor a start/end range is looked at.
    trace.api("cudaFree_v3020", 100, 700, correlation=8, thread=2).range("other thread", 100, 900, thread=2)
    trace.range("start/end", 100, 900, kind="startend")

    idle = account(trace, tmp_path)["idle"]

    first = {
        "queued": 1000 - 800,
        "launch_call": (650 - 600) + (800 - 700),
        "sync": 200 - 100,
        "memory_call": 100,
        "module_call": 50,
        "other_call": 20,
        "host": (300 - 200) + (500 - 450) + (600 - 520) + (700 - 650),
    }
    assert idle["gaps"] == [
        {
            "device": 0,
            "start_ns": 100,
            "length_ns": 900,
            "before": "a",
            "after": "b",
            "causes": first,
            "nvtx": ["outer"],
        },
        {
            "device": 0,
            "start_ns": 1100,
            "length_ns": 100,
            "before": "b",
            "after": "c",
            "causes": {"queued": 100},
            "nvtx": [],
        },
    ]
    (device,) = idle["devices"]
    assert (device["device"], device["idle_ns"], device["gap_count"]) == (0, 1000, 2)
    assert device["causes"] == {
        "queued": {"sum_ns": 300, "gaps": 2, "longest_ns": 200},
        "launch_call": {"sum_ns": 150, "gaps": 1, "longest_ns": 150},
        "sync": {"sum_ns": 100, "gaps": 1, "longest_ns": 100},
        "memory_call": {"sum_ns": 100, "gaps": 1, "longest_ns": 100},
        "module_call": {"sum_ns": 50, "gaps": 1, "longest_ns": 50},
        "other_call": {"sum_ns": 20, "gaps": 1, "longest_ns": 20},
        "host": {"sum_ns": 280, "gaps": 1, "longest_ns": 280},
        "unattributed": {"sum_ns": 0, "gaps": 0, "longest_ns": 0},
    }
    assert device["host_by_nvtx"] == {
        "(none)": 250 - 200,
        "outer": (300 - 250) + (480 - 450) + (600 - 560) + (700 - 650),
        "lib:inner": (500 - 480) + (560 - 520),
    }
    assert device["histogram"] == [{"from_ns": 0, "to_ns": 1000, "gaps": 2, "sum_ns": 1000}]


def test_the_innermost_call_decides(tmp_path: Path) -> None:
    """Nested calls before the launch, and a launch that lies within another call.

    GPU   #.....................................................................#
          0                                                                    500
    calls       launch===================================================
               100    module===============           launch of b===     400
                      150   memory===      250        300         350
                            180    200
    """
    trace = TraceBuilder().kernel(-10, 0, correlation=None)
    trace.api(LAUNCH, 100, 400, correlation=1)
    trace.api("cuModuleLoadData", 150, 250, correlation=2, event_class=1)
    trace.api("cuMemAlloc_v2", 180, 200, correlation=3, event_class=1)
    trace.api("cuLaunchKernel", 300, 350, correlation=4, event_class=1).kernel(500, 510, correlation=4)
    assert causes(trace, tmp_path) == [
        {
            "queued": 500 - 350,
            "launch_call": (150 - 100) + (300 - 250) + (350 - 300),
            "memory_call": 200 - 180,
            "module_call": (180 - 150) + (250 - 200),
            "host": 100,
        }
    ]


def test_the_innermost_call_decides_within_the_launching_call_too(tmp_path: Path) -> None:
    """A call within the launch counts as itself; a copy that submits work is a launch call as a kernel launch is.

    GPU   #.......................#....................................#
          0                      100                                  300
    calls      malloc within==        memcpyAsync===============
               20 30       60         150                    250
               launch=========
               20           80
    """
    trace = TraceBuilder().kernel(-10, 0, correlation=None)
    trace.api(LAUNCH, 20, 80, correlation=1).api("cudaMalloc_v3020", 30, 60, correlation=2)
    trace.kernel(100, 110, correlation=1)
    trace.api("cudaMemcpyAsync_v3020", 150, 250, correlation=3).memcpy(300, 310, correlation=3)
    assert causes(trace, tmp_path) == [
        {"queued": 20, "launch_call": 30, "memory_call": 30, "host": 20},
        {"queued": 50, "launch_call": 100, "host": 40},
    ]


def test_an_operation_that_starts_before_its_call_returns(tmp_path: Path) -> None:
    """The gap ends within the call, so nothing was queued.

    GPU    #..........................#
           0                         200
    calls               launch=================
                        120                  300
    """
    trace = TraceBuilder().kernel(-10, 0, correlation=None)
    trace.api(LAUNCH, 120, 300).kernel(200, 210)
    assert causes(trace, tmp_path) == [{"launch_call": 80, "host": 120}]


def test_a_launch_after_its_operation_began_takes_no_part(tmp_path: Path) -> None:
    """Clocks can disagree: the whole gap is then before the call."""
    trace = TraceBuilder().kernel(-10, 0, correlation=None)
    trace.api(LAUNCH, 120, 300).kernel(100, 210).api("cudaFree_v3020", 90, 115, correlation=2)
    assert causes(trace, tmp_path) == [{"memory_call": 10, "host": 90}]


def test_touching_operations_have_no_gap_and_empty_ones_end_none(tmp_path: Path) -> None:
    """Rows without a length, or reversed, are no part of the union and end no gap."""
    trace = TraceBuilder().kernel(0, 10, correlation=None).kernel(10, 20, correlation=None)
    trace.kernel(25, 25, correlation=1).kernel(30, 22, correlation=1).memset(40, 50, correlation=None)
    trace.api(LAUNCH, 0, 5, correlation=1)
    gaps = account(trace, tmp_path)["idle"]["gaps"]
    assert [(gap["start_ns"], gap["length_ns"]) for gap in gaps] == [(20, 20)]
    assert gaps[0]["causes"] == {"unattributed": 20}
    assert (gaps[0]["before"], gaps[0]["after"], gaps[0]["nvtx"]) == ("k", "[memset]", [])


def test_the_operation_that_ends_a_gap(tmp_path: Path) -> None:
    """The shortest of those that start with its end; then kernels first; then the smallest id."""

    def ended(*work: tuple[str, int, int | None]) -> dict[str, Any]:
        trace = TraceBuilder().kernel(0, 10, correlation=None)
        for correlation in (1, 2):
            trace.api(LAUNCH, 10 * correlation, 10 * correlation + 5, correlation=correlation)
        for kind, end, correlation in work:
            getattr(trace, kind)(100, end, correlation=correlation)
        return account(trace, tmp_path)["idle"]["gaps"][0]

    assert ended(("kernel", 200, 1), ("memset", 150, 2))["after"] == "[memset]"
    assert ended(("graph", 150, 1), ("memset", 150, 1))["after"] == "[memset]"
    assert ended(("memset", 150, 1), ("memcpy", 150, 1))["after"] == "[memcpy HtoD]"
    assert ended(("memcpy", 150, 1), ("kernel", 150, 1))["after"] == "k"
    assert ended(("kernel", 150, 2), ("kernel", 150, 1))["causes"]["queued"] == 100 - 15
    assert ended(("kernel", 150, 2))["causes"]["queued"] == 100 - 25
    assert ended(("kernel", 150, 2), ("kernel", 150, None))["causes"]["queued"] == 100 - 25
    assert ended(("kernel", 150, None))["causes"] == {"unattributed": 90}
    assert ended(("graph", 150, 1))["after"] == "[graph]"


def test_the_operation_before_a_gap(tmp_path: Path) -> None:
    """The one that ends with its start: kernels first, then the latest start, then the name."""

    def before(*work: tuple[str, int, dict[str, Any]]) -> str:
        trace = TraceBuilder().kernel(500, 510)
        for kind, start, options in work:
            getattr(trace, kind)(start, 100, **options)
        return str(account(trace, tmp_path)["idle"]["gaps"][0]["before"])

    assert before(("memcpy", 90, {"kind": 12}), ("memset", 10, {})) == "[memcpy UVM DtoH]"
    assert before(("memcpy", 90, {"kind": 77})) == "[memcpy unknown]"
    assert before(("graph", 90, {}), ("memset", 10, {})) == "[memset]"
    assert before(("memcpy", 90, {}), ("kernel", 10, {"name": "late"})) == "late"
    assert before(("kernel", 10, {"name": "a"}), ("kernel", 20, {"name": "b"})) == "b"
    assert before(("kernel", 10, {"name": "b"}), ("kernel", 10, {"name": "a"})) == "a"


def test_a_launch_is_found_by_process_and_id(tmp_path: Path) -> None:
    """Equal ids of two processes, several rows of one id, rows of other event classes, an id of 0."""
    trace = TraceBuilder().kernel(0, 10, correlation=None)
    # The outer row of process 1 is its launch: it begins with the inner one and ends later.
    trace.api("cuLaunchKernel", 50, 60, correlation=7, event_class=1).api(LAUNCH, 50, 80, correlation=7)
    trace.api("cudaLaunchKernel", 40, 90, correlation=7, event_class=67)
    trace.api(LAUNCH, 20, 30, process=2, correlation=7)
    trace.api(LAUNCH, 20, 30, correlation=0)
    trace.kernel(100, 110, correlation=7).kernel(200, 210, process=2, correlation=7)
    trace.kernel(300, 310, correlation=0).kernel(400, 410, process=3, correlation=7)
    assert causes(trace, tmp_path) == [
        {"queued": 100 - 80, "launch_call": (30 - 20) + (80 - 50), "host": (20 - 10) + (50 - 30)},
        {"queued": 200 - 110},
        {"unattributed": 90},
        {"unattributed": 90},
    ]


def test_without_event_classes_all_rows_are_calls(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 10, correlation=None).kernel(100, 110, correlation=7)
    trace.api("cudaLaunchKernel", 40, 90, correlation=7, event_class=67).drop_columns(RUNTIME, "eventClass")
    assert causes(trace, tmp_path) == [{"queued": 10, "launch_call": 50, "host": 30}]


def test_devices_have_gaps_of_their_own(tmp_path: Path) -> None:
    """A busy device does not hide an idle one; a device with rows but no busy time is not listed.

    GPU 0   ####.....####          0 to 40, 90 to 130
    GPU 1      ########...#        30 to 110, 140 to 150
    """
    trace = TraceBuilder().kernel(0, 40).kernel(90, 130).kernel(30, 110, device=1).kernel(140, 150, device=1)
    trace.kernel(50, 50, device=2)
    idle = account(trace, tmp_path)["idle"]
    assert [(one["device"], one["idle_ns"], one["gap_count"]) for one in idle["devices"]] == [(0, 50, 1), (1, 30, 1)]
    assert [(gap["device"], gap["start_ns"], gap["length_ns"]) for gap in idle["gaps"]] == [(0, 40, 50), (1, 110, 30)]


def test_histogram_has_a_bin_for_each_power_of_ten(tmp_path: Path) -> None:
    """Gaps of 1, 999, 1000 and 100,000 ns: a length on a border is in the bin above it."""
    trace, at = TraceBuilder(), 0
    for gap in (1, 999, 1000, 100_000):
        trace.kernel(at, at + 10)
        at += 10 + gap
    trace.kernel(at, at + 10)
    (device,) = account(trace, tmp_path)["idle"]["devices"]
    assert device["histogram"] == [
        {"from_ns": 0, "to_ns": 1000, "gaps": 2, "sum_ns": 1000},
        {"from_ns": 1000, "to_ns": 10_000, "gaps": 1, "sum_ns": 1000},
        {"from_ns": 10_000, "to_ns": 100_000, "gaps": 0, "sum_ns": 0},
        {"from_ns": 100_000, "to_ns": 1_000_000, "gaps": 1, "sum_ns": 100_000},
    ]
    assert [gap["length_ns"] for gap in account(trace, tmp_path)["idle"]["gaps"]] == [100_000, 1000, 999, 1]


def test_a_device_that_never_paused_has_no_gap(tmp_path: Path) -> None:
    (device,) = account(TraceBuilder().kernel(0, 10), tmp_path)["idle"]["devices"]
    assert (device["idle_ns"], device["gap_count"], device["histogram"]) == (0, 0, [])
    assert device["causes"] == {cause: {"sum_ns": 0, "gaps": 0, "longest_ns": 0} for cause in CAUSES}


def test_ranges_that_cover_most_of_a_gap_from_outer_to_inner(tmp_path: Path) -> None:
    """The gap is 10 to 100: `whole` is still open, `same start` covers 60 of 90, the others less than half."""
    trace = TraceBuilder().kernel(0, 10, correlation=None).api(LAUNCH, 50, 60).kernel(100, 110)
    trace.range("whole", 0, None).range("starts", 50, 55).range("ended", 40, 50).range("empty", 50, 50)
    trace.range("imported", 45, 52, kind="nvtxt_pushpop").range("same start", 0, 70)
    idle = account(trace, tmp_path)["idle"]
    assert idle["gaps"][0]["nvtx"] == ["whole", "same start"]
    assert idle["devices"][0]["host_by_nvtx"] == {"same start": 30, "ended": 5, "imported": 5}


def test_launch_costs(tmp_path: Path) -> None:
    """One launch a call, measured to the first of its kernels and graph rows.

    call        api     first start   latency   after its return
    [0, 10)      10         30           30         20
    [100, 150)   50        120           20        -30, before it
    [200, 210)   10        210           10          0
    [300, 340)   40        350           50         10     three nodes of a graph
    """
    trace = TraceBuilder()
    trace.api(LAUNCH, 0, 10, correlation=1).kernel(30, 40, correlation=1)
    trace.api(LAUNCH, 100, 150, correlation=2).kernel(120, 130, correlation=2)
    trace.api("cuLaunchKernelEx", 200, 210, correlation=3, event_class=1).kernel(210, 210, correlation=3)
    trace.api("cudaGraphLaunch_ptsz_v10000", 300, 340, correlation=4)
    trace.kernel(370, 380, correlation=4).graph(350, 400, correlation=4).kernel(390, 391, correlation=4)
    # No launch of a kernel or graph: a copy before the first node, a reversed row, no row, another class of call.
    trace.memcpy(345, 350, correlation=4)
    trace.api(LAUNCH, 500, 510, correlation=5).kernel(530, 520, correlation=5)
    trace.api(LAUNCH, 600, 610, correlation=6)
    trace.api("cudaEventRecord_v3020", 700, 710, correlation=7).kernel(720, 730, correlation=7)
    trace.kernel(800, 810, correlation=99).kernel(820, 830, correlation=0).memset(840, 850, correlation=99)

    launch = account(trace, tmp_path)["launch"]

    runtime = {"api": [10, 50], "queue_delay": [0, 20], "latency": [20, 30], "started_before_return_count": 1}
    driver = {"api": [10], "queue_delay": [0], "latency": [10], "started_before_return_count": 0}
    graph = {"api": [40], "queue_delay": [10], "latency": [50], "started_before_return_count": 0}
    kernels = {
        "api": [10, 10, 50],
        "queue_delay": [0, 0, 20],
        "latency": [10, 20, 30],
        "started_before_return_count": 1,
    }
    assert launch["by_api"] == {
        LAUNCH: runtime,
        "cuLaunchKernelEx": driver,
        "cudaGraphLaunch_ptsz_v10000": graph,
        "kernels": kernels,
        "graphs": graph,
    }
    assert launch["unmatched_kernel_count"] == 2


def test_memory(tmp_path: Path) -> None:
    """Copies by direction and kinds of memory, and the time beside kernels on each device by itself.

    GPU 0   kernels   ##########      ####       0 to 100, 150 to 190
            copies         ##############        60 to 170, 80 to 160, none at 90: 40 + 20 beside kernels
    GPU 1   kernels        ####                  50 to 90
            copies    ##                         0 to 20: none beside kernels
    """
    trace = TraceBuilder().kernel(0, 100).kernel(150, 190).kernel(50, 90, device=1)
    trace.memcpy(60, 170, kind=1, bytes=1000, source_kind=1, destination_kind=2)
    trace.memcpy(80, 160, kind=1, bytes=10, source_kind=1, destination_kind=2)
    trace.memcpy(90, 90, kind=1, bytes=7, source_kind=0, destination_kind=2)
    trace.memcpy(0, 20, kind=11, bytes=4096, device=1)
    trace.memcpy(30, 20, kind=55, bytes=1, device=1)
    trace.memset(0, 5, bytes=64).memset(10, 10, bytes=6)
    assert account(trace, tmp_path)["memory"] == {
        "copies": {
            ("HtoD", 1, 2): {"count": 2, "bytes": 1010, "sum_ns": 190, "timed": [(10, 80), (1000, 110)]},
            ("HtoD", 0, 2): {"count": 1, "bytes": 7, "sum_ns": 0, "timed": []},
            ("UVM HtoD", None, None): {"count": 1, "bytes": 4096, "sum_ns": 20, "timed": [(4096, 20)]},
            ("unknown", None, None): {"count": 1, "bytes": 1, "sum_ns": 0, "timed": []},
        },
        "sets": {"count": 2, "bytes": 70, "sum_ns": 5},
        "overlapped_with_kernels_ns": 60,
    }


def test_self_time_of_nested_ranges(tmp_path: Path) -> None:
    """A range is innermost where none inside it on the same thread and in the same domain is open.

    a      ------------------------------------------     0 to 100     100 - 30 - 20 = 50
    b          ---------------       -------             10 to 40, 60 to 80     30 - 10 + 20 = 40
    c              ------                                 20 to 30     10
    d in another domain, and on another thread at once, and as a start/end range: all of 0 to 100
    """
    trace = TraceBuilder().range("a", 0, 100).range("b", 10, 40).range("c", 20, 30).range("b", 60, 80)
    trace.range("c", 90, 90).range("d", 0, 100, domain=4).range("d", 0, 100, thread=2)
    trace.range("d", 50, 70, kind="startend").range("e", 0, 5, kind="startend")
    # It ends after the one that it began in.
    trace.range("f", 200, 250).range("g", 240, 260)
    nvtx = account(trace, tmp_path)["nvtx"]
    assert {name: ranges["self_ns"] for name, ranges in nvtx.items()} == {
        "a": 50,
        "b": 40,
        "c": 10,
        "d": 100,
        "e": None,
        "f": 40,
        "g": 20,
    }
    assert nvtx["b"]["lengths"] == [20, 30]
    assert nvtx["c"]["lengths"] == [0, 10]
    assert (nvtx["a"]["threads"], nvtx["d"]["threads"]) == (1, 2)


def test_open_ranges_are_counted_and_closed_with_the_trace(tmp_path: Path) -> None:
    trace = TraceBuilder().range("a", 0, None).range("a", 10, 20).range("a", 30, None, thread=2).kernel(40, 90)
    ranges = account(trace, tmp_path)["nvtx"]["a"]
    assert (ranges["open_count"], ranges["threads"], ranges["lengths"]) == (2, 2, [10, 60, 90])
    assert ranges["self_ns"] == 90


def test_what_ranges_launched(tmp_path: Path) -> None:
    """A call counts where it lies fully within an instance that began and ended on the call's thread.

    calls      1==      2==        3==      4==
               0  10    20  30     40  50   60  70
    range      ---------------------    two of them, the second inside the first: 0 to 45, 0 to 30
    work       1: 100 to 120 and 110 to 130   2: copy on device 1, 125 to 140   3: 200 to 210   4: 210 to 220
    """
    trace = TraceBuilder()
    for correlation, start in ((1, 0), (2, 20), (3, 40), (4, 60)):
        trace.api(LAUNCH, start, start + 10, correlation=correlation)
    trace.kernel(100, 120, correlation=1).kernel(110, 130, correlation=1)
    trace.memcpy(125, 140, correlation=2, device=1)
    trace.kernel(200, 210, correlation=3).graph(210, 220, correlation=4)
    trace.range("mine", 0, 45).range("mine", 0, 30)
    trace.range("other thread", 0, 80, thread=2)
    trace.range("other process", 0, 80, process=2)
    trace.range("crosses", 0, 80, kind="startend", end_thread=2)
    trace.range("comes back", 39, 70, kind="startend", end_thread=1)
    nvtx = account(trace, tmp_path)["nvtx"]
    keys = ("launched_kernel_count", "launched_op_count", "launched_busy_ns")
    assert {name: tuple(ranges[key] for key in keys) for name, ranges in nvtx.items()} == {
        "mine": (2, 3, 140 - 100),
        "other thread": (0, 0, 0),
        "other process": (0, 0, 0),
        "crosses": (0, 0, 0),
        "comes back": (1, 2, 20),
    }


def test_gpu_idle_of_ranges_is_within_the_span(tmp_path: Path) -> None:
    """Before the first and after the last GPU work there is no idle time.

    GPU 0 and 1       ####....####....####         100 to 140, 180 to 220, 260 to 300
    range      -------------------                   0 to 190, and again 50 to 60: 40 idle
    """
    trace = TraceBuilder().kernel(100, 140).kernel(180, 220, device=1).kernel(260, 300)
    trace.range("r", 0, 190).range("r", 50, 60).range("late", 280, 900).range("out", 400, 500)
    nvtx = account(trace, tmp_path)["nvtx"]
    assert {name: ranges["gpu_idle_ns"] for name, ranges in nvtx.items()} == {"r": 40, "late": 0, "out": 0}
    nvtx = account(TraceBuilder().range("r", 0, 190), tmp_path)["nvtx"]
    assert (nvtx["r"]["gpu_idle_ns"], nvtx["r"]["launched_busy_ns"]) == (None, None)  # nobody knows


def test_dispatch_steps(tmp_path: Path) -> None:
    """Steps follow one another on each thread by itself; the last of a thread has no length.

    thread 1   A             B                      C
               0            100                    300
    calls       graph==  k==    graph==  graph==    k==
                10  20   90 110 120 130  140 150     300
    work            g: 30 to 80          100 to 200, 150 to 250        k of 90: 210 to 260
    """
    trace = TraceBuilder()
    trace.mark("CG_DISPATCH A", 0).mark("CG_DISPATCH B", 100, domain=3).range("CG_DISPATCH C", 300, 301)
    trace.mark("CG_DISPATCH 2", 50, thread=2).mark("not CG_DISPATCH", 60)
    trace.api("cudaGraphLaunch_v10000", 10, 20, correlation=1).graph(30, 80, correlation=1)
    trace.api(LAUNCH, 90, 110, correlation=2).kernel(210, 260, correlation=2)
    trace.api("cudaGraphLaunch_v10000", 120, 130, correlation=3).graph(100, 200, correlation=3)
    trace.api("cuGraphLaunch", 140, 150, correlation=4, event_class=1).graph(150, 250, correlation=4, device=1)
    trace.api("cudaGraphLaunch_v10000", 160, 170, correlation=5, thread=2).kernel(270, 350, correlation=5)
    trace.api(LAUNCH, 300, 320, correlation=6).kernel(330, 340, correlation=6)

    def step(thread: int, start: int, name: str, *numbers: int | None) -> tuple[Any, ...]:
        return (thread, start, f"CG_DISPATCH {name}", *(numbers or [None] * 4))

    steps = account(trace, tmp_path)["dispatch_steps"]
    assert [(one["thread"] & 0xFFFFFF, *list(one.values())[1:]) for one in steps] == [
        step(1, 0, "A", 100, 80 - 30, (80 - 30) + (260 - 210), 1),
        step(1, 100, "B", 200, (260 - 100) + (300 - 270), 250 - 100, 2),
        step(1, 300, "C"),
        step(2, 50, "2"),
    ]
    assert list(steps[0])[3:] == ["wall_ns", "gpu_overlap_ns", "launched_busy_ns", "graph_launch_count"]
    (other,) = account(trace, tmp_path, dispatch_prefix="not")["dispatch_steps"]
    assert (other["name"], other["wall_ns"]) == ("not CG_DISPATCH", None)


def test_lengths_by_name(tmp_path: Path) -> None:
    trace = TraceBuilder().api(LAUNCH, 0, 30).api(LAUNCH, 50, 60).api("cuInit", 9, 5, event_class=1)
    trace.api(LAUNCH, 0, 70, event_class=67).kernel(0, 7, name="b").kernel(0, 3, name="b").kernel(9, 9, name="a")
    found = account(trace, tmp_path)
    assert found["api_lengths"] == {LAUNCH: [10, 30], "cuInit": [0]}
    assert found["kernel_lengths"] == {"b": [3, 7], "a": [0]}


def test_names_are_folded_unless_raw(tmp_path: Path) -> None:
    trace = TraceBuilder().range("op, seq = 1", 0, 1).range("op, seq = 2", 2, 4)
    assert account(trace, tmp_path)["nvtx"].keys() == {"op"}
    assert account(trace, tmp_path, raw_nvtx_names=True)["nvtx"].keys() == {"op, seq = 1", "op, seq = 2"}


@pytest.mark.parametrize(
    ("cause", "names"),
    [
        ("launch_call", "cudaLaunchKernel_v7000 cudaLaunchKernel_ptsz_v7000 cuLaunchKernelEx cudaGraphLaunch_v10000"),
        (
            "sync",
            "cudaDeviceSynchronize_v3020 cuStreamSynchronize_ptsz cudaMemcpy_v3020 cuMemcpyHtoD_v2 cudaMemcpy_ptds",
        ),
        (
            "memory_call",
            "cudaMalloc_v3020 cudaMallocAsync_v11020 cudaFreeHost_v3020 cuMemAlloc_v2 cuMemMap cuMemRelease",
        ),
        (
            "module_call",
            "cuModuleLoadData cuLibraryGetKernel cudaGetFuncBySymbol_v11000 cuLinkCreate_v2 cuKernelGetName",
        ),
        ("other_call", "cudaLaunchHostFunc_v10000 cuInit cudaEventRecord_v3020 cuMemGetInfo_v2"),
    ],
)
def test_classes_of_calls(cause: str, names: str) -> None:
    assert {cause_of_call(name) for name in names.split()} == {cause}


def test_another_table_of_classes(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 10, correlation=None).api("cuInit", 10, 40, correlation=1)
    trace.api(LAUNCH, 40, 50, correlation=2).kernel(50, 60, correlation=2)
    found = account(trace, tmp_path, classify=lambda name: "sync" if name == "cuInit" else cause_of_call(name))
    assert found["idle"]["gaps"][0]["causes"] == {"launch_call": 10, "sync": 30}


def check_sums(found: dict[str, Any], path: Path) -> None:
    """Check what must hold in the account of any trace."""
    by_device: dict[int, list[dict[str, Any]]] = {device["device"]: [] for device in found["idle"]["devices"]}
    for gap in found["idle"]["gaps"]:
        by_device[gap["device"]].append(gap)
        assert sum(gap["causes"].values()) == gap["length_ns"], (path, gap)
        assert min(gap["causes"].values()) > 0
        assert "unattributed" not in gap["causes"] or len(gap["causes"]) == 1
    for device in found["idle"]["devices"]:
        gaps = by_device[device["device"]]
        assert device["gap_count"] == len(gaps)
        assert device["idle_ns"] == sum(gap["length_ns"] for gap in gaps)
        assert device["idle_ns"] == sum(cause["sum_ns"] for cause in device["causes"].values())
        assert device["causes"]["host"]["sum_ns"] == sum(device["host_by_nvtx"].values())
        assert device["gap_count"] == sum(one["gaps"] for one in device["histogram"])
        assert device["idle_ns"] == sum(one["sum_ns"] for one in device["histogram"])
        for cause in device["causes"].values():
            assert cause["longest_ns"] <= cause["sum_ns"] <= cause["longest_ns"] * max(cause["gaps"], 1)
    by_api = found["launch"]["by_api"]
    for launches in by_api.values():
        assert len(launches["api"]) == len(launches["latency"]) == len(launches["queue_delay"])
        assert launches["started_before_return_count"] <= launches["queue_delay"].count(0)
    groups = {name: len(launches["api"]) for name, launches in by_api.items()}
    assert groups.pop("kernels", 0) + groups.pop("graphs", 0) == sum(groups.values())
    for ranges in found["nvtx"].values():
        assert ranges["launched_kernel_count"] <= ranges["launched_op_count"]
        assert ranges["self_ns"] is None or 0 <= ranges["self_ns"] <= sum(ranges["lengths"])
        assert ranges["open_count"] <= len(ranges["lengths"])
        assert min(ranges["gpu_idle_ns"] or 0, ranges["launched_busy_ns"] or 0) >= 0
    for step in found["dispatch_steps"]:
        assert step["wall_ns"] is None or 0 <= (step["gpu_overlap_ns"] or 0) <= step["wall_ns"]


@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
@pytest.mark.slow
def test_sums_of_real_traces(trace: Path) -> None:
    """No gap of these traces is unattributed, and no kernel is unmatched: their launches were all recorded."""
    found = expected_account(trace)
    check_sums(found, trace)
    assert bool(found["idle"]["devices"]) == (trace.stem != "nogpu")
    assert found["launch"]["unmatched_kernel_count"] == 0
    assert all(device["causes"]["unattributed"]["sum_ns"] == 0 for device in found["idle"]["devices"])


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_random_traces_by_single_nanoseconds(version: str, tmp_path: Path) -> None:
    """The account against the reference of the base keys, and each nanosecond of each gap looked at by itself."""
    seen: set[str] = set()
    for seed in range(12):
        rng = random.Random(f"account {version} {seed}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        found, base = expected_account(path), expected(path)
        check_sums(found, path)
        idle = {device["device"]: device["idle_ns"] for device in found["idle"]["devices"]}
        assert idle == {one["device"]: one["idle_ns"] for one in base["devices"] if one["busy_ns"] is not None}
        assert found["nvtx"].keys() == base["nvtx"].keys()
        for name, ranges in found["nvtx"].items():
            assert len(ranges["lengths"]) == base["nvtx"][name]["count"]
            assert sum(ranges["lengths"]) == base["nvtx"][name]["sum_ns"]
            assert (ranges["gpu_idle_ns"] or 0) + base["nvtx"][name]["gpu_overlap_ns"] <= base["nvtx"][name]["union_ns"]
        assert {name: [len(lengths), sum(lengths)] for name, lengths in found["api_lengths"].items()} == base["api"]
        trace = read_trace(path)
        assert len({(call.thread, call.start, call.end) for call in trace.calls}) == len(trace.calls)
        for gap in found["idle"]["gaps"]:
            end = gap["start_ns"] + gap["length_ns"]
            ending = [work for work in trace.work if work.device == gap["device"] and work.start == end < work.end]
            first = min(work.end for work in ending)
            launches = {work.launch for work in ending if work.end == first}
            if len(launches) > 1:
                continue
            (launch,) = launches
            counts: dict[str, int] = {}
            for instant in range(gap["start_ns"], end):
                cause = cause_at(instant, launch, trace.calls)
                counts[cause] = counts.get(cause, 0) + 1
            assert counts == gap["causes"], (seed, gap)
            seen |= counts.keys()
    assert seen == set(CAUSES)


def cause_at(instant: int, launch: Call | None, calls: list[Call]) -> str:
    """Return the cause of one nanosecond of a gap that ends in an operation with this launch."""
    if launch is None:
        return "unattributed"
    if instant >= launch.end:
        return "queued"
    around = [call for call in calls if call.thread == launch.thread and call.start <= instant < call.end]
    return min(around, key=lambda call: call.end - call.start).cause if around else "host"
