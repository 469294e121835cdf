"""The figures of a digest by name, part by part: what a comparison puts side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from nsys_digest.compare.devices import active, pair_devices
from nsys_digest.compare.tables import Figures, Number
from nsys_digest.model.base_types import KINDS
from nsys_digest.model.digest import Digest
from nsys_digest.model.section_types import Durations, LaunchCost

Named: TypeAlias = Mapping[str, Figures]
Labels: TypeAlias = tuple[str, ...]
"""What a side calls each device that did work."""


def headline(digest: Digest) -> Figures:
    """Return the figures of a whole digest; None where it does not have one."""
    span, busy, devices = digest.gpu_activity_span_ns, digest.gpu_busy_union_ns, digest.devices
    exposed = None if digest.communication is None else sum(device.exposed_ns for device in digest.communication)
    return {
        "gpu_activity_span_ns": span,
        "gpu_busy_union_ns": busy,
        "gpu_idle_within_span_ns": digest.gpu_idle_within_span_ns,
        "gpu_busy_ratio": busy / span if span and busy is not None else None,
        "kernel_sum_ns": sum(device.sum_ns["kernel"] for device in devices),
        "kernel_count": digest.kernel_count,
        "graph_node_kernel_count": digest.graph_node_kernel_count,
        "graph_count": sum(device.count["graph"] for device in devices),
        "memcpy_count": sum(device.count["memcpy"] for device in devices),
        "memset_count": sum(device.count["memset"] for device in devices),
        "exposed_communication_ns": exposed,
        "api_count": sum(call.count for call in digest.api.values()),
        "api_total_ns": sum(call.total_ns for call in digest.api.values()),
        "dispatch_count": sum(digest.dispatch.values()),
    }


def device_labels(base: Digest, head: Digest) -> tuple[Labels, Labels]:
    """Return what each side calls its devices that did work: ``0``, or ``0→1`` for a pair of other ordinals."""
    bases, heads = active(base), active(head)
    names = [[str(device.device) for device in side] for side in (bases, heads)]
    for ours, theirs in pair_devices(base, head):
        if bases[ours].device != heads[theirs].device:
            both = f"{bases[ours].device}→{heads[theirs].device}"
            names[0][ours] = names[1][theirs] = both
    first, second = (numbered(side) for side in names)
    return first, second


def numbered(names: Iterable[str]) -> Labels:
    """Tell equal names apart: the second of ``0`` is ``0#2``."""
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(told)


def _tails(tails: Durations) -> Figures:
    return {
        "count": tails.count,
        **{f"{name}_ns": getattr(tails, f"{name}_ns") for name in ("min", "p50", "p95", "p99", "max")},
    }


def _devices(digest: Digest, labels: Labels) -> Named:
    return {
        label: {
            "span_ns": device.span_ns,
            "busy_ns": device.busy_ns,
            "idle_ns": device.idle_ns,
            "busy_ratio": device.busy_ratio,
            "concurrency_mean": device.concurrency_mean,
            **{f"{kind}_union_ns": device.union_ns[kind] for kind in KINDS},
            **{f"{kind}_sum_ns": device.sum_ns[kind] for kind in KINDS},
            **{f"{kind}_count": device.count[kind] for kind in KINDS},
        }
        for label, device in zip(labels, active(digest), strict=True)
    }


def _idle(digest: Digest, labels: Labels) -> Named | None:
    if digest.idle is None:
        return None
    return {
        f"{label}/{name}": {"total_ns": cause.sum_ns, "gaps": cause.gaps, "longest_ns": cause.longest_ns}
        for label, device in zip(labels, digest.idle.devices, strict=False)
        for name, cause in device.causes.items()
    }


def _idle_host(digest: Digest, labels: Labels) -> Named | None:
    if digest.idle is None:
        return None
    return {
        f"{label}/{name}": {"total_ns": ns}
        for label, device in zip(labels, digest.idle.devices, strict=False)
        for name, ns in device.host_by_nvtx_ns.items()
    }


def _launch(digest: Digest, _: Labels) -> Named | None:
    return None if digest.launch is None else {name: _cost(cost) for name, cost in digest.launch.by_api.items()}


def _cost(cost: LaunchCost) -> Figures:
    figures: dict[str, Number | None] = {"latency_total_ns": cost.latency.total_ns, "launch_count": cost.api.count}
    for name, tails in (("latency", cost.latency), ("queue_delay", cost.queue_delay), ("api", cost.api)):
        figures |= {f"{name}_{point}_ns": getattr(tails, f"{point}_ns") for point in ("p50", "p95", "p99")}
    return figures


def api(digest: Digest, _: Labels) -> Named:
    """Return the calls by name as recorded."""
    return {name: {"total_ns": call.total_ns, "count": call.count} for name, call in digest.api.items()}


def _nvtx(digest: Digest, _: Labels) -> Named:
    found = {}
    for name, ranges in digest.nvtx.items():
        figures: dict[str, Number | None] = {
            "union_ns": ranges.union_ns,
            "sum_ns": ranges.sum_ns,
            "count": ranges.count,
            "gpu_overlap_ns": ranges.gpu_overlap_ns,
        }
        if (detail := ranges.detail) is not None:
            figures |= {
                "gpu_idle_ns": detail.gpu_idle_ns,
                "self_ns": detail.self_ns,
                "launched_busy_ns": detail.launched_busy_ns,
                "launched_kernel_count": detail.launched_kernel_count,
            }
        found[name] = figures
    return found


def _nvtx_tails(digest: Digest, _: Labels) -> Named | None:
    found = {}
    for name, ranges in digest.nvtx.items():
        if (detail := ranges.detail) is None:
            return None
        points = {f"{point}_ns": getattr(detail, f"{point}_ns") for point in ("min", "p50", "p95", "p99", "max")}
        found[name] = {"count": ranges.count} | points
    return found


def kernels(digest: Digest, _: Labels) -> Named:
    """Return the kernels by short name: all, or those of ``top_kernels`` where the digest has no more."""
    if digest.kernel_durations is None:
        return {name: {"total_ns": total.total_ns, "count": total.count} for name, total in digest.top_kernels}
    return {name: {"total_ns": tails.total_ns, "count": tails.count} for name, tails in digest.kernel_durations.items()}


def _categories(digest: Digest, _: Labels) -> Named | None:
    if digest.categories is None:
        return None
    return {
        name: {"total_ns": found.sum_ns, "count": found.count, "union_ns": found.union_ns}
        for name, found in digest.categories.items()
    }


def _memory(digest: Digest, _: Labels) -> Named | None:
    if digest.memory is None:
        return None
    names = numbered(
        "/".join((copies.direction, copies.source_kind or "-", copies.destination_kind or "-"))
        for copies in digest.memory.copies
    )
    found: dict[str, Figures] = {
        name: {
            "total_ns": copies.sum_ns,
            "count": copies.count,
            "bytes": copies.bytes,
            "gbps_p50": copies.gbps.p50,
            "gbps_max": copies.gbps.max,
        }
        for name, copies in zip(names, digest.memory.copies, strict=True)
    }
    sets = digest.memory.sets
    return found | {"set": {"total_ns": sets.sum_ns, "count": sets.count, "bytes": sets.bytes}}


def _communication(digest: Digest, labels: Labels) -> Named | None:
    if digest.communication is None:
        return None
    return {
        label: {
            "union_ns": digest.communication[place].union_ns,
            "exposed_ns": digest.communication[place].exposed_ns,
            "hidden_ns": digest.communication[place].hidden_ns,
        }
        for place, label in _with_kernels(digest, labels)
    }


def _communication_kinds(digest: Digest, labels: Labels) -> Named | None:
    if digest.communication is None:
        return None
    return {
        f"{label}/{kind}": {"total_ns": total.sum_ns, "count": total.count}
        for place, label in _with_kernels(digest, labels)
        for kind, total in digest.communication[place].by_kind.items()
    }


def _with_kernels(digest: Digest, labels: Labels) -> list[tuple[int, str]]:
    """Return the position in section communication, and the label, of each device that ran kernels."""
    ran = [label for label, device in zip(labels, active(digest), strict=True) if device.count["kernel"]]
    return list(enumerate(ran[: len(digest.communication or ())]))


def _dispatch(digest: Digest, _: Labels) -> Named:
    return {name: {"count": count} for name, count in digest.dispatch.items()}


def _step_names(digest: Digest) -> Labels:
    steps = digest.dispatch_steps or ()
    return numbered(f"{step.mode or '-'}" + ("" if step.padded is None else f"/{step.padded}") for step in steps)


def _dispatch_steps(digest: Digest, _: Labels) -> Named | None:
    if digest.dispatch_steps is None:
        return None
    return {
        name: {
            "total_ns": step.wall.total_ns,
            "count": step.wall.count,
            "steps": step.steps,
            "actual": step.actual,
            "padding_ratio": step.padding_ratio,
            "gpu_overlap_ns": step.gpu_overlap_ns,
            "launched_busy_ns": step.launched_busy_ns,
            "graph_launch_count": step.graph_launch_count,
        }
        for name, step in zip(_step_names(digest), digest.dispatch_steps, strict=True)
    }


def _dispatch_tails(digest: Digest, _: Labels) -> Named | None:
    if digest.dispatch_steps is None:
        return None
    return {name: _tails(step.wall) for name, step in zip(_step_names(digest), digest.dispatch_steps, strict=True)}


def _steps(digest: Digest, _: Labels) -> Named | None:
    if (steps := digest.steps) is None:
        return None
    idle = {
        "idle_total_ns": None if steps.idle is None else steps.idle.total_ns,
        "busy_ratio_p50": steps.busy_ratio.p50,
    }
    return {steps.name: {"total_ns": steps.wall.total_ns, **_tails(steps.wall), **idle}}


Part: TypeAlias = Callable[[Digest, Labels], Named | None]
PARTS: Final[Mapping[str, tuple[str, Part]]] = {
    "devices": ("span_ns", _devices),
    "idle": ("total_ns", _idle),
    "idle_host": ("total_ns", _idle_host),
    "launch": ("latency_total_ns", _launch),
    "api": ("total_ns", api),
    "nvtx": ("union_ns", _nvtx),
    "kernels": ("total_ns", kernels),
    "categories": ("total_ns", _categories),
    "memory": ("total_ns", _memory),
    "communication": ("exposed_ns", _communication),
    "communication_kinds": ("total_ns", _communication_kinds),
    "dispatch": ("count", _dispatch),
    "dispatch_steps": ("total_ns", _dispatch_steps),
    "steps": ("total_ns", _steps),
    "api_durations": (
        "p95_ns",
        lambda digest, _: _all_durations(digest.api_durations),
    ),
    "kernel_durations": (
        "p95_ns",
        lambda digest, _: _all_durations(digest.kernel_durations),
    ),
    "nvtx_tails": ("p95_ns", _nvtx_tails),
    "dispatch_tails": ("p95_ns", _dispatch_tails),
}
"""The figure that each table goes by, and where its rows come from."""


def _all_durations(found: Mapping[str, Durations] | None) -> Named | None:
    return None if found is None else {name: _tails(tails) for name, tails in found.items()}
