"""From what is asked for to what is looked at: names of ranges and processes, and shares of the GPU span, looked up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Intervals, intersect, union
from nsys_digest.errors import MissingData, UsageInvalid
from nsys_digest.model.base_types import Stretch, Window
from nsys_digest.model.selection_options import Bound, Instances, Piece, SelectionOptions, matches
from nsys_digest.sections.names_like import few, names_like
from nsys_digest.selection import WHOLE, Selection, select
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.find_ranges import FoundRanges, find_ranges, range_names
from nsys_digest.trace.gpu_span import gpu_span
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import THREAD_BITS, event_tables, process_of
from nsys_digest.trace.source import Source
from nsys_digest.trace.threads import values_in_range
from nsys_digest.units import counted, instant

_OPEN: Final = 2**62
"""Further away than any time stamp."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What is looked at, and how the document says so; ``window`` is None where all of time is."""

    selection: Selection = WHOLE
    window: Window | None = None


def choose(
    source: Source, facts: CaptureFacts, asked: SelectionOptions, steps: str | None, nvtx: NvtxOptions, threads: int
) -> Choice:
    """Look up what is asked for.

    Raises:
        MissingData: the trace has no such range, process or time.
        UsageInvalid: the window ends before it starts.

    """
    if asked.is_whole:
        return Choice()
    filters = select(
        devices=asked.devices or None,
        processes=_processes(source, facts, asked.processes) if asked.processes else None,
        streams=asked.streams or None,
    )
    if not asked.has_window:
        return Choice(filters)
    return _Windows(source, asked, steps, nvtx, threads, filters).choice()


def _processes(source: Source, facts: CaptureFacts, asked: Iterable[str]) -> set[int]:
    """Return the ids of processes that are named by id or by a glob."""
    found: set[int] = set()
    for text in asked:
        if text.strip().isdigit():
            found.add(int(text))
            continue
        own = {process_of(process) for process, name in facts.process_names.items() if matches(text, name)}
        if not own:
            near = names_like(text, facts.process_names.values(), "process with a name")
            raise MissingData(f"{source.path}: no process is named {text!r}; {near}; give --process a name or an id")
        found |= own
    return found


class _Windows:
    """The window that options make together: what all of them hold."""

    def __init__(
        self,
        source: Source,
        asked: SelectionOptions,
        steps: str | None,
        nvtx: NvtxOptions,
        threads: int,
        filters: Selection,
    ) -> None:
        self._source, self._asked, self._steps, self._nvtx = source, asked, steps, nvtx
        self._threads, self._filters = threads, filters
        self._words: list[str] = []

    def choice(self) -> Choice:
        """Return the window, with the filters."""
        whole = Intervals(np.array([-_OPEN]), np.array([_OPEN]))
        for part in self._parts():
            whole = intersect(whole, part)
        if not whole.start_ns.size:
            raise MissingData(
                f"{self._source.path}: {' and '.join(self._words)} have no time in common; {self._there_is()}"
            )
        if whole.start_ns[0] == -_OPEN or whole.end_ns[-1] == _OPEN:
            whole = self._closed(whole)
        stretches = tuple(zip(whole.start_ns.tolist(), whole.end_ns.tolist(), strict=True))
        filters = self._filters
        selection = Selection(stretches, filters.devices, filters.processes, filters.streams)
        what = tuple(Stretch(*stretch) for stretch in stretches)
        return Choice(selection, Window("; ".join(self._words), what, whole.total_ns))

    def _closed(self, window: Intervals) -> Intervals:
        """End what is open where the GPU span does."""
        low, high = self._span
        start_ns, end_ns = window.start_ns.copy(), window.end_ns.copy()
        start_ns[start_ns == -_OPEN] = low
        end_ns[end_ns == _OPEN] = high
        if start_ns[0] >= end_ns[0] or start_ns[-1] >= end_ns[-1]:
            raise MissingData(
                f"{self._source.path}: nothing is left of {' and '.join(self._words)}: an open side ends with the "
                f"GPU span; {self._there_is()}"
            )
        return Intervals(start_ns, end_ns)

    @cached_property
    def _span(self) -> tuple[int, int]:
        """The GPU span of what is looked at; that of all events where no GPU work is."""
        with values_in_range(self._source, "the GPU activity"):
            found = gpu_span(self._source, self._filters.chosen, self._threads)
        found = found or _event_times(self._source)
        if found is None:
            raise MissingData(f"{self._source.path}: the trace has no event, so that no part of it can be looked at")
        return found

    def _there_is(self) -> str:
        low, high = self._span
        return f"GPU work runs from {instant(low)} to {instant(high)}"

    def _parts(self) -> Iterator[Intervals]:
        asked = self._asked
        if asked.bounds is not None:
            start, end = asked.bounds
            at_ns = -_OPEN if start is None else self._time_of(start)
            until_ns = _OPEN if end is None else self._time_of(end)
            if at_ns >= until_ns:
                raise UsageInvalid(
                    f"window {asked.window} is from {instant(at_ns)} to {instant(until_ns)} in {self._source.path}, "
                    "which has no length; give one that ends after it starts"
                )
            self._words.append(asked.window_words[0])
            yield Intervals(np.array([at_ns]), np.array([until_ns]))
        if not asked.within and not asked.skip_warmup:
            return
        found = self._ranges()
        if asked.within:
            pieces = [self._piece(found, piece) for piece in asked.pieces]
            self._words += [f"in {text}" for text in asked.within]
            yield union(*(np.concatenate(column) for column in zip(*pieces, strict=True)))
        if asked.skip_warmup:
            at_ns, said = self._warm(found)
            self._words.append(f"skip-warmup (from {said})")
            yield Intervals(np.array([at_ns]), np.array([_OPEN]))

    def _time_of(self, bound: Bound) -> int:
        if bound.at_ns is not None:
            return bound.at_ns
        low, high = self._span
        return low + round((high - low) * (bound.share or 0))

    def _ranges(self) -> FoundRanges:
        patterns = [] if self._steps is None or not self._asked.skip_warmup else [self._steps]
        for piece in self._asked.pieces:
            patterns += [piece.text, piece.ranges.name, *([] if piece.until is None else [piece.until.name])]
        return find_ranges(self._source, self._nvtx, patterns, self._filters.chosen, self._threads)

    def _piece(self, found: FoundRanges, piece: Piece) -> Intervals:
        """Return the time of the ranges of one option."""
        if piece.text in found.names:  # a name may look like a number of an instance
            whole = self._instances(found, Instances(piece.text, None, None))
            merged = union(whole.start_ns, whole.end_ns)
        elif piece.until is None:
            own = self._instances(found, piece.ranges)
            merged = union(own.start_ns, own.end_ns)
        else:
            merged = self._between(found, piece, piece.until)
        if not merged.start_ns.size:
            raise MissingData(f"{self._source.path}: the ranges {piece.text!r} have no length; name others with --in")
        return merged

    def _between(self, found: FoundRanges, piece: Piece, until: Instances) -> Intervals:
        """Return the time from the start of each range to the end of the next of the others."""
        first, last = self._instances(found, piece.ranges), self._instances(found, until)
        position = np.searchsorted(last.start_ns, first.start_ns, side="left")
        real = np.flatnonzero(position < last.start_ns.size)
        if not real.size:
            raise MissingData(
                f"{self._source.path}: no range {until.name!r} starts after {piece.ranges.name!r} does; give --in "
                "FIRST..LAST in order of time"
            )
        return union(first.start_ns[real], last.end_ns[position[real]])

    def _instances(self, found: FoundRanges, wanted: Instances, option: str = "--in") -> FoundRanges:
        own = found.of(wanted.name)
        if not own.start_ns.size:
            names = range_names(self._source, self._nvtx, self._filters.chosen, self._threads)
            raise MissingData(
                f"{self._source.path}: no NVTX range is named {wanted.name!r}; {names_like(wanted.name, names)}; give "
                f"{option} the whole name, with its domain, or with * for any text"
            )
        if wanted.first is None or wanted.last is None:
            return own
        if wanted.last > own.start_ns.size:
            raise MissingData(
                f"{self._source.path}: {wanted.name!r} has {counted(own.start_ns.size, 'instance')}, and number "
                f"{wanted.last} is asked for; count them from 1, by start"
            )
        return own.some(wanted.first - 1, wanted.last)

    def _warm(self, found: FoundRanges) -> tuple[int, str]:
        """Return where warm-up ends, and in words what that is."""
        if self._steps is not None:
            own = self._instances(found, Instances(self._steps, None, None), "--steps")
            second = _second_starts(own)
            if not second:
                raise MissingData(
                    f"{self._source.path}: no process has a second instance of the step {self._steps!r}; leave "
                    "--skip-warmup away"
                )
            return max(second), f"the second instance of {self._steps}"
        if found.first_dispatch_ns is None:
            raise MissingData(
                f"{self._source.path}: nothing tells where warm-up ends: the trace has no dispatch mark; name the "
                "steps with --steps, or give --window FROM:"
            )
        return found.first_dispatch_ns, "the first dispatch mark"


def _second_starts(steps: FoundRanges) -> list[int]:
    """Return the start of the second step of each process that has one; what begins within the first is part of it."""
    process = steps.thread & ~THREAD_BITS
    found = []
    for one in np.unique(process).tolist():
        own = np.flatnonzero(process == one)
        later = steps.start_ns[own[steps.start_ns[own] >= steps.end_ns[own[0]]]]
        later = later[later > steps.start_ns[own[0]]]
        found += later[:1].tolist()
    return found


def _event_times(source: Source) -> tuple[int, int] | None:
    """Return the first and the last time stamp of the trace."""
    times = [source.time_range(table, "start", "end", exact=True) for table in event_tables(source)]
    known = [found for found in times if found is not None]
    return (min(low for low, _ in known), max(high for _, high in known)) if known else None


def nothing_held(
    source: Source, facts: CaptureFacts, places: Iterable[tuple[int, int, int, int]], asked: SelectionOptions
) -> MissingData:
    """Return the error of a selection that holds nothing, which says what there is; work is at ``places``."""
    there = list(places)
    devices = sorted({device for _, device, _, _ in there})
    streams = sorted({stream for *_, stream in there})
    pids = sorted({process_of(process) for process in (*(one for one, *_ in there if one), *facts.process_names)})
    names = {process_of(process): name for process, name in facts.process_names.items()}
    processes = [f"{pid} ({names[pid]})" if pid in names else str(pid) for pid in pids]
    times = _event_times(source)
    told = [
        f"devices {few(map(str, devices))}" if devices else "no GPU work",
        f"streams {few(map(str, streams))}" if asked.streams and streams else "",
        f"processes {few(processes)}" if processes else "",
        f"events from {instant(times[0])} to {instant(times[1])}" if times else "no event",
    ]
    what = ", ".join((*asked.window_words, *asked.filter_words))
    there_is = ", ".join(filter(None, told))
    return MissingData(f"{source.path}: the selection ({what}) holds nothing; the trace has {there_is}")
