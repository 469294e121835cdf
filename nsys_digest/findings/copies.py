"""Copies and sets that cost more than they need to, and copies that nothing runs beside."""

from __future__ import annotations

from collections.abc import Callable

from nsys_digest.findings.thresholds import COPY_SHARE, FEWEST_COPIES, FEWEST_SETS, FEWEST_SMALL_COPIES, OVERLAP_SHARE
from nsys_digest.findings.view import Found, Rule, View, path
from nsys_digest.model.memory_types import Copies, MoveCost
from nsys_digest.units import counted, duration, percent, size

_BETWEEN = ("HtoD", "DtoH")
_NAMED = 3


def _on_gpu_ns(view: View, cost_ns: int) -> int:
    """Return how much of the span copies can take at most: their sum, or the union of all where that is less."""
    return min(cost_ns, sum(device.union_ns["memcpy"] for _, device in view.devices), view.steady_ns)


def _waited_ns(view: View, cost: MoveCost) -> int:
    """Return what operations and their calls can cost at most: time on the GPU, and calls while a GPU was idle."""
    return min(cost.sum_ns + min(cost.call_sum_ns, view.most_idle_ns()), view.steady_ns)


def _copy_paths(view: View, fits: Callable[[Copies], bool]) -> tuple[str, ...]:
    """Return the paths of the time of some copies, of those with most time."""
    memory = view.digest.memory
    rows = [copies for copies in (memory.copies if memory is not None else ()) if fits(copies)]
    return tuple(
        path("memory", "copies", f"{one.direction}/{one.source_kind or '-'}/{one.destination_kind or '-'}", "sum_s")
        for one in rows[:_NAMED]
    )


def _pageable(view: View) -> Found | None:
    costs = view.digest.memory.costs if view.digest.memory is not None else None
    if costs is None:
        return None
    count = costs.pageable_async.count + costs.pageable_blocking.count
    cost_ns = costs.pageable_async.sum_ns + costs.pageable_blocking.sum_ns
    calls_ns = costs.pageable_async.call_sum_ns + costs.pageable_blocking.call_sum_ns
    return Found(
        _on_gpu_ns(view, cost_ns),
        f"{counted(count, 'copy')} from or to pageable memory took {duration(cost_ns)}, and {duration(calls_ns)} in "
        f"their calls, which wait{_even_async(costs.pageable_async.count)}",
        "Pin the host side (pin_memory=True in the DataLoader, tensor.pin_memory(), cudaHostAlloc or cudaHostRegister) "
        "and copy with non_blocking=True",
        (
            "memory.costs.pageable_async.count",
            "memory.costs.pageable_async.call_sum_s",
            "memory.costs.pageable_blocking.count",
            "memory.costs.pageable_blocking.call_sum_s",
            *_copy_paths(view, lambda row: "pageable" in (row.source_kind, row.destination_kind)),
        ),
    )


def _even_async(count: int) -> str:
    return f" though {count:,} of them are called Async" if count else ""


def _blocking(view: View) -> Found | None:
    costs = view.digest.memory.costs if view.digest.memory is not None else None
    if costs is None or not costs.pinned_blocking.count:
        return None
    cost = costs.pinned_blocking
    return Found(
        _on_gpu_ns(view, cost.sum_ns),
        f"{counted(cost.count, 'copy')} that could be asynchronous were made by calls that block, for "
        f"{duration(cost.sum_ns)} on the GPU and {duration(cost.call_sum_ns)} in the calls",
        "Use cudaMemcpyAsync on a stream of its own (non_blocking=True in PyTorch), and wait for it only where the "
        "data is used",
        ("memory.costs.pinned_blocking.count", "memory.costs.pinned_blocking.sum_s"),
    )


def _small(view: View) -> Found | None:
    costs = view.digest.memory.costs if view.digest.memory is not None else None
    if costs is None or costs.small.count < FEWEST_SMALL_COPIES:
        return None
    cost = costs.small
    return Found(
        _waited_ns(view, cost),
        f"{counted(cost.count, 'copy')} of less than 64 KiB between host and device took {duration(cost.sum_ns)} on "
        f"the GPU and {duration(cost.call_sum_ns)} in their calls",
        "Put what belongs together into one buffer and copy it once, keep scalars on the GPU (no .item() or "
        "torch.tensor(x, device=...) in the loop), or pass them as kernel arguments",
        ("memory.costs.small.count", "memory.costs.small.sum_s", "memory.costs.small.call_sum_s"),
    )


def _sets(view: View) -> Found | None:
    costs = view.digest.memory.costs if view.digest.memory is not None else None
    if costs is None or costs.sets.count < FEWEST_SETS:
        return None
    cost, blocking = costs.sets, costs.blocking_sets
    how = f" ({blocking.count:,} by calls that block)" if blocking.count else ""
    return Found(
        _waited_ns(view, cost),
        f"{counted(cost.count, 'memory set')}{how} took {duration(cost.sum_ns)} on the GPU and "
        f"{duration(cost.call_sum_ns)} in their calls",
        "Leave out the set where the buffer is written whole anyway (torch.empty for torch.zeros, "
        "zero_grad(set_to_none=True)), and use cudaMemsetAsync for the rest",
        (
            "memory.costs.sets.count",
            "memory.costs.sets.sum_s",
            "memory.costs.sets.call_sum_s",
            "memory.costs.blocking_sets.count",
        ),
    )


def _is_between(copies: Copies) -> bool:
    return copies.direction in _BETWEEN


def _is_migration(copies: Copies) -> bool:
    return copies.direction.startswith("UVM")


def _never_overlap(view: View) -> Found | None:
    memory = view.digest.memory
    if memory is None:
        return None
    between_ns = sum(copies.sum_ns for copies in memory.copies if _is_between(copies))
    count = sum(copies.count for copies in memory.copies if _is_between(copies))
    if count < FEWEST_COPIES or memory.overlapped_with_kernels_ns >= OVERLAP_SHARE * between_ns:
        return None
    stake_ns = max(
        (min(between_ns, device.union_ns["memcpy"], device.union_ns["kernel"]) for _, device in view.devices),
        default=0,
    )
    name = max(view.devices, key=lambda item: item[1].union_ns["kernel"])[0]
    overlapped_ns = memory.overlapped_with_kernels_ns
    beside = f"kernels ran beside {percent(overlapped_ns, between_ns)} of it" if overlapped_ns else "no kernel ran then"
    return Found(
        max(stake_ns - memory.overlapped_with_kernels_ns, 0),
        f"{counted(count, 'copy')} between host and device took {duration(between_ns)}, and {beside}",
        "Copy the next batch on a second stream from pinned memory while this one is computed (a prefetching loader, "
        "double buffers)",
        (
            "memory.overlapped_with_kernels_s",
            f"devices.{name}.union_s.memcpy",
            f"devices.{name}.union_s.kernel",
            *_copy_paths(view, _is_between),
        ),
    )


def _copy_bound(view: View) -> Found | None:
    memory = view.digest.memory
    between = [copies for copies in (memory.copies if memory is not None else ()) if _is_between(copies)]
    between_ns = sum(copies.sum_ns for copies in between)
    busy_ns = sum(device.busy_ns or 0 for _, device in view.devices)
    if not between_ns or between_ns < COPY_SHARE * busy_ns:
        return None
    moved, stake_ns = sum(copies.bytes for copies in between), _on_gpu_ns(view, between_ns)
    return Found(
        stake_ns,
        f"{percent(stake_ns, busy_ns)} of the busy time copies {size(moved)} between host and device",
        "Keep the data on the GPU from one step to the next, copy smaller types or only what changed, or do more work "
        "for each copy",
        _copy_paths(view, _is_between),
    )


def _migration(view: View) -> Found | None:
    memory = view.digest.memory
    moves = [copies for copies in (memory.copies if memory is not None else ()) if _is_migration(copies)]
    if not moves:
        return None
    count, cost_ns = sum(copies.count for copies in moves), sum(copies.sum_ns for copies in moves)
    waiting = view.idle_by("migration")
    waited_ns = waiting.idle_ns if waiting is not None else 0
    waited = f", and a GPU waited {duration(waited_ns)} for them" if waited_ns else ""
    faults = memory.gpu_page_fault_count if memory is not None else None
    why = f"; {counted(faults, 'page fault')} of GPUs" if faults else ""
    return Found(
        min(_on_gpu_ns(view, cost_ns) + waited_ns, view.steady_ns),
        f"Unified memory moved pages {count:,} times, for {duration(cost_ns)}{waited}{why}",
        "Move the data before it is used (cudaMemPrefetchAsync, cudaMemAdvise), or use cudaMalloc and copy what is "
        "needed in large pieces",
        (
            *_copy_paths(view, _is_migration),
            *((waiting.figure,) if waiting is not None else ()),
            *(("memory.gpu_page_fault_count",) if faults else ()),
        ),
    )


RULES = (
    Rule("pageable-copies", "copies from or to pageable memory", _pageable),
    Rule("blocking-copies", "copies that could be asynchronous, by calls that block", _blocking),
    Rule("small-copies", "many copies of less than 64 KiB", _small),
    Rule("memory-sets", "many memory sets", _sets),
    Rule("no-overlap", "copies and kernels that never run at once", _never_overlap),
    Rule("copy-bound", "most of the busy time goes to copies between host and device", _copy_bound),
    Rule("page-migration", "unified memory moves pages", _migration),
)
