"""The GPU span of a digest as terms that add up to it, and the change of a span as the changes of its terms.

``span = busy + idle``. Busy time is the plain sum of what ran, less the time that ran beside other work and so took
none of its own; idle time is the sum of its causes. All of it is exact, in integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar, Final, Literal, TypeAlias

from nsys_digest.compare.devices import active, pair_devices
from nsys_digest.model.base_types import Device
from nsys_digest.model.catalogue import computed, figure, label, part, result
from nsys_digest.model.digest import Digest
from nsys_digest.model.idle_causes import FORMER_CAUSE, NEWER_CAUSES
from nsys_digest.model.section_types import DeviceIdle

Group: TypeAlias = Literal["busy", "idle"]
OPERATIONS: Final = {"memcpy": "copies", "memset": "sets", "graph": "graphs"}
"""The term of each kind of operation that is no kernel."""


@result
class Term:
    """A part of both spans; ``beside`` is negative: time that did not lengthen the span."""

    MORE_KEYS: ClassVar = True

    name: str = label("kernels, kernels CATEGORY, copies, sets, graphs, beside (negative), idle, or idle CAUSE")
    group: Group = label("which of the two it is a part of")
    base_ns: int = figure("s", "its part of the span of BASE", label="BASE", least=None)
    head_ns: int = figure("s", "its part of the span of HEAD", label="HEAD", least=None)

    @property
    @computed("what it adds to the change of the span", unit="s", label="change", least=None, after="head_ns")
    def change_ns(self) -> int:
        """What the term adds to the change of the span."""
        return self.head_ns - self.base_ns


@result
class SpanBreakdown:
    """Two spans and their terms, which add up to both spans, and so to the change."""

    MORE_KEYS: ClassVar = True

    base_ns: int = figure("s", "span of BASE", label="BASE")
    head_ns: int = figure("s", "span of HEAD", label="HEAD")
    terms: tuple[Term, ...] = part("most moved first; base_s, head_s and change_s add up to those of the span")

    @property
    @computed("span of HEAD minus span of BASE", unit="s", label="change", least=None, after="head_ns")
    def change_ns(self) -> int:
        """Span of HEAD minus span of BASE."""
        return self.head_ns - self.base_ns

    @property
    @computed("span of HEAD over span of BASE; null where that is 0", unit="ratio", label="ratio", after="change_ns")
    def ratio(self) -> float | None:
        """Span of HEAD over span of BASE; None where that is 0."""
        return self.head_ns / self.base_ns if self.base_ns else None

    @property
    @computed("what busy terms add to the change", unit="s", label="busy", least=None, after="ratio")
    def busy_change_ns(self) -> int:
        """What the busy terms add to the change."""
        return self.change_of("busy")

    @property
    @computed("what idle terms add to the change", unit="s", label="idle", least=None, after="busy_change_ns")
    def idle_change_ns(self) -> int:
        """What the idle terms add to the change."""
        return self.change_of("idle")

    def change_of(self, group: Group) -> int:
        """Return what the terms of a group add to the change."""
        return sum(term.change_ns for term in self.terms if term.group == group)


@result
class DeviceSpanBreakdown:
    """The breakdown of the spans of one device of each side."""

    MORE_KEYS: ClassVar = True

    base_device: int = label("CUDA ordinal of the device in BASE")
    head_device: int = label("CUDA ordinal of the device in HEAD")
    breakdown: SpanBreakdown = part("its span", inline=True)


def whole_breakdown(base: Digest, head: Digest) -> SpanBreakdown | None:
    """Return the breakdown of the spans over all devices; None where a side has no GPU activity.

    Kernels are split by category. Idle time, in which no device was at work, is split by cause where one device did all
    the work of its side; with several devices the digest has causes of each device only.
    """
    if base.gpu_activity_span_ns is None or head.gpu_activity_span_ns is None:
        return None
    if base.gpu_busy_union_ns is None or head.gpu_busy_union_ns is None:
        return None
    kernels = [_categories(digest) for digest in (base, head)]
    idle = _alike(*(_whole_idle(digest) for digest in (base, head)))
    sides = []
    for digest, categories, causes in zip((base, head), kernels, idle, strict=True):
        parts = _busy(active(digest), None if None in kernels else categories, digest.gpu_busy_union_ns or 0)
        sides.append(parts | _idle(None if None in idle else causes, digest.gpu_idle_within_span_ns or 0))
    return _breakdown(base.gpu_activity_span_ns, head.gpu_activity_span_ns, *sides)


def device_breakdowns(base: Digest, head: Digest) -> tuple[DeviceSpanBreakdown, ...]:
    """Return the breakdown of each pair of devices; kernels are one term, since categories are over all devices."""
    found = []
    bases, heads = active(base), active(head)
    for ours, theirs in pair_devices(base, head):
        devices = bases[ours], heads[theirs]
        idle = _alike(*(_device_idle(digest, place) for digest, place in ((base, ours), (head, theirs))))
        sides = [
            _busy((device,), None, device.busy_ns or 0) | _idle(None if None in idle else causes, device.idle_ns or 0)
            for device, causes in zip(devices, idle, strict=True)
        ]
        breakdown = _breakdown(devices[0].span_ns or 0, devices[1].span_ns or 0, *sides)
        found.append(DeviceSpanBreakdown(devices[0].device, devices[1].device, breakdown))
    return tuple(found)


_Parts: TypeAlias = dict[tuple[str, Group], int]


def _busy(devices: Iterable[Device], kernels: Mapping[str, int] | None, busy_ns: int) -> _Parts:
    """Return what ran by kind, and as a negative part what of it ran beside other work."""
    sums = {kind: sum(device.sum_ns.get(kind, 0) for device in devices) for kind in ("kernel", *OPERATIONS)}
    by_name = (
        {"kernels": sums["kernel"]} if kernels is None else {f"kernels {name}": ns for name, ns in kernels.items()}
    )
    parts: _Parts = {(name, "busy"): ns for name, ns in by_name.items()}
    parts |= {(name, "busy"): sums[kind] for kind, name in OPERATIONS.items()}
    return parts | {("beside", "busy"): busy_ns - sum(sums.values())}


def _idle(causes: Mapping[str, int] | None, idle_ns: int) -> _Parts:
    if causes is None:
        return {("idle", "idle"): idle_ns}
    return {(f"idle {cause}", "idle"): ns for cause, ns in causes.items()}


_Causes: TypeAlias = dict[str, int]


def _alike(base: _Causes | None, head: _Causes | None) -> tuple[_Causes | None, _Causes | None]:
    """Return causes that mean the same on both sides; None where the older of two documents does not tell.

    A document of before there was ``migration`` has its time as ``unattributed``; of before there was ``profiler`` it
    lies in other causes, nobody knows in which.
    """
    if base is None or head is None:
        return None, None
    folded = [dict(causes) for causes in (base, head)]
    for mine, other in (folded, folded[::-1]):
        for name in [name for name in mine if name not in other and name in NEWER_CAUSES]:
            ns = mine.pop(name)
            if name in FORMER_CAUSE:
                mine[FORMER_CAUSE[name]] = mine.get(FORMER_CAUSE[name], 0) + ns
            elif ns:
                return None, None
    return folded[0], folded[1]


def _categories(digest: Digest) -> dict[str, int] | None:
    """Return the kernel time of each category, where they were made and add up."""
    if digest.categories is None:
        return None
    sums = {name: category.sum_ns for name, category in digest.categories.items()}
    return sums if sum(sums.values()) == sum(device.sum_ns.get("kernel", 0) for device in active(digest)) else None


def _whole_idle(digest: Digest) -> dict[str, int] | None:
    """Return the idle time of each cause where one device did all the work."""
    causes = _device_idle(digest, 0) if len(active(digest)) == 1 else None
    return causes if causes is not None and sum(causes.values()) == digest.gpu_idle_within_span_ns else None


def _device_idle(digest: Digest, place: int) -> dict[str, int] | None:
    """Return the idle time of each cause of a device, where it was made and adds up."""
    idle: tuple[DeviceIdle, ...] = digest.idle.devices if digest.idle is not None else ()
    if len(idle) != len(active(digest)):
        return None
    causes = {name: cause.sum_ns for name, cause in idle[place].causes.items()}
    return causes if sum(causes.values()) == active(digest)[place].idle_ns else None


def _breakdown(base_ns: int, head_ns: int, base: _Parts, head: _Parts) -> SpanBreakdown:
    """Order the terms by how much they moved, then by size, then by name; those that are 0 on both sides go."""
    return SpanBreakdown(base_ns, head_ns, tuple(sorted(_terms(base, head), key=_order)))


def _terms(base: _Parts, head: _Parts) -> Iterator[Term]:
    for name, group in {**base, **head}:
        term = Term(name, group, base.get((name, group), 0), head.get((name, group), 0))
        if term.base_ns or term.head_ns:
            yield term


def _order(term: Term) -> tuple[int, int, str]:
    return -abs(term.change_ns), -max(abs(term.base_ns), abs(term.head_ns)), term.name
