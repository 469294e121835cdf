"""The blocks of the report that explain: idle by cause, launches, kernels by kind, memory, dispatch, steady state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nsys_digest.model.digest import Digest
from nsys_digest.model.idle_causes import doing_words
from nsys_digest.model.quantity import shown_inside
from nsys_digest.model.section_types import (
    Category,
    Cause,
    Communication,
    Copies,
    DeviceIdle,
    Gap,
    Idle,
    KindTotal,
    LaunchCost,
    Memory,
    Sets,
)
from nsys_digest.model.step_types import DispatchStep
from nsys_digest.report.blocks import ARROW, SLASH, Block, Column, more, named
from nsys_digest.report.figure_columns import NAME_OF_ROW, TableColumn, cells, made, of, share, table, told
from nsys_digest.report.splits import split_blocks
from nsys_digest.report.steps import step_blocks
from nsys_digest.units import MISSING, counted


def section_blocks(digest: Digest, top: int) -> Iterator[tuple[str, Block]]:
    """Yield the blocks of the sections that the digest has, each with the name of its section."""
    if digest.idle is not None:
        yield from (("idle", block) for block in _idle(digest.idle, top))
    if digest.steps is not None:
        yield from (("steps", block) for block in step_blocks(digest.steps))
    if digest.launch is not None:
        yield "launch", _launch(digest, top)
    if digest.categories is not None:
        yield "categories", _categories(digest.categories)
    yield from split_blocks(digest, top)
    if digest.communication is not None:
        yield "communication", _communication(digest.communication)
    if digest.memory is not None:
        yield "memory", _memory(digest.memory)
    if digest.dispatch_steps is not None:
        yield "dispatch_steps", _dispatch(digest.dispatch_steps, top)


_DEVICE_IDLE: Final = of(DeviceIdle, "idle_ns")
_CAUSE: Final = of(Cause, "sum_ns")
_CAUSES: Final = (
    of(DeviceIdle, "device"),
    _CAUSE,
    share(_CAUSE, _DEVICE_IDLE),
    of(Cause, "gaps"),
    of(Cause, "longest_ns"),
    told(Column("cause", "text"), lambda row: f"{row[2]}: {doing_words(row[2])}"),
)
_HOST: Final = of(DeviceIdle, "host_by_nvtx_ns")
_HOST_RANGES: Final = (of(DeviceIdle, "device"), _HOST, share(_HOST, _DEVICE_IDLE, "share of idle"), NAME_OF_ROW)
_GAPS: Final = (
    of(Gap, "device"),
    of(Gap, "start_ns", "start"),
    of(Gap, "length_ns"),
    told(Column("mostly", "label"), lambda row: max(row[0].causes_ns, key=row[0].causes_ns.__getitem__)),
    told(Column("before → after", "name", ARROW), lambda row: f"{named(row[0].before)}{ARROW}{named(row[0].after)}"),
    told(Column("NVTX", "name", SLASH), lambda row: SLASH.join(map(named, row[0].nvtx)) or MISSING),
)


def _idle(idle: Idle, top: int) -> Iterator[Block]:
    causes = [
        (device, cause, name)
        for device in idle.devices
        for name, cause in sorted(device.causes.items(), key=lambda item: -item[1].sum_ns)
        if cause.sum_ns
    ]
    yield table("Why the GPU was idle: what the thread that ended each gap was doing", _CAUSES, causes)
    ranges = [(device, name) for device in idle.devices for name in list(device.host_by_nvtx_ns)[:top]]
    rest = sum(len(device.host_by_nvtx_ns) for device in idle.devices) - len(ranges)
    yield table("Idle in host code, by innermost NVTX range, most first", _HOST_RANGES, ranges, more(rest))
    gaps = [(gap,) for gap in idle.longest[:top]]
    notes = (more(len(idle.longest) - len(gaps)), "starts are on the trace's own clock")
    yield table("Longest gaps", _GAPS, gaps, "; ".join(filter(None, notes)))


_LAUNCHES: Final = (
    of(LaunchCost, "api.count", "launches"),
    of(LaunchCost, "api.p50_ns", "call p50"),
    of(LaunchCost, "api.p99_ns"),
    of(LaunchCost, "queue_delay.p50_ns", "queue p50"),
    of(LaunchCost, "queue_delay.p99_ns"),
    of(LaunchCost, "latency.p50_ns", "latency p50"),
    of(LaunchCost, "latency.p99_ns"),
    NAME_OF_ROW,
)


def _launch(digest: Digest, top: int) -> Block:
    assert digest.launch is not None
    costs = [(cost, name) for name, cost in digest.launch.by_api.items()]
    unmatched = digest.launch.unmatched_kernel_count
    early = digest.launch.kernels.started_before_return_count + digest.launch.graphs.started_before_return_count
    notes = (
        more(len(costs) - top),
        "call is the time in the call; queue from its return, latency from its start, to the start of the work",
        f"{early:,} began before their call returned: a queue of 0" if early else "",
        f"{counted(unmatched, 'kernel')} without a launch call in the trace" if unmatched else "",
    )
    return table("Launches, most first", _LAUNCHES, costs[:top], "; ".join(filter(None, notes)))


def _categories(categories: Mapping[str, Category]) -> Block:
    time = of(Category, "sum_ns")
    whole = sum(category.sum_ns for category in categories.values())
    columns: tuple[TableColumn, ...] = (
        time,
        share(time, whole),
        of(Category, "union_ns"),
        of(Category, "share_ns"),
        of(Category, "count"),
        NAME_OF_ROW,
    )
    note = f"{columns[3].head.title}: of busy time, where k operations at once have 1/k each"
    rows = ((category, name) for name, category in categories.items())
    return table("Kernel time by category", columns, rows, note)


_KIND_TIME, _KIND_COUNT = of(KindTotal, "sum_ns"), of(KindTotal, "count")
_UNION, _EXPOSED = of(Communication, "union_ns"), of(Communication, "exposed_ns")
_HIDDEN: Final = of(Communication, "hidden_ns")
_COMMUNICATION: Final = (
    of(Communication, "device"),
    _UNION,
    _HIDDEN,
    _EXPOSED,
    share(_EXPOSED, _UNION, "share exposed"),
    told(Column("by kind", "text"), lambda row: _by_kind(row[0])),
)


def _communication(communication: Sequence[Communication]) -> Block:
    rows = [(device,) for device in communication if device.union_ns]
    note = f"{_HIDDEN.title}: another kernel ran on the device; {_EXPOSED.title}: none did"
    return table("Communication against compute", _COMMUNICATION, rows, note if rows else "")


def _by_kind(device: Communication) -> str:
    kinds = ((kind, (total,)) for kind, total in device.by_kind.items())
    return ", ".join(f"{kind} {_KIND_TIME.cell(row)} in {_KIND_COUNT.cell(row)}" for kind, row in kinds)


_WHAT: Final = Column("copies and sets", "text")
_COPIES: Final = (
    of(Copies, "count"),
    of(Copies, "bytes"),
    of(Copies, "sum_ns"),
    made("bandwidth", "gbps", lambda row: row[0].bytes / row[0].sum_ns if row[0].sum_ns else None),
    of(Copies, "gbps.p5"),
    of(Copies, "gbps.p50"),
    of(Copies, "gbps.max"),
    told(_WHAT, lambda row: _copies_words(row[0])),
)
_SETS: Final[tuple[TableColumn, ...]] = (
    of(Sets, "count"),
    of(Sets, "bytes"),
    of(Sets, "sum_ns"),
    _COPIES[3],
    *(told(column.head, lambda _: MISSING) for column in _COPIES[4:7]),
    told(_WHAT, lambda _: "set"),
)
_BESIDE: Final = of(Memory, "overlapped_with_kernels_ns")


def _memory(memory: Memory) -> Block:
    rows = cells(_COPIES, ((copies,) for copies in memory.copies))
    if memory.sets.count:
        rows += cells(_SETS, [(memory.sets,)])
    beside = (
        "bandwidth: all bytes over all time, then percentiles of single copies; "
        f"{_BESIDE.cell((memory,))} of the copies ran beside kernels of the same device"
    )
    return Block("Memory", tuple(column.head for column in _COPIES), rows, beside if memory.copies else "")


def _copies_words(copies: Copies) -> str:
    return f"{copies.direction}, {copies.source_kind or 'unknown'} to {copies.destination_kind or 'unknown'}"


_DISPATCH: Final = (
    of(DispatchStep, "mode"),
    told(Column("padded"), lambda row: "all" if row[0].padded is None else shown_inside(row[0].padded, "count")),
    of(DispatchStep, "steps"),
    of(DispatchStep, "actual"),
    of(DispatchStep, "padding_ratio"),
    of(DispatchStep, "wall.p50_ns", "wall p50"),
    of(DispatchStep, "wall.p99_ns"),
    of(DispatchStep, "gpu_overlap_ns"),
    of(DispatchStep, "launched_busy_ns"),
    of(DispatchStep, "graph_launch_count"),
)


_MARKS: Final = (
    "a server marks each step that it dispatches: the CUDA graph mode, the actual size of the batch, and the size to "
    "which it is padded"
)


def _dispatch(steps: Sequence[DispatchStep], top: int) -> Block:
    rest = more(len(steps) - top)
    which = ", those of most wall time" if rest else ""
    title = f"Dispatch steps, each to the next mark of its thread{which}"
    note = "; ".join(filter(None, (rest, _MARKS)))
    return table(title, _DISPATCH, ((step,) for step in _longest(steps, top)), note)


def _longest(steps: Sequence[DispatchStep], top: int) -> list[DispatchStep]:
    """Return the steps of most wall time, in their own order."""
    ranked = sorted(range(len(steps)), key=lambda index: -steps[index].wall.total_ns)
    return [steps[index] for index in sorted(ranked[:top])]
