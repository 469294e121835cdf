"""The blocks of the report that explain: idle by cause, launches, kernels by kind, memory, dispatch, steady state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from nsys_digest.model.digest import Digest
from nsys_digest.model.section_types import Durations, Idle, LaunchCost
from nsys_digest.model.step_types import DispatchStep, Steps
from nsys_digest.report.blocks import ARROW, NAME, SLASH, Block, Column, more, named, numbers
from nsys_digest.units import MISSING, counted, duration, instant, percent, size

_UNKNOWN_CAUSE = "of a newer version of the digest"
_MOST_PROCESSES = 64
_WORDS: Mapping[str, str] = {
    "queued": "launched, waiting to start",
    "launch_call": "in a launch call",
    "sync": "in a synchronise or blocking copy",
    "memory_call": "allocating, freeing, mapping",
    "module_call": "loading or looking up code",
    "other_call": "in another CUDA call",
    "host": "host code, in no CUDA call",
    "unattributed": "the trace does not say",
}
"""The causes in words; a stored digest of a newer version may name others."""


def account_blocks(digest: Digest, top: int) -> Iterator[Block]:
    """Yield the blocks of the sections that the digest has."""
    if digest.idle is not None:
        yield from _idle(digest, top)
    if digest.steps is not None:
        yield from _steps(digest.steps)
    if digest.launch is not None:
        yield _launch(digest, top)
    if digest.categories is not None:
        yield _categories(digest)
    if digest.communication is not None:
        yield _communication(digest)
    if digest.memory is not None:
        yield _memory(digest)
    if digest.dispatch_steps is not None:
        yield _dispatch(digest, top)


def _idle(digest: Digest, top: int) -> Iterator[Block]:
    assert digest.idle is not None
    columns = (*numbers("device", "idle", "share", "gaps", "longest"), Column("cause", "text"))
    yield Block(
        "Why the GPU was idle: what the thread that ended each gap was doing",
        columns,
        tuple(
            (
                str(device.device),
                duration(cause.sum_ns),
                percent(cause.sum_ns, device.idle_ns),
                f"{cause.gaps:,}",
                duration(cause.longest_ns),
                f"{name}: {_WORDS.get(name, _UNKNOWN_CAUSE)}",
            )
            for device in digest.idle.devices
            for name, cause in sorted(device.causes.items(), key=lambda item: -item[1].sum_ns)
            if cause.sum_ns
        ),
    )
    yield _host(digest.idle, top)
    yield _gaps(digest.idle, top)


def _host(idle: Idle, top: int) -> Block:
    rows = [
        (str(device.device), duration(ns), percent(ns, device.idle_ns), named(name))
        for device in idle.devices
        for name, ns in list(device.host_by_nvtx_ns.items())[:top]
    ]
    rest = sum(len(device.host_by_nvtx_ns) for device in idle.devices) - len(rows)
    columns = (*numbers("device", "idle", "share of idle"), NAME)
    return Block("Idle in host code, by innermost NVTX range, most first", columns, tuple(rows), more(rest))


def _gaps(idle: Idle, top: int) -> Block:
    columns = (
        *numbers("device", "start", "length"),
        Column("mostly", "label"),
        Column("before → after", "name", ARROW),
        Column("NVTX", "name", SLASH),
    )
    rows = tuple(
        (
            str(gap.device),
            instant(gap.start_ns),
            duration(gap.length_ns),
            max(gap.causes_ns, key=lambda cause: gap.causes_ns[cause]),
            f"{named(gap.before)}{ARROW}{named(gap.after)}",
            SLASH.join(map(named, gap.nvtx)) or MISSING,
        )
        for gap in idle.longest[:top]
    )
    notes = (more(len(idle.longest) - len(rows)), "starts are on the trace's own clock")
    return Block("Longest gaps", columns, rows, "; ".join(filter(None, notes)))


def _launch(digest: Digest, top: int) -> Block:
    assert digest.launch is not None
    costs: list[tuple[str, LaunchCost]] = list(digest.launch.by_api.items())
    columns = ("launches", "call p50", "p99", "queue p50", "p99", "latency p50", "p99")
    rows = tuple(
        (
            f"{cost.api.count:,}",
            *(duration(ns) for of in (cost.api, cost.queue_delay, cost.latency) for ns in (of.p50_ns, of.p99_ns)),
            named(name),
        )
        for name, cost in costs[:top]
    )
    unmatched = digest.launch.unmatched_kernel_count
    early = digest.launch.kernels.started_before_return_count + digest.launch.graphs.started_before_return_count
    notes = (
        more(len(costs) - len(rows)),
        "call is the time in the call; queue from its return, latency from its start, to the start of the work",
        f"{early:,} began before their call returned: a queue of 0" if early else "",
        f"{counted(unmatched, 'kernel')} without a launch call in the trace" if unmatched else "",
    )
    return Block(
        "Launches, most first",
        (*numbers(*columns), NAME),
        rows,
        "; ".join(filter(None, notes)),
    )


def _categories(digest: Digest) -> Block:
    assert digest.categories is not None
    whole = sum(category.sum_ns for category in digest.categories.values())
    rows = tuple(
        (
            duration(category.sum_ns),
            percent(category.sum_ns, whole),
            duration(category.union_ns),
            f"{category.count:,}",
            name,
        )
        for name, category in digest.categories.items()
    )
    return Block("Kernel time by category", (*numbers("sum", "share", "union", "count"), NAME), rows)


def _communication(digest: Digest) -> Block:
    assert digest.communication is not None
    rows = tuple(
        (
            str(device.device),
            duration(device.union_ns),
            duration(device.hidden_ns),
            duration(device.exposed_ns),
            percent(device.exposed_ns, device.union_ns),
            ", ".join(f"{kind} {duration(total.sum_ns)} in {total.count:,}" for kind, total in device.by_kind.items()),
        )
        for device in digest.communication
        if device.union_ns
    )
    columns = (*numbers("device", "total", "hidden", "exposed", "share exposed"), Column("by kind", "text"))
    return Block("Communication against compute", columns, rows)


def _memory(digest: Digest) -> Block:
    assert digest.memory is not None
    rows = [
        (
            f"{row.count:,}",
            size(row.bytes),
            duration(row.sum_ns),
            *(MISSING if value is None else f"{value:.2f}" for value in (row.gbps.p5, row.gbps.p50, row.gbps.max)),
            f"{row.direction}, {row.source_kind or 'unknown'} to {row.destination_kind or 'unknown'}",
        )
        for row in digest.memory.copies
    ]
    sets = digest.memory.sets
    if sets.count:
        rows.append((f"{sets.count:,}", size(sets.bytes), duration(sets.sum_ns), *[MISSING] * 3, "set"))
    hidden = digest.memory.overlapped_with_kernels_ns
    note = f"{duration(hidden)} of the copies ran beside kernels of the same device" if digest.memory.copies else ""
    columns = (*numbers("count", "bytes", "time", "GB/s p5", "p50", "max"), Column("copies and sets", "text"))
    return Block("Memory", columns, tuple(rows), note)


def _dispatch(digest: Digest, top: int) -> Block:
    assert digest.dispatch_steps is not None
    steps = _longest(digest.dispatch_steps, top)
    rows = tuple(
        (
            step.mode or MISSING,
            "all" if step.padded is None else f"{step.padded:,}",
            f"{step.steps:,}",
            MISSING if step.actual is None else f"{step.actual:,}",
            percent(step.padding_ratio),
            duration(step.wall.p50_ns),
            duration(step.wall.p99_ns),
            duration(step.gpu_overlap_ns),
            duration(step.launched_busy_ns),
            f"{step.graph_launch_count:,}",
        )
        for step in steps
    )
    columns = ("padded", "steps", "actual", "padding", "wall p50", "p99", "GPU busy", "launched", "graphs")
    note = more(len(digest.dispatch_steps) - len(rows))
    which = ", those of most wall time" if note else ""
    title = f"Dispatch steps, each to the next mark of its thread{which}"
    return Block(title, (Column("mode", "label"), *numbers(*columns)), rows, note)


def _longest(steps: Sequence[DispatchStep], top: int) -> list[DispatchStep]:
    """Return the steps of most wall time, in their own order."""
    ranked = sorted(range(len(steps)), key=lambda index: -steps[index].wall.total_ns)
    return [steps[index] for index in sorted(ranked[:top])]


def _three(of: Durations) -> str:
    return ", ".join(map(duration, (of.p50_ns, of.p95_ns, of.max_ns)))


def _steps(steps: Steps) -> Iterator[Block]:
    rows = [("steps", _how_many(steps))]
    if len(steps.warmup) == 1:
        rows.append(("warm-up, wall", duration(steps.warmup[0].wall_ns)))
    if steps.wall.count:
        rows.append(("wall p50, p95, max", _three(steps.wall)))
    if steps.wall.count and steps.idle is not None:
        rows += [
            ("idle p50, p95, max", _three(steps.idle)),
            ("busy p50, min", ", ".join(map(percent, (steps.busy_ratio.p50, steps.busy_ratio.min)))),
        ]
        if steps.launched_busy is not None:
            rows.append(("launched work p50, p95, max", _three(steps.launched_busy)))
        if steps.exposed_communication is not None:
            exposed = steps.exposed_communication
            rows.append(("exposed communication p50, max", f"{duration(exposed.p50_ns)}, {duration(exposed.max_ns)}"))
        if steps.idle_causes_ns:
            rows.append(("idle causes", _causes(steps.idle_causes_ns)))
    yield Block(f"Steady state: {steps.name}", (Column("figure", "text"), Column("value", "text")), tuple(rows))
    if len(steps.processes) > 1:
        yield _processes(steps)
    yield _slowest(steps)


def _processes(steps: Steps) -> Block:
    warmup = {step.process: step.wall_ns for step in steps.warmup}
    columns = ("process", "device", "steps", "warm-up", "wall p50", "max", "busy p50", "launched p50", "exposed p50")
    shown = steps.processes[:_MOST_PROCESSES]
    rows = tuple(
        (
            _number(of.process),
            ", ".join(map(str, of.devices)) or MISSING,
            f"{of.count:,}",
            duration(warmup.get(of.process)),
            duration(of.wall.p50_ns),
            duration(of.wall.max_ns),
            percent(of.busy_ratio.p50),
            duration(of.launched_busy.p50_ns if of.launched_busy else None),
            duration(of.exposed_communication.p50_ns if of.exposed_communication else None),
            _causes(of.idle_causes_ns or {}, most=1),
        )
        for of in shown
    )
    title = "Steps by process, each with the devices that it used"
    head = (*numbers(*columns), Column("idle mostly", "label"))
    return Block(title, head, rows, more(len(steps.processes) - len(shown)))


def _slowest(steps: Steps) -> Block:
    columns = ("process", "start", "wall", "GPU busy", "idle", "launched")
    first = 0 if len(steps.processes) > 1 else 1  # of a single process there is nothing to say
    rows = tuple(
        (
            _number(step.process),
            instant(step.start_ns),
            *map(duration, (step.wall_ns, step.gpu_busy_ns, step.gpu_idle_ns, step.launched_busy_ns)),
            _causes(step.idle_causes_ns),
        )[first:]
        for step in steps.slowest
    )
    return Block("Slowest steps", (*numbers(*columns[first:]), Column("idle causes", "text")), rows)


def _how_many(steps: Steps) -> str:
    several = len(steps.warmup) > 1
    apart = f"the first of each of {len(steps.warmup):,} processes is" if several else "the first is"
    if not steps.wall.count:
        return f"{steps.count:,}: {apart} set apart, and no other is left to measure"
    return f"{steps.count:,}: {apart} set apart, the figures are of the other {steps.wall.count:,}"


def _causes(causes_ns: Mapping[str, int], most: int | None = None) -> str:
    ranked = sorted(causes_ns.items(), key=lambda item: -item[1])[:most]
    return ", ".join(f"{cause} {duration(ns)}" for cause, ns in ranked) or MISSING


def _number(value: int | None) -> str:
    return MISSING if value is None else str(value)
