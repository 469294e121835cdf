"""What looks like a step where none is named: a range or mark that repeats and launched most of the GPU work.

Work counts where it was launched: the length of an operation at the start of its call, on any thread of the process.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, grouped_union
from nsys_digest.model.step_types import StepCandidate
from nsys_digest.sections.section import Context, Lane, Made, Section
from nsys_digest.sections.section_options import SectionOptions
from nsys_digest.sections.step_instances import Instances, of_marks, of_ranges
from nsys_digest.sections.step_names import escaped, family
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import NONE, Events, Marks, process_of_thread
from nsys_digest.trace.nsys.tables import THREAD_BITS

_MOST: Final = 5
_MOST_LOOKED_AT: Final = 64
_LEAST_COVERED: Final = 0.5
_LEAST_MARKS: Final = 3  # any two marks have most of a trace between them
_SAMPLES: Final = 1_024
_LEAST_HIT: Final = 0.4
_SLICE: Final = 1 << 18
_HEAD: Final = re.compile(r"[^ :=,;(\[]+")
_Kind = Literal["range", "mark"]


@dataclass(frozen=True)  # no slots: the samples are kept beside the fields
class _Launched:
    """The GPU work of one process by when it was launched: calls in order, and the work launched before each."""

    call_ns: Int64s
    before_ns: Int64s
    """Shape (n + 1,)."""

    @property
    def total_ns(self) -> int:
        return int(self.before_ns[-1])

    def until(self, time_ns: Int64s) -> Int64s:
        """Return the work launched before each time."""
        return self.before_ns[np.searchsorted(self.call_ns, time_ns, side="left")]

    @cached_property
    def samples_ns(self) -> Int64s:
        """When each of a thousand equal parts of the work was launched, in order."""
        number, (part, rest) = np.arange(_SAMPLES), divmod(self.total_ns, _SAMPLES)
        wanted = number * part + number * rest // _SAMPLES + 1
        return self.call_ns[np.searchsorted(self.before_ns, wanted, side="left") - 1]


def _launched_by_process(events: Events) -> dict[int, _Launched]:
    """Return the launched work of each process that has any, by globalPid."""
    operations, calls = events.operations, events.calls
    work_ns = np.zeros(calls.start_ns.size, np.int64)
    for low in range(0, operations.call.size, _SLICE):
        part = slice(low, low + _SLICE)
        linked = np.flatnonzero(operations.call[part] != NONE) + low
        length_ns = np.maximum(operations.end_ns[linked] - operations.start_ns[linked], 0)
        np.add.at(work_ns, operations.call[linked], length_ns)
    call = np.flatnonzero(work_ns)
    processes = np.array([process_of_thread(thread) for thread in calls.threads], np.int64)
    process = processes[calls.thread_of(call)]
    by_process = np.argsort(process, kind="stable")
    call, process = call[by_process], process[by_process]
    found = {}
    for part in _runs(process):
        own = call[part]
        own = own[np.argsort(calls.start_ns[own], kind="stable")]
        before_ns = np.concatenate((np.zeros(1, np.int64), np.cumsum(work_ns[own])))
        found[int(process[part.start])] = _Launched(calls.start_ns[own], before_ns)
    return found


def _runs(sorted_values: Int64s) -> list[slice]:
    """Return where the runs of equal values are."""
    if not sorted_values.size:
        return []
    edges = [0, *(np.flatnonzero(np.diff(sorted_values)) + 1).tolist(), sorted_values.size]
    return [slice(low, high) for low, high in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A family of names whose steps launched most of the work."""

    kind: _Kind
    name: str
    """What takes its names, and no other."""
    steps: Instances
    covered_ratio: float

    def made(self) -> StepCandidate:
        """Return what is said of it."""
        processes = int(np.unique(self.steps.process).size)
        return StepCandidate(
            name=self.name,
            kind=self.kind,
            count=self.steps.start_ns.size,
            processes=processes,
            covered_ratio=self.covered_ratio,
        )

    def is_nested_in(self, other: _Candidate) -> bool:
        """Tell whether most of its steps lie each within a single one of the other, in the same process.

        From a mark to the next is no more than a stretch of time, in which no range is nested.
        """
        if self.kind == "range" and other.kind == "mark":
            return False
        inside = 0
        for process in np.unique(self.steps.process).tolist():
            inner, outer = (one.steps.some(one.steps.process == process) for one in (self, other))
            at = np.searchsorted(outer.start_ns, inner.start_ns, side="right") - 1
            known = np.flatnonzero(at >= 0)
            inside += int(np.count_nonzero(inner.end_ns[known] <= outer.end_ns[at[known]]))
        return 2 * inside > self.steps.start_ns.size


def step_candidates(events: Events, range_names: Sequence[str], marks: Marks | None) -> tuple[StepCandidate, ...]:
    """Return what looks like a step, most work covered first; ``range_names`` are by group."""
    work = _launched_by_process(events)
    if not work:
        return ()
    found: list[_Candidate] = []
    families = [family(name) for name in range_names]
    hits = _hits(events, families, work)
    for name, wanted in _chosen(range_names, families, hits):
        found += _candidate("range", name, of_ranges(events.ranges, wanted, None), work)
    if marks is not None:
        counts = np.bincount(marks.name, minlength=len(marks.names))
        for name, wanted in _chosen(marks.names, _families_of_marks(marks.names, range_names), counts):
            found += _candidate("mark", name, of_marks(marks, wanted, events.ranges.threads), work)
    found.sort(key=lambda one: (one.kind != "range", -_length_ns(one.steps), one.steps.start_ns.size, one.name))
    kept: list[_Candidate] = []
    for one in found:
        if not any(one.is_nested_in(other) for other in kept):
            kept.append(one)
    kept.sort(key=lambda one: (one.kind != "range", -one.covered_ratio, one.name))
    return tuple(one.made() for one in kept[:_MOST])


def _length_ns(steps: Instances) -> int:
    return int((steps.end_ns - steps.start_ns).sum())


def _families_of_marks(names: Sequence[str], range_names: Sequence[str]) -> list[str]:
    """Return what takes each mark together with those that are one kind of step with it.

    Marks carry their figures in their text: ``DISPATCH:mode=FULL:size=8``. Those that begin with the same word belong
    together, unless ranges do so too.
    """
    words = [_word(name) for name in names]
    of_ranges = set(map(_word, range_names))
    in_order = sorted({*words, *of_ranges})
    alike: defaultdict[str, set[str]] = defaultdict(set)
    for name, word in zip(names, words, strict=True):
        alike[word].add(family(name))
    alone = {
        word
        for word, longer in pairwise([*in_order, ""])
        if word and word not in of_ranges and not longer.startswith(word) and len(alike[word]) > 1
    }
    return [f"{escaped(word)}*" if word in alone else family(name) for name, word in zip(names, words, strict=True)]


def _word(name: str) -> str:
    """Return the word that a name begins with, empty where it begins with another sign."""
    found = _HEAD.match(name)
    return "" if found is None else found[0]


def _chosen(names: Sequence[str], families: Sequence[str], weight: Int64s) -> Iterator[tuple[str, Bools]]:
    """Yield what takes the names of each family, and its members by id: those of most weight, none without any."""
    members: defaultdict[str, list[int]] = defaultdict(list)
    for number, one in enumerate(families):
        members[one].append(number)
    weights = {one: int(weight[numbers].sum()) for one, numbers in members.items()}
    heavy = sorted((one for one in members if weights[one]), key=lambda one: (-weights[one], one))
    for one in heavy[:_MOST_LOOKED_AT]:
        wanted = np.zeros(len(names), bool)
        wanted[members[one]] = True
        texts = {names[number] for number in members[one]}
        yield (texts.pop() if len(texts) == 1 else one), wanted


def _hits(events: Events, families: Sequence[str], work: Mapping[int, _Launched]) -> Int64s:
    """Return how many samples of the work lie in ranges of each group; 0 for families that cannot have most of it.

    So each range costs no more than a search among a thousand times. A family that launched half of the work after its
    first range has about half of the samples after the first that it has.
    """
    ids: dict[str, int] = {}
    family_of = np.array([ids.setdefault(one, len(ids)) for one in families], np.int64)
    ranges = events.ranges
    hits = np.zeros(len(families), np.int64)
    may_be = np.zeros(len(ids), bool)
    of_process: defaultdict[int, list[tuple[Int64s, Int64s, Int64s]]] = defaultdict(list)
    processes = np.array(ranges.threads, np.int64) & ~np.int64(THREAD_BITS)
    for low in range(0, ranges.start_ns.size, _SLICE):
        rows = np.arange(low, min(low + _SLICE, ranges.start_ns.size))
        process = processes[np.searchsorted(ranges.edges, rows, side="right") - 1]
        by_process = np.argsort(process, kind="stable")
        for part in _runs(process[by_process]):
            one, some = int(process[by_process[part.start]]), rows[by_process[part]]
            own = work.get(one)
            if own is None:
                continue
            first = np.searchsorted(own.samples_ns, ranges.start_ns[some], side="left")
            after = np.searchsorted(own.samples_ns, ranges.end_ns[some], side="left")
            real = np.flatnonzero(after > first)
            of_process[one].append((ranges.group[some][real], first[real], after[real]))
    for found in of_process.values():
        group, first, after = (np.concatenate(column) for column in zip(*found, strict=True))
        np.add.at(hits, group, after - first)
        count, earliest = np.zeros(len(ids), np.int64), np.full(len(ids), _SAMPLES)
        np.add.at(count, family_of[group], after - first)
        np.minimum.at(earliest, family_of[group], first)
        may_be |= (count > 0) & (count >= _LEAST_HIT * (_SAMPLES - earliest) - 2)
    return np.where(may_be[family_of], hits, 0) if hits.size else hits


def _candidate(kind: _Kind, name: str, steps: Instances, work: Mapping[int, _Launched]) -> Iterable[_Candidate]:
    """Return the family as a candidate, nothing where it does not repeat or others launched most of the work."""
    if kind == "mark" and steps.start_ns.size < _LEAST_MARKS:
        return ()
    process = steps.process
    known = np.isin(process, np.array(list(work), np.int64))
    steps, process = steps.some(known), process[known]
    if process.size < 2 or np.unique(process).size == process.size:
        return ()
    first = np.unique(process, return_index=True)
    ends_ns = dict(zip(first[0].tolist(), steps.end_ns[first[1]].tolist(), strict=True))
    earliest_ns = min(ends_ns.values())
    covered_ns = whole_ns = 0
    for one, own in work.items():
        end_ns = ends_ns.get(one, earliest_ns)
        before_ns = int(own.until(np.array([end_ns]))[0])
        whole_ns += own.total_ns - before_ns
        if one in ends_ns:
            chosen = process == one
            start_ns = np.maximum(steps.start_ns[chosen], end_ns)
            merged = grouped_union(start_ns, steps.end_ns[chosen], np.zeros(start_ns.size, np.int64))
            covered_ns += int((own.until(merged.end_ns) - own.until(merged.start_ns)).sum())
    if not whole_ns or covered_ns / whole_ns <= _LEAST_COVERED:
        return ()
    return (_Candidate(kind, name, steps, covered_ns / whole_ns),)


@dataclass(frozen=True, slots=True)
class _OfUnnamedSteps(Section):
    """Made where no steps are named."""

    def is_asked_for(self, options: SectionOptions) -> bool:
        return options.step is None and self.name in options.sections


def _make(context: Context) -> Made:
    nvtx = context.scanned.nvtx
    if context.selection.window is not None:  # what looks like a step is told by the whole trace
        return Made(())
    return Made(step_candidates(context.events, nvtx.names, nvtx.all_marks))


SECTION = _OfUnnamedSteps("step_candidates", _make, Lane.time)
