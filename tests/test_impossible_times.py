"""GPU work whose time stamps cannot be right: each bound, at it and beyond it."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, summarize

LAUNCH = "cudaLaunchKernel_v7000"
MS = 1_000_000
S = 1_000_000_000


def fifty(*, shift: dict[int, int], base: int = 0) -> TraceBuilder:
    """Draw fifty launches, one each 100 µs, and kernels from 6 to 96 µs after each, some of them shifted."""
    trace = TraceBuilder()
    for index in range(50):
        at = base + 100_000 * index
        moved = at + shift.get(index, 0)
        trace.api(LAUNCH, at, at + 5_000, correlation=index + 1)
        trace.kernel(moved + 6_000, moved + 96_000, correlation=index + 1)
    return trace


def digest(trace: TraceBuilder, folder: Path) -> Digest:
    return summarize(trace.write(folder / "t.sqlite"))


def told(trace: TraceBuilder, folder: Path) -> list[str]:
    return [warn.message for warn in digest(trace, folder).warnings if warn.code == "impossible-times"]


def test_work_on_another_clock(tmp_path: Path) -> None:
    """Two of fifty kernels lie 100,000 s early: 48 remain, from 206 to 4,996 µs, each of 90 µs."""
    trace = fifty(shift={0: -100_000 * S, 1: -100_000 * S}, base=200_000 * S)
    (message,) = told(trace, tmp_path)
    assert message.startswith("2 GPU operations with time stamps that cannot be right: 2 started before the call")
    assert message.endswith("without them the span would be 4.790 ms, busy 4.320 ms, idle 470.0 µs")
    found = digest(trace, tmp_path)
    assert found.kernel_count == 50  # nothing is dropped
    assert found.launch is not None
    assert found.launch.kernels.latency.min_ns == 0


@pytest.mark.parametrize(("early", "expected"), [(MS, 0), (MS + 1, 1)])
def test_a_millisecond_is_no_fault(early: int, expected: int, tmp_path: Path) -> None:
    assert len(told(fifty(shift={7: -6_000 - early}), tmp_path)) == expected


@pytest.mark.parametrize(("early", "expected"), [(2_000_000, 0), (2_000_001, 1)])
def test_the_trace_shows_its_clock_error(early: int, expected: int, tmp_path: Path) -> None:
    """A quarter of the kernels start 0.5 ms before their call: the bound is 1 ms and twice that."""
    shift = dict.fromkeys(range(13), -6_000 - 500_000) | {20: -6_000 - early}
    assert len(told(fifty(shift=shift), tmp_path)) == expected


def test_clocks_that_were_not_matched(tmp_path: Path) -> None:
    """All kernels start 3 s before their calls: no bound is beyond that, so the clock itself is named."""
    (message,) = told(fifty(shift=dict.fromkeys(range(50), -3 * S - 6_000)), tmp_path)
    assert message.startswith("A quarter of the GPU work starts 3.000 s or more before the call that launched it")


@pytest.mark.parametrize(
    ("name", "stream", "expected"),
    [
        ("cudaDeviceSynchronize_v3020", 7, 1),
        ("cudaDeviceSynchronize_v3020", 8, 1),
        ("cudaStreamSynchronize_v3020", 7, 1),
        ("cudaStreamSynchronize_v3020", 8, 0),
        ("cudaEventSynchronize_v3020", 7, 0),
    ],
)
def test_work_that_ends_after_a_wait_for_it(name: str, stream: int, expected: int, tmp_path: Path) -> None:
    """A wait for a stream is one for all work only where all work is in one stream."""
    # launch 0 ├┤ 5         wait 10 ├───┤ 100
    # kernel       6 ├────────────────────────────┤ 100 + 1 ms + 1
    trace = TraceBuilder().api(LAUNCH, 0, 5, correlation=1).api(name, 10, 100, correlation=2)
    trace.kernel(6, 101 + MS, correlation=1).sync(11, 99, correlation=2, stream=7)
    trace.api(LAUNCH, 200, 205, correlation=3).kernel(210, 220, correlation=3, stream=stream)
    messages = told(trace, tmp_path)
    assert len(messages) == expected
    if messages:
        assert "1 ended after a call that waited for them had returned" in messages[0]
        assert "without them the span would be 10 ns" in messages[0]


@pytest.mark.parametrize(
    ("name", "context", "stream", "expected"),
    [
        ("cudaStreamSynchronize_v3020", 1, 7, 1),
        ("cudaStreamSynchronize_v3020", 1, 13, 0),  # a stream without work
        ("cudaStreamSynchronize_v3020", 2, 7, 0),
        ("cudaStreamSynchronize_v3020", None, None, 0),  # no row
        ("cudaDeviceSynchronize_v3020", 1, 0xFFFFFFFF, 1),
        ("cudaDeviceSynchronize_v3020", 2, 0xFFFFFFFF, 0),  # another device
        ("cudaDeviceSynchronize_v3020", None, None, 1),  # newer nsys writes none
    ],
)
def test_a_wait_is_of_what_its_row_says(
    name: str, context: int | None, stream: int | None, expected: int, tmp_path: Path
) -> None:
    """As above, with all work in stream 7 of context 1; the row of another process with that id says nothing."""
    trace = TraceBuilder().api(LAUNCH, 0, 5, correlation=1).api(name, 10, 100, correlation=2)
    trace.kernel(6, 101 + MS, correlation=1).sync(11, 99, correlation=2, stream=7, process=2)
    if context is not None and stream is not None:
        trace.sync(11, 99, correlation=2, context=context, stream=stream)
    assert len(told(trace, tmp_path)) == expected


def test_a_wait_of_which_two_rows_tell_is_none(tmp_path: Path) -> None:
    """Correlation ids that start again: which of the rows is that of the call is not looked at."""
    trace = TraceBuilder().api(LAUNCH, 0, 5, correlation=1)
    trace.api("cudaStreamSynchronize_v3020", 10, 100, correlation=2).kernel(6, 101 + MS, correlation=1)
    trace.sync(11, 99, correlation=2, stream=7).sync(511, 599, correlation=2, stream=7)
    assert told(trace, tmp_path) == []


@pytest.mark.parametrize("spoilt", ["failed", "later launch", "two contexts", "within the bound"])
def test_waits_that_say_nothing(spoilt: str, tmp_path: Path) -> None:
    trace = TraceBuilder().api("cudaDeviceSynchronize_v3020", 10, 100, returnValue=719 * (spoilt == "failed"))
    launch = 11 if spoilt == "later launch" else 0
    trace.api(LAUNCH, launch, launch + 5, correlation=2, thread=2)
    trace.kernel(20, 100 + MS + (spoilt != "within the bound"), correlation=2)
    if spoilt == "two contexts":
        trace.api(LAUNCH, 0, 1, correlation=3, thread=3).kernel(2, 3, correlation=3, context=2)
    assert told(trace, tmp_path) == []


@pytest.mark.parametrize("sections", [None, ()])
@pytest.mark.parametrize(("end", "expected"), [(11 * S, 0), (11 * S + 1, 1)])
def test_work_outside_of_the_session(sections: tuple[str, ...] | None, end: int, expected: int, tmp_path: Path) -> None:
    trace = TraceBuilder().session(10 * S).api(LAUNCH, 0, 5).kernel(6, 9).kernel(end - 1, end)
    found = summarize(trace.write(tmp_path / "t.sqlite"), sections=sections)
    messages = [warn.message for warn in found.warnings if warn.code == "impossible-times"]
    assert len(messages) == expected
    if messages:
        assert "without them the span would be 3 ns, busy 3 ns, idle 0 ns" in messages[0]


@pytest.mark.parametrize(("length", "expected"), [(100 * S, 0), (100 * S + 1, 1)])
def test_work_that_lasts_longer_than_all_else(length: int, expected: int, tmp_path: Path) -> None:
    """Calls and ranges span 10 s; the export does not give the length of the session."""
    trace = TraceBuilder().api(LAUNCH, 0, 5).range("r", 0, 10 * S).kernel(6, 9).kernel(10, 10 + length)
    assert len(told(trace, tmp_path)) == expected


def test_work_without_a_time_is_left_to_its_own_warning(tmp_path: Path) -> None:
    trace = TraceBuilder().api(LAUNCH, 5 * S, 5 * S + 5).kernel(0, 0)
    assert [warn.code for warn in digest(trace, tmp_path).warnings] == ["skipped-intervals"]
