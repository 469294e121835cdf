"""The added sections of the digest: frozen, typed, in integer nanoseconds; every field says what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nsys_digest.model.catalogue import computed, figure, label, part, result
from nsys_digest.model.host_types import HostSplit
from nsys_digest.model.idle_causes import CAUSES, NEWER_CAUSES
from nsys_digest.units import to_seconds

NEED_CATEGORIES: Final = frozenset(
    {"communication", "categories", "busy_shares", "communication_by_range", "by_device"}
)
"""The sections that sort kernels."""
NEEDED_ALIKE: Final = frozenset(
    {
        *("idle", "launch", "memory", "communication", "categories", "nvtx", "dispatch_steps"),
        *("api_durations", "kernel_durations"),
    }
)
"""The sections that two sides of a comparison both have or both lack; one may lack others, as older documents do."""


@result
class Durations:
    """A set of lengths of time. Percentiles are nearest rank: the value at position ceil(p / 100 * count), from 1.

    A queue delay or latency of clocks that disagree may be negative.
    """

    count: int = figure("count", "how many", label="count")
    total_ns: int = figure("s", "their sum", bad="up", label="total", least=None)
    min_ns: int | None = figure("s", "the least", bad="up", label="min", least=None)
    p50_ns: int | None = figure("s", "percentile 50, nearest rank", bad="up", label="p50", least=None)
    p95_ns: int | None = figure("s", "percentile 95, nearest rank", bad="up", label="p95", least=None)
    p99_ns: int | None = figure("s", "percentile 99, nearest rank", bad="up", label="p99", least=None)
    max_ns: int | None = figure("s", "the greatest", bad="up", label="max", least=None)

    @property
    @computed("sum over count", unit="s", bad="up", label="mean", least=None, after="total_ns")
    def mean_s(self) -> float | None:
        """Mean length in seconds; None of no lengths."""
        return to_seconds(self.total_ns) / self.count if self.count else None


@result
class Cause:
    """Idle time of one cause: in all, how many gaps have some of it, and the most that one gap has of it."""

    sum_ns: int = figure("s", "idle time of that cause", bad="up", label="idle", former=("s",))
    gaps: int = figure("count", "gaps that have some of it", label="gaps", counts="gaps")
    longest_ns: int = figure("s", "the most that one gap has of it", bad="up", label="longest")


@result
class Bin:
    """Gaps of a length from (included) to (excluded)."""

    from_ns: int = figure("s", "shortest length, included", label="from")
    to_ns: int = figure("s", "longest length, excluded", label="to")
    gaps: int = figure("count", "gaps of such a length", label="gaps", counts="gaps")
    sum_ns: int = figure("s", "their sum", label="sum", former=("s",))


@result
class DeviceIdle:
    """The idle time within the span of one device: the causes add up to it exactly."""

    device: int = label("CUDA ordinal")
    idle_ns: int = figure("s", "idle time, that of the device in `devices`", bad="up", label="idle")
    gap_count: int = figure("count", "stretches without activity", label="gaps", counts="gaps")
    causes: Mapping[str, Cause] = part(
        "the idle time by cause; they add up to it exactly, and all are always there, but for `profiler` and "
        "`migration` in documents that were written before there were these",
        names=CAUSES,
        grows=True,
        later=NEWER_CAUSES,
    )
    host_by_nvtx_ns: Mapping[str, int] = figure(
        "s",
        "the time of `host` by innermost range of the thread, `(none)` outside of all; most first, then by name; "
        "adds up to it",
        bad="up",
        label="idle",
        key="host_by_nvtx",
    )
    histogram: tuple[Bin, ...] = part("gaps by length in powers of ten, from below 1 µs up to the longest")
    queue_full_ns: int | None = figure(
        "s",
        "the part of `launch_call` in which the launch waited, as the queue of commands was full, by the trace's own "
        "account; null where the trace has no overhead of the driver, and in older documents",
        bad="up",
        label="queue full",
        default=None,
    )
    sync_by_target_ns: Mapping[str, int] | None = figure(
        "s",
        "the time of `sync` by what was waited for: `device`, `stream N`, `event` or `event of stream N`, `copy or "
        "set`; most first, then by name; adds up to it; null in older documents",
        bad="up",
        label="idle",
        key="sync_by_target",
        default=None,
    )
    queued_outside: Cause | None = part(
        "the part of `queued` in gaps of which 1 ms or more is queued while no GPU of the trace did anything: the work "
        "waited for something outside of it; with a window by what of a gap lies in it; null in older documents",
        default=None,
    )
    host: HostSplit | None = part("what section host adds", inline=True, default=None)
    gaps_with_ns: Mapping[str, int] | None = figure(
        "s",
        "sum of the whole lengths of the gaps of which a cause is a fifth or more: what would be gained at most if it "
        "and what follows from it were gone; causes without such a gap are left out; null in older documents",
        bad="up",
        label="gaps with it",
        key="gaps_with",
        may_have=CAUSES,
        default=None,
    )
    sync_by_nvtx_ns: Mapping[str, int] | None = figure(
        "s",
        "the time of `sync` by innermost range of the thread, as `host_by_nvtx`; null in older documents",
        bad="up",
        label="idle",
        key="sync_by_nvtx",
        default=None,
    )


@result
class Gap:
    """One gap: what ran before and after it, its causes, and the ranges that cover most of it, the outermost first.

    The ranges are those of the thread whose call ended the gap.
    """

    device: int = label("CUDA ordinal")
    start_ns: int = label("position on the trace's own clock", counts="ns")
    length_ns: int = figure("s", "length", bad="up", label="length")
    before: str = label(
        "what ended as the gap began: short name of the kernel, or `[memcpy HtoD]`, `[memset]`, `[graph]`"
    )
    after: str = label("what ended the gap")
    causes_ns: Mapping[str, int] = figure(
        "s", "its time by cause; causes without any are left out", label="idle", key="causes", may_have=CAUSES
    )
    nvtx: tuple[str, ...] = label(
        "names of the push/pop ranges on the thread of the launch call that cover most of the gap, outermost first; at "
        "most 32"
    )
    busy_before_ns: int | None = figure(
        "s", "busy time of the device before it; null in older documents", label="busy before", default=None
    )


@result
class Idle:
    """Why each device was idle, and the longest gaps of all devices."""

    devices: tuple[DeviceIdle, ...] = part(
        "devices with GPU activity that has a length, in the order of `devices`", by=("device",)
    )
    longest: tuple[Gap, ...] = part(
        "the longest gaps of all devices, then by device and start; 10 of them, or as `--gaps N` says"
    )


@result
class LaunchCost:
    """What launches cost: the call, from its end to the start of the work, from its start to that; all of one size.

    The delay of work that began before its call returned is 0: it waited for nothing. These are also counted apart.
    """

    api: Durations = part("lengths of the calls")
    queue_delay: Durations = part(
        "from the end of the call to the start of its work; 0 where the work began before the call returned"
    )
    latency: Durations = part(
        "from the start of the call to the start of its work, of all; 0 where the work starts first"
    )
    started_before_return_count: int = figure(
        "count", "calls whose work began before they returned", label="began before return", counts="calls"
    )


@result
class OverheadTotal:
    """Rows of overhead of one kind."""

    count: int = figure("count", "rows", label="count", counts="rows")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time")


@result
class Launch:
    """Launch calls with the kernels and graphs they launched; a graph launch is one launch, whatever it runs."""

    by_api: Mapping[str, LaunchCost] = part(
        "launch calls that launched a kernel or graph, by name as recorded; most launches first, then by name"
    )
    kernels: LaunchCost = part("all but graph launches")
    graphs: LaunchCost = part("graph launches, each one launch")
    unmatched_kernel_count: int = figure(
        "count", "kernels without a call in the trace that launched them", label="unmatched", counts="kernels"
    )
    without_work_count: int | None = figure(
        "count",
        "launches of kernels and graphs that succeeded outside of a stream capture and have no GPU row; null where "
        "there are GPU rows and none has a known call, and in older documents",
        bad="up",
        label="without work",
        counts="launches",
        default=None,
    )
    first_of_kernel: Durations | None = part(
        "lengths of the launch calls behind the first kernel of each name in its process: where the trace has no rows "
        "of overhead, code may have loaded in them; graph launches are none; null with a window, since what ran before "
        "it is not looked at, and in older documents",
        default=None,
    )
    driver_overhead: Mapping[str, OverheadTotal] | None = part(
        "rows of overhead of the driver, by kind: `loading` of code or its compilation, "
        "`queue_full` where a launch waited; null where the trace has no such row, and in older documents",
        default=None,
    )


@result
class KindTotal:
    """Kernels of one kind: how many, and the sum of their lengths."""

    count: int = figure("count", "kernels of that kind", label="count", counts="kernels")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time", former=("s",))


@result
class Communication:
    """Collectives of one device: their union, and the part of it during which other kernels ran, and did not."""

    device: int = label("CUDA ordinal")
    union_ns: int = figure(
        "s", "length of the union of the communication kernels", bad="up", label="union", former=("total_s",)
    )
    hidden_ns: int = figure(
        "s", "the part in which another kernel ran on the same device", label="hidden", former=("overlapped_s",)
    )
    exposed_ns: int = figure("s", "the rest", bad="up", label="exposed")
    by_kind: Mapping[str, KindTotal] = part("by kind of communication; most time first, then by name")


@result
class Category:
    """Kernels of one category, over all devices."""

    count: int = figure("count", "kernels", label="count", counts="kernels")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="sum")
    union_ns: int = figure("s", "length of their union over all devices", bad="up", label="union")
    share_ns: int | None = figure(
        "s",
        "part of the busy time, where k operations at once have 1/k each, see `busy_shares`; of all devices, added up; "
        "null in documents of before it was there",
        bad="up",
        label="busy share",
        default=None,
    )


@result
class NvtxDetail:
    """What is known of one range name beside its totals.

    ``self_ns`` is the union, over all threads, of the time in which one of its push/pop ranges is the innermost of
    its domain on its thread, so never more than the union of its ranges; None for a name without push/pop ranges.
    ``launched_busy_ns`` is the union of the GPU work whose launch call lies within one of its ranges on the same
    thread. ``gpu_idle_ns`` is the part of its union within the GPU span in which no GPU was busy.
    """

    threads: int = figure("count", "threads it began on", label="threads", counts="threads")
    open_count: int = figure("count", "ranges that have no end in the trace", label="open", counts="ranges")
    min_ns: int = figure("s", "the least length", bad="up", label="min")
    p50_ns: int = figure("s", "percentile 50, nearest rank", bad="up", label="p50")
    p95_ns: int = figure("s", "percentile 95, nearest rank", bad="up", label="p95")
    p99_ns: int = figure("s", "percentile 99, nearest rank", bad="up", label="p99")
    max_ns: int = figure("s", "the greatest length", bad="up", label="max")
    self_ns: int | None = figure(
        "s",
        "union of the time in which one of its push/pop ranges is the innermost on its thread; null for a name without "
        "push/pop ranges",
        bad="up",
        label="self",
    )
    launched_busy_ns: int | None = figure(
        "s",
        "length of the union of the GPU work whose launch call lies within the ranges, on their thread",
        label="launched",
    )
    launched_kernel_count: int = figure("count", "kernels so launched", label="launched kernels", counts="kernels")
    gpu_idle_ns: int | None = figure(
        "s",
        "the part of the union, within the GPU span, in which no GPU was busy; null without GPU activity in the trace",
        bad="up",
        label="GPU idle",
    )
