"""Devices and their names: which GPU a CUDA ordinal is, and what runs at once on each."""

from __future__ import annotations

from pathlib import Path

from builder import TraceBuilder
from nsys_digest import Digest, summarize


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
