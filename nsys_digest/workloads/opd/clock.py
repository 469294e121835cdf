"""Clocks for what runs on a device, and the times of a step's phases."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from nsys_digest.workloads.opd.model import synchronize
from nsys_digest.workloads.opd.settings import PhaseTiming
from nsys_digest.workloads.phases.comparison import STEP
from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.requirements import need_torch


class Clock(Protocol):
    """Takes stamps while work runs, and turns them into times afterwards."""

    def finish(self) -> None:
        """Have the range that is about to end hold the work begun in it, where stamps count it so."""

    def stamp(self) -> Any:
        """Take a stamp."""

    def resolve(self, stamps: Sequence[Any]) -> list[int]:
        """Return stamps, given in the order in which they were taken, as nanoseconds that never decrease."""


class WaitingClock:
    """The host's clock, read once the device has done everything before: one synchronise a stamp."""

    def __init__(self, device: Any) -> None:
        self._device = device

    def finish(self) -> None:
        """Wait."""
        synchronize(self._device)

    def stamp(self) -> int:
        """Wait, and read the clock."""
        synchronize(self._device)
        return time.perf_counter_ns()

    def resolve(self, stamps: Sequence[int]) -> list[int]:
        """Return the stamps."""
        return list(stamps)


class HostClock:
    """The host's clock, read without waiting: what a phase takes to ask for its work."""

    def finish(self) -> None:
        """Do nothing."""

    def stamp(self) -> int:
        """Read the clock."""
        return time.perf_counter_ns()

    def resolve(self, stamps: Sequence[int]) -> list[int]:
        """Return the stamps."""
        return list(stamps)


class EventClock:
    """CUDA events in the current stream: times on the device, half a microsecond apart at best, without waiting."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._torch = need_torch()

    def finish(self) -> None:
        """Do nothing."""

    def stamp(self) -> Any:
        """Record an event."""
        event = self._torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def resolve(self, stamps: Sequence[Any]) -> list[int]:
        """Wait, and return the events' distances from the first of them."""
        synchronize(self._device)
        found: list[int] = []
        for event in stamps:
            distance_ns = round(stamps[0].elapsed_time(event) * 1e6)
            found.append(max(distance_ns, found[-1] if found else 0))
        return found


def clock_of(timing: PhaseTiming, device: Any) -> Clock:
    """Return the clock of a way of timing."""
    if timing == "sync":
        return WaitingClock(device)
    return EventClock(device) if timing == "events" else HostClock()


class StepTimer:
    """Times of one step: every phase is an NVTX range of its name, stamped as it has begun and as it has ended.

    Both stamps lie behind an edge of the range, as late as each other, so that neither of the two times is the longer.
    ``prefix`` is put before the names of the ranges of a step that is not to be counted. After the step, ``total_ns``
    and ``ns_by_phase`` hold its times, instances of a phase added up; phases do not overlap, so they add up to the
    total or less.
    """

    def __init__(self, clock: Clock, marks: Marks, device: Any, prefix: str = "") -> None:
        self._clock = clock
        self._marks = marks
        self._device = device
        self._prefix = prefix
        self._stamps: list[Any] = []
        self._names: list[str] = []
        self.total_ns = 0
        self.ns_by_phase: dict[str, int] = {}

    @property
    def stamp_count(self) -> int:
        """How many stamps were taken."""
        return len(self._stamps)

    @contextmanager
    def step(self) -> Iterator[None]:
        """Time the whole step, from an idle device to an idle device."""
        synchronize(self._device)
        with self._marks.range(f"{self._prefix}{STEP}"):
            self._stamps.append(self._clock.stamp())
            yield
            synchronize(self._device)
        self._stamps.append(self._clock.stamp())
        self._settle()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Time one instance of a phase."""
        with self._marks.range(f"{self._prefix}{name}"):
            self._stamps.append(self._clock.stamp())
            yield
            self._clock.finish()
        self._stamps.append(self._clock.stamp())
        self._names.append(name)

    def _settle(self) -> None:
        found = self._clock.resolve(self._stamps)
        self.total_ns = found[-1] - found[0]
        for index, name in enumerate(self._names):
            taken_ns = found[2 * index + 2] - found[2 * index + 1]
            self.ns_by_phase[name] = self.ns_by_phase.get(name, 0) + taken_ns
