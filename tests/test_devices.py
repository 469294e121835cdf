"""Devices and their names: which GPU a CUDA ordinal is, and what runs at once on each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, summarize
from nsys_digest.model.base_types import OtherStreams
from nsys_digest.trace.nsys.capture import CaptureFacts, GpuFact, GpuGuesses
from nsys_digest.trace.nsys.traced import TracedFacts


def digest(trace: TraceBuilder, folder: Path) -> Digest:
    return summarize(trace.write(folder / "t.sqlite"))


def test_kinds_streams_and_processes_of_one_device(tmp_path: Path) -> None:
    # tick              0    5    10   15   20
    # process 1 stream 7 ██████████                kernel
    #           stream 7      ████                 copy, at once with it
    #           stream 8              █████        kernel
    # process 2 stream 7               █████       set: the same stream id, another stream
    trace = TraceBuilder().kernel(0, 10).memcpy(5, 9).kernel(14, 19, stream=8).memset(15, 20, process=2)
    (device,) = digest(trace, tmp_path).devices
    assert (device.span_ns, device.busy_ns, device.idle_ns) == (20, 16, 4)
    assert device.busy_ratio == 0.8
    assert dict(device.union_ns) == {"kernel": 15, "memcpy": 4, "memset": 5, "graph": 0}
    assert dict(device.sum_ns) == {"kernel": 15, "memcpy": 4, "memset": 5, "graph": 0}
    assert dict(device.count) == {"kernel": 2, "memcpy": 1, "memset": 1, "graph": 0}
    assert device.concurrency_mean == 24 / 16
    streams = [(stream.process, stream.stream, stream.busy_ns, stream.count) for stream in device.streams]
    assert streams == [(1, 7, 10, 2), (1, 8, 5, 1), (2, 7, 5, 1)]
    assert device.processes == (1, 2)


def test_of_very_many_streams_those_with_most_busy_time_are_listed(tmp_path: Path) -> None:
    """Streams 1 to 1,003 have a kernel each: the first ten of 5 ns, the others of 2; stream 1003 has two, at once.

    1,000 are listed: the ten, 1003 (2 ns, but two operations), and of the rest the first 989, up to 999. Streams 1000,
    1001 and 1002 are added up: 6 ns, three operations.
    """
    trace = TraceBuilder().kernel(20_030, 20_032, stream=1_003)
    for stream in range(1, 1_004):
        trace.kernel(20 * stream, 20 * stream + (5 if stream <= 10 else 2), stream=stream)
    trace.kernel(20_060, 20_062, stream=1_003)
    found = digest(trace, tmp_path)
    (device,) = found.devices
    assert [stream.stream for stream in device.streams] == [*range(1, 1_000), 1_003]
    assert [stream.busy_ns for stream in device.streams[8:12]] == [5, 5, 2, 2]
    assert device.other_streams == OtherStreams(streams=3, busy_ns=6, count=3)
    assert device.stream_count == 1_003
    assert device.count["kernel"] == 1_005
    assert device.busy_ns == 10 * 5 + 993 * 2 + 2
    (said,) = [warn.message for warn in found.warnings if warn.code == "streams-capped"]
    assert said.startswith("3 streams of device 0 left out: of more than 1,000")
    assert Digest.from_json(found.to_json()) == found
    document = json.loads(found.to_json())["devices"][0]
    assert document["other_streams"] == {"streams": 3, "busy_s": 6e-9, "count": 3}


def test_streams_without_a_rest_have_no_other_streams(tmp_path: Path) -> None:
    assert "other_streams" not in json.loads(digest(TraceBuilder().kernel(0, 1), tmp_path).to_json())["devices"][0]


def test_two_devices_at_once_are_busy_once_in_all(tmp_path: Path) -> None:
    # device 0  ████████
    # device 1      ████████      ██
    trace = TraceBuilder().kernel(0, 8).kernel(4, 12, device=1).kernel(18, 20, device=1)
    result = digest(trace, tmp_path)
    assert (result.gpu_activity_span_ns, result.gpu_busy_union_ns) == (20, 14)
    assert [(device.span_ns, device.busy_ns) for device in result.devices] == [(8, 8), (16, 10)]


def test_a_graph_row_is_busy_time_and_no_kernel(tmp_path: Path) -> None:
    # kernel ██
    # graph    ████████
    result = digest(TraceBuilder().kernel(0, 2).graph(2, 10), tmp_path)
    assert (result.gpu_busy_union_ns, result.kernel_count) == (10, 1)
    assert result.devices[0].count["graph"] == 1


def test_idle_gpus_that_the_trace_knows_are_listed_with_nulls(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 5).gpu(0, "busy GPU", id=0).gpu(1, "idle GPU", id=1)
    busy, idle = digest(trace, tmp_path).devices
    assert (busy.name, busy.span_ns) == ("busy GPU", 5)
    assert (idle.name, idle.span_ns, idle.busy_ns, idle.idle_ns, idle.busy_ratio) == (
        "idle GPU",
        None,
        None,
        None,
        None,
    )
    assert idle.concurrency_mean is None


def test_names_follow_the_map_of_the_process_and_not_the_order_of_gpus(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 5, device=0).kernel(0, 5, device=1)
    trace.gpu(0, "second board", id=1).gpu(1, "first board", id=0)
    assert [device.name for device in digest(trace, tmp_path).devices] == ["second board", "first board"]


def test_one_ordinal_of_two_gpus_is_two_devices(tmp_path: Path) -> None:
    """Two workers with CUDA_VISIBLE_DEVICES=0 and =1 both call their GPU device 0."""
    trace = TraceBuilder().kernel(0, 5, process=1).kernel(2, 9, process=2)
    trace.gpu(0, "GPU", id=0, uuid="aaaa", processes=(1,)).gpu(0, "GPU", id=1, uuid="bbbb", processes=(2,))
    devices = digest(trace, tmp_path).devices
    assert [(device.device, device.uuid, device.busy_ns) for device in devices] == [(0, "aaaa", 5), (0, "bbbb", 7)]


def test_old_exports_map_ordinals_themselves(tmp_path: Path) -> None:
    trace = TraceBuilder("2021").kernel(0, 5).gpu(0, "Tesla V100", processes=(1,))
    (device,) = digest(trace, tmp_path).devices
    assert device.name == "Tesla V100"


def test_operations_without_length_count_and_take_no_time(tmp_path: Path) -> None:
    result = digest(TraceBuilder().kernel(5, 9).kernel(0, 0).kernel(30, 20), tmp_path)
    assert (result.gpu_activity_span_ns, result.gpu_busy_union_ns, result.kernel_count) == (4, 4, 3)


def test_an_export_without_processes_still_has_devices(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 5).drop_columns("CUPTI_ACTIVITY_KIND_KERNEL", "globalPid", "contextId")
    (device,) = digest(trace, tmp_path).devices
    assert device.busy_ns == 5
    assert [(stream.process, stream.context, stream.stream) for stream in device.streams] == [(None, 0, 7)]
    assert device.processes == ()


def test_each_process_of_a_shared_device_alone(tmp_path: Path) -> None:
    # tick                 0    5    10   15   20
    # device 0  process 7  █████     █████             span 15, busy 10
    #           process 3     ██████                   two streams at once: span 6, busy 6
    #                          ███
    # device 1  process 7                 ████         alone: not split up
    trace = TraceBuilder().kernel(0, 5, process=7).kernel(10, 15, process=7).kernel(15, 19, process=7, device=1)
    trace.kernel(3, 9, process=3).kernel(5, 8, process=3, stream=9)
    trace.gpu(0, "a", processes=(3, 7)).gpu(1, "b", processes=(3, 7))
    first, second = digest(trace, tmp_path).devices
    own = [(own.process, own.span_ns, own.busy_ns, own.idle_ns) for own in first.by_process]
    assert own == [(3, 6, 6, 0), (7, 15, 10, 5)]
    assert (first.span_ns, first.busy_ns, second.by_process) == (15, 14, ())


def test_a_process_whose_operations_have_no_length_has_no_span(tmp_path: Path) -> None:
    (device,) = digest(TraceBuilder().kernel(0, 5, process=1).kernel(7, 7, process=2), tmp_path).devices
    own = [(own.process, own.span_ns, own.busy_ns, own.idle_ns) for own in device.by_process]
    assert own == [(1, 5, 5, 0), (2, None, None, None)]


def workers(count: int) -> TraceBuilder:
    """Draw processes that all call a GPU 0, one after the other, 10 ticks each; nothing maps them to GPUs."""
    trace = TraceBuilder("2023.3")
    for worker in range(count):
        trace.kernel(10 * worker, 10 * worker + 10, process=50 + worker)
    return trace


def test_processes_that_may_have_had_a_gpu_each(tmp_path: Path) -> None:
    trace = workers(6)
    for ordinal in range(4):
        trace.gpu(ordinal, "GPU", processes=())
    found = digest(trace, tmp_path)
    assert [(own.process, own.span_ns, own.busy_ns) for own in found.devices[0].by_process] == [
        (50 + worker, 10, 10) for worker in range(6)
    ]
    (warn,) = [warn for warn in found.warnings if warn.code == "device-ambiguous"]
    assert "6 processes (50, 51, 52, 53 and 2 more) call a GPU device 0" in warn.message
    assert "of a machine of 4 GPUs" in warn.message
    assert "gpu-name-guessed" not in {warn.code for warn in found.warnings}


def test_processes_of_one_gpu_are_no_question(tmp_path: Path) -> None:
    assert not [
        warn for warn in digest(workers(2).gpu(0, "GPU", processes=()), tmp_path).warnings if "device" in warn.code
    ]


def test_a_machine_whose_gpus_are_not_listed_may_have_several(tmp_path: Path) -> None:
    codes = {warn.code: warn.message for warn in digest(workers(2), tmp_path).warnings}
    assert "a machine whose GPUs it does not name" in codes["device-ambiguous"]


def test_instances_of_a_gpu_are_told_apart_by_uuid(tmp_path: Path) -> None:
    """Two MIG instances of one GPU, each the device 0 of a process: nsys 2025.6 names their uuid for each process."""
    trace = (
        TraceBuilder("2026.1").kernel(0, 5, process=1).kernel(2, 9, process=2).gpu(0, "A100", uuid="aaaa", processes=())
    )
    trace.row("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=1, uuid="mig1")
    trace.row("TARGET_INFO_CUDA_DEVICE", gpuId=0, cudaId=0, pid=2, uuid="mig2")
    found = digest(trace, tmp_path)
    assert [(device.name, device.uuid, device.busy_ns) for device in found.devices] == [
        ("A100", "mig1", 5),
        ("A100", "mig2", 7),
    ]
    assert "ordinal-shared" in {warn.code for warn in found.warnings}


@pytest.mark.parametrize("mapped", [True, False])
def test_many_processes_and_gpus_cost_what_they_are(mapped: bool) -> None:
    """Looking up the GPU of each process reads the map a fixed number of times, not once a process."""

    class Counted(dict[tuple[int, int], GpuFact]):
        passes = 0

        def items(self) -> Any:
            self.passes += 1
            return super().items()

    def passes(count: int) -> int:
        gpus = tuple(GpuFact(number, number, "GPU", f"u{number}") for number in range(count))
        known = Counted({(pid, pid): gpus[pid] for pid in range(count)} if mapped else {(-1, 0): gpus[0]})
        facts = CaptureFacts(None, None, None, None, None, gpus, known, {}, (), None, TRACED, None)
        guesses = GpuGuesses(facts)
        for ordinal in range(count):
            guesses.gpu(ordinal)
        return known.passes

    assert passes(50) == passes(5)


TRACED = TracedFacts(None, None, cuda_started=False, reasons=())
