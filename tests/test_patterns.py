"""``nsys-digest workload patterns``: what it does on the CPU, what it books for a GPU, and digests held against it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.model.digest import SECTIONS
from nsys_digest.workloads.patterns.expectations import differences
from nsys_digest.workloads.patterns.expected_counts import ExpectedCounts, merged
from support import ROOT, call, spawn, the_line

FIXTURES = ROOT / "fixtures" / "workloads"
RECORDED = sorted(path for path in FIXTURES.glob("patterns*.sqlite") if path.with_suffix(".json").exists())


def needs_torch() -> Any:
    pytest.importorskip("nvtx")
    return pytest.importorskip("torch")


@pytest.mark.workloads
def test_the_account_on_the_cpu() -> None:
    needs_torch()
    ran = spawn(
        "workload", "patterns", "--device", "cpu", "--rounds", "2", "--processes", "1", "--threads", "3", "--json"
    )
    assert (ran.status, ran.err) == (0, "")
    account = json.loads(ran.out)
    assert account["plan"] == {"device": "cpu", "rounds": 2, "processes": 1, "threads": 3}
    assert (account["processes"], account["kernels"], account["copies"], account["gpus"]) == (2, 0, [], 0)
    counts = {name: (ranges["count"], ranges["threads"]) for name, ranges in account["ranges"].items()}
    phases = ("warm_up", "kernels", "streams", "copies", "peers", "names", "in_threads", "in_processes")
    phases += ("blocked", "asleep", "off_cpu")
    assert counts == {
        **{f"phase {name}": (1, 1) for name in phases},
        "outer": (2 + 2, 2),  # in the first process and in the other
        "middle": (4, 2),
        "inner": (4, 2),
        "recursive": (8, 2),
        "overlap": (2, 1),
        "copies": (4, 2),
        "patterns.io:read": (2, 1),
        "étape π — ✓": (2, 1),
        "patterns.io:ended by another thread": (2, 1),
        "blocked": (2, 1),
        "asleep": (2, 1),
        "off_cpu": (2, 1),
        "thread": (3 * 2, 3),
        "process": (1, 1),
        "never popped": (1, 1),
        "patterns.io:never ended": (1, 1),
    }
    assert account["marks"] == {"round": 2, "patterns.io:round 0": 1, "patterns.io:round 1": 1}
    assert account["open_ranges"] == 2
    waits = account["host_waits"]
    assert {name: waited["count"] for name, waited in waits.items()} == {"blocked": 2, "asleep": 2, "off_cpu": 2}
    assert waits["asleep"]["ns"] >= 2 * 20_000_000  # no sleep is shorter than asked for
    assert waits["blocked"]["ns"] > 0  # the holder may be through before the wait begins
    assert waits["off_cpu"]["ns"] > 0
    assert [each["pattern"] for each in account["skipped"]] == ["peers", "sets", "managed", "graphs", "not registered"]


@pytest.mark.workloads
def test_the_lines_on_the_cpu() -> None:
    needs_torch()
    ran = spawn("workload", "patterns", "--device", "cpu", "--rounds", "1", "--processes", "0", "--threads", "0")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == "patterns device=cpu rounds=1 processes=0 threads=0 gpus=0"
    assert "range count=2 threads=1 kernels=0 graph_kernels=0 name=recursive" in lines
    assert lines[-1] == "total processes=1 kernels=0 overlapping_kernels=0 managed_bytes=0 open_ranges=2"


@pytest.mark.workloads
def test_no_gpu_is_one_line() -> None:
    if needs_torch().cuda.is_available():
        pytest.skip("there is a GPU")
    assert "--device cpu" in the_line(call("workload", "patterns"), 6, "workload-device")


@pytest.mark.parametrize("name", ["torch", "nvtx"])
@pytest.mark.workloads
def test_a_missing_package_is_one_line(name: str) -> None:
    needs_torch()
    script = f"import sys; sys.modules[{name!r}] = None\nfrom nsys_digest.cli import main\nsys.exit(main(sys.argv[1:]))"
    ran = spawn("workload", "patterns", "--device", "cpu", script=script)
    line = the_line(ran, 6, "workload-dependency")
    assert (
        line == f"the package {name} is not installed; install it with: python -m pip install 'nsys-digest[workloads]'"
    )


def test_options_of_the_recorder_need_it() -> None:
    assert "--record NAME" in the_line(call("workload", "patterns", "--summarize"), 2, "usage-invalid")
    assert "--record NAME" in the_line(call("workload", "patterns", "--record-graphs", "graph"), 2, "usage-invalid")


def pretended(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return gpu_ops that book as on a GPU and work on the CPU: what is booked must not depend on a GPU."""
    needs_torch()
    from nsys_digest.workloads.patterns.gpu_ops import GpuOps

    class Pretended(GpuOps):
        def __init__(self) -> None:
            super().__init__("cpu")
            self.cuda = True

        def gpus(self) -> int:
            return 0

        def on_host(self, count: int, *, pinned: bool = False) -> Any:
            return self.torch.ones(count)

        def side_stream(self) -> Any:
            return None

        def inline_range(self, name: str) -> AbstractContextManager[None]:
            return self.range(name)

    gpu_ops = Pretended()
    monkeypatch.setattr(gpu_ops.torch.cuda, "_sleep", lambda cycles: None, raising=False)
    return gpu_ops


@pytest.mark.slow
def test_kernels_are_booked_in_all_and_by_range(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_ops = pretended(monkeypatch)
    from nsys_digest.workloads.patterns import program

    program.phase(gpu_ops, program.warm_up, 2)
    program.phase(gpu_ops, program.kernels, 2)
    program.phase(gpu_ops, program.streams, 2)
    program.phase(gpu_ops, program.names, 2)
    account = gpu_ops.expected.to_dict()
    # warm-up 2; a round of kernels is outer 1, middle 2, inner 3, recursive 1; of streams 2; of names 3
    assert account["kernels"] == 2 + 2 * (1 + 2 + 3 + 1) + 2 * 2 + 2 * 3
    launched = {name: row["kernels"] for name, row in account["ranges"].items() if "kernels" in row}
    assert launched == {
        "phase warm_up": 2,
        "phase kernels": 14,
        "outer": 12,
        "middle": 10,
        "inner": 6,
        "recursive": 2,  # one in two ranges of that name counts once
        "phase streams": 4,
        "overlap": 4,
        "phase names": 6,
        "patterns.io:read": 2,
        "étape π — ✓": 2,
        "not registered": 2,
    }
    assert account["ranges"]["recursive"]["count"] == 4
    assert account["overlapping_kernels"] == 4


def test_copies_are_booked_by_direction_and_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_ops = pretended(monkeypatch)
    from nsys_digest.workloads.patterns import program

    program.phase(gpu_ops, program.copies, 3)
    unit = 256 * 1024
    assert [tuple(row.values()) for row in gpu_ops.expected.to_dict()["copies"]] == [
        ("HtoD", "pageable", "device", 3, 3 * unit),
        ("HtoD", "pinned", "device", 3, 3 * 2 * unit),
        ("DtoD", "device", "device", 3, 3 * 2 * unit),
        ("DtoH", "device", "pinned", 3, 3 * unit),
        ("DtoH", "device", "pageable", 3, 3 * 2 * unit),
    ]


def test_kernels_of_threads_belong_to_their_own_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_ops = pretended(monkeypatch)
    from nsys_digest.workloads.patterns import program

    with gpu_ops.range("phase in_threads"):
        program.in_threads(gpu_ops, 5, 4)
    ranges = gpu_ops.expected.to_dict()["ranges"]
    assert ranges["thread"] == {"count": 20, "threads": 4, "kernels": 40, "graph_kernels": 0}
    assert ranges["phase in_threads"]["kernels"] == 0


def test_what_a_system_has_not_is_skipped_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu_ops = pretended(monkeypatch)
    from nsys_digest.workloads.patterns import program

    for pattern in program.NEED_CUDA:
        program.phase(gpu_ops, pattern, 1)
    reason = "PyTorch has loaded no libcudart.so"
    if not gpu_ops.torch.backends.cuda.is_built():
        assert gpu_ops.expected.skipped == [
            {"pattern": name, "reason": reason} for name in ("sets", "managed", "graphs")
        ]


def test_accounts_of_processes_add_up() -> None:
    one, two = ExpectedCounts(), ExpectedCounts()
    for expected, size in ((one, 10), (two, 32)):
        expected.began("step")
        expected.launched(2, ["step"])
        expected.copied("HtoD", "pinned", "device", size)
        expected.skip("managed", "no")
    two.copied("DtoH", "device", "pinned", 5)
    two.marked("m")
    total = merged(one.to_dict(), two.to_dict())
    assert (total["processes"], total["kernels"], total["marks"]) == (2, 4, {"m": 1})
    assert [tuple(row.values()) for row in total["copies"]] == [
        ("HtoD", "pinned", "device", 2, 42),
        ("DtoH", "device", "pinned", 1, 5),
    ]
    assert total["ranges"] == {"step": {"count": 2, "threads": 1 + 1, "kernels": 4, "graph_kernels": 0}}
    assert total["skipped"] == [{"pattern": "managed", "reason": "no"}]


def drawn(mode: str) -> TraceBuilder:
    """Draw the trace that the account below gives of itself.

    main    range a ├ launch, launch, copy in, set ┤   mark   range g ├ graph launch ┤
    process 2                     range a ├ launch ┤
    """
    trace = TraceBuilder("2025.3").gpu(0, "NVIDIA H200").process(1, "python3").process(2, "python3").session(1_000)
    trace.range("a", 0, 100).api("cudaLaunchKernel", 1, 2, correlation=1).api("cudaLaunchKernel", 3, 4, correlation=2)
    trace.kernel(200, 260, correlation=1, stream=7).kernel(230, 290, correlation=2, stream=8)  # they overlap
    trace.api("cudaMemcpyAsync", 5, 6, correlation=3).memcpy(
        300, 310, correlation=3, bytes=64, source_kind=0, destination_kind=2
    )
    trace.api("cudaMemsetAsync", 7, 8, correlation=4).memset(310, 320, correlation=4, bytes=16)
    trace.mark("CG_DISPATCH:actual=3:mode=FULL:padded=4", 110)
    trace.range("g", 120, 140).api("cudaGraphLaunch", 121, 130, correlation=5)
    trace.range("a", 150, 170, process=2).api("cudaLaunchKernel", 151, 152, process=2, correlation=1)
    trace.kernel(400, 410, process=2, correlation=1, context=2)
    trace.range("e", 180, 190, kind="startend", end_thread=2)
    if mode == "graph":
        return trace.graph(330, 390, correlation=5)
    for node in range(1, 4):
        trace.kernel(320 + 10 * node, 325 + 10 * node, correlation=5, graph_node=node)
    trace.memcpy(370, 375, correlation=5, kind=8, bytes=8, source_kind=2, destination_kind=2, graph_node=4)
    return trace.memset(380, 385, correlation=5, bytes=4, graph_node=5)


ACCOUNT: dict[str, Any] = {
    "gpus": 1,
    "processes": 2,
    "kernels": 3,
    "overlapping_kernels": 2,
    "copies": [{"direction": "HtoD", "source_kind": "pageable", "destination_kind": "device", "count": 1, "bytes": 64}],
    "sets": {"count": 1, "bytes": 16},
    "graphs": {"launches": 1, "kernels": 3, "copies": {"count": 1, "bytes": 8}, "sets": {"count": 1, "bytes": 4}},
    "ranges": {
        "a": {"count": 2, "threads": 2, "kernels": 3, "graph_kernels": 0},
        "g": {"count": 1, "threads": 1, "kernels": 0, "graph_kernels": 3},
        "e": {"count": 1, "threads": 1},
    },
    "marks": {"CG_DISPATCH:actual=3:mode=FULL:padded=4": 1, "other": 7},
}


@pytest.mark.parametrize("mode", ["node", "graph"])
def test_a_digest_that_agrees(mode: str, tmp_path: Path) -> None:
    digest = summarize(drawn(mode).write(tmp_path / "trace.sqlite"))
    assert differences(json.loads(digest.to_json()), ACCOUNT) == []


def change_kernels(account: dict[str, Any]) -> None:
    account["kernels"] = 4


def change_copies(account: dict[str, Any]) -> None:
    account["copies"][0]["bytes"] = 65


def change_sets(account: dict[str, Any]) -> None:
    account["sets"]["bytes"] = 17


def change_launches(account: dict[str, Any]) -> None:
    account["graphs"]["launches"] = 2


def change_ranges(account: dict[str, Any]) -> None:
    account["ranges"]["a"]["count"] = 3


def change_range_kernels(account: dict[str, Any]) -> None:
    account["ranges"]["a"]["kernels"] = 2


def change_threads(account: dict[str, Any]) -> None:
    account["ranges"]["e"]["threads"] = 2


def change_marks(account: dict[str, Any]) -> None:
    account["marks"]["CG_DISPATCH:actual=4:mode=FULL:padded=4"] = 1


def change_processes(account: dict[str, Any]) -> None:
    account["processes"] = 3


def change_gpus(account: dict[str, Any]) -> None:
    account["gpus"] = 2


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (change_kernels, "kernels: the trace has 6, the program did 7"),
        (change_copies, "copies HtoD pageable device [count, bytes]: the trace has [1, 64], the program did [1, 65]"),
        (change_sets, "sets, bytes: the trace has 20, the program did 21"),
        (change_launches, "calls that launch graphs: the trace has 1, the program did 2"),
        (change_ranges, "ranges 'a': the trace has 2, the program did 3"),
        (change_range_kernels, "kernels launched in 'a': the trace has 3, the program did 2"),
        (change_threads, "threads of 'e': the trace has 1, the program did 2"),
        (change_marks, "dispatch marks: "),
        (change_processes, "processes with kernels: the trace has 2, the program did 3"),
        (change_gpus, "GPUs with kernels: the trace has 1, the program did 2"),
    ],
)
def test_a_digest_that_does_not(change: Callable[[dict[str, Any]], None], line: str, tmp_path: Path) -> None:
    digest = summarize(drawn("node").write(tmp_path / "trace.sqlite"))
    account = copy.deepcopy(ACCOUNT)
    change(account)
    (found,) = differences(json.loads(digest.to_json()), account)
    assert found.startswith(line)


@pytest.mark.parametrize("trace", RECORDED, ids=lambda path: path.stem)
def test_recorded_patterns_are_what_the_program_did(trace: Path) -> None:
    account = json.loads(trace.with_suffix(".json").read_text(encoding="utf-8"))
    assert differences(json.loads(summarize(trace).to_json()), account) == []


@pytest.mark.parametrize("name", ["blocked", "asleep", "off_cpu"])
def test_waits_of_the_host_are_compared(name: str, tmp_path: Path) -> None:
    """Ten milliseconds in the one range, in a lock, asleep or off the CPU; the account may differ by a tenth."""
    ms = 1_000_000
    trace = TraceBuilder().api("cudaLaunchKernel_v7000", 0, 10, correlation=1).kernel(10, 20, correlation=1)
    trace.api("cudaLaunchKernel_v7000", 12 * ms, 12 * ms + 10, correlation=2)
    trace.kernel(12 * ms + 10, 12 * ms + 20, correlation=2).range(name, ms, 11 * ms + 10)
    if name == "off_cpu":
        trace.scheduled(0, on=True).scheduled(ms, on=False).scheduled(11 * ms, on=True).scheduled(20 * ms, on=False)
    else:
        trace.os_call("sem_wait" if name == "blocked" else "clock_nanosleep", ms, 11 * ms)
    path = trace.write(tmp_path / "t.sqlite")
    expected = ExpectedCounts()
    expected.began(name)
    expected.waited(name, 10 * ms + 900_000)
    account = {**expected.to_dict(), "kernels": 2, "gpus": 1}
    digest = summarize(path, sections=[*SECTIONS, "host"]).to_dict()
    assert not [line for line in differences(digest, account) if line.startswith("seconds")]
    state = {"blocked": "blocked", "asleep": "sleep", "off_cpu": "descheduled"}[name]
    account["host_waits"] = {name: {"count": 1, "ns": 12 * ms}}
    (said,) = (line for line in differences(digest, account) if line.startswith("seconds"))
    assert said == f"seconds {state} in {name!r}: the trace has 0.01, the program did 0.012"
    plain = summarize(path).to_dict()
    assert not [line for line in differences(plain, account) if line.startswith("seconds")]
