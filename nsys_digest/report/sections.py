"""The blocks of the report that explain: idle by cause, launches, kernels by kind, memory, dispatch, steady state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nsys_digest.model.digest import Digest
from nsys_digest.model.host_types import HostCall, HostFunction
from nsys_digest.model.idle_causes import doing_words
from nsys_digest.model.memory_types import Copies, Memory, Sets
from nsys_digest.model.os_calls import state_words
from nsys_digest.model.quantity import shown_inside
from nsys_digest.model.section_types import (
    Category,
    Cause,
    Communication,
    DeviceIdle,
    Gap,
    Idle,
    KindTotal,
    Launch,
    LaunchCost,
    OverheadTotal,
)
from nsys_digest.model.step_types import DispatchStep
from nsys_digest.report.blocks import ARROW, NAME, SLASH, Block, Column, more, named
from nsys_digest.report.figure_columns import NAME_OF_ROW, TableColumn, cells, made, of, share, table, told
from nsys_digest.report.splits import split_blocks
from nsys_digest.report.steps import step_blocks
from nsys_digest.units import MISSING, counted


def section_blocks(digest: Digest, top: int) -> Iterator[tuple[str, Block]]:
    """Yield the blocks of the sections that the digest has, each with the name of its section."""
    if digest.idle is not None:
        yield from (("idle", block) for block in _idle(digest.idle, top))
        yield from (("host", block) for block in _host(digest.idle, top))
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
_OUTSIDE: Final = of(DeviceIdle, "queued_outside.sum_ns")
_SYNC: Final = of(DeviceIdle, "sync_by_target_ns")
_SYNCS: Final = (of(DeviceIdle, "device"), _SYNC, share(_SYNC, _DEVICE_IDLE, "share of idle"), NAME_OF_ROW)
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
    outside = "; ".join(
        f"GPU {device.device}: {_OUTSIDE.cell((device,))} of queued waited for something outside of the trace, in "
        f"{counted(device.queued_outside.gaps, 'gap')} of 1 ms or more in which no GPU did anything"
        for device in idle.devices
        if device.queued_outside is not None and device.queued_outside.gaps
    )
    yield table("Why the GPU was idle: what the thread that ended each gap was doing", _CAUSES, causes, outside)
    ranges = [(device, name) for device in idle.devices for name in list(device.host_by_nvtx_ns)[:top]]
    rest = sum(len(device.host_by_nvtx_ns) for device in idle.devices) - len(ranges)
    yield table("Idle in host code, by innermost NVTX range, most first", _HOST_RANGES, ranges, more(rest))
    gaps = [(gap,) for gap in idle.longest[:top]]
    notes = (more(len(idle.longest) - len(gaps)), "starts are on the trace's own clock")
    yield table("Longest gaps", _GAPS, gaps, "; ".join(filter(None, notes)))
    targets = [(device, name) for device in idle.devices for name in list(device.sync_by_target_ns or {})[:top]]
    rest = sum(len(device.sync_by_target_ns or {}) for device in idle.devices) - len(targets)
    yield table("Idle in sync, by what was waited for", _SYNCS, targets, more(rest))


_STATE: Final = of(DeviceIdle, "states_ns")
_STATES: Final = (
    of(DeviceIdle, "device"),
    _STATE,
    share(_STATE, _DEVICE_IDLE, "share of idle"),
    told(Column("state", "text"), lambda row: f"{row[1]}: {state_words(row[1])}"),
)
_OS_CALLS: Final = (of(DeviceIdle, "device"), of(HostCall, "sum_ns"), of(HostCall, "state"), of(HostCall, "name"))
_FUNCTIONS: Final = (
    of(DeviceIdle, "device"),
    of(HostFunction, "sample_count"),
    of(HostFunction, "module"),
    told(NAME, lambda row: named(row[1].function)),
)


def _host(idle: Idle, top: int) -> Iterator[Block]:
    """Yield the tables of section host, where it was made."""
    devices = [(device, device.host) for device in idle.devices if device.host is not None]
    if not devices:
        return
    states = [
        (device, name)
        for device, host in devices
        for name, ns in sorted(host.states_ns.items(), key=lambda item: -item[1])
        if ns
    ]
    yield table("Host code: what the thread did whose call ended each gap", _STATES, states)
    calls = [(device, call) for device, host in devices for call in (host.calls or ())[:top]]
    rest = sum(len(host.calls or ()) for _, host in devices) - len(calls)
    yield table("Host code: calls of the operating system, most time first", _OS_CALLS, calls, more(rest))
    functions = [(device, one) for device, host in devices for one in (host.functions or ())[:top]]
    rest = sum(len(host.functions or ()) for _, host in devices) - len(functions)
    yield table("Host code: sampled functions of the program, most first", _FUNCTIONS, functions, more(rest))


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


_FIRST: Final = of(Launch, "first_of_kernel.total_ns")
_OVERHEAD: Final = of(OverheadTotal, "sum_ns")
_SLOW: Final = {"loading": "code loaded or compiled for", "queue_full": "launches waited on full queues for"}


def _slow_launches(launch: Launch) -> Iterator[str]:
    """Say what made launches slow: code that loaded, queues that were full, or maybe first launches."""
    for kind, words in _SLOW.items():
        total = (launch.driver_overhead or {}).get(kind)
        if total is not None and total.count:
            yield f"{words} {_OVERHEAD.cell((total,))}"
    first = launch.first_of_kernel
    if first is not None and first.count and launch.driver_overhead is None:
        yield (
            f"the first launches of {counted(first.count, 'kernel name')} took {_FIRST.cell((launch,))} together, with "
            "any loading of code"
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
        *_slow_launches(digest.launch),
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
_MOVES: Final = {
    "UVM HtoD": "migration to device",
    "UVM DtoH": "migration to host",
    "UVM DtoD": "migration between devices",
}
_FAULTS: Final = (of(Memory, "cpu_page_fault_count"), of(Memory, "gpu_page_fault_count"))
_BESIDE: Final = of(Memory, "overlapped_with_kernels_ns")


def _memory(memory: Memory) -> Block:
    rows = cells(_COPIES, ((copies,) for copies in memory.copies))
    if memory.sets.count:
        rows += cells(_SETS, [(memory.sets,)])
    notes = (
        "bandwidth: all bytes over all time, then percentiles of single copies" if memory.copies else "",
        f"{_BESIDE.cell((memory,))} of the copies ran beside kernels of the same device" if memory.copies else "",
        *(
            f"{counted(one.count, 'migration')} {one.direction} by {one.cause}"
            for one in memory.migrations
            if one.cause is not None
        ),
        *(f"{column.cell((memory,))} {column.title}" for column in _FAULTS if column.value((memory,)) is not None),
    )
    return Block("Memory", tuple(column.head for column in _COPIES), rows, "; ".join(filter(None, notes)))


def _copies_words(copies: Copies) -> str:
    if copies.direction in _MOVES:  # of these no export says the kinds of memory
        return f"{_MOVES[copies.direction]} ({copies.direction})"
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
