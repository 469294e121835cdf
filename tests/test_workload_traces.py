"""Real traces of the workloads against what each program said of its own run."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nsys_digest import Digest, summarize
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, call_name
from nsys_digest.trace.nsys.tables import NVTX_MARKS
from nsys_digest.workloads.phases.comparison import compare_phases
from nsys_digest.workloads.phases.reader import read_log
from support import ROOT, call

WORKLOADS = ROOT / "fixtures" / "workloads"
SERVE = ("serve_none_node", "serve_piecewise_node", "serve_full_node", "serve_full_graph")
LAYERS = {"target": 4, "drafter": 1}
DECODE_STEPS = 12


@pytest.fixture(scope="module")
def digests() -> dict[str, Digest]:
    names = (*SERVE, "train_2", "tp_2", "opd")
    return {name: summarize(WORKLOADS / f"{name}.sqlite") for name in names}


def account(name: str) -> dict[str, Any]:
    found = json.loads((WORKLOADS / f"{name}.json").read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def graph_launches(digest: Digest) -> int:
    """Return how many calls launched a graph."""
    return sum(cost.count for name, cost in digest.api.items() if call_name(name) in GRAPH_LAUNCH_CALLS)


def codes(digest: Digest) -> set[str]:
    return {warn.code for warn in digest.warnings}


def own(digest: Digest) -> dict[str, int]:
    """Return the counts of ranges that the program itself made; libraries have ranges too, in domains of theirs."""
    return {name: ranges.count for name, ranges in digest.nvtx.items() if not name.startswith(("CCCL:", "NCCL:"))}


def test_traces_are_small_and_hold_no_machine() -> None:
    traces = sorted(WORKLOADS.glob("*.sqlite"))
    assert len(traces) == 10
    for trace in traces:
        content = trace.read_bytes()
        assert len(content) < 1_500_000
        for told in (b"/tmp/", b"/root", b"/home/", b"/opt/", b"HOSTNAME", b"LD_LIBRARY_PATH", b"kworker"):
            assert told not in content, (trace, told)


@pytest.mark.parametrize("name", SERVE)
@pytest.mark.slow
def test_serve_marks_ranges_and_graph_launches_are_those_of_the_program(name: str, digests: dict[str, Digest]) -> None:
    digest, said = digests[name], account(name)
    assert dict(digest.dispatch) == said["marks"]
    assert own(digest) == said["ranges"]
    by_mode = Counter({(step.mode, step.padded): step.graph_launch_count for step in digest.dispatch_steps or ()})
    launched = {(row["mode"], row["padded"]): row["count"] for row in said["graph_launches"]}
    assert {key: count for key, count in by_mode.items() if count and key[1] is not None} == launched
    assert graph_launches(digest) == sum(launched.values())
    assert "dispatch-disagrees" not in codes(digest)
    assert "range-captured" in codes(digest)
    assert digest.capture.gpus[0].name == said["config"]["device_name"]


def test_launches_of_each_mode_follow_from_the_layers(digests: dict[str, Digest]) -> None:
    """Each decode step has a pass of the target and one of the drafter in graphs: whole, or in layers + 1 pieces."""
    pieces = sum(layers + 1 for layers in LAYERS.values())
    expected = {"none": 0, "piecewise": DECODE_STEPS * pieces, "full": DECODE_STEPS * len(LAYERS)}
    assert expected["piecewise"] == 84
    for name in SERVE:
        said = account(name)
        graphs = said["config"]["graphs"]
        assert said["config"]["sizes"]["layers"] == LAYERS["target"]
        assert said["summary"]["decode_steps"]["steps"] == DECODE_STEPS
        assert graph_launches(digests[name]) == expected[graphs], name
        padded = {step.mode: step for step in digests[name].dispatch_steps or () if step.padded == 4}
        if graphs == "none":
            assert not padded
        else:
            assert padded[graphs.upper()].steps == DECODE_STEPS * len(LAYERS)
            assert padded[graphs.upper()].actual == 3 * DECODE_STEPS * len(LAYERS)


def test_both_trace_modes_tell_the_same_story(digests: dict[str, Digest]) -> None:
    """Two runs of one program: what it did is the same, what it took is alike."""
    node, graph = digests["serve_full_node"], digests["serve_full_graph"]
    assert node.capture.graph_trace_mode == "node"
    assert graph.capture.graph_trace_mode == "graph"
    assert dict(node.dispatch) == dict(graph.dispatch)
    # not when, but in which order the marks came; they are by time
    assert [entry.name for entry in node.dispatch_timeline] == [entry.name for entry in graph.dispatch_timeline]
    assert own(node) == own(graph)
    assert graph_launches(node) == graph_launches(graph) == graph.devices[0].count["graph"] == 24
    assert node.devices[0].count["graph"] == graph.graph_node_kernel_count == 0
    # outside of graphs the same work was launched; sets are in no graph, of the copies some are
    assert node.kernel_count - node.graph_node_kernel_count == graph.kernel_count
    assert node.devices[0].count["memset"] == graph.devices[0].count["memset"]
    assert node.gpu_busy_union_ns is not None
    assert graph.gpu_busy_union_ns == pytest.approx(node.gpu_busy_union_ns, rel=0.05)
    # a graph traced as a whole takes what its nodes take: gaps between them more, cost of tracing less
    nodes_ns = summed_graph_nodes(WORKLOADS / "serve_full_node.sqlite")
    assert graph.devices[0].union_ns["graph"] == pytest.approx(nodes_ns, rel=0.05)


def summed_graph_nodes(trace: Path) -> int:
    """Add up the kernels and copies that graphs ran, node by node; nothing in this trace overlaps."""
    with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)) as file:
        return sum(
            file.execute(f"SELECT total(end - start) FROM {table} WHERE graphNodeId IS NOT NULL").fetchone()[0]
            for table in ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_MEMCPY")
        )


def test_graphs_leave_the_gpu_less_idle_for_the_host(digests: dict[str, Digest]) -> None:
    """What docs/workloads.md concludes: busy alike, and less time waiting for host code and launch calls."""
    waits = {}
    for name in ("serve_none_node", "serve_piecewise_node", "serve_full_node"):
        idle = digests[name].idle
        assert idle is not None
        causes = idle.devices[0].causes
        waits[name] = causes["host"].sum_ns + causes["launch_call"].sum_ns
        assert digests[name].gpu_busy_union_ns == pytest.approx(175_000_000, rel=0.03)
    assert waits["serve_none_node"] > waits["serve_piecewise_node"] > waits["serve_full_node"]


def test_every_phase_of_the_distillation_agrees(digests: dict[str, Digest]) -> None:
    log = read_log(WORKLOADS / "opd.log")
    found = compare_phases(log, digests["opd"], name="opd.log")
    judged = {times.phase for times in found.judged}
    assert judged == {"opd_step", *(phase.phase for phase in log.phases)} - {"unattributed"}
    assert len(judged) == 17
    for times in found.judged:
        assert times.range_ns is not None
        assert abs(times.range_ns - times.log_ns) <= max(0.02 * times.log_ns, 100_000), times
    (rest,) = (times for times in found.phases if times.verdict == "not judged")
    assert rest.phase == "unattributed"
    assert rest.difference_ns is not None
    # the rest is further off than any phase may be: it has the error of all of them, and that of the step
    step, *phases = found.judged
    assert rest.difference_ns > 100_000
    assert rest.difference_ns == pytest.approx(
        (step.difference_ns or 0) - sum(times.difference_ns or 0 for times in phases), abs=20_000
    )  # the log's sum is of times of six digits
    ran = call("workload", "phases", "--check", WORKLOADS / "opd.log", WORKLOADS / "opd.sqlite")
    assert ran.status == 0
    assert json.loads(ran.out)["agrees"] is True


def test_the_rollout_has_a_range_for_each_token(digests: dict[str, Digest]) -> None:
    counts = own(digests["opd"])
    assert {name: count for name, count in counts.items() if count != 1} == dict.fromkeys(
        ("rollout_positions", "rollout_student_forward", "rollout_argmax_readback"), 2
    )


def all_ranks(said: dict[str, Any], kind: str) -> dict[str, int]:
    """Add up what the ranks counted: the digest goes by name, over all processes."""
    return dict(sum((Counter(rank[kind]) for rank in said["ranks"]), Counter[str]()))


def ranges_of_each_process(trace: Path, names: set[str]) -> list[dict[str, int]]:
    """Return how often each process, by the device that it ran on, was in the ranges of these names."""
    with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)) as file:
        process_of = file.execute(
            "SELECT DISTINCT deviceId, globalPid >> 24 FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY deviceId"
        ).fetchall()
        counts: dict[int, Counter[str]] = {process: Counter() for _, process in process_of}
        for process, name in file.execute(
            "SELECT note.globalTid >> 24, coalesce(note.text, named.value) FROM NVTX_EVENTS AS note "
            "LEFT JOIN StringIds AS named ON named.id = note.textId WHERE note.end IS NOT NULL"
        ):
            if name in names:
                counts[process][name] += 1
    assert len(process_of) == len(counts), "a process on two devices, or two on one"
    return [dict(counts[process]) for _, process in process_of]


def all_reduces(trace: Path, device: int, where: str = "true") -> list[tuple[int, int]]:
    """Return start and end of the all-reduces of a device, in time."""
    with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)) as file:
        return file.execute(
            "SELECT kernel.start, kernel.end FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel "
            "JOIN StringIds AS named ON named.id = kernel.shortName "
            f"WHERE named.value LIKE 'ncclDevKernel_AllReduce%' AND kernel.deviceId = ? AND {where} "
            "ORDER BY kernel.start",
            (device,),
        ).fetchall()


BUCKETS_ONLY = """
    (SELECT made.start FROM CUPTI_ACTIVITY_KIND_RUNTIME AS made
        WHERE made.correlationId = kernel.correlationId AND made.globalTid >> 24 = kernel.globalPid >> 24)
    BETWEEN (SELECT min(start) FROM NVTX_EVENTS AS note JOIN StringIds AS called ON called.id = note.textId
        WHERE called.value = 'step' AND note.globalTid >> 24 = kernel.globalPid >> 24)
    AND (SELECT max(end) FROM NVTX_EVENTS AS note JOIN StringIds AS called ON called.id = note.textId
        WHERE called.value = 'step' AND note.globalTid >> 24 = kernel.globalPid >> 24)
"""
"""The all-reduces that were launched between the first step's begin and the last step's end of their own rank."""


def test_training_steps_are_those_of_the_program(digests: dict[str, Digest]) -> None:
    digest, said = digests["train_2"], account("train_2")
    trace = WORKLOADS / "train_2.sqlite"
    assert own(digest) == all_ranks(said, "ranges")
    assert ranges_of_each_process(trace, set(own(digest))) == [rank["ranges"] for rank in said["ranks"]]
    assert len(said["ranks"]) == said["config"]["gpus"] == 2
    assert said["equal_parameters"] is True
    for rank in said["ranks"]:
        assert rank["ranges"]["step"] == len(rank["step_s"]) == len(said["losses"]) == said["config"]["steps"] == 4
    found = summarize(trace, steps="step").steps
    assert found is not None
    assert found.count == 8
    # the program's clock and the trace's: a step of rank 1 came first, and each lasted until the next one began
    first = [said["ranks"][rank]["step_s"][0] * 1e9 for rank in (1, 0)]
    assert [step.wall_ns for step in found.warmup] == pytest.approx(first, rel=0.001)
    longest = max(length for rank in said["ranks"] for length in rank["step_s"][1:])
    assert found.wall.max_ns == pytest.approx(longest * 1e9, rel=0.01)
    for name in ("forward", "optimizer"):
        assert digest.nvtx[name].sum_ns < digest.nvtx["step"].sum_ns
    backward = digest.nvtx["backward"].detail
    forward = digest.nvtx["forward"].detail
    assert backward is not None
    assert forward is not None
    # PyTorch launches the backward pass from a thread of its own
    assert backward.launched_busy_ns is not None
    assert forward.launched_busy_ns is not None
    assert backward.launched_busy_ns < 0.05 * forward.launched_busy_ns


@pytest.mark.slow
def test_every_bucket_of_gradients_is_an_all_reduce_on_each_device(digests: dict[str, Digest]) -> None:
    digest, said = digests["train_2"], account("train_2")
    communication = digest.communication
    assert communication is not None
    assert [row.device for row in communication] == [0, 1]
    for row, rank in zip(communication, said["ranks"], strict=True):
        assert rank["bucket_bytes"] == 4 * said["parameters"] * said["config"]["steps"]  # gradients are in float32
        assert len(all_reduces(WORKLOADS / "train_2.sqlite", row.device, BUCKETS_ONLY)) == rank["buckets"] == 25
        # and besides the losses, the comparison of parameters, and a barrier before the steps and one at the end
        assert row.by_kind["all_reduce"].count == rank["buckets"] + 4


@pytest.mark.slow
def test_a_rank_that_is_early_waits_inside_its_all_reduce() -> None:
    """What docs/workloads.md concludes: both kernels of a bucket end together, and the longer one began earlier."""
    here, there = (all_reduces(WORKLOADS / "train_2.sqlite", device, BUCKETS_ONLY) for device in (0, 1))
    for one, other in zip(here, there, strict=True):
        assert abs(one[1] - other[1]) < 25_000, "the two clocks, and the way from one device to the other"
    # in the first step rank 0 was the last to arrive, in the later ones rank 1, at every bucket
    assert [one[0] > other[0] for one, other in zip(here, there, strict=True)] == [True] + [False] * 24
    assert there[0][1] - there[0][0] == 88_564_321
    assert min(end - start for start, end in here[1:]) > 2 * max(end - start for start, end in there[1:])


def test_communication_is_hidden_where_the_device_computes_beside_it(digests: dict[str, Digest]) -> None:
    communication = digests["train_2"].communication
    decode = digests["tp_2"].communication
    assert communication is not None
    assert decode is not None
    for row in (*communication, *decode):
        assert row.union_ns == row.hidden_ns + row.exposed_ns
    assert communication[0].hidden_ns > 0.2 * communication[0].union_ns
    assert communication[1].hidden_ns < 0.001 * communication[1].union_ns
    # in a decode each product needs the sum before it: nothing is left to hide behind
    assert [row.hidden_ns for row in decode] == [0, 0]


def test_each_decoded_token_is_one_graph_on_each_device(digests: dict[str, Digest]) -> None:
    digest, said = digests["tp_2"], account("tp_2")
    trace = WORKLOADS / "tp_2.sqlite"
    assert own(digest) == all_ranks(said, "ranges") == {"decode_step": 32}
    assert ranges_of_each_process(trace, {"decode_step"}) == [rank["ranges"] for rank in said["ranks"]]
    assert dict(digest.dispatch) == all_ranks(said, "marks")
    assert graph_launches(digest) == 2 * said["graph_launches"] == 32
    assert "dispatch-disagrees" not in codes(digest)
    (whole,) = (step for step in digest.dispatch_steps or () if step.padded is None)
    # a step ends with the next mark of its thread, so the last one of each rank has no launches of its own
    assert (whole.mode, whole.steps, whole.graph_launch_count) == ("FULL", 32, 30)
    assert launches_in_each(trace, "decode_step") == [(1, 1)] * 32


def test_the_all_reduces_of_a_decode_are_in_its_graphs(digests: dict[str, Digest]) -> None:
    said = account("tp_2")
    communication = digests["tp_2"].communication
    assert communication is not None
    a_step = 2 * said["config"]["layers"]
    in_graphs_ns = []
    assert said["all_reduces"] == a_step * said["config"]["tokens"] == 128
    for row in communication:
        nodes = all_reduces(WORKLOADS / "tp_2.sqlite", row.device, "graphNodeId IS NOT NULL")
        assert len(nodes) == said["all_reduces"]
        in_graphs_ns.append(sum(end - start for start, end in nodes))
        # outside: two steps before the capture, a barrier before the decode and one at the end
        assert row.by_kind.keys() == {"all_reduce"}
        assert row.by_kind["all_reduce"].count == said["all_reduces"] + 2 * a_step + 2
    # what one device waited for the other lies outside of the decode
    assert in_graphs_ns == [799_645, 896_897]
    assert communication[1].union_ns > 100 * communication[0].union_ns


def launches_in_each(trace: Path, name: str) -> list[tuple[int, int]]:
    """Return, for each range of a name in time, how many marks and how many graph launches lie in it."""
    marks = ", ".join(map(str, NVTX_MARKS))
    with closing(sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)) as file:
        return file.execute(
            f"""
            SELECT
                (SELECT count(*) FROM NVTX_EVENTS AS mark WHERE mark.globalTid = step.globalTid
                    AND mark.eventType IN ({marks}) AND mark.start BETWEEN step.start AND step.end),
                (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS made JOIN StringIds ON StringIds.id = made.nameId
                    WHERE made.globalTid = step.globalTid AND StringIds.value LIKE 'cudaGraphLaunch%'
                    AND made.start BETWEEN step.start AND step.end)
            FROM NVTX_EVENTS AS step LEFT JOIN StringIds AS named ON named.id = step.textId
            WHERE coalesce(step.text, named.value) = ? AND step.end IS NOT NULL ORDER BY step.start
            """,
            (name,),
        ).fetchall()
