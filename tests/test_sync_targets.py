"""What a wait of the host was for, and what submitted work waited for outside of the trace."""

from __future__ import annotations

from pathlib import Path

from builder import TraceBuilder, global_pid
from nsys_digest import summarize
from nsys_digest.model.section_types import Cause, DeviceIdle

LAUNCH = "cudaLaunchKernel_v7000"
STREAM_WAIT, EVENT_WAIT = "cudaStreamSynchronize_v3020", "cudaEventSynchronize_v3020"
EVENTS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"


def idle_of(trace: TraceBuilder, tmp_path: Path, device: int = 0) -> DeviceIdle:
    idle = summarize(trace.write(tmp_path / "t.sqlite"), sections=["idle"]).idle
    assert idle is not None
    return next(one for one in idle.devices if one.device == device)


def waits() -> TraceBuilder:
    """Draw a gap from 100 to 1000 with waits of the launching thread in it.

    GPU    #####                                                                   #####
           0  100                                                                  1000
    waits    50=====200  300==310  400====450  500====570  600==630  700=720    launch 900-950
             stream 13   stream ?  event, 7    event, two  device    copy
    """
    trace = TraceBuilder().api(LAUNCH, -20, 0, correlation=1).kernel(0, 100, correlation=1)
    trace.api(STREAM_WAIT, 50, 200, correlation=2).sync(50, 200, stream=13, correlation=2)
    trace.api(STREAM_WAIT, 300, 310, correlation=3)
    trace.api(EVENT_WAIT, 400, 450, correlation=4).sync(400, 450, kind=1, stream=0xFFFFFFFF, correlation=4, eventId=5)
    trace.api(EVENT_WAIT, 500, 570, correlation=5).sync(500, 570, kind=1, stream=0xFFFFFFFF, correlation=5, eventId=6)
    trace.api("cudaDeviceSynchronize_v3020", 600, 630, correlation=6)
    trace.api("cudaMemcpy_v3020", 700, 720, correlation=7)
    for event, stream in ((5, 7), (5, 7), (6, 7), (6, 13)):
        trace.row(EVENTS, deviceId=0, contextId=1, streamId=stream, eventId=event, globalPid=global_pid(1))
    trace.api(STREAM_WAIT, 100, 1000, correlation=8, thread=2).sync(100, 1000, stream=20, correlation=8)
    return trace.api(LAUNCH, 900, 950, correlation=9).kernel(1000, 1100, correlation=9)


def test_waits_by_what_they_were_for(tmp_path: Path) -> None:
    """Event 6 was recorded on two streams, so nobody knows which; another thread ended no gap."""
    device = idle_of(waits(), tmp_path)
    assert device.causes["sync"].sum_ns == 280
    assert list((device.sync_by_target_ns or {}).items()) == [
        ("stream 13", 200 - 100),
        ("event", 70),
        ("event of stream 7", 50),
        ("device", 30),
        ("copy or set", 20),
        ("stream", 10),
    ]


def test_without_rows_of_waits_their_calls_tell_the_kind(tmp_path: Path) -> None:
    device = idle_of(waits().drop_table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"), tmp_path)
    assert device.sync_by_target_ns == {"event": 120, "stream": 110, "device": 30, "copy or set": 20}


def queued(*, busy_from: int | None = None) -> TraceBuilder:
    """Draw work that starts 5 ms after its call returned, and work of another device from some time on for 10 ms."""
    trace = TraceBuilder().api(LAUNCH, -20, 0, correlation=1).kernel(0, 1000, correlation=1)
    trace.api(LAUNCH, 2000, 3000, correlation=2).kernel(5_003_000, 5_004_000, correlation=2)
    trace.api(LAUNCH, 5_004_000, 5_004_500, correlation=3).kernel(5_005_000, 5_006_000, correlation=3)
    if busy_from is not None:
        trace.api(LAUNCH, 3000, 3500, correlation=4)
        trace.kernel(busy_from, busy_from + 10_000_000, correlation=4, device=1)
    return trace


def test_work_that_waits_while_no_gpu_does_anything_waits_for_something_outside(tmp_path: Path) -> None:
    device = idle_of(queued(), tmp_path)
    assert device.causes["queued"].sum_ns == 5_000_000 + 500
    assert device.queued_outside == Cause(5_000_000, 1, 5_000_000)


def test_work_of_another_gpu_is_no_outside(tmp_path: Path) -> None:
    """From 1.003 ms on the other GPU is at work: 1 ms is left, from 1.002999 ms on less."""
    assert idle_of(queued(busy_from=1_003_000), tmp_path).queued_outside == Cause(1_000_000, 1, 1_000_000)
    assert idle_of(queued(busy_from=1_002_999), tmp_path).queued_outside == Cause(0, 0, 0)
