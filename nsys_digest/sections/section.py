"""What a section is, and what it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cached_property
from typing import Any

import numpy as np

from nsys_digest.algorithms.intervals import Intervals, union
from nsys_digest.algorithms.members import Members, members
from nsys_digest.model.base_types import Warn
from nsys_digest.sections.classified import Classified, exposed_collectives
from nsys_digest.sections.devices import GpuTime
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.sections.looked_at import LookedAt
from nsys_digest.sections.lost_rows import LostRows, lost_rows
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.shared_out import SharedOut, shared_out
from nsys_digest.sections.unlaunched_work import unlaunched_work
from nsys_digest.selection import Selection
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.collect.whole import Scanned
from nsys_digest.trace.events import Events
from nsys_digest.trace.nsys.tables import GPU_KINDS
from nsys_digest.units import counted


@dataclass(frozen=True)  # no slots: what is worked out once is kept beside the fields
class Context:
    """What sections are made from.

    What several of them need is worked out when the first asks for it; ``dataclasses.replace`` gives a copy with
    nothing worked out, for another thread.
    """

    looked: LookedAt
    scanned: Scanned
    gpu: GpuTime
    strings: Mapping[int, str]
    """Texts of the string ids in use."""
    range_idle_ns: Mapping[str, int]
    """Idle time within the ranges of each name."""
    session_ns: int | None
    options: SectionOptions

    @property
    def events(self) -> Events:
        """The events of what is looked at, whole, whenever they were."""
        return self.looked.events

    @property
    def selection(self) -> Selection:
        """What is looked at."""
        return self.looked.selection

    @property
    def devices_with_span(self) -> dict[int, int]:
        """The CUDA ordinals, by index, of the devices whose idle time is known."""
        return {index: device.device for index, device in enumerate(self.gpu.devices) if device.did_work}

    @cached_property
    def of_devices(self) -> Members:
        """The operations of each device, by index, as positions among those of ``events``."""
        return members(self.events.operations.device, len(self.gpu.devices))

    @cached_property
    def any_busy(self) -> Intervals:
        """When any device was at work, looked at or not, in the window or not."""
        if self.selection.is_whole:
            return self.gpu.busy
        operations = self.looked.all.operations
        return union(operations.start_ns, operations.end_ns)

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The CUDA ordinal of each device."""
        return tuple(device.device for device in self.gpu.devices)

    @cached_property
    def launched(self) -> LaunchedWork:
        """The work behind the calls of each thread, of which the part in the window counts."""
        looked = self.looked
        return LaunchedWork(looked.on_clock, None if looked.selection.is_whole else looked.counts)

    @cached_property
    def launches(self) -> LaunchedWork:
        """The work behind the calls of each thread, whole."""
        return self.launched if self.looked.on_clock is self.events else LaunchedWork(self.events)

    @cached_property
    def kernels(self) -> Classified:
        """The kernels that count by category, on the clock of the window."""
        return Classified(self.looked.parts, self.strings, self.options.kernel_categories)

    @cached_property
    def exposed(self) -> list[Intervals]:
        """When a collective ran on each device, and no other kernel did, in the window or not."""
        return exposed_collectives(self.whole_kernels, len(self.gpu.devices))

    @cached_property
    def whole_kernels(self) -> Classified:
        """The kernels by category, whole, whether or not they have a part in the window."""
        if self.selection.is_whole:
            return self.kernels
        return Classified(self.events.operations, self.strings, self.options.kernel_categories)

    @cached_property
    def shared_out(self) -> SharedOut:
        """The busy time of each device, shared out among kinds of work."""
        return shared_out(self.whole_kernels, len(self.gpu.devices), self.selection)

    @cached_property
    def lost(self) -> LostRows:
        """Launches without GPU work."""
        return lost_rows(self.looked.checked, self.scanned.gpu, self.looked.calls)


class Blind(Enum):
    """What a section may be unable to see; each is warned of once, whichever sections it limits."""

    whole_graphs = auto()
    """Kernels of CUDA graphs that are traced as a whole."""
    unlaunched_work = auto()
    """GPU work without a launch call in the trace."""

    def warning(self, events: Events, gpu: GpuTotals, *, whole: bool = True) -> Warn | None:
        """Return what to say of it; None where there is nothing of the kind. ``whole`` tells of all of time."""
        return unlaunched_work(events, gpu, whole=whole) if self is Blind.unlaunched_work else _whole_graphs(events)


def _whole_graphs(events: Events) -> Warn | None:
    count = int(np.count_nonzero(events.operations.kind == GPU_KINDS.index("graph")))
    if not count:
        return None
    return Warn(
        "graph-kernels-unseen",
        f"{counted(count, 'CUDA graph launch')} traced as a whole: "
        "kernel totals, categories, communication and kernel durations do not see what ran inside. Profile with "
        "--cuda-graph-trace=node to see it, at a cost in time",
    )


class Lane(Enum):
    """Sections are made in two threads; those that share dear work are in one."""

    time = auto()
    """Those that look at operations and calls in time."""
    launches = auto()
    """Those that look at the work behind calls."""


@dataclass(frozen=True, slots=True)
class Made:
    """A section, in the type that ``model`` has for it, and what must be known before it is believed."""

    value: Any
    warnings: tuple[Warn, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the digest that looks at events one by one; its name is that of its field."""

    name: str
    make: Callable[[Context], Made]
    lane: Lane
    blind_to: frozenset[Blind] = frozenset()

    def is_asked_for(self, options: SectionOptions) -> bool:
        """Whether it is to be made."""
        return self.name in options.sections
