"""What the rules look at: the digest, its start-up, and the idle time of what is left, by cause."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from nsys_digest.findings.thresholds import START_UP_GAP, START_UP_SHARE, START_UP_WORK
from nsys_digest.model.base_types import Device
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import numbered
from nsys_digest.model.paths import path_text
from nsys_digest.model.section_types import DeviceIdle, Gap

_FIFTH = 5
LONGEST_NAME = 100
"""Characters of a name that a message has."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found: what is at stake (None where that is no time), words, and the paths of its figures."""

    at_stake_ns: int | None
    message: str
    advice: str
    figures: tuple[str, ...]
    severe: bool = False
    """Whether severity is high whatever is at stake: other figures cannot be believed."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its code, what it looks for in one line, and what finds it."""

    code: str
    about: str
    find: Callable[[View], Found | None]


@dataclass(frozen=True, slots=True)
class StartUp:
    """The begin of a device's span, up to the end of a long gap, before most of its work.

    ``until_ns`` is the end of that gap, on the trace's own clock; ``idle_ns`` is all idle time before.
    """

    device: str
    until_ns: int
    idle_ns: int


@dataclass(frozen=True, slots=True)
class IdleOf:
    """Idle time of one cause, where there is most of it: how much, its figure, and words for the place."""

    idle_ns: int
    figure: str
    device: str


@dataclass(frozen=True)  # no slots: what is worked out once is kept beside the fields
class View:
    """A digest as the rules see it."""

    digest: Digest

    @property
    def span_ns(self) -> int:
        """The GPU span; 0 without one."""
        return self.digest.gpu_activity_span_ns or 0

    @property
    def steady_ns(self) -> int:
        """The span less the gaps of start-up: what shares of other findings are taken of."""
        return self.span_ns - (self.start_up.idle_ns if self.start_up is not None else 0)

    @cached_property
    def devices(self) -> tuple[tuple[str, Device], ...]:
        """The devices that did work, by how paths call them."""
        named = numbered((str(device.device), device) for device in self.digest.devices)
        return tuple((name, device) for name, device in named if device.did_work)

    @cached_property
    def _shared(self) -> frozenset[int]:
        """The ordinals of several devices, whose gaps the digest does not tell apart."""
        uses = Counter(device.device for device in self.digest.devices)
        return frozenset(ordinal for ordinal, count in uses.items() if count > 1)

    @cached_property
    def _by_ordinal(self) -> Mapping[str, list[Device]]:
        """The devices that did work by what paths call their ordinal."""
        found: dict[str, list[Device]] = {}
        for _, device in self.devices:
            found.setdefault(str(device.device), []).append(device)
        return found

    def device_of(self, name: str) -> Device | None:
        """Return the device of some idle time, by how paths call that: of those that did work of its ordinal."""
        ordinal, _, number = name.partition("#")
        fitting = self._by_ordinal.get(ordinal, [])
        at = int(number or 1) - 1
        return fitting[at] if at < len(fitting) else None

    @cached_property
    def idle(self) -> tuple[tuple[str, DeviceIdle], ...]:
        """The idle time of each device, by how paths call it; none where the section was not made."""
        if self.digest.idle is None:
            return ()
        return tuple(numbered((str(device.device), device) for device in self.digest.idle.devices))

    @cached_property
    def start_ups(self) -> Mapping[str, StartUp]:
        """The start-up of each device on which it takes a great part of the span; none where a window was chosen."""
        if self.digest.capture.window is not None or self.digest.idle is None:
            return {}
        found = (self._start_up(name, one) for name, one in self.devices if one.device not in self._shared)
        return {started.device: started for started in found if started is not None}

    @property
    def start_up(self) -> StartUp | None:
        """The start-up of the device that was idle longest in it."""
        return max(self.start_ups.values(), key=lambda one: one.idle_ns, default=None)

    def _start_up(self, name: str, device: Device) -> StartUp | None:
        assert self.digest.idle is not None
        if device.start_ns is None or not device.span_ns or device.busy_ns is None:
            return None
        found = None
        for gap in sorted((gap for gap in self.digest.idle.longest if gap.device == device.device), key=_start):
            if gap.busy_before_ns is None or gap.busy_before_ns > START_UP_WORK * device.busy_ns:
                break
            until_ns = gap.start_ns + gap.length_ns
            idle_ns = until_ns - device.start_ns - gap.busy_before_ns
            if gap.length_ns >= START_UP_GAP * device.span_ns and idle_ns >= START_UP_SHARE * device.span_ns:
                found = StartUp(name, until_ns, idle_ns)
        return found

    def start_up_gaps(self, device: DeviceIdle) -> Iterator[Gap]:
        """Yield the listed gaps of a device that end with the start-up of all."""
        until_ns = max((one.until_ns for one in self.start_ups.values()), default=None)
        for gap in self.digest.idle.longest if self.digest.idle is not None else ():
            if until_ns is None or device.device in self._shared:
                return
            if gap.device == device.device and gap.start_ns + gap.length_ns <= until_ns:
                yield gap

    def idle_by(self, *causes: str) -> IdleOf | None:
        """Return the idle time of causes, where there is most of it; None without any.

        It is that of the steps where steps were named, else that of the device that has most, without start-up.
        """
        steps = self.digest.steps
        if steps is not None and steps.idle_causes_ns is not None:
            idle_ns = sum(steps.idle_causes_ns.get(cause, 0) for cause in causes)
            return IdleOf(min(idle_ns, self.steady_ns), f"steps.idle_causes.{causes[0]}", "") if idle_ns else None
        found = [
            IdleOf(self.idle_on(device, *causes), _cause_path(name, causes[0]), name) for name, device in self.idle
        ]
        best = max(found, key=lambda one: one.idle_ns, default=None)
        return best if best is not None and best.idle_ns else None

    def idle_on(self, device: DeviceIdle, *causes: str) -> int:
        """Return the idle time of causes on a device, without the gaps of start-up."""
        whole = sum(device.causes[cause].sum_ns for cause in causes if cause in device.causes)
        return whole - sum(gap.causes_ns.get(cause, 0) for gap in self.start_up_gaps(device) for cause in causes)

    def gaps_with(self, cause: str) -> IdleOf | None:
        """Return the gaps of which a cause is a fifth or more, without start-up, on the device that has most."""
        found = []
        for name, device in self.idle:
            whole = (device.gaps_with_ns or {}).get(cause, 0)
            started = sum(
                gap.length_ns
                for gap in self.start_up_gaps(device)
                if gap.causes_ns.get(cause, 0) and gap.causes_ns[cause] >= gap.length_ns // _FIFTH
            )
            found.append(IdleOf(whole - started, f"idle.devices.{name}.gaps_with.{cause}", name))
        best = max(found, key=lambda one: one.idle_ns, default=None)
        return best if best is not None and best.idle_ns > 0 else None

    def of_device(self, name: str) -> DeviceIdle | None:
        """Return the idle time of the device that paths call so."""
        return dict(self.idle).get(name)

    def most_idle_ns(self) -> int:
        """Return the idle time of the device that has most, without start-up."""
        return max((self.idle_on(device, *device.causes) for _, device in self.idle), default=0)


def _start(gap: Gap) -> int:
    return gap.start_ns


def _cause_path(device: str, cause: str) -> str:
    return f"idle.devices.{device}.causes.{cause}.sum_s"


def short(name: str) -> str:
    """Return a name for a message, the beginning of a long one."""
    return name if len(name) <= LONGEST_NAME else f"{name[:LONGEST_NAME]}…"


def path(*keys: str) -> str:
    """Return the path of a figure as text."""
    return path_text(keys)
