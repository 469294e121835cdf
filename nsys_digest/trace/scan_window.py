"""One pass over what a window needs of each event table: the same figures as from all rows, from few of them.

The container looks at every row, which takes a fraction of the time of handing it over, and leaves out those that do
not matter, so that nothing hangs on the order of rows. What is read:

1. events that reach into the window, those with the last time stamps, work of places that no sample
   found, ranges that never end, marks of the dispatch prefix whenever they were, the names
   of domains, and calls that begin or end a stream capture;
2. the next operation of each place behind the window, which says why its device was idle at the end of it;
3. calls and work with a correlation id in the stretches of ids that were read, so that what launched what is found as
   in the whole trace.

Every row is looked at once for all of this. What is not read is not checked: a damaged time stamp outside of the
window goes unseen.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import CAPTURE_BEGIN_CALLS, CAPTURE_END_CALLS
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.correlations import Correlations
from nsys_digest.trace.collect.gpu import Place
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import NO_EXTRAS, Activity, EventRows, Extras, Scanned, TracePart
from nsys_digest.trace.nsys.tables import (
    NVTX,
    NVTX_DOMAIN_CREATE,
    OPEN,
    STRINGS,
    event_tables,
    find_table,
)
from nsys_digest.trace.source import (
    Alternatives,
    Begins,
    Between,
    Either,
    Less,
    Other,
    SelectingSource,
    Source,
    Test,
    Where,
)
from nsys_digest.trace.threads import Progress, Task, read_tables, values_in_range

_PLACE: Final = ("process", "device", "context", "stream")
_MARGIN_SHARE: Final = 8
"""The part of a window that is looked at beside it too, where the next operation and the calls of work mostly are."""
_MOST_STRETCHES: Final = 4
_LEAST_MARGIN_ROWS: Final = 4
"""Rows before and behind those of the window that are looked at for ids at least: rows are only nearly in order."""
_MOST_PLACES: Final = 64
_PLACE_SAMPLES: Final = 512
_WORTH_SHARE: Final = 4
"""A window that is more than a quarter of the trace is read with all of it."""
_WORTH_BYTES: Final = 16_000_000


def pays_off(source: Source, chosen: Chosen | None) -> bool:
    """Tell whether reading the window alone takes less time than reading all, as far as the ends of tables tell."""
    if chosen is None or chosen.bounds_ns is None or chosen.every_range or source.size_bytes < _WORTH_BYTES:
        return False
    low_ns, high_ns = chosen.bounds_ns
    times = [source.time_range(table, "start", "end", exact=False) for table in event_tables(source)]
    known = [found for found in times if found is not None]
    length_ns = max((high for _, high in known), default=0) - min((low for low, _ in known), default=0)
    return (high_ns - low_ns) * _WORTH_SHARE < length_ns


def scan_window(
    source: SelectingSource,
    options: NvtxOptions,
    chosen: Chosen,
    *,
    session_ns: int | None,
    threads: int,
    detail: bool,
    extras: Extras = NO_EXTRAS,
    progress: Progress | None = None,
) -> tuple[Scanned, Activity, EventRows | None]:
    """Read what the figures of a window need.

    What is returned and raised is that of :func:`nsys_digest.trace.scan.scan`.
    """
    part = TracePart(source, options, session_ns, detail=detail, extras=extras, chosen=chosen)
    assert chosen.bounds_ns is not None
    low_ns, high_ns = chosen.bounds_ns
    late_ns = _late_time(source)
    near = _reaching_into(low_ns, high_ns, late_ns)
    read_ahead = near
    if detail:
        read_ahead = _reaching_into(low_ns, high_ns + (high_ns - low_ns) // _MARGIN_SHARE + 1, late_ns)
    captures = _equal("name", source.ids_of_texts(STRINGS, CAPTURE_BEGIN_CALLS | CAPTURE_END_CALLS)) if detail else ()
    of_ranges = (*near, *_other_events(source, options, high_ns))
    likely = _likely_ids(source, part, low_ns, high_ns) if detail else []
    linked = _linked(likely)
    ranges = [_where(task, of_ranges) for task in part.tables_of_ranges()]
    read_work, read_calls = (*read_ahead, *linked), (*near, *captures, *linked)
    work = [_where(task, (*read_work, *_of_other_places(source, part, task))) for task in part.tables_of_work()]
    calls = [_where(task, read_calls) for task in part.tables_of_calls()]
    read_tables(source, [*work, *calls, *part.other_tables(), *ranges], threads, progress)
    if detail:
        later = _next_work(source, part, high_ns)
        if later:
            read_tables(source, [_where(task, later, read_work) for task in part.tables_of_work()], threads, None)
        _read_linked(source, part, likely, (*read_work, *later), read_calls, threads)
    name_count = None
    if part.ranking is not None:
        name_count = part.ranking.name_count
        part.keep_names(part.ranking.kept(options.max_names, high_ns))
        read_tables(source, [_where(task, of_ranges) for task in part.tables_of_ranges()], threads, None)
    with values_in_range(source, f"the events of table {find_table(source, NVTX) or ''}"):
        return part.finish(name_count, max(late_ns, part.last_ns))


def _where(task: Task, any_of: Alternatives, none_of: Alternatives = ()) -> Task:
    return Task(replace(task.query, where=Where(any_of, none_of)), task.take, task.lock)


def _reaching_into(low_ns: int, high_ns: int, late_ns: int) -> Alternatives:
    """Return the rows with a part in ``[low, high)``, or that start in it, and any with a time stamp behind ``late``.

    A row before the window fails two tests, one behind it four.
    """
    low_ns = min(low_ns, late_ns)
    not_before = Either((Between("end_ns", low_ns + 1, None), Between("start_ns", low_ns, None)))
    late = Between("end_ns", late_ns + 1, None), Between("start_ns", late_ns + 1, None)
    return ((not_before, Either((Between("start_ns", None, high_ns - 1), *late))),)


def _equal(column: str, values: Iterable[int]) -> Alternatives:
    return tuple((Between(column, value, value),) for value in values)


def _other_events(source: SelectingSource, options: NvtxOptions, high_ns: int) -> Iterator[tuple[Test, ...]]:
    """Yield what else is read of NVTX."""
    yield Between("start_ns", None, high_ns - 1), Between("end_ns", OPEN, OPEN)
    yield (Between("event_type", NVTX_DOMAIN_CREATE, NVTX_DOMAIN_CREATE),)
    yield (Begins("text", options.dispatch_prefix),)
    yield from _equal("string", source.ids_of_texts(STRINGS, [options.dispatch_prefix]))


def _of_other_places(source: SelectingSource, part: TracePart, task: Task) -> Alternatives:
    """Note the places of rows all over a table, and return the rows of others."""
    known = source.sampled(task.query, _PLACE, _PLACE_SAMPLES)
    if known is None or not 0 < len(known) <= _MOST_PLACES:
        part.work.note_places(*_columns(source.distinct(task.query, _PLACE)))
        return ()
    part.work.note_places(*_columns(known))
    return ((Other(_PLACE, tuple(known)),),)


def _columns(places: list[tuple[int, ...]]) -> Int64s:
    return np.array(places, np.int64).reshape(-1, len(_PLACE)).T


def _next_work(source: SelectingSource, part: TracePart, high_ns: int) -> Alternatives:
    """Return the rows of the first operations behind what was read, of places that none was read of."""
    places = part.work.places_without_later_work()
    if not places:
        return ()
    found: list[int | None] = []
    for task in part.tables_of_work():
        for at in range(0, len(places), _MOST_PLACES):
            of = [_behind(place, high_ns) for place in places[at : at + _MOST_PLACES]]
            found += source.least(task.query, "start_ns", of)
    return _equal("start_ns", sorted({start_ns for start_ns in found if start_ns is not None}))


def _behind(place: Place, high_ns: int) -> Alternatives:
    own = tuple(Between(name, value, value) for name, value in zip(_PLACE, place, strict=True))
    return ((*own, Between("start_ns", high_ns, None), Less("start_ns", "end_ns")),)


def _likely_ids(source: SelectingSource, part: TracePart, low_ns: int, high_ns: int) -> list[tuple[int, int]]:
    """Return stretches of the correlation ids of the window, as the rows say that it is in where they are in order.

    They save a second look at all rows; ids that they lack are looked for afterwards.
    """
    ids = Correlations()
    for task in (*part.tables_of_work(), *part.tables_of_calls()):
        found = source.rows_near(task.query, "start_ns", low_ns, high_ns)
        if found is None:
            continue
        margin = (found[1] - found[0]) // _MARGIN_SHARE + _LEAST_MARGIN_ROWS
        rows = found[0] - margin, found[1] + margin
        query = replace(task.query, columns={"correlation": task.query.columns["correlation"]})
        for batch in source.batches(query, rows):
            ids.add(batch.ints("correlation"))
    return ids.stretches(_MOST_STRETCHES)


def _linked(stretches: Iterable[tuple[int, int]]) -> Alternatives:
    return tuple((Between("correlation", *stretch),) for stretch in stretches)


def _read_linked(
    source: SelectingSource,
    part: TracePart,
    likely: list[tuple[int, int]],
    read_work: Alternatives,
    read_calls: Alternatives,
    threads: int,
) -> None:
    """Read the calls and the work that may belong to what was read, beside those of likely ids, which were."""
    ids = Correlations()
    ids.merge(part.work.correlations)
    ids.merge(part.calls.correlations)
    linked = _linked(ids.outside(likely).stretches(_MOST_STRETCHES))
    if not linked:
        return
    tasks = [_where(task, linked, read_work) for task in part.tables_of_work()]
    tasks += [_where(task, linked, read_calls) for task in part.tables_of_calls()]
    read_tables(source, tasks, threads, None)


def _late_time(source: SelectingSource) -> int:
    """Return a time stamp of the trace that hardly any is behind."""
    times = [source.time_range(table, "start", "end", exact=False) for table in event_tables(source)]
    return max((last_ns for found in times if found is not None for last_ns in found), default=OPEN)
