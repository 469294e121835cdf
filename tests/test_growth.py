"""What one more thread, domain, name, open range or mode costs: a few calls, however many there are already.

Work is counted, not timed: each call of a function, of Python or numpy, is one. What is done for all rows at once costs
the same calls for a thousand as for two thousand; a loop over threads or levels shows as calls for each.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.algorithms.intervals import union_lengths
from nsys_digest.options import ON_REQUEST, SECTIONS
from nsys_digest.sections.call_groups import only_places
from nsys_digest.trace.collect.gpu import GpuTotals, Place
from nsys_digest.trace.events import Operations

Draw = Callable[[int], TraceBuilder]


def threads(count: int) -> TraceBuilder:
    """Draw threads that each push a range, launch a kernel in it, and mark a step twice."""
    trace = TraceBuilder()
    for number in range(1, count + 1):
        at = 100 * number
        trace.range("step", at, at + 50, thread=number)
        trace.mark("CG_DISPATCH:actual=1:mode=FULL:padded=8", at, thread=number)
        trace.mark("CG_DISPATCH:actual=1:mode=FULL:padded=8", at + 30, thread=number)
        trace.api("cudaLaunchKernel_v7000", at + 10, at + 20, thread=number, correlation=number)
        trace.kernel(at + 30, at + 90, correlation=number)
    return trace


def domains(count: int) -> TraceBuilder:
    trace = launched()
    for number in range(1, count + 1):
        trace.domain(number, f"library {number}").range("r", 10 * number, 10 * number + 5, domain=number)
    return trace


def names(count: int) -> TraceBuilder:
    trace = launched()
    for number in range(count):
        trace.range(f"request {number}", 10 * number, 10 * number + 5)
    return trace


def open_ranges(count: int) -> TraceBuilder:
    trace = launched()
    for number in range(count):
        trace.range("step", number, None)
    return trace


def open_ranges_of_many_names(count: int) -> TraceBuilder:
    trace = launched()
    for number in range(count):
        trace.range(f"request {number}", number, None)
    return trace


def modes(count: int) -> TraceBuilder:
    trace = launched()
    for number in range(count):
        trace.mark(f"CG_DISPATCH:actual=1:mode=M{number}:padded=8", 10 * number)
    return trace


def launched() -> TraceBuilder:
    """Draw two kernels with a gap between them, each with its launch."""
    trace = TraceBuilder()
    for number, at in enumerate((1, 50_000), 1):
        trace.api("cudaLaunchKernel_v7000", at, at + 5, correlation=number).kernel(at + 10, at + 20, correlation=number)
    return trace


def calls_in(work: Callable[[], Any]) -> int:
    """Count the calls that some work makes, in all of its threads."""
    counts: list[int] = []

    def profiler() -> Callable[[FrameType, str, Any], None]:
        at = len(counts)
        counts.append(0)

        def profile(_frame: FrameType, event: str, _arg: Any) -> None:
            if event in ("call", "c_call"):
                counts[at] += 1

        return profile

    def started(frame: FrameType, event: str, arg: Any) -> None:
        sys.setprofile(profiler())

    threading.setprofile(started)
    sys.setprofile(profiler())
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return sum(counts)


@pytest.mark.parametrize(
    ("draw", "most"),
    [(threads, 100), (domains, 60), (names, 60), (open_ranges, 2), (open_ranges_of_many_names, 60), (modes, 90)],
    ids=lambda value: getattr(value, "__name__", ""),
)
@pytest.mark.slow
def test_one_more_costs_a_few_calls(draw: Draw, most: int, tmp_path: Path) -> None:
    counts = []
    for size in (1_500, 3_000):
        path = draw(size).write(tmp_path / f"{size}.sqlite")
        summarize(path)  # what is imported and compiled on first use is done
        counts.append(calls_in(lambda path=path: summarize(path, threads=1)))
    assert (counts[1] - counts[0]) / 1_500 <= most


class Compared(np.ndarray[Any, Any]):
    """Numbers of devices; how many of them are compared with another number is counted."""

    count = 0

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if ufunc in (np.equal, np.not_equal):
            Compared.count += self.size
        plain = [np.asarray(one) if isinstance(one, Compared) else one for one in inputs]
        return getattr(ufunc, method)(*plain, **options)


def devices(count: int) -> TraceBuilder:
    """Draw for each device a thread with a step, in which it launches a collective and another kernel."""
    trace = TraceBuilder()
    for number in range(count):
        at = 100 * number
        trace.range("step", at, at + 90, thread=number + 1)
        for kernel, name in enumerate(("ncclDevKernel_AllReduce_Sum", "gemm")):
            launch, correlation = at + 20 * kernel, 2 * number + kernel + 1
            trace.api("cudaLaunchKernel_v7000", launch, launch + 5, thread=number + 1, correlation=correlation)
            trace.kernel(launch + 10, launch + 15, device=number, correlation=correlation, name=name)
    return trace


def test_no_device_looks_at_the_work_of_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the devices with as much work each compare twice as many numbers, not four times."""
    init = Operations.__init__

    def counted(self: Operations, *values: Any, **named: Any) -> None:
        init(self, *values, **named)
        object.__setattr__(self, "device", self.device.view(Compared))

    monkeypatch.setattr(Operations, "__init__", counted)
    counts = []
    for size in (60, 120):
        path = devices(size).write(tmp_path / f"{size}.sqlite")
        Compared.count = 0
        summarize(path, threads=1, sections=(*SECTIONS, *ON_REQUEST), steps="step")
        counts.append(Compared.count)
    assert counts[0] > 0
    assert counts[1] <= 2.2 * counts[0]


class Number(int):
    """A number that counts how often it is compared."""

    compared = 0
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        Number.compared += 1
        return int.__eq__(self, other) is True


def test_streams_of_a_process_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process with two streams has no stream alone; of 2,000 streams each is compared a few times, not 2,000."""
    monkeypatch.setattr(Number, "compared", 0)
    places = tuple(Place(Number(1 << 24), 0, 1, stream) for stream in range(2_000))
    none = np.zeros(0, np.int64)
    gpu = GpuTotals(places, (), none, none, (), none, none, {}, 0, 0, (True,) * len(places))
    assert only_places(gpu, 4) == {}
    assert only_places(gpu, 3) == {1 << 24: (1 << 24, 0, 1)}
    assert Number.compared < 10 * 2_000


def test_work_launched_from_ranges_that_never_end_is_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 200 open ranges has launched all that was launched since it began: 200 + 199 + … pieces of work."""
    trace = TraceBuilder()
    for number in range(200):
        at = 100 * number
        trace.range(f"request {number}", at, None)
        trace.api("cudaLaunchKernel_v7000", at + 10, at + 20, correlation=number + 1)
        trace.kernel(at + 30, at + 90, correlation=number + 1)
    path = trace.write(tmp_path / "trace.sqlite")
    looked_at = []

    def counting(*columns: Any) -> Any:
        looked_at.append(columns[2].size)
        return union_lengths(*columns)

    monkeypatch.setattr("nsys_digest.sections.launched.union_lengths", counting)
    nvtx = summarize(path).nvtx
    for number in range(200):
        detail = nvtx[f"request {number}"].detail
        assert detail is not None
        assert detail.launched_busy_ns == 60 * (200 - number)
    assert sum(looked_at) <= 200
