"""Steady state: every instance of one range as a step of its process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, union
from nsys_digest.errors import MissingData
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.model.step_types import ProcessSteps, RatioPercentiles, Step, Steps
from nsys_digest.sections.durations import durations, sorted_percentile
from nsys_digest.sections.names_like import names_like
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.step_work import causes_in_steps, launched_busy
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import Events
from nsys_digest.trace.nsys.tables import THREAD_BITS, known_process_of

SLOWEST = 5


@dataclass(frozen=True, slots=True)
class StepDevices:
    """Where each process ran work."""

    ordinals: tuple[int, ...]
    """The CUDA ordinal of each device."""
    of_process: dict[int, frozenset[int]]
    """Devices by globalPid; by 0 those of work that names no process."""
    exposed: Sequence[Intervals]
    """Exposed communication of each device."""

    def of(self, process: int) -> tuple[int, ...]:
        """Return the devices of a process."""
        unknown = self.of_process.get(0, frozenset())
        return tuple(sorted(self.of_process.get(process, frozenset()) | unknown))


@dataclass(frozen=True, slots=True)
class _Instances:
    """The instances in order of start; arrays of shape (n,). What a step has of the GPU is -1 where nobody knows."""

    start_ns: Int64s
    end_ns: Int64s
    thread: Int64s
    """globalTid."""
    process: Int64s
    """globalPid."""
    known: Bools
    """Whether the process of the step ran work on a GPU."""
    busy_ns: Int64s
    launched_ns: Int64s
    exposed_ns: Int64s
    causes_ns: Int64s
    """Shape (causes, n)."""

    @property
    def wall_ns(self) -> Int64s:
        return self.end_ns - self.start_ns

    def step(self, index: int) -> Step:
        """Return one step."""
        wall_ns, busy_ns = int(self.wall_ns[index]), int(self.busy_ns[index])
        known, thread = bool(self.known[index]), int(self.thread[index])
        return Step(
            process=known_process_of(int(self.process[index])),
            thread=thread & THREAD_BITS if thread else None,
            start_ns=int(self.start_ns[index]),
            wall_ns=wall_ns,
            gpu_busy_ns=busy_ns if known else None,
            gpu_idle_ns=wall_ns - busy_ns if known else None,
            launched_busy_ns=int(self.launched_ns[index]) if known else None,
            exposed_communication_ns=int(self.exposed_ns[index]) if known else None,
            busy_ratio=busy_ns / wall_ns if known and wall_ns else None,
            idle_causes_ns=_named(self.causes_ns[:, index]),
        )

    def figures(self, chosen: Int64s, *, on_gpu: bool) -> dict[str, Any]:
        """Return what each process and all of them have, over some of the steps; ``on_gpu`` where any ran GPU work."""
        known = chosen[self.known[chosen]]
        timed = known[self.wall_ns[known] > 0]
        ratio = np.sort(self.busy_ns[timed] / self.wall_ns[timed])
        return {
            "wall": durations(self.wall_ns[chosen]),
            "busy_ratio": RatioPercentiles(sorted_percentile(ratio, 50), sorted_percentile(ratio, 0)),
            "idle": durations((self.wall_ns - self.busy_ns)[known]) if on_gpu else None,
            "launched_busy": durations(self.launched_ns[known]) if on_gpu else None,
            "exposed_communication": durations(self.exposed_ns[known]) if on_gpu else None,
            "idle_causes_ns": _named(self.causes_ns[:, known].sum(axis=1)) if on_gpu else None,
        }


def steps(
    events: Events,
    name: str,
    names: Sequence[str],
    wanted: frozenset[str],
    devices: StepDevices,
    selection: Selection = WHOLE,
) -> Steps:
    """Measure the instances of the wanted range names; ``names`` are those of the ranges by group.

    The first instance of each process warms up and is given apart: percentiles are over the others. An instance that
    lies within another on its thread is part of that step. Where the process of a step ran nothing on a GPU, nothing
    is known of its busy and idle time. Of a selection those instances count that have a part in the window, and they
    are measured whole.
    """
    found = _instances(events, names, wanted, devices)
    first = np.sort(np.unique(found.process, return_index=True)[1])
    counts = np.flatnonzero(selection.counts(found.start_ns, found.end_ns))
    first, measured = np.intersect1d(counts, first), np.setdiff1d(counts, first)
    slowest = measured[np.lexsort((measured, -found.wall_ns[measured]))][:SLOWEST]
    ordered = measured[np.argsort(found.process[measured], kind="stable")]
    processes, count_of = np.unique(found.process[counts], return_counts=True)
    edges = np.searchsorted(found.process[ordered], np.append(processes, np.iinfo(np.int64).max))
    rows = []
    for process, count, (low, high) in zip(processes.tolist(), count_of.tolist(), pairwise(edges), strict=True):
        own = devices.of(process)
        rows.append(
            ProcessSteps(
                process=known_process_of(process),
                devices=tuple(devices.ordinals[device] for device in own),
                count=count,
                **found.figures(ordered[low:high], on_gpu=bool(own)),
            )
        )
    return Steps(
        name=name,
        names=tuple(dict.fromkeys(text for text in names if text in wanted)),
        count=counts.size,
        **found.figures(measured, on_gpu=bool(found.known[counts].any())),
        warmup=tuple(found.step(index) for index in first.tolist()),
        processes=tuple(rows),
        slowest=tuple(found.step(index) for index in slowest.tolist()),
    )


def _instances(events: Events, names: Sequence[str], wanted: frozenset[str], devices: StepDevices) -> _Instances:
    """Find the instances, and measure each."""
    ranges = events.ranges
    of_group = np.array([name in wanted for name in names], bool)
    chosen = np.flatnonzero(of_group[ranges.group]) if ranges.group.size else np.zeros(0, np.int64)
    threads = np.array(ranges.threads, np.int64)
    thread = np.searchsorted(ranges.edges, chosen, side="right") - 1
    outer = _outer(ranges.end_ns[chosen], thread)
    chosen, thread = chosen[outer], threads[thread[outer]]
    order = np.lexsort((thread, ranges.end_ns[chosen], ranges.start_ns[chosen]))
    start_ns, end_ns, thread = ranges.start_ns[chosen[order]], ranges.end_ns[chosen[order]], thread[order]
    process = thread & ~THREAD_BITS
    known = np.zeros(process.size, bool)
    busy_ns, exposed_ns = (np.zeros(process.size, np.int64) for _ in range(2))
    own: dict[tuple[int, ...], list[int]] = {}
    processes, which = np.unique(process, return_inverse=True)
    for index, one in enumerate(processes.tolist()):
        own.setdefault(devices.of(one), []).append(index)
    for together, members in own.items():
        if together:
            steps_of = np.flatnonzero(np.isin(which, members))
            known[steps_of] = True
            within = start_ns[steps_of], end_ns[steps_of]
            busy_ns[steps_of] = Coverage(_busy(events, together)).within(*within)
            bare = [devices.exposed[device] for device in together]
            joint = union(*(np.concatenate(column) for column in zip(*bare, strict=True)))
            exposed_ns[steps_of] = Coverage(joint).within(*within)
    causes_ns = np.zeros((len(CAUSES), process.size), np.int64)
    for device in range(len(devices.ordinals)):
        users = [index for together, members in own.items() if device in together for index in members]
        steps_of = np.flatnonzero(np.isin(which, users))
        if steps_of.size:
            causes_ns[:, steps_of] += causes_in_steps(events, device, start_ns[steps_of], end_ns[steps_of])
    return _Instances(
        start_ns=start_ns,
        end_ns=end_ns,
        thread=thread,
        process=process,
        known=known,
        busy_ns=busy_ns,
        launched_ns=launched_busy(events, processes, which, start_ns, end_ns),
        exposed_ns=exposed_ns,
        causes_ns=causes_ns,
    )


def _outer(end_ns: Int64s, thread: Int64s) -> Int64s:
    """Return the ranges that lie within no other on their thread; by thread, then by start, the longer one first."""
    keys, rank = np.unique(end_ns, return_inverse=True)
    reach = np.maximum.accumulate(thread * np.int64(keys.size + 1) + rank)
    begins = np.append(True, thread[1:] != thread[:-1])[: thread.size]
    beyond = np.append(True, reach[1:] > reach[:-1])[: thread.size]
    return np.flatnonzero(begins | beyond)


def _busy(events: Events, devices: tuple[int, ...]) -> Intervals:
    """Return when any of the devices was busy."""
    chosen = np.isin(events.operations.device, devices)
    return union(events.operations.start_ns[chosen], events.operations.end_ns[chosen])


def _named(causes_ns: Int64s) -> dict[str, int]:
    return {name: ns for name, ns in zip(CAUSES, causes_ns.tolist(), strict=True) if ns}


@dataclass(frozen=True, slots=True)
class _OfNamedRange(Section):
    """Made where a range is named as the step."""

    def is_asked_for(self, options: SectionOptions) -> bool:
        return options.step is not None


def _make(context: Context) -> Made:
    """Make the section.

    Raises:
        MissingData: no range has the name of the step.

    """
    names, step = context.scanned.nvtx.names, context.options.step or ""
    if step not in names:
        raise MissingData(
            f"no NVTX range is named {step!r}; {names_like(step, names)}; give --steps the whole name, with its domain"
        )
    used: defaultdict[int, set[int]] = defaultdict(set)
    for place, device in zip(context.scanned.gpu.places, context.gpu.device_of_place, strict=True):
        if device >= 0:
            used[place.process].add(device)
    of_process = {process: frozenset(devices) for process, devices in used.items()}
    devices = StepDevices(context.ordinals, of_process, context.exposed)
    return Made(steps(context.events, step, names, frozenset((step,)), devices, context.selection))


SECTION = _OfNamedRange("steps", _make, Lane.time, frozenset({Blind.unlaunched_work}))
