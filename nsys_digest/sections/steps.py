"""Steady state: what each step of a process did, and what all of them have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.errors import MissingData
from nsys_digest.model.base_types import Warn
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.model.step_types import ProcessSteps, RatioPercentiles, Step, Steps
from nsys_digest.sections.durations import durations, sorted_percentile
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.step_instances import Instances, of_marks, of_ranges
from nsys_digest.sections.step_names import family, like, matching
from nsys_digest.sections.step_spread import spread
from nsys_digest.sections.step_work import StepDevices, StepWork, work_of
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.nsys.tables import THREAD_BITS, known_process_of
from nsys_digest.units import counted

SLOWEST = 5
MOST_LISTED = 100
MOST_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """The steps and what each did; figures are of those that are neither warm-up nor cut."""

    instances: Instances
    names: Sequence[str]
    """The texts of ``instances.name``."""
    warm_up: Bools
    work: StepWork
    devices: StepDevices
    wanted: tuple[str, ...]
    """The names that are steps."""
    are_marks: bool

    @property
    def wall_ns(self) -> Int64s:
        """The length of each."""
        return self.instances.end_ns - self.instances.start_ns

    def measured(self) -> Int64s:
        """Return the steps that figures are of."""
        return np.flatnonzero(~(self.warm_up | self.instances.cut))

    def step(self, index: int) -> Step:
        """Return one step."""
        work, busy_ns = self.work, int(self.work.busy_ns[index])
        known, thread = bool(work.known[index]), int(self.instances.thread[index])
        looked_at_ns = int(work.looked_at_ns[index])
        return Step(
            name=self.names[int(self.instances.name[index])],
            process=known_process_of(thread & ~THREAD_BITS),
            thread=thread & THREAD_BITS if thread else None,
            start_ns=int(self.instances.start_ns[index]),
            wall_ns=int(self.wall_ns[index]),
            gpu_busy_ns=busy_ns if known else None,
            gpu_idle_ns=looked_at_ns - busy_ns if known else None,
            launched_busy_ns=int(work.launched_busy_ns[index]) if known else None,
            launched_span_ns=int(work.launched_span_ns[index]) if known else None,
            exposed_communication_ns=int(work.exposed_ns[index]) if known else None,
            busy_ratio=busy_ns / looked_at_ns if known and looked_at_ns else None,
            idle_causes_ns=_named(work.causes_ns[:, index]),
        )

    def most(self, chosen: Int64s, by: Int64s) -> tuple[Step, ...]:
        """Return those of the chosen steps that have most of something; of equal ones the earlier first."""
        ranked = chosen[np.lexsort((chosen, -by[chosen]))][:SLOWEST]
        return tuple(map(self.step, ranked.tolist()))

    def figures(self, chosen: Int64s, *, on_gpu: bool) -> dict[str, Any]:
        """Return what each process and all of them have, over some of the steps; ``on_gpu`` where any ran GPU work."""
        work = self.work
        known = chosen[work.known[chosen]]
        timed = known[work.looked_at_ns[known] > 0]
        ratio = np.sort(work.busy_ns[timed] / work.looked_at_ns[timed])
        return {
            "wall": durations(self.wall_ns[chosen]),
            "busy_ratio": RatioPercentiles(sorted_percentile(ratio, 50), sorted_percentile(ratio, 0)),
            "idle": durations((work.looked_at_ns - work.busy_ns)[known]) if on_gpu else None,
            "launched_busy": durations(work.launched_busy_ns[known]) if on_gpu else None,
            "launched_span": durations(work.launched_span_ns[known]) if on_gpu else None,
            "exposed_communication": durations(work.exposed_ns[known]) if on_gpu else None,
            "idle_causes_ns": _named(work.causes_ns[:, known].sum(axis=1)) if on_gpu else None,
        }

    def by_process(self, devices: StepDevices) -> tuple[ProcessSteps, ...]:
        """Return the steps of each process."""
        measured, process = self.measured(), self.instances.process
        ordered = measured[np.argsort(process[measured], kind="stable")]
        processes, counts = np.unique(process, return_counts=True)
        edges = np.searchsorted(process[ordered], np.append(processes, np.iinfo(np.int64).max))
        rows = []
        for one, count, (low, high) in zip(processes.tolist(), counts.tolist(), pairwise(edges), strict=True):
            own = devices.of(one)
            rows.append(
                ProcessSteps(
                    process=known_process_of(one),
                    devices=tuple(devices.ordinals[device] for device in own),
                    count=count,
                    **self.figures(ordered[low:high], on_gpu=bool(own)),
                )
            )
        return tuple(rows)


def warms_up(process: Int64s, count: int) -> Bools:
    """Tell which steps, in order of start, are among the first ``count`` of their process."""
    order = np.argsort(process, kind="stable")
    first = np.searchsorted(process[order], process[order], side="left")
    early = np.zeros(process.size, bool)
    early[order] = np.arange(process.size) - first < count
    return early


def _named(causes_ns: Int64s) -> dict[str, int]:
    return {name: ns for name, ns in zip(CAUSES, causes_ns.tolist(), strict=True) if ns}


@dataclass(frozen=True, slots=True)
class _OfNamedSteps(Section):
    """Made where steps are named."""

    def is_asked_for(self, options: SectionOptions) -> bool:
        return options.step is not None


def find_steps(context: Context) -> FoundSteps:
    """Find the steps that are asked for, and measure each that has a part in the window.

    What warms up is decided on the whole trace, so that a window after the first steps sets none apart.

    Raises:
        MissingData: the trace has no such step.

    """
    asked, warmup = context.options.step or "", context.options.warmup
    nvtx, marks, there = context.scanned.nvtx, context.scanned.nvtx.all_marks, _names_of(context)
    wanted = matching(asked, there)
    names, are_marks = nvtx.names, wanted.isdisjoint(nvtx.names)
    if not wanted:
        raise MissingData(_not_there(asked, there))
    if are_marks and marks is not None:
        names = marks.names
        found = of_marks(marks, np.array([name in wanted for name in names], bool), context.events.ranges.threads)
    else:
        of_group = np.array([name in wanted for name in names], bool)
        found = of_ranges(context.events.ranges, of_group, context.session_ns)
    early = warms_up(found.process, warmup)
    counts, _ = context.selection.clip(found.start_ns, found.end_ns)
    found, early = found.some(counts), early[counts]
    devices = _devices(context)
    texts = tuple(dict.fromkeys(text for text in names if text in wanted))
    work = work_of(context.events, found, devices, context.selection)
    return FoundSteps(found, names, early, work, devices, texts, are_marks)


def _names_of(context: Context) -> tuple[str, ...]:
    """Return the names that steps can have."""
    marks = context.scanned.nvtx.all_marks
    return (*context.scanned.nvtx.names, *(() if marks is None else marks.names))


def _make(context: Context) -> Made:
    """Make the section.

    Raises:
        MissingData: the trace has no such step.

    """
    asked, whole = context.options.step or "", find_steps(context)
    found, early = whole.instances, whole.warm_up
    measured = whole.measured()
    processes = whole.by_process(whole.devices)
    known = whole.work.known
    value = Steps(
        name=asked,
        names=whole.wanted[:MOST_NAMES],
        kind="mark" if whole.are_marks else "range",
        count=early.size,
        warmup_count=int(np.count_nonzero(early)),
        cut_count=int(np.count_nonzero(found.cut & ~early)),
        **whole.figures(measured, on_gpu=bool(known.any())),
        warmup=tuple(map(whole.step, np.flatnonzero(early)[:MOST_LISTED].tolist())),
        processes=processes,
        spread=spread(processes),
        slowest=whole.most(measured, whole.wall_ns),
        most_launched=whole.most(measured[known[measured]], whole.work.launched_busy_ns),
    )
    return Made(value, tuple(_warnings(value, _names_of(context))))


def _devices(context: Context) -> StepDevices:
    used: defaultdict[int, set[int]] = defaultdict(set)
    for place, device in zip(context.scanned.gpu.places, context.gpu.device_of_place, strict=True):
        if device >= 0:
            used[place.process].add(device)
    of_process = {process: frozenset(devices) for process, devices in used.items()}
    return StepDevices(context.ordinals, of_process, context.exposed)


def _not_there(asked: str, names: Sequence[str]) -> str:
    """Say that there is no such step, and what there is."""
    said = f"no NVTX range or mark is named {asked!r}"
    if not names:
        return f"{said}; the trace has no range at all, nor a mark; annotate the program with NVTX ranges"
    close = like(asked, names)
    shown = close or sorted(set(map(family, names)))
    texts = ", ".join(map(repr, shown[:3])) + (" …" if len(shown) > 3 else "")
    there = f"names like it: {texts}" if close else f"none is like it; there are {texts}"
    return f"{said}; {there}; give --steps the whole name, with its domain, or a glob such as 'step_*'"


def _warnings(steps: Steps, names: Sequence[str]) -> list[Warn]:
    """Say of steps that nothing is measured, or that some are cut."""
    warned = []
    if not steps.wall.count:
        alike = family(steps.name)
        numbered = {name for name in names if family(name) == alike}
        if not steps.count:
            why = f"no second mark follows on a thread: a step is from a mark of {steps.name!r} to the next"
        else:
            apart = f"{counted(steps.warmup_count, 'step')} of {steps.name!r} set apart as warm-up"
            why = apart + (
                f", {counted(steps.cut_count, 'step')} cut by the end of the capture" * bool(steps.cut_count)
            )
        advice = "give --warmup 0, or another name"
        if len(numbered) > 1:
            advice = f"for the {len(numbered):,} names that differ in a number alone give --steps {alike!r}"
        warned.append(Warn("steps-unmeasured", f"no step is left to measure: {why}; {advice}"))
    if steps.cut_count:
        warned.append(
            Warn(
                "steps-cut",
                f"{counted(steps.cut_count, 'step')} of {steps.name!r} still open when the capture ended: counted, but "
                "in no other figure, as the length is not its own",
            )
        )
    return warned


SECTION = _OfNamedSteps("steps", _make, Lane.time, frozenset({Blind.unlaunched_work}))
