"""A GPU that waits for the host: its own code, launches, code that is loaded, memory, synchronise calls."""

from __future__ import annotations

from collections.abc import Sequence

from nsys_digest.findings.thresholds import (
    FEWEST_SYNCS,
    MANY_KERNELS,
    NO_RANGE_SHARE,
    QUEUE_BLOCKED_SHARE,
    QUEUE_DEPTH,
    SHORT_GAP_NS,
    SHORT_KERNEL_NS,
)
from nsys_digest.findings.view import Found, Rule, View, path, short
from nsys_digest.model.cuda_calls import CONTEXT_WAIT_CALLS, STREAM_WAIT_CALLS, is_one_of
from nsys_digest.model.section_types import DeviceIdle
from nsys_digest.units import counted, duration, instant, percent

_NO_RANGE = "(none)"
_NAMED = 3


def _on(view: View, device: str) -> str:
    """Return what waited, and when."""
    if not device:
        return "In the steps the GPU"
    return f"After start-up GPU {device}" if view.start_up is not None else f"GPU {device}"


def _short_gaps_ns(device: DeviceIdle) -> int:
    return sum(one.sum_ns for one in device.histogram if one.to_ns <= SHORT_GAP_NS)


def _kernels(view: View, name: str) -> tuple[int, int]:
    """Return how many kernels a device ran and how long they are on average, in nanoseconds."""
    device = view.device_of(name)
    if device is None:
        return 0, 0
    count = device.count["kernel"]
    return count, device.sum_ns["kernel"] // count if count else 0


def _is_launch_bound(view: View, name: str) -> bool:
    count, mean_ns = _kernels(view, name)
    alone = view.digest.kernel_count - view.digest.graph_node_kernel_count
    return min(count, alone) >= MANY_KERNELS and 2 * alone >= view.digest.kernel_count and mean_ns < SHORT_KERNEL_NS


def _launch_bound(view: View) -> Found | None:
    fitting = [(name, device) for name, device in view.idle if _is_launch_bound(view, name)]
    found = [
        (min(_short_gaps_ns(device), view.idle_on(device, "launch_call", "host")), name) for name, device in fitting
    ]
    if not found:
        return None
    stake_ns, name = max(found)
    count, mean_ns = _kernels(view, name)
    return Found(
        stake_ns,
        f"GPU {name} ran {counted(count, 'kernel')} of {duration(mean_ns)} on average and waited "
        f"{duration(stake_ns)} in short gaps for the next launch",
        "Launch less often: capture the loop as a CUDA graph (torch.compile mode reduce-overhead, torch.cuda.graph, "
        "in vLLM and SGLang without eager mode), put the whole step under one jax.jit, or fuse the kernels",
        (
            f"devices.{name}.count.kernel",
            f"devices.{name}.sum_s.kernel",
            f"idle.devices.{name}.causes.launch_call.sum_s",
            f"idle.devices.{name}.causes.host.sum_s",
        ),
    )


def _host_bound(view: View) -> Found | None:
    found = view.idle_by("host")
    if found is None:
        return None
    stake_ns, beyond = found.idle_ns, ""
    device = view.of_device(found.device)
    if device is None:
        return Found(
            stake_ns,
            f"{_on(view, found.device)} waited {duration(stake_ns)} for the host's own code",
            _host_advice(()),
            (found.figure,),
        )
    long_ns = device.idle_ns - _short_gaps_ns(device)
    if _is_launch_bound(view, found.device) and long_ns < stake_ns:
        stake_ns, beyond = long_ns, f" in gaps of {duration(SHORT_GAP_NS)} and more"
    by_range = _by_range(view, device)
    ranges, where = _ranges(found.device, by_range, lengths=not beyond)
    ranges += _one_gap(view, device)
    return Found(
        stake_ns,
        f"{_on(view, found.device)} waited {duration(stake_ns)}{beyond} for the host's own code{ranges}",
        _host_advice(by_range),
        (found.figure, *where),
    )


def _one_gap(view: View, device: DeviceIdle) -> str:
    """Return words for a gap that has half of the host's idle time, and more, by itself."""
    started = list(view.start_up_gaps(device))
    for gap in view.digest.idle.longest if view.digest.idle is not None else ():
        own_ns = gap.causes_ns.get("host", 0)
        if gap.device == device.device and gap not in started and 2 * own_ns >= view.idle_on(device, "host") > 0:
            return f"; {duration(own_ns)} of it in one gap, from {instant(gap.start_ns)} on"
    return ""


def _by_range(view: View, device: DeviceIdle) -> list[tuple[str, int]]:
    """Return the host's idle time by range, most first, without start-up: its gaps count for their innermost range."""
    by_name = dict(device.host_by_nvtx_ns)
    for gap in view.start_up_gaps(device):
        name = gap.nvtx[-1] if gap.nvtx and gap.nvtx[-1] in by_name else _NO_RANGE
        by_name[name] = max(by_name.get(name, 0) - gap.causes_ns.get("host", 0), 0)
    return sorted(((name, ns) for name, ns in by_name.items() if ns), key=lambda item: (-item[1], item[0]))


def _ranges(name: str, by_range: Sequence[tuple[str, int]], *, lengths: bool) -> tuple[str, tuple[str, ...]]:
    """Return words for the ranges that have most of the host's idle time, and their figures."""
    listed = by_range[:_NAMED]
    if [range_name for range_name, _ in listed] in ([], [_NO_RANGE]):
        return ", in no NVTX range", ()
    words = ", ".join(f"{duration(ns)} {_in(name)}" if lengths else _in(name) for name, ns in listed)
    paths = tuple(path("idle", "devices", name, "host_by_nvtx", range_name) for range_name, _ in listed)
    return f": {words}" if lengths else f", most of it {words}", paths


def _in(name: str) -> str:
    return "in no range" if name == _NO_RANGE else f"in {short(name)}"


def _host_advice(by_range: Sequence[tuple[str, int]]) -> str:
    outside = dict(by_range).get(_NO_RANGE, 0)
    if by_range and outside >= NO_RANGE_SHARE * sum(ns for _, ns in by_range):
        return (
            "No range covers most of it: add some (torch.cuda.nvtx.range, nvtx.annotate) around data loading, "
            "scheduling, sampling and logging, and trace again to see which it is"
        )
    return (
        "Take that host code off the critical path: prefetch data (DataLoader workers), prepare the next step while "
        "the GPU works (asynchronous scheduling in vLLM, overlap scheduling in SGLang), or keep the values on the GPU"
    )


def _lazy_loading(view: View) -> Found | None:
    found = view.idle_by("module_call")
    if found is None:
        return None
    return Found(
        found.idle_ns,
        f"{_on(view, found.device)} waited {duration(found.idle_ns)} for code that was loaded, linked or looked up",
        "Run each kernel and shape once before what is measured, or set CUDA_MODULE_LOADING=EAGER so that the code "
        "is loaded with the program",
        (found.figure, *_overhead_paths(view, "loading")),
    )


def _overhead_paths(view: View, kind: str) -> tuple[str, ...]:
    """Return the figures of the driver's overhead of one kind, where the trace has some."""
    launch = view.digest.launch
    overhead = None if launch is None or launch.driver_overhead is None else launch.driver_overhead.get(kind)
    if overhead is None or not overhead.count:
        return ()
    return tuple(f"launch.driver_overhead.{kind}.{key}" for key in ("count", "sum_s"))


def _allocation(view: View) -> Found | None:
    found = view.idle_by("memory_call")
    if found is None:
        return None
    return Found(
        found.idle_ns,
        f"{_on(view, found.device)} waited {duration(found.idle_ns)} while memory was allocated, freed or mapped",
        "Allocate once and use again: keep PyTorch's caching allocator from emptying "
        "(PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, no empty_cache), let JAX preallocate, or use "
        "cudaMallocAsync with a pool that keeps its memory",
        (found.figure,),
    )


def _synchronise(view: View) -> Found | None:
    found = view.gaps_with("sync")
    waits = {
        name: total
        for name, total in view.digest.api.items()
        if is_one_of(name, CONTEXT_WAIT_CALLS | STREAM_WAIT_CALLS | _EVENT_WAITS)
    }
    calls = sum(total.count for total in waits.values())
    if found is None or calls < FEWEST_SYNCS:
        return None
    device = view.of_device(found.device)
    by_name = (device.sync_by_nvtx_ns if device is not None else None) or {}
    listed = [name for name in by_name if name != _NO_RANGE][:_NAMED]
    ranges = f", most in {', '.join(map(short, listed))}" if listed else ""
    by_target = (device.sync_by_target_ns if device is not None else None) or {}
    target = next(iter(by_target), None)
    waited_for = "" if target is None else f", most of that for {_TARGETS.get(target, target)}"
    most = max(waits, key=lambda name: (waits[name].count, name))
    return Found(
        found.idle_ns,
        f"The host waited in {counted(calls, 'synchronise call')}{ranges}; GPU {found.device} ran dry "
        f"meanwhile{waited_for}, and the gaps around that are {duration(found.idle_ns)}",
        "Let the host run ahead: drop .item(), .cpu(), print and torch.cuda.synchronize from the loop, wait for an "
        "event of the step before, and copy results with non_blocking=True",
        (
            found.figure,
            f"idle.devices.{found.device}.causes.sync.sum_s",
            *(path("idle", "devices", found.device, "sync_by_nvtx", name) for name in listed),
            *(path("idle", "devices", found.device, "sync_by_target", name) for name in (target,) if name is not None),
            path("api", most, "count"),
            path("api", most, "total_s"),
        ),
    )


_TARGETS = {
    "device": "the whole device",
    "stream": "a stream",
    "event": "an event",
    "copy or set": "a blocking copy or set",
}
"""Words for targets; those with a number name themselves."""
_EVENT_WAITS = frozenset({"cudaEventSynchronize", "cuEventSynchronize"})


def _profiler(view: View) -> Found | None:
    found = view.idle_by("profiler")
    if found is None:
        return None
    return Found(
        found.idle_ns,
        f"{_on(view, found.device)} waited {duration(found.idle_ns)} for nsys itself, which a run without it does not",
        "Trace less, or for a shorter time: -t cuda,nvtx alone, --cuda-graph-trace=graph, no backtraces or samples, "
        "and a capture range around a few steps",
        (found.figure,),
    )


_QUEUE_FULL_ADVICE = (
    "Nothing to do for the GPU, which has work; do not take the time of these calls for launch overhead, and shorten "
    "the kernels instead"
)


def _full_queue(view: View) -> Found | None:
    launch, span_ns = view.digest.launch, view.span_ns
    told = launch.driver_overhead.get("queue_full") if launch is not None and launch.driver_overhead else None
    if told is not None and told.count and span_ns:
        if told.sum_ns < QUEUE_BLOCKED_SHARE * span_ns:
            return None
        return Found(
            None,
            f"The launch queue was full {told.count:,} times, by the trace's own account: launch calls waited "
            f"{duration(told.sum_ns)} for room ({percent(told.sum_ns, span_ns)} of the span)",
            _QUEUE_FULL_ADVICE,
            _overhead_paths(view, "queue_full"),
        )
    if launch is None or not launch.kernels.api.count or not span_ns:
        return None
    kernels = launch.kernels
    delay_ns, usual_ns = kernels.queue_delay.p95_ns, kernels.api.p50_ns
    if delay_ns is None or usual_ns is None:
        return None
    waiting = delay_ns * kernels.api.count / span_ns
    blocked_ns = kernels.api.total_ns - usual_ns * kernels.api.count
    if waiting < QUEUE_DEPTH or blocked_ns < QUEUE_BLOCKED_SHARE * span_ns:
        return None
    return Found(
        None,
        f"The launch queue was full at times: launches waited {duration(delay_ns)} (p95) for the GPU, and launch calls "
        f"took {duration(blocked_ns)} longer than their median because there was no room "
        f"({percent(blocked_ns, span_ns)} of the span)",
        _QUEUE_FULL_ADVICE,
        ("launch.kernels.queue_delay.p95_s", "launch.kernels.api.p50_s", "launch.kernels.api.total_s"),
    )


RULES = (
    Rule("host-bound", "the GPU waits for the host's own code, by NVTX range", _host_bound),
    Rule("launch-bound", "many short kernels are over before the next one is launched", _launch_bound),
    Rule("lazy-loading", "the GPU waits while code is loaded, after start-up", _lazy_loading),
    Rule("synchronise", "the host waits for the GPU, which then runs dry, by NVTX range", _synchronise),
    Rule("allocation", "the GPU waits while memory is allocated, freed or mapped, after start-up", _allocation),
    Rule("profiler-overhead", "the GPU waits for nsys itself", _profiler),
    Rule("launch-queue-full", "launch calls wait for room in the launch queue", _full_queue),
)
