"""The builder writes the shapes of real exports, and the oracle counts what a reader counts by hand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import pytest

from builder import VERSIONS, TraceBuilder, global_pid, global_tid, tables_of
from oracle import expected, random_trace

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
OPERATION = ["start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid"]
GREEN_OPERATION = [*OPERATION[:4], "greenContextId", *OPERATION[4:]]
LAUNCH = [
    *("launchType", "cacheConfig", "registersPerThread", "gridX", "gridY", "gridZ"),
    *("blockX", "blockY", "blockZ", "staticSharedMemory", "dynamicSharedMemory", "localMemoryPerThread"),
    *("localMemoryTotal", "gridId", "sharedMemoryExecuted", "graphNodeId", "sharedMemoryLimitConfig"),
]
LAUNCH_2026 = [
    *("qmdBulkReleaseDone", "qmdPreexitDone", "qmdLastCtaDone", "graphId"),
    *("clusterX", "clusterY", "clusterZ", "clusterSchedulingPolicy"),
    *("maxPotentialClusterSize", "maxActiveClusters", "sharedMemoryRequestedPercentage"),
    "tensorSizeMinusOneElements",
]
NAMES = ["demangledName", "shortName"]
KERNEL_COLUMNS = {
    "2021": OPERATION + NAMES + LAUNCH,
    "2022.2": [*OPERATION, *NAMES, "mangledName", *LAUNCH],
    "2023.3": [*OPERATION, *NAMES, "mangledName", *LAUNCH],
    "2025.3": [*GREEN_OPERATION, *NAMES, "mangledName", *LAUNCH],
    "2026.1": [*GREEN_OPERATION, *NAMES, "mangledName", *LAUNCH, *LAUNCH_2026],
}
ENUM_TABLES = {
    *("ENUM_NSYS_EVENT_TYPE", "ENUM_NSYS_EVENT_CLASS", "ENUM_CUDA_MEMCPY_OPER", "ENUM_CUDA_MEM_KIND"),
}
SMALLEST_TABLES = {
    "2021": {"StringIds", "ProcessStreams"},
    "2022.2": {"StringIds", "ProcessStreams", "EXPORT_META_DATA"},
    "2023.3": {"StringIds", "ProcessStreams", "META_DATA_EXPORT"} | ENUM_TABLES,
    "2025.3": {"StringIds", "ProcessStreams", "META_DATA_EXPORT"} | ENUM_TABLES,
    "2026.1": {"StringIds", "ProcessStreams", "META_DATA_EXPORT"} | ENUM_TABLES,
}


def query(path: Path, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows that a query on a file gives."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def tables(path: Path) -> set[str]:
    """Return the names of the tables in a file."""
    return {name for (name,) in query(path, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def columns(path: Path, table: str) -> list[str]:
    """Return the names of a table's columns, in their order."""
    return [row[1] for row in query(path, f"PRAGMA table_info({table})")]


def full_trace(version: str) -> TraceBuilder:
    """Return a trace with one event of each kind."""
    return (
        TraceBuilder(version)
        .kernel(0, 10)
        .memcpy(10, 20)
        .memset(20, 30)
        .graph(30, 40)
        .sync(0, 40)
        .api("cudaLaunchKernel_v7000", 0, 5)
        .range("step", 0, 40)
        .mark("here", 7)
        .domain(1, "lib")
        .category(1, "fast")
        .thread_name("main")
        .diagnostic("a message")
        .gpu(0, "NVIDIA Test GPU", uuid="GPU-0")
        .process(1, "python")
        .session(1000)
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_kernel_columns_are_those_of_the_version(tmp_path: Path, version: str) -> None:
    """The kernel table, which changed most often, has its real columns in their real order."""
    path = full_trace(version).write(tmp_path / "t.sqlite")
    assert columns(path, KERNEL) == KERNEL_COLUMNS[version]


@pytest.mark.parametrize("version", VERSIONS)
def test_lazy_file_has_only_tables_with_rows(tmp_path: Path, version: str) -> None:
    """A lazy export has no table for what did not happen; another has all, most of them empty."""
    lazy = TraceBuilder(version).write(tmp_path / "lazy.sqlite")
    assert tables(lazy) == SMALLEST_TABLES[version]
    full = TraceBuilder(version, lazy=False).write(tmp_path / "full.sqlite")
    assert tables(full) == set(tables_of(version))
    assert query(full, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_KERNEL") == [(0,)]
    assert expected(lazy) == expected(full)


def test_versions_differ_as_nsys_versions_do(tmp_path: Path) -> None:
    """Each version has the tables and columns of its age and none of a later one."""
    path = {version: full_trace(version).write(tmp_path / f"{version}.sqlite") for version in VERSIONS}
    has = {version: tables(file) for version, file in path.items()}
    every = set(VERSIONS)

    def versions_with(table: str) -> set[str]:
        return {version for version in VERSIONS if table in has[version]}

    assert versions_with("TARGET_INFO_CUDA_GPU") == {"2021"}
    assert versions_with("PROCESSES") == every - {"2021"}
    assert versions_with("EXPORT_META_DATA") == {"2022.2"}
    assert versions_with("META_DATA_EXPORT") == {"2023.3", "2025.3", "2026.1"}
    assert versions_with("DIAGNOSTIC_EVENT") == {"2025.3", "2026.1"}
    assert versions_with("TARGET_INFO_CUDA_DEVICE") == {"2025.3", "2026.1"}
    assert versions_with("CUPTI_ACTIVITY_KIND_GRAPH_TRACE") == every - {"2021"}
    assert columns(path["2021"], "TARGET_INFO_GPU")[:3] == ["vmId", "deviceId", "name"]
    assert columns(path["2022.2"], "TARGET_INFO_GPU")[:3] == ["vmId", "id", "name"]
    assert columns(path["2023.3"], "CUPTI_ACTIVITY_KIND_MEMCPY")[-1] == "virtualAddress"
    assert columns(path["2025.3"], "CUPTI_ACTIVITY_KIND_MEMCPY")[-1] == "copyCount"
    assert columns(path["2023.3"], "NVTX_EVENTS")[-1] == "jsonText"
    assert columns(path["2025.3"], "NVTX_EVENTS")[-1] == "binaryData"
    schema = query(path["2026.1"], "SELECT value FROM META_DATA_EXPORT WHERE name = 'EXPORT_SCHEMA_VERSION'")
    assert schema == [("3.24.18",)]


@pytest.mark.parametrize(("version", "absent"), [("2021", 0), ("2022.2", None), ("2026.1", None)])
def test_oldest_files_hold_zero_for_null(tmp_path: Path, version: str, absent: int | None) -> None:
    """A missing graph node or correlation is 0 in 2021 and NULL later; none of them is a graph node."""
    path = TraceBuilder(version).kernel(0, 1, correlation=None).write(tmp_path / "t.sqlite")
    ids = query(path, "SELECT graphNodeId, correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL")
    assert ids == [(absent, absent)]
    assert expected(path)["graph_node_kernel_count"] == 0


def test_global_ids_hold_machine_process_and_thread(tmp_path: Path) -> None:
    """A globalTid is its globalPid with the thread in the low 24 bits, and no double can hold it."""
    path = TraceBuilder().kernel(0, 1, process=5).api("f", 0, 1, process=5, thread=9).write(tmp_path / "t")
    (pid,) = query(path, "SELECT globalPid FROM CUPTI_ACTIVITY_KIND_KERNEL")[0]
    (tid,) = query(path, "SELECT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME")[0]
    assert (pid, tid) == (global_pid(5), global_tid(5, 9))
    assert pid == tid & ~0xFFFFFF
    assert (tid >> 24) & 0xFFFFFF == 5
    assert int(float(tid)) != tid


def test_cut_down_files(tmp_path: Path) -> None:
    """Columns and tables can be left out, and SQL can do the rest."""
    trace = full_trace("2025.3").drop_columns(KERNEL, "globalPid", "graphNodeId").drop_table("NVTX_EVENTS")
    path = trace.sql("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY").write(tmp_path / "t.sqlite")
    assert {"globalPid", "graphNodeId"}.isdisjoint(columns(path, KERNEL))
    assert "NVTX_EVENTS" not in tables(path)
    assert query(path, "SELECT COUNT(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY") == [(0,)]
    assert expected(path)["devices"][0]["streams"][0] == {
        "process": None,
        "context": 1,
        "stream": 7,
        "busy_ns": 10,
        "count": 1,
    }


def test_misspelt_columns_are_refused() -> None:
    """A column that no version has is an error of the test."""
    with pytest.raises(ValueError, match="has a column gridSize"):
        TraceBuilder().kernel(0, 1, gridSize=3)
    with pytest.raises(ValueError, match="has a column gridSize"):
        TraceBuilder().drop_columns(KERNEL, "gridSize")
    with pytest.raises(ValueError, match="version '2020'"):
        TraceBuilder("2020")


def test_gpu_times(tmp_path: Path) -> None:
    """Streams and devices at once count once, and each device has its own account."""
    #             0         10        20        30        40        50
    # device 0,7  k---------|         m----|                             10 + 5
    # device 0,13      k---------|                                       10
    # device 1,7                           g---------|         s----|    10 + 5
    # busy        bbbbbbbbbbbbbbbb    bbbbbbbbbbbbbbbb         bbbbbb    15 + 15 + 5 of 60
    path = (
        TraceBuilder()
        .kernel(0, 10)
        .kernel(5, 15, stream=13, process=2, name="a")
        .memcpy(20, 25)
        .graph(25, 35, device=1)
        .memset(55, 60, device=1)
        .write(tmp_path / "t.sqlite")
    )
    got = expected(path)
    assert got["gpu_activity_span_ns"] == 60
    assert got["gpu_busy_union_ns"] == 35
    assert got["gpu_idle_within_span_ns"] == 25
    assert got["kernel_count"] == 2
    assert got["top_kernels"] == [["a", [1, 10]], ["k", [1, 10]]]
    assert expected(path, top=1)["top_kernels"] == [["a", [1, 10]]]
    assert got["devices"] == [
        {
            "device": 0,
            "span_ns": 25,
            "busy_ns": 20,
            "idle_ns": 5,
            "union_ns": {"kernel": 15, "memcpy": 5, "memset": 0, "graph": 0},
            "sum_ns": {"kernel": 20, "memcpy": 5, "memset": 0, "graph": 0},
            "count": {"kernel": 2, "memcpy": 1, "memset": 0, "graph": 0},
            "streams": [
                {"process": 1, "context": 1, "stream": 7, "busy_ns": 15, "count": 2},
                {"process": 2, "context": 1, "stream": 13, "busy_ns": 10, "count": 1},
            ],
            "processes": [1, 2],
        },
        {
            "device": 1,
            "span_ns": 35,
            "busy_ns": 15,
            "idle_ns": 20,
            "union_ns": {"kernel": 0, "memcpy": 0, "memset": 5, "graph": 10},
            "sum_ns": {"kernel": 0, "memcpy": 0, "memset": 5, "graph": 10},
            "count": {"kernel": 0, "memcpy": 0, "memset": 1, "graph": 1},
            "streams": [{"process": 1, "context": 1, "stream": 7, "busy_ns": 15, "count": 2}],
            "processes": [1],
        },
    ]


def test_rows_without_length_only_count(tmp_path: Path) -> None:
    """Zero-length and reversed GPU rows are counted and have no time, not even at the edge of the span."""
    #      -5        0         10        20
    #       z        k---------|         <---r     r runs from 24 back to 20
    trace = TraceBuilder().kernel(-5, -5, graph_node=3).kernel(0, 10, graph_node=0).kernel(24, 20)
    got = expected(trace.write(tmp_path / "t.sqlite"))
    assert got["gpu_activity_span_ns"] == 10
    assert got["gpu_busy_union_ns"] == 10
    assert got["gpu_idle_within_span_ns"] == 0
    assert got["kernel_count"] == 3
    assert got["graph_node_kernel_count"] == 1
    assert got["top_kernels"] == [["k", [3, 10]]]
    assert got["devices"][0]["sum_ns"]["kernel"] == 10
    assert got["devices"][0]["count"]["kernel"] == 3


@pytest.mark.parametrize("trace", [TraceBuilder(), TraceBuilder().kernel(3, 3)])
def test_gpu_times_that_were_not_measured_are_none(tmp_path: Path, trace: TraceBuilder) -> None:
    """Without a GPU row that has a length there is no span, no busy and no idle time."""
    got = expected(trace.write(tmp_path / "t.sqlite"))
    assert got["gpu_activity_span_ns"] is None
    assert got["gpu_busy_union_ns"] is None
    assert got["gpu_idle_within_span_ns"] is None
    assert all(device["busy_ns"] is None for device in got["devices"])


def test_api_counts_runtime_and_driver_calls(tmp_path: Path) -> None:
    """Calls are summed by text, most time first, then by name; other event classes are set apart."""
    # b 0---------10          class 0        total 10 + 0 (reversed)
    # b      5<---9
    # c 0----5 10---15        class 0 and 1, one text under two string ids
    # a 0-2                   class 1
    # b 0---------10          class 67
    path = (
        TraceBuilder()
        .string(70, "c")
        .api("b", 0, 10)
        .api("b", 9, 5)
        .api("c", 0, 5)
        .api(70, 10, 15, event_class=1)
        .api("a", 0, 2, event_class=1)
        .api("b", 0, 10, event_class=67)
        .api(71, 0, 1)
        .write(tmp_path / "t.sqlite")
    )
    got = expected(path)
    assert list(got["api"].items()) == [
        ("b", [2, 10]),
        ("c", [2, 10]),
        ("a", [1, 2]),
        ("[string 71]", [1, 1]),
    ]
    assert got["api_backtrace_rows"] == 1


def test_nvtx_ranges(tmp_path: Path) -> None:
    """Nested and parallel ranges of a name merge; an open one closes at the trace's last instant."""
    #           0         10        20        30        40
    # kernel         k---------|
    # thread 1  step----------------|                          0 to 20
    #             step-|                                       2 to 7, nested
    # thread 2                step------|                      14 to 24
    # thread 1                          open------------->     24 to 40, where the API call ends
    # thread 1           <----reversed                         from 18 back to 9
    # API call                                        f---|    38 to 40, class 67 counts here too
    path = (
        TraceBuilder()
        .kernel(5, 15)
        .range("step", 0, 20)
        .range("step", 2, 7, registered=True)
        .range("step", 14, 24, thread=2, kind="startend", end_thread=1)
        .range("open", 24, None, kind="nvtxt_startend")
        .range("reversed", 18, 9, kind="nvtxt_pushpop")
        .mark("a mark is no range", 3)
        .api("f", 38, 40, event_class=67)
        .write(tmp_path / "t.sqlite")
    )
    got = expected(path)["nvtx"]
    assert list(got) == ["step", "reversed", "open"]
    assert got["step"] == {"count": 3, "sum_ns": 35, "union_ns": 24, "gpu_overlap_ns": 10}
    assert got["reversed"] == {"count": 1, "sum_ns": 0, "union_ns": 0, "gpu_overlap_ns": 0}
    assert got["open"] == {"count": 1, "sum_ns": 16, "union_ns": 16, "gpu_overlap_ns": 0}


def test_nvtx_names(tmp_path: Path) -> None:
    """A domain is that of the range's own process, and the serial numbers of PyTorch are taken off."""
    # all ranges are 1 ns long and start at 0, 1, 2, ... in the order of the list
    path = (
        TraceBuilder()
        .domain(1, "lib", process=1)
        .domain(1, "other", process=2, registered=True)
        .domain(0, "not shown", process=1)
        .range("r", 0, 1, domain=1, process=1)
        .range("r", 1, 2, domain=1, process=2)
        .range("r", 2, 3, domain=1, process=3)
        .range("r", 3, 4, domain=None)
        .range("r", 4, 5, domain=0, registered=True)
        .range(77, 5, 6)
        .range(None, 6, 7)
        .range("mul, seq = 5, op_id = 2, sizes = [[2, 3], []], input_op_ids = [(1,0)]", 7, 8)
        .range("mul, op_id = 3", 8, 9)
        .range("mul, seq = 5, more", 9, 10)
        .write(tmp_path / "t.sqlite")
    )
    counts = {name: entry["count"] for name, entry in expected(path)["nvtx"].items()}
    assert counts == {
        "lib:r": 1,
        "other:r": 1,
        "r": 3,
        "[string 77]": 1,
        "": 1,
        "mul": 2,
        "mul, seq = 5, more": 1,
    }
    assert "mul, op_id = 3" in expected(path, raw_nvtx_names=True)["nvtx"]


def test_dispatch(tmp_path: Path) -> None:
    """Marks and ranges with the prefix are listed by start, then name, under their own text."""
    #  mark b at 3; mark a at 3; range a 1 to 2 in a domain; mark a of NVTXT at 9; one that does not begin so
    path = (
        TraceBuilder()
        .domain(4, "lib")
        .mark("CG_DISPATCH b", 3)
        .mark("CG_DISPATCH a", 3, registered=True)
        .range("CG_DISPATCH a, seq = 1", 1, 2, domain=4)
        .mark("CG_DISPATCH a", 9, kind="nvtxt")
        .mark("no CG_DISPATCH", 4)
        .write(tmp_path / "t.sqlite")
    )
    got = expected(path)
    assert got["dispatch_timeline"] == [
        [1, "CG_DISPATCH a"],
        [3, "CG_DISPATCH a"],
        [3, "CG_DISPATCH b"],
        [9, "CG_DISPATCH a"],
    ]
    assert list(got["dispatch"].items()) == [("CG_DISPATCH a", 3), ("CG_DISPATCH b", 1)]
    assert list(got["nvtx"]) == ["lib:CG_DISPATCH a"]
    assert expected(path, dispatch_prefix="no ")["dispatch"] == {"no CG_DISPATCH": 1}


@pytest.mark.parametrize("version", VERSIONS)
def test_random_traces_can_be_written_in_any_order(tmp_path: Path, version: str) -> None:
    """A random trace is a readable file of every version, and the order of its rows means nothing."""
    for seed in range(20):
        trace = random_trace(Random(seed), version)
        plain = expected(trace.write(tmp_path / "plain.sqlite"))
        shuffled = expected(trace.write(tmp_path / "shuffled.sqlite", shuffle=Random(3)))
        assert plain == shuffled
        assert list(plain["nvtx"]) == list(shuffled["nvtx"])
        if plain["gpu_activity_span_ns"] is not None:
            idle = plain["gpu_activity_span_ns"] - plain["gpu_busy_union_ns"]
            assert plain["gpu_idle_within_span_ns"] == idle
