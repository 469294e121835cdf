"""The instances of ranges by name, and the first dispatch mark: what a window is made of, from NVTX alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.selection_options import matches
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.nvtx import NvtxPart
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.events import Ranges
from nsys_digest.trace.nsys.tables import STRINGS, event_tables, nvtx_query
from nsys_digest.trace.source import Source
from nsys_digest.trace.threads import Task, read_tables

_NO_LIMIT: Final = 2**62
_SUGGESTED: Final = 100_000
"""Names that are looked through for those like one that is not there."""


@dataclass(frozen=True, slots=True)
class FoundRanges:
    """Ranges of the names that were asked for, by start; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    thread: Int64s
    """globalTid."""
    name: Int64s
    """Index into ``names``."""
    names: tuple[str, ...]
    first_dispatch_ns: int | None
    """The first mark or range of the dispatch prefix."""

    def of(self, pattern: str) -> FoundRanges:
        """Return those whose name a glob matches."""
        wanted = np.array([matches(pattern, name) for name in self.names], bool)
        return self._kept(np.flatnonzero(wanted[self.name]) if self.name.size else self.name)

    def some(self, first: int, after: int) -> FoundRanges:
        """Return those at positions ``[first, after)``."""
        return self._kept(np.arange(self.name.size)[first:after])

    def _kept(self, kept: Int64s) -> FoundRanges:
        columns = ("start_ns", "end_ns", "thread", "name")
        return replace(self, **{name: getattr(self, name)[kept] for name in columns})


def find_ranges(
    source: Source, options: NvtxOptions, patterns: Iterable[str], chosen: Chosen | None, threads: int
) -> FoundRanges:
    """Return the ranges whose name, with its domain, one of the globs matches; ``chosen`` says of which processes.

    Open ranges end at the last time stamp of the trace.
    """
    own_texts = {piece for pattern in patterns for piece in _of_own_text(pattern)}
    part = _read(source, options, chosen, threads, lambda text: any(matches(piece, text) for piece in own_texts))
    if part is None:
        none = np.zeros(0, np.int64)
        return FoundRanges(none, none, none, none, (), None)
    totals, _, ranges = part.finish(last_time_of(source) if part.has_open else 0)
    assert ranges is not None
    marks = totals.marks.start_ns
    return _by_start(ranges, totals.names, int(marks.min()) if marks.size else None)


def range_names(source: Source, options: NvtxOptions, chosen: Chosen | None, threads: int) -> list[str]:
    """Return the names of the ranges that there are, in alphabetical order; of very many those with most time."""
    few = replace(options, max_names=_SUGGESTED)
    part = _read(source, few, chosen, threads, None)
    if part is None or part.ranking is not None:
        return []
    return sorted(set(part.finish(0)[0].names))


def last_time_of(source: Source) -> int:
    """Return the last time stamp of the trace, 0 of one without events."""
    times = [source.time_range(table, "start", "end", exact=True) for table in event_tables(source)]
    return max((found[1] for found in times if found is not None), default=0)


def _read(
    source: Source,
    options: NvtxOptions,
    chosen: Chosen | None,
    threads: int,
    wanted: Callable[[str], bool] | None,
) -> NvtxPart | None:
    query = nvtx_query(source, detail=True)
    if query is None:
        return None
    options = options if wanted is None else replace(options, max_names=_NO_LIMIT)
    part = NvtxPart(partial(source.strings, STRINGS), options, None, None, 0, chosen, wanted=wanted)
    read_tables(source, [Task(query, part.add, threading.Lock())], threads, None)
    return part


def _by_start(ranges: Ranges, names: tuple[str, ...], first_dispatch_ns: int | None) -> FoundRanges:
    thread = np.repeat(np.array(ranges.threads, np.int64), np.diff(ranges.edges))
    order = np.lexsort((thread, ranges.end_ns, ranges.start_ns))
    columns = (ranges.start_ns, ranges.end_ns, thread, ranges.group.astype(np.int64))
    start_ns, end_ns, thread, group = (column[order] for column in columns)
    return FoundRanges(start_ns, end_ns, thread, group, names, first_dispatch_ns)


def _of_own_text(pattern: str) -> list[str]:
    """Return what a range's own text, without the domain before it, must match for its whole name to match."""
    behind = [pattern[at + 1 :] for at, letter in enumerate(pattern) if letter == ":"]
    return [pattern, *behind, *(pattern[at:] for at, letter in enumerate(pattern) if letter == "*")]
