"""Dispatch marks as steps: what each said, and what the GPU did until the next one of the same thread."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals, exact_sum
from nsys_digest.algorithms.lines import positions
from nsys_digest.model.base_types import OTHER_NAMES, Warn
from nsys_digest.model.step_types import DispatchStep
from nsys_digest.sections.durations import durations
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.sections.looked_at import LookedAt
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import Marks
from nsys_digest.units import counted

_NO_GRAPH = frozenset({"none", "eager", "no", "off", "false", "0"})


_WHOLE = re.compile(r"-?[0-9]{1,18}")
"""What fits in int64; a longer number is text, as nothing reckons with it."""


def fields_of(text: str) -> dict[str, int | str]:
    """Read the ``key=value`` fields of a mark, which colons or commas set apart; whole numbers become integers."""
    found: dict[str, int | str] = {}
    for part in text.replace(",", ":").split(":"):
        key, equals, value = part.partition("=")
        if equals and key.strip():
            value = value.strip()
            found[key.strip()] = int(value) if _WHOLE.fullmatch(value) else value
    return found


MOST_GROUPS: Final = 1_000
_MOST_LINES = 20
_Key: TypeAlias = tuple[str | None, int | None]
"""(mode, padded); padded is None for all marks of a mode."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """What lies between each mark and the next of its thread; arrays of shape (n,), 0 where there is none."""

    has_next: Bools
    wall_ns: Int64s
    gpu_overlap_ns: Int64s | None
    launched_busy_ns: Int64s | None
    """None where the trace has no GPU activity, so that nobody knows."""
    graph_launches: Int64s
    whole: Bools
    """Whether all of the step is in the window."""

    def some(self, kept: Int64s) -> StepTimes:
        """Return those of some marks."""
        return StepTimes(
            has_next=self.has_next[kept],
            wall_ns=self.wall_ns[kept],
            gpu_overlap_ns=None if self.gpu_overlap_ns is None else self.gpu_overlap_ns[kept],
            launched_busy_ns=None if self.launched_busy_ns is None else self.launched_busy_ns[kept],
            graph_launches=self.graph_launches[kept],
            whole=self.whole[kept],
        )


def step_times(looked: LookedAt, work: LaunchedWork, busy: Intervals, *, known: bool) -> tuple[Marks, StepTimes]:
    """Measure the step of every mark that counts; the last mark of a thread has none.

    A step counts where it has a part in the window, a mark without a step where it starts in it. ``busy`` is that of
    the window, and ``known`` tells whether the trace has GPU work that is looked at.
    """
    marks, calls = looked.events.marks, looked.events.calls
    size = marks.start_ns.size
    has_next = np.append(marks.thread[1:] == marks.thread[:-1], False) if size else np.zeros(0, bool)
    until_ns = np.where(has_next, np.append(marks.start_ns[1:], 0), marks.start_ns) if size else marks.start_ns
    launched = work.begun_in(marks.thread, marks.start_ns, until_ns)
    is_graph = calls.graph_group[calls.group] if calls.group.size else np.zeros(0, bool)
    graph_calls = np.flatnonzero(is_graph if looked.calls is None else is_graph & looked.calls)
    graph_ns, edges = calls.start_ns[graph_calls], np.searchsorted(graph_calls, calls.edges)
    thread = np.minimum(marks.thread, len(calls.threads))  # threads without a call are alike: an empty line at the end
    edges = np.append(edges, edges[-1])
    first, after = (positions(graph_ns, edges, thread, times) for times in (marks.start_ns, until_ns))
    counts, part_ns = looked.selection.clip(marks.start_ns, until_ns)
    wall_ns = until_ns - marks.start_ns
    found = StepTimes(
        has_next=has_next,
        wall_ns=wall_ns,
        gpu_overlap_ns=Coverage(busy).within(marks.start_ns, until_ns) if known else None,
        launched_busy_ns=work.busy_by_group(launched.first, launched.after, launched.asked, size) if known else None,
        graph_launches=after - first,
        whole=np.ones(size, bool),
    )
    if looked.selection.window is None:
        return marks, found
    chosen = np.flatnonzero(counts)
    found = replace(found.some(chosen), whole=part_ns == wall_ns[chosen])
    return Marks(marks.start_ns[chosen], marks.name[chosen], marks.thread[chosen], marks.names), found


def dispatch_steps(marks: Marks, times: StepTimes) -> tuple[tuple[DispatchStep, ...], tuple[Warn, ...]]:
    """Group the steps by mode, and by mode and padded size; and warn where modes and graph launches disagree."""
    groups: defaultdict[_Key, list[int]] = defaultdict(list)
    fields_of_name = {name: fields_of(marks.names[name]) for name in np.unique(marks.name).tolist()}
    fields = [fields_of_name[name] for name in marks.name.tolist()]
    for index, found in enumerate(fields):
        mode = str(found["mode"]) if "mode" in found else None
        padded = found.get("padded")
        groups[mode, None].append(index)
        if isinstance(padded, int):
            groups[mode, padded].append(index)
    group_count = len(groups)
    if group_count > MOST_GROUPS:
        groups = _capped(groups)
    keys = sorted(groups, key=lambda key: (key[0] is not None, key[0] or "", key[1] is not None, key[1] or 0))
    steps = tuple(_group(mode, padded, groups[mode, padded], fields, times) for mode, padded in keys)
    lines = (
        _disagreement(mode, groups[mode, None], times)
        for mode, padded in keys
        if padded is None and mode not in (None, OTHER_NAMES)
    )
    return steps, (*_left_out(group_count - len(steps)), *_capped_lines([line for line in lines if line]))


def _capped(groups: Mapping[_Key, list[int]]) -> defaultdict[_Key, list[int]]:
    """Keep half of the limit of modes, and as many of their sizes, those of most steps; other modes become one."""

    def most(keys: Iterable[_Key]) -> list[_Key]:
        return sorted(keys, key=lambda key: (-len(groups[key]), key[0] or "", key[1] or 0))[: MOST_GROUPS // 2]

    modes = most(key for key in groups if key[1] is None)
    kept_modes = {mode for mode, _ in modes}
    sizes = most(key for key in groups if key[1] is not None and key[0] in kept_modes)
    kept = defaultdict(list, {key: groups[key] for key in (*modes, *sizes)})
    for (mode, padded), members in groups.items():
        if padded is None and mode not in kept_modes:
            kept[OTHER_NAMES, None] += members
    return kept


def _left_out(rows: int) -> Iterator[Warn]:
    if rows > 0:
        yield Warn(
            "dispatch-capped",
            f"{counted(rows, 'row')} of dispatch steps left out: of more than {MOST_GROUPS:,} modes and sizes those "
            f"with most steps are kept, and the steps of all other modes are one row named {OTHER_NAMES}",
        )


def _capped_lines(lines: list[str]) -> Iterator[Warn]:
    rest = len(lines) - _MOST_LINES
    further = [f"{rest:,} further modes say otherwise than the graph launches"] if rest > 0 else []
    for line in (*lines[:_MOST_LINES], *further):
        yield Warn("dispatch-disagrees", f"{line}; a step is taken to end at the next mark of the same thread")


def _group(
    mode: str | None, padded: int | None, members: list[int], fields: list[dict[str, int | str]], times: StepTimes
) -> DispatchStep:
    common = dict(fields[members[0]])
    for other in {id(fields[member]): fields[member] for member in members}.values():
        common = {key: value for key, value in common.items() if other.get(key) == value}
    actual, sizes = (_total(fields, members, key) for key in ("actual", "padded"))
    index = np.array(members)
    timed = index[times.has_next[index]]
    return DispatchStep(
        fields=common,
        mode=mode,
        padded=padded,
        steps=len(members),
        actual=actual,
        padding_ratio=(sizes - actual) / sizes if actual is not None and sizes and 0 <= actual <= sizes else None,
        wall=durations(times.wall_ns[timed]),
        gpu_overlap_ns=None if times.gpu_overlap_ns is None else exact_sum(times.gpu_overlap_ns[timed]),
        launched_busy_ns=None if times.launched_busy_ns is None else int(times.launched_busy_ns[timed].sum()),
        graph_launch_count=int(times.graph_launches[timed].sum()),
    )


def _total(fields: list[dict[str, int | str]], members: list[int], key: str) -> int | None:
    """Return the sum of a field, None unless every mark has it as a number."""
    values = [fields[member].get(key) for member in members]
    numbers = [value for value in values if isinstance(value, int)]
    return sum(numbers) if len(numbers) == len(values) else None


def _disagreement(mode: str, members: list[int], times: StepTimes) -> str | None:
    """Say how many steps of a mode launched no graph though it names one, or launched one though it names none."""
    index = np.array(members)
    timed = index[(times.has_next & times.whole)[index]]
    if mode.lower() in _NO_GRAPH:
        wrong = int(np.count_nonzero(times.graph_launches[timed] > 0))
        said, did = "no CUDA graph", "launched one"
    else:
        wrong = int(np.count_nonzero(times.graph_launches[timed] == 0))
        said, did = "a CUDA graph", "launched none"
    return f"{wrong:,} of {timed.size:,} steps whose mark says mode {mode}, {said}, {did}" if wrong else None


def _make(context: Context) -> Made:
    known = context.gpu.span_ns is not None
    return Made(*dispatch_steps(*step_times(context.looked, context.launched, context.gpu.busy, known=known)))


SECTION = Section("dispatch_steps", _make, Lane.launches, frozenset({Blind.unlaunched_work}))
