"""The sections that look at events one by one, all from one set of linked events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from nsys_digest.algorithms.at_once import both
from nsys_digest.algorithms.intervals import Intervals
from nsys_digest.errors import MissingData
from nsys_digest.model.base_types import Warn
from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.model.section_types import NvtxDetail
from nsys_digest.sections.call_groups import WaitRows
from nsys_digest.sections.categories import Classified, categories, full_names
from nsys_digest.sections.communication import communication, exposed
from nsys_digest.sections.devices import GpuTime
from nsys_digest.sections.dispatch_steps import dispatch_steps, step_times
from nsys_digest.sections.durations import api_durations, kernel_durations
from nsys_digest.sections.idle import idle
from nsys_digest.sections.impossible_times import impossible_times
from nsys_digest.sections.launch import launch
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.sections.lost_rows import lost_rows
from nsys_digest.sections.memory import memory
from nsys_digest.sections.nvtx_detail import nvtx_detail
from nsys_digest.sections.steps import StepDevices, steps
from nsys_digest.sections.unlaunched_work import unlaunched_work
from nsys_digest.sections.warnings import AccountLimits
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.link import Calls, Events, link
from nsys_digest.trace.nsys.tables import COPY_KINDS, GPU_KINDS, name_of
from nsys_digest.trace.scan import Scanned


@dataclass(frozen=True, slots=True)
class AccountOptions:
    """Which sections to make, how many gaps to list, the kernel categories, and the range that is a step."""

    sections: tuple[str, ...]
    gaps: int
    kernel_categories: KernelCategories
    step: str | None

    @property
    def needs_events(self) -> bool:
        """Whether anything must be looked at one by one."""
        return bool(self.sections) or self.step is not None


@dataclass(frozen=True, slots=True)
class Account:
    """The sections asked for, by the name of their field in the digest."""

    sections: dict[str, Any]
    nvtx: Mapping[str, NvtxDetail]
    limits: AccountLimits


def account(
    scanned: Scanned,
    gpu: GpuTime,
    calls: tuple[Calls, Ints],
    strings: Mapping[int, str],
    idle_ns: Mapping[str, int],
    session_ns: int | None,
    options: AccountOptions,
) -> Account:
    """Make the sections; takes the events out of the collectors.

    ``calls`` is what ``order_calls`` gave, ``idle_ns`` the idle time within the ranges of each name.

    Raises:
        MissingData: no range has the name of the step.

    """
    wanted = frozenset(options.sections)
    events = link(scanned.gpu, scanned.nvtx, calls, gpu.device_of_place)
    ordinals = [device.device for device in gpu.devices]
    range_names = [] if scanned.nvtx is None else _range_names(scanned)
    waits = WaitRows(calls[1], scanned.waits.by_process() if scanned.waits is not None else {})
    # The two take about as long, with Python's lock mostly free.
    (made, bare), (launched, lost, impossible) = both(
        lambda: _by_time(events, scanned, strings, ordinals, range_names, options),
        lambda: (
            _launched(events, scanned, gpu, range_names, idle_ns, wanted),
            lost_rows(events, scanned.gpu, waits),
            impossible_times(events, scanned.gpu, waits, session_ns),
        ),
    )
    made |= launched.sections
    if "launch" in made:
        made["launch"] = replace(made["launch"], without_work_count=lost.launch_count)
    if options.step is not None:
        made["steps"] = _steps(events, scanned.gpu, options.step, range_names, gpu, bare)
    checks = [*lost.warnings, *impossible]
    if options.step is not None or {"idle", "launch", "nvtx", "dispatch_steps"} & wanted:
        checks += filter(None, [unlaunched_work(events, scanned.gpu)])
    return Account(made, launched.nvtx, _limits(events, wanted, launched, tuple(checks)))


def _limits(events: Events, wanted: frozenset[str], launched: _Launched, checks: tuple[Warn, ...]) -> AccountLimits:
    """Count what the sections that were made cannot know."""
    unseen = 0
    if {"communication", "categories", "kernel_durations"} & wanted:
        unseen = int(np.count_nonzero(events.operations.kind == GPU_KINDS.index("graph")))
    return AccountLimits(unseen, launched.disagreements, checks, launched.dispatch_left_out)


def _by_time(
    events: Events,
    scanned: Scanned,
    strings: Mapping[int, str],
    ordinals: list[int],
    range_names: list[str],
    options: AccountOptions,
) -> tuple[dict[str, Any], list[Intervals] | None]:
    """Make the sections that look at operations and calls in time, and find exposed communication for steps."""
    wanted = frozenset(options.sections)
    made: dict[str, Any] = {}
    if "idle" in wanted:
        namer = _OperationNames(events, scanned, strings)
        made["idle"] = idle(events, ordinals, options.gaps, namer.name, range_names.__getitem__)
    if "memory" in wanted:
        made["memory"] = memory(events.operations, scanned.gpu, len(ordinals))
    if "api_durations" in wanted:
        made["api_durations"] = api_durations(events.calls)
    if "kernel_durations" in wanted:
        short = [name_of(key, strings) for key in scanned.gpu.kernel_names.values]
        made["kernel_durations"] = kernel_durations(events.operations, scanned.gpu, short)
    if not {"communication", "categories"} & wanted and options.step is None:
        return made, None
    kernels = Classified(events.operations, full_names(scanned.gpu, strings), options.kernel_categories)
    if "communication" in wanted:
        made["communication"] = communication(kernels, ordinals)
    if "categories" in wanted:
        made["categories"] = categories(kernels)
    return made, exposed(kernels, len(ordinals)) if options.step is not None else None


@dataclass(frozen=True, slots=True)
class _Launched:
    sections: dict[str, Any]
    nvtx: Mapping[str, NvtxDetail]
    disagreements: tuple[str, ...] = ()
    dispatch_left_out: int = 0


def _launched(
    events: Events,
    scanned: Scanned,
    gpu: GpuTime,
    range_names: list[str],
    idle_ns: Mapping[str, int],
    wanted: frozenset[str],
) -> _Launched:
    """Make the sections that look at the work behind calls."""
    if not {"launch", "nvtx", "dispatch_steps"} & wanted:
        return _Launched({}, {})
    work = LaunchedWork(events)
    made: dict[str, Any] = {}
    details: Mapping[str, NvtxDetail] = {}
    if "launch" in wanted:
        made["launch"] = launch(events, work)
    if "nvtx" in wanted and scanned.nvtx is not None:
        scopes = np.array([scanned.nvtx.scope_of(group) for group in range(len(range_names))], np.int64)
        details = nvtx_detail(events, work, scopes, range_names, idle_ns if gpu.busy.start_ns.size else None)
    if "dispatch_steps" not in wanted:
        return _Launched(made, details)
    names = scanned.nvtx.names if scanned.nvtx is not None else []
    found = dispatch_steps(events, step_times(events, work, gpu.busy), names)
    return _Launched(made | {"dispatch_steps": found.steps}, details, found.disagreements, found.left_out)


def _range_names(scanned: Scanned) -> list[str]:
    assert scanned.nvtx is not None
    return [scanned.nvtx.display_name(group) for group in range(len(scanned.nvtx.groups))]


def _steps(
    events: Events, places: GpuCollector, step: str, names: list[str], gpu: GpuTime, bare: list[Intervals] | None
) -> Any:
    if step not in names:
        known = sorted(set(names))
        close = [name for name in known if step.lower() in name.lower()]
        hint = "the trace has no range at all"
        if close or known:
            shown = ", ".join((close or known)[:3]) + (" …" if len(close or known) > 3 else "")
            hint = f"names that contain it: {shown}" if close else f"none contains it; there are {shown}"
        raise MissingData(f"no NVTX range is named {step!r}; {hint}; give --steps the whole name, with its domain")
    used: defaultdict[int, set[int]] = defaultdict(set)
    for place, device in enumerate(gpu.device_of_place):
        used[places.stream_of(place)[0]].add(device)
    ordinals = tuple(device.device for device in gpu.devices)
    of_process = {process: frozenset(devices) for process, devices in used.items()}
    return steps(events, step, names, frozenset((step,)), StepDevices(ordinals, of_process, bare))


class _OperationNames:
    """What an operation is called in a list of gaps."""

    def __init__(self, events: Events, scanned: Scanned, strings: Mapping[int, str]) -> None:
        self._operations = events.operations
        self._gpu = scanned.gpu
        self._strings = strings

    def name(self, operation: int) -> str:
        kind = GPU_KINDS[int(self._operations.kind[operation])]
        label = int(self._operations.label[operation])
        if kind == "kernel":
            short, _ = self._gpu.kernel_labels.pairs[label]
            return name_of(self._gpu.kernel_names.values[short], self._strings)
        if kind == "memcpy":
            return f"[memcpy {COPY_KINDS.get(self._gpu.copy_of(label)[0], 'unknown')}]"
        return f"[{kind}]"
