"""The added sections of the digest: frozen, typed, in integer nanoseconds; ``codec`` turns them into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nsys_digest.model.codec import keyed
from nsys_digest.units import to_seconds

SECTIONS: Final = (
    "idle",
    "launch",
    "memory",
    "communication",
    "categories",
    "nvtx",
    "dispatch_steps",
    "api_durations",
    "kernel_durations",
)
"""The sections that can be left out; ``steps`` is there when a step is named."""


@dataclass(frozen=True, slots=True)
class Durations:
    """A set of lengths of time. Percentiles are nearest rank: the value at position ceil(p / 100 * count), from 1."""

    count: int
    total_ns: int
    min_ns: int | None
    p50_ns: int | None
    p95_ns: int | None
    p99_ns: int | None
    max_ns: int | None

    def computed(self, document: dict[str, Any]) -> dict[str, Any]:
        """Put the mean behind the total."""
        mean = {"mean_s": to_seconds(self.total_ns) / self.count if self.count else None}
        return {key: document[key] for key in ("count", "total_s")} | mean | document


@dataclass(frozen=True, slots=True)
class Cause:
    """Idle time of one cause: in all, how many gaps have some of it, and the most that one gap has of it."""

    sum_ns: int
    gaps: int
    longest_ns: int


@dataclass(frozen=True, slots=True)
class Bin:
    """Gaps of a length from (included) to (excluded)."""

    from_ns: int
    to_ns: int
    gaps: int
    sum_ns: int


@dataclass(frozen=True, slots=True)
class DeviceIdle:
    """The idle time within the span of one device: the causes add up to it exactly."""

    device: int
    idle_ns: int
    gap_count: int
    causes: Mapping[str, Cause]
    host_by_nvtx_ns: Mapping[str, int] = keyed("host_by_nvtx")
    histogram: tuple[Bin, ...] = ()


@dataclass(frozen=True, slots=True)
class Gap:
    """One gap: what ran before and after it, its causes, and the ranges that cover most of it, the outermost first.

    The ranges are those of the thread whose call ended the gap.
    """

    device: int
    start_ns: int
    length_ns: int
    before: str
    after: str
    causes_ns: Mapping[str, int] = keyed("causes")
    nvtx: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Idle:
    """Why each device was idle, and the longest gaps of all devices."""

    devices: tuple[DeviceIdle, ...]
    longest: tuple[Gap, ...]


@dataclass(frozen=True, slots=True)
class LaunchCost:
    """What launches cost: the call, from its end to the start of the work, from its start to that; all of one size.

    The delay of work that began before its call returned is 0: it waited for nothing. These are also counted apart.
    """

    api: Durations
    queue_delay: Durations
    latency: Durations
    started_before_return_count: int


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch calls with the kernels and graphs they launched; a graph launch is one launch, whatever it runs."""

    by_api: Mapping[str, LaunchCost]
    kernels: LaunchCost
    graphs: LaunchCost
    unmatched_kernel_count: int
    without_work_count: int | None = None
    """Launches that succeeded outside of a stream capture and have no GPU row; None where no GPU row has a call."""


@dataclass(frozen=True, slots=True)
class Bandwidth:
    """Percentiles (nearest rank) of bytes over time, in 1e9 bytes a second, over copies that took time."""

    p50: float | None
    p95: float | None
    max: float | None


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of one direction between two kinds of memory."""

    direction: str
    source_kind: str | None
    destination_kind: str | None
    count: int
    bytes: int
    sum_ns: int
    gbps: Bandwidth


@dataclass(frozen=True, slots=True)
class Sets:
    """All memory sets."""

    count: int
    bytes: int
    sum_ns: int


@dataclass(frozen=True, slots=True)
class Memory:
    """Copies and sets, and how much of the copies' time kernels ran on the same device."""

    copies: tuple[Copies, ...]
    sets: Sets
    overlapped_with_kernels_ns: int


@dataclass(frozen=True, slots=True)
class KindTotal:
    """Kernels of one kind: how many, and the sum of their lengths."""

    count: int
    sum_ns: int


@dataclass(frozen=True, slots=True)
class Communication:
    """Collectives of one device: their union, and the part of it during which other kernels ran, and did not."""

    device: int
    union_ns: int
    hidden_ns: int
    exposed_ns: int
    by_kind: Mapping[str, KindTotal]


@dataclass(frozen=True, slots=True)
class Category:
    """Kernels of one category, over all devices."""

    count: int
    sum_ns: int
    union_ns: int


@dataclass(frozen=True, slots=True)
class NvtxDetail:
    """What is known of one range name beside its totals.

    ``self_ns`` is the union, over all threads, of the time in which one of its push/pop ranges is the innermost of
    its domain on its thread, so never more than the union of its ranges; None for a name without push/pop ranges.
    ``launched_busy_ns`` is the union of the GPU work whose launch call lies within one of its ranges on the same
    thread. ``gpu_idle_ns`` is the part of its union within the GPU span in which no GPU was busy.
    """

    threads: int
    open_count: int
    min_ns: int
    p50_ns: int
    p95_ns: int
    p99_ns: int
    max_ns: int
    self_ns: int | None
    launched_busy_ns: int | None
    launched_kernel_count: int
    gpu_idle_ns: int | None


@dataclass(frozen=True, slots=True)
class DispatchStep:
    """Dispatch marks of one mode, and of one (mode, padded); a step ends at the next mark of the same thread."""

    fields: Mapping[str, int | str]
    mode: str | None
    padded: int | None
    steps: int
    actual: int | None
    padding_ratio: float | None
    wall: Durations
    gpu_overlap_ns: int | None
    launched_busy_ns: int | None
    graph_launch_count: int


@dataclass(frozen=True, slots=True)
class Step:
    """One step: an instance of the named range.

    Busy and idle time, exposed communication and causes are those of the devices on which the process of the step
    ran work. ``launched_busy_ns`` is the union of the GPU work whose launch call, of any thread of the process, began
    within the step, whenever it ran.
    """

    process: int | None
    thread: int | None
    start_ns: int
    wall_ns: int
    gpu_busy_ns: int | None
    gpu_idle_ns: int | None
    launched_busy_ns: int | None
    exposed_communication_ns: int | None
    busy_ratio: float | None
    idle_causes_ns: Mapping[str, int] = keyed("idle_causes")


@dataclass(frozen=True, slots=True)
class RatioPercentiles:
    """Percentiles (nearest rank) of a ratio."""

    p50: float | None
    min: float | None


@dataclass(frozen=True, slots=True)
class ProcessSteps:
    """The steps of one process: all but the first, save ``count``, which has that too.

    ``devices`` are the CUDA ordinals of the devices on which the process ran work.
    """

    process: int | None
    devices: tuple[int, ...]
    count: int
    wall: Durations
    busy_ratio: RatioPercentiles
    idle: Durations | None
    launched_busy: Durations | None
    exposed_communication: Durations | None
    idle_causes_ns: Mapping[str, int] | None = keyed("idle_causes")


@dataclass(frozen=True, slots=True)
class Steps:
    """Steady state: every instance but the first of each process, which is given apart since it warms up.

    ``name`` is what was asked for, ``names`` are the range names that it stands for. Figures are over all processes,
    and in ``processes`` over each.
    """

    name: str
    names: tuple[str, ...]
    count: int
    wall: Durations
    busy_ratio: RatioPercentiles
    idle: Durations | None
    launched_busy: Durations | None
    exposed_communication: Durations | None
    idle_causes_ns: Mapping[str, int] | None = keyed("idle_causes")
    warmup: tuple[Step, ...] = ()
    processes: tuple[ProcessSteps, ...] = ()
    slowest: tuple[Step, ...] = ()
