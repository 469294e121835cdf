"""NVTX ranges by domain and name, and the marks and ranges of the dispatch prefix."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s
from nsys_digest.trace.collect.chosen import Chosen, Clip
from nsys_digest.trace.collect.domains import Domains
from nsys_digest.trace.collect.marks import MarkPart
from nsys_digest.trace.collect.names import NameRanking
from nsys_digest.trace.collect.payloads import PayloadPart, Payloads
from nsys_digest.trace.collect.range_names import NvtxOptions, RangeNames
from nsys_digest.trace.collect.range_sums import RangeSums
from nsys_digest.trace.collect.ranges import RangePart
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.events import Marks, Ranges
from nsys_digest.trace.nsys.tables import (
    NO_STRING,
    NVTX_DOMAIN_CREATE,
    NVTX_MARKS,
    NVTX_PUSH_POP_RANGES,
    NVTX_RANGES,
    OPEN,
    THREAD_BITS,
)
from nsys_digest.trace.source import Batch

_COLUMNS = ("start_ns", "end_ns", "event_type", "string", "domain", "thread")
_FOREVER = 2**62
_RANGE, _MARK, _DOMAIN, _OTHER = range(4)
_ROLE = np.full(256, _OTHER, np.int64)
_ROLE[list(NVTX_RANGES)] = _RANGE
_ROLE[list(NVTX_MARKS)] = _MARK
_ROLE[NVTX_DOMAIN_CREATE] = _DOMAIN
_PUSH_POP = np.zeros(256, np.int64)
_PUSH_POP[list(NVTX_PUSH_POP_RANGES)] = 1


@dataclass(frozen=True, slots=True)
class NvtxTotals:
    """Ranges added up; arrays are by group (domain and name), int64 of shape (groups,)."""

    names: tuple[str, ...]
    """``domain:name`` of each group; the name alone in the default domain and in one without a name."""
    scopes: Int64s
    """A number for the domain of each group."""
    counts: Int64s
    sums_ns: Int64s
    whole_sums_ns: Int64s | None
    """Whole lengths of those that count; None without a window."""
    firsts_ns: Int64s
    """The first start of each."""
    process_rows: Mapping[int, int]
    """Ranges by globalPid."""
    marks: Marks
    """Those of the dispatch prefix, ranges among them, in no order."""
    all_marks: Marks | None
    """Marks of any name, ``domain:name``, by thread, then by start; None where they were not kept."""
    open_count: int
    """Ranges without an end."""
    reversed_count: int
    ended_with_session_count: int
    """Ranges that end at the very end of the session, where nsys ends those that the program left open."""
    payloads: Payloads | None = None
    """The numbers that ranges carry, where they were asked for."""


class NvtxPart:
    """Some of the NVTX events.

    Once there are more names than the limit, only ``ranking`` is kept up; the table must then be read again by a part
    that is told which names to keep.
    """

    def __init__(
        self,
        resolve: Callable[[list[int]], dict[int, str]],
        options: NvtxOptions,
        session_ns: int | None,
        kept: frozenset[int] | None = None,
        rows: int | None = None,
        chosen: Chosen | None = None,
        *,
        payloads: bool = False,
        wanted: Callable[[str], bool] | None = None,
    ) -> None:
        """Resolve registered strings with ``resolve``; ``kept`` are the hashes of the names to keep apart.

        ``rows`` keeps every range for the sections that need them one by one: about how many there are. ``chosen`` says
        what counts; None is everything. ``payloads`` keeps the numbers that ranges carry.
        ``wanted`` tells which texts are asked for: other ranges are left out.
        """
        self._chosen = chosen
        self.ranking: NameRanking | None = None
        self._names = RangeNames(resolve, options, kept, wanted)
        self._domains = Domains()
        self._processes, self._threads = Codes(), Codes()
        self._groups = PairCodes()
        """(scope, name) of each group."""
        self._sums = RangeSums(session_ns)
        self._opened: list[tuple[Int64s, Int64s, Int64s]] = []
        """(start, group, code of the process) of ranges without an end."""
        self._dispatch: list[tuple[Int64s, Int64s, Int64s]] = []
        """(start, name, code of the thread) of marks and ranges of the dispatch prefix."""
        self._ranges = None if rows is None else RangePart(rows)
        self._payloads = PayloadPart() if payloads else None
        self._marks_by_name = None if rows is None else MarkPart(resolve, options)
        self.last_ns = OPEN
        """The largest start or end of an event of any type."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``nvtx_query``."""
        start_ns, end_ns, event_type, string_id, domain, thread = map(batch.ints, _COLUMNS)
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns, may_be_open=True))
        if self._chosen is not None:
            batch = self._chosen.of_processes(batch, thread & ~THREAD_BITS)
            start_ns, end_ns, event_type, string_id, domain, thread = map(batch.ints, _COLUMNS)
        process, thread_code = self._processes.encode(thread & ~THREAD_BITS), self._threads.encode(thread)
        same_thread = None
        if self._ranges is not None:
            ended_by = batch.ints("end_thread")
            same_thread = (ended_by == 0) | (ended_by == thread)
        text_code, texts = batch.texts("text", self._names.cut)
        row = np.arange(start_ns.size)
        role = _ROLE[np.clip(event_type, 0, _ROLE.size - 1)]
        if role.any():
            marks, created = np.flatnonzero(role == _MARK), np.flatnonzero(role == _DOMAIN)
            keys = zip(start_ns[created].tolist(), process[created].tolist(), domain[created].tolist(), strict=True)
            self._note_domains(list(keys), text_code[created], texts, string_id[created])
            if marks.size:
                name = self._names.of_marks(text_code[marks], texts, string_id[marks])
                self._note_dispatch(start_ns[marks], name, thread_code[marks])
                if self._marks_by_name is not None:
                    scope = self._domains.scopes(process[marks], domain[marks])
                    inline = text_code[marks], texts, string_id[marks]
                    self._marks_by_name.add(start_ns[marks], scope, thread_code[marks], *inline)
            ranges = np.flatnonzero(role == _RANGE)
            row, start_ns, end_ns, event_type, string_id, domain, process, thread_code, text_code = (
                column[ranges]
                for column in (row, start_ns, end_ns, event_type, string_id, domain, process, thread_code, text_code)
            )
            same_thread = None if same_thread is None else same_thread[ranges]
        if self._clip is not None and self._chosen is not None and not self._chosen.every_range:
            counts = self._part_of(start_ns, end_ns)[0]
            if not counts.all():
                outside = ~counts
                name = self._names.of_marks(text_code[outside], texts, string_id[outside])
                self._note_dispatch(start_ns[outside], name, thread_code[outside])
                row, start_ns, end_ns, event_type, string_id, domain, process, thread_code, text_code = (
                    column[counts]
                    for column in (
                        row,
                        start_ns,
                        end_ns,
                        event_type,
                        string_id,
                        domain,
                        process,
                        thread_code,
                        text_code,
                    )
                )
                same_thread = None if same_thread is None else same_thread[counts]
        if self.ranking is not None:
            hashes = self._names.hashes(text_code, texts, string_id)
            if self._clip is not None:
                counts, part_ns = self._part_of(start_ns, end_ns)
                self.ranking.add(hashes[counts], part_ns, start_ns[counts])
                return
            is_open = end_ns == OPEN
            self.ranking.add_open(hashes[is_open], start_ns[is_open])
            closed = ~is_open
            self.ranking.add(hashes[closed], np.maximum(end_ns - start_ns, 0)[closed], start_ns[closed])
            return
        name = self._names.of_ranges(text_code, texts, string_id)
        if self._names.wanted is not None:
            kept = np.flatnonzero(name)
            start_ns, end_ns, event_type, domain, process, thread_code, name = (
                column[kept] for column in (start_ns, end_ns, event_type, domain, process, thread_code, name)
            )
            same_thread = None if same_thread is None else same_thread[kept]
        group = self._add_ranges(start_ns, end_ns, process, domain, name, thread_code)
        if self._ranges is not None and same_thread is not None:
            self._ranges.add(start_ns, end_ns, group, thread_code, _PUSH_POP[event_type], same_thread.astype(np.int64))
        if self._payloads is not None:
            counting = self._counting(start_ns, end_ns)
            self._payloads.add(batch, row[counting], group[counting])
        if self._names.too_many:
            self._rank()

    @property
    def has_open(self) -> bool:
        """Whether a range has no end."""
        return bool(self._opened)

    def _counting(self, start_ns: Int64s, end_ns: Int64s) -> Bools:
        """Tell which ranges count; what is open has no end yet."""
        if self._chosen is None or self._chosen.clip is None:
            return np.ones(start_ns.size, bool)
        return self._chosen.clip(start_ns, np.where(end_ns == OPEN, _FOREVER, end_ns))[0]

    def _rank(self) -> None:
        """Give up on keeping every name: note what each has so far, and from now on only that."""
        self.ranking = self._ranked()
        self._sums = RangeSums(self._sums.session_ns)
        self._opened, self._dispatch = [], []
        self._ranges, self._payloads, self._marks_by_name = None, None, None

    def _ranked(self) -> NameRanking:
        """Return what each name has, by its hash."""
        if self.ranking is not None:
            return self.ranking
        length = len(self._groups)
        hashes = np.array([hash(self._names.texts[name]) for _, name in self._groups.pairs], np.int64)
        ranking = NameRanking()
        some = np.flatnonzero(self._sums.totals.count(length))
        ranking.add(hashes[some], self._sums.totals.sum(length)[some], self._sums.firsts.values(length)[some])
        for start_ns, group, _ in self._opened:
            if self._clip is None:
                ranking.add_open(hashes[group], start_ns)
            else:
                counts, part_ns = self._part_of(start_ns, np.full(start_ns.size, OPEN))
                ranking.add(hashes[group[counts]], part_ns, start_ns[counts])
        return ranking

    @property
    def _clip(self) -> Clip | None:
        return None if self._chosen is None else self._chosen.clip

    def _part_of(self, start_ns: Int64s, end_ns: Int64s) -> tuple[Bools, Int64s]:
        """Tell which ranges count, and how much of each does; open ones last to the end of the window at least."""
        assert self._chosen is not None
        assert self._chosen.clip is not None
        assert self._chosen.bounds_ns is not None
        until_ns = np.maximum(start_ns, self._chosen.bounds_ns[1])
        return self._chosen.clip(start_ns, np.where(end_ns == OPEN, until_ns, end_ns))

    def _add_ranges(
        self, start_ns: Int64s, end_ns: Int64s, process: Int64s, domain: Int64s, name: Int64s, thread: Int64s
    ) -> Int64s:
        """Take ranges, marks left out, and return the group of each."""
        if not start_ns.size:
            return start_ns
        group = self._groups.encode(self._domains.scopes(process, domain), name)
        self._note_dispatch(start_ns, name, thread)
        closed = start_ns, end_ns, group, process
        if end_ns.min() == OPEN:
            is_open = end_ns == OPEN
            self._opened.append((start_ns[is_open], group[is_open], process[is_open]))
            is_closed = ~is_open
            closed = start_ns[is_closed], end_ns[is_closed], group[is_closed], process[is_closed]
        self._sums.add(*closed, self._clip)
        return group

    def _note_dispatch(self, start_ns: Int64s, name: Int64s, thread: Int64s) -> None:
        chosen = self._names.are_dispatch(name)
        if chosen.any():
            self._dispatch.append((start_ns[chosen], name[chosen], thread[chosen]))

    def _note_domains(
        self, keys: list[tuple[int, int, int]], text_code: Int64s, texts: list[str], string_id: Int64s
    ) -> None:
        """Keep the name of each (start, process, domain id)."""
        registered = self._names.resolve([value for value in string_id.tolist() if value != NO_STRING])
        for (start, process, domain), code, string in zip(keys, text_code.tolist(), string_id.tolist(), strict=True):
            self._domains.note(process, domain, start, registered.get(string, texts[code]))

    def merge(self, other: NvtxPart) -> None:
        """Take the rows of another part, which was made alike."""
        process, thread = self._processes.merge(other._processes), self._threads.merge(other._threads)
        scope = self._domains.merge(other._domains, process)
        self.last_ns = max(self.last_ns, other.last_ns)
        if self.ranking is None and other.ranking is None:
            name = self._names.merge(other._names)
            group = self._groups.merge(other._groups, scope, name)
            self._sums.merge(other._sums, group, process)
            self._opened += [(start_ns, group[there], process[of]) for start_ns, there, of in other._opened]
            self._dispatch += [(start_ns, name[there], thread[of]) for start_ns, there, of in other._dispatch]
            if self._ranges is not None and other._ranges is not None:
                self._ranges.merge(other._ranges, group, thread)
            if self._payloads is not None and other._payloads is not None:
                self._payloads.merge(other._payloads, group)
            if self._marks_by_name is not None and other._marks_by_name is not None:
                self._marks_by_name.merge(other._marks_by_name, scope, thread)
            if self._names.too_many:
                self._rank()
            return
        if self.ranking is None:
            self._rank()
        self._ranked().merge(other._ranked())

    def finish(
        self, last_ns: int, call_threads: Sequence[int] = ()
    ) -> tuple[NvtxTotals, Iterator[GroupedIntervals], Ranges | None]:
        """End the part: return the totals, all ranges by group in windows of time, and the ranges where they are kept.

        What is still open ends at ``last_ns``. Threads are numbered as those of the calls, ``call_threads``, then on.
        """
        sums, open_count = self._closed(last_ns)
        numbers = {value: number for number, value in enumerate(call_threads)}
        thread_of_code = np.array([numbers.setdefault(value, len(numbers)) for value in self._threads.values], np.int64)
        processes, groups = self._processes.values, len(self._groups)
        found = NvtxTotals(
            names=tuple(map(self._display_name, range(groups))),
            scopes=np.array([scope for scope, _ in self._groups.pairs], np.int64),
            counts=sums.totals.count(groups),
            sums_ns=sums.totals.sum(groups),
            whole_sums_ns=None if self._clip is None else sums.lengths.sum(groups),
            firsts_ns=sums.firsts.values(groups),
            process_rows=dict(zip(processes, sums.process_rows.count(len(processes)).tolist(), strict=True)),
            marks=self._marks(thread_of_code),
            all_marks=self._all_marks(thread_of_code),
            open_count=open_count,
            reversed_count=sums.reversed_count,
            ended_with_session_count=sums.ended_with_session_count,
            payloads=None if self._payloads is None else self._payloads.finish(),
        )
        ranges = None if self._ranges is None else self._ranges.finish(last_ns, thread_of_code, tuple(numbers))
        return found, sums.unions.windows(), ranges

    def _closed(self, last_ns: int) -> tuple[RangeSums, int]:
        """Return the sums with the open ranges ended, and how many of these there are."""
        if not self._opened:
            return self._sums, 0
        sums = RangeSums(self._sums.session_ns)
        sums.merge(self._sums, np.arange(len(self._groups)), np.arange(len(self._processes)))
        start_ns, group, process = (np.concatenate(column) for column in zip(*self._opened, strict=True))
        return sums, sums.add(start_ns, np.maximum(start_ns, last_ns), group, process, self._clip)

    def _marks(self, thread_of_code: Int64s) -> Marks:
        none = np.zeros(0, np.int64)
        start_ns, name, code = (np.concatenate(column) for column in zip((none,) * 3, *self._dispatch, strict=True))
        thread = thread_of_code[code] if code.size else code
        return Marks(start_ns, name, thread, tuple(self._names.texts))

    def _all_marks(self, thread_of_code: Int64s) -> Marks | None:
        kept = self._marks_by_name
        return None if kept is None else kept.finish(self._domains.prefix, thread_of_code)

    def _display_name(self, group: int) -> str:
        scope, name = self._groups.pairs[group]
        return self._domains.prefix(scope) + self._names.texts[name] if name else self._names.texts[0]
