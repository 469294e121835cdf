"""NVTX ranges, and the marks and ranges of the dispatch prefix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.accumulators import Codes, Firsts, PairCodes, StreamingUnion, Totals
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.base_types import OTHER_NAMES
from nsys_digest.trace.collect.names import NameRanking
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Columns
from nsys_digest.trace.nsys.tables import (
    NO_STRING,
    NVTX_DOMAIN_CREATE,
    NVTX_MARKS,
    NVTX_PUSH_POP_RANGES,
    NVTX_RANGES,
    OPEN,
    THREAD_BITS,
    name_of,
)
from nsys_digest.trace.source import Batch, Tail

_COLUMNS = ("start_ns", "end_ns", "event_type", "string", "domain", "thread")
_RANGE, _MARK, _DOMAIN, _OTHER = range(4)
_ROLE = np.full(256, _OTHER, np.int64)
_ROLE[list(NVTX_RANGES)] = _RANGE
_ROLE[list(NVTX_MARKS)] = _MARK
_ROLE[NVTX_DOMAIN_CREATE] = _DOMAIN
_PUSH_POP = np.zeros(256, np.int64)
_PUSH_POP[list(NVTX_PUSH_POP_RANGES)] = 1

# PyTorch's emit_nvtx writes these behind an operator's name, torch/csrc/autograd/profiler_legacy.cpp.
_LIST = r"\[[\[\]()0-9, -]*\]"
_SERIALS = Tail(rf", (?:seq = -?[0-9]+|op_id = -?[0-9]+|sizes = {_LIST}|input_op_ids = {_LIST})")


def fold_name(text: str) -> str:
    """Take PyTorch's serial numbers and sizes off a range name: ``aten::mm, seq = 1, op_id = 2`` gives ``aten::mm``."""
    return _SERIALS.off(text)


@dataclass(frozen=True, slots=True)
class NvtxOptions:
    """What counts as a dispatch mark, whether names keep their serial numbers, and how many are kept apart."""

    dispatch_prefix: str
    raw_names: bool
    max_names: int


class NvtxCollector:
    """NVTX ranges by (domain, name), and the marks and ranges of the dispatch prefix.

    Once there are more names than the limit, only ``ranking`` is kept up; the table must then be read again by a
    collector that is told which names to keep.
    """

    def __init__(
        self,
        resolve: Callable[[list[int]], dict[int, str]],
        options: NvtxOptions,
        session_ns: int | None,
        kept: frozenset[int] | None = None,
        detail: int | None = None,
    ) -> None:
        """Resolve registered strings with ``resolve``; ``kept`` are the hashes of the names to keep apart.

        ``detail`` keeps every range for the sections that need them one by one: about how many rows there are.
        """
        self._resolve = resolve
        self._options = options
        self._session_ns = session_ns
        self._kept = kept
        self._cut = None if options.raw_names else _SERIALS
        self.ranking: NameRanking | None = None
        self.processes = Codes()
        self.process_rows = Totals()
        self._domain_ids = Codes()
        self._domains = PairCodes()
        """(code of the process, code of the domain id) of each domain other than the default."""
        self._domain_names: dict[tuple[int, int], tuple[int, str]] = {}
        self.names: list[str] = [OTHER_NAMES]
        self._name_ids: dict[str, int] = {}
        self._registered = _Registered(self._text_of_strings, self._intern)
        self._registered_hashes = _Registered(self._text_of_strings, hash)
        self._is_dispatch = np.zeros(1, bool)
        self.groups = PairCodes()
        """(0 for the default domain or 1 + a domain, index into ``names``) of each group."""
        self.totals = Totals()
        self.firsts = Firsts()
        self.unions = StreamingUnion()
        self.opened: list[tuple[Int64s, Int64s]] = []
        """(start, group) of ranges without an end."""
        self.dispatch: list[tuple[Int64s, Int64s, Int64s]] = []
        """(start, index into ``names``, code of the thread) of marks and ranges of the dispatch prefix."""
        self.threads = Codes()
        self.ranges = None if detail is None else Columns(detail, 2, 4)
        """Start, end (``OPEN``: the last time stamp), group, code of the thread, 1 for push/pop, 1 for an end on the
        thread of the start, of every range."""
        self.last_ns = OPEN
        """The largest start or end of an event of any type."""
        self.reversed_count = 0
        self.ended_with_session_count = 0
        """Ranges that end at the very end of the session, where nsys ends those that the program left open."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``nvtx_query``."""
        start_ns, end_ns, event_type, string_id, domain, thread = map(batch.ints, _COLUMNS)
        process, thread_code = self.processes.encode(thread & ~THREAD_BITS), self.threads.encode(thread)
        same_thread = None
        if self.ranges is not None:
            ended_by = batch.ints("end_thread")
            same_thread = (ended_by == 0) | (ended_by == thread)
        text_code, texts = batch.texts("text", self._cut)
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns, may_be_open=True))
        role = _ROLE[np.clip(event_type, 0, _ROLE.size - 1)]
        if role.any():
            marks, created = np.flatnonzero(role == _MARK), np.flatnonzero(role == _DOMAIN)
            keys = zip(start_ns[created].tolist(), process[created].tolist(), domain[created].tolist(), strict=True)
            self._note_domains(list(keys), text_code[created], texts, string_id[created])
            self._add_marks(start_ns[marks], thread_code[marks], text_code[marks], texts, string_id[marks])
            ranges = np.flatnonzero(role == _RANGE)
            start_ns, end_ns, event_type, string_id, domain, process, thread_code, text_code = (
                column[ranges]
                for column in (start_ns, end_ns, event_type, string_id, domain, process, thread_code, text_code)
            )
            same_thread = None if same_thread is None else same_thread[ranges]
        if self.ranking is not None:
            hashes = _by_row(text_code, texts, string_id, hash, self._registered_hashes)
            is_open = end_ns == OPEN
            self.ranking.add_open(hashes[is_open], start_ns[is_open])
            closed = ~is_open
            self.ranking.add(hashes[closed], np.maximum(end_ns - start_ns, 0)[closed], start_ns[closed])
            return
        name = _by_row(text_code, texts, string_id, self._intern, self._registered)
        group = self._add_ranges(start_ns, end_ns, process, domain, name, thread_code)
        if self.ranges is not None and same_thread is not None:
            self.ranges.add(start_ns, end_ns, group, thread_code, _PUSH_POP[event_type], same_thread.astype(np.int64))
        if self._kept is None and len(self.names) - 1 > self._options.max_names:
            self._rank()

    def _rank(self) -> None:
        """Give up on keeping every name: note what each has so far, and from now on only that."""
        length = len(self.groups)
        hashes = np.array([hash(self.names[name]) for _, name in self.groups.pairs], np.int64)
        self.ranking = NameRanking()
        self.ranking.add(hashes, self.totals.sum(length), self.firsts.values(length))
        for start_ns, group in self.opened:
            self.ranking.add_open(hashes[group], start_ns)
        self.unions, self.opened, self.dispatch, self.ranges = StreamingUnion(), [], [], None

    def _add_ranges(
        self, start_ns: Int64s, end_ns: Int64s, process: Int64s, domain: Int64s, name: Int64s, thread: Int64s
    ) -> Int64s:
        """Take ranges, marks left out, and return the group of each."""
        if not start_ns.size:
            return start_ns
        self.process_rows.add(process, np.zeros(process.size, np.int64))
        scope = np.zeros(domain.size, np.int64)
        if domain.any():
            named = domain != 0
            scope[named] = 1 + self._domains.encode(process[named], self._domain_ids.encode(domain[named]))
        group = self.groups.encode(scope, name)
        self.firsts.add(group, start_ns)
        self._note_dispatch(start_ns, name, thread)
        if end_ns.min() == OPEN:
            still_open = end_ns == OPEN
            self.opened.append((start_ns[still_open], group[still_open]))
            self._add_closed(start_ns[~still_open], end_ns[~still_open], group[~still_open])
        else:
            self._add_closed(start_ns, end_ns, group)
        return group

    def _add_closed(self, start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
        length_ns = end_ns - start_ns
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        if self._session_ns is not None:
            self.ended_with_session_count += int(np.count_nonzero(end_ns == self._session_ns))
        self.totals.add(group, length_ns)
        self.unions.add(start_ns, end_ns, group)

    def close_open(self, last_ns: int) -> None:
        """End the ranges that were still open at the last time stamp of the trace."""
        self.last_ns = last_ns
        for start_ns, group in self.opened:
            self._add_closed(start_ns, np.maximum(start_ns, last_ns), group)

    @property
    def open_count(self) -> int:
        """How many ranges had no end."""
        return sum(start_ns.size for start_ns, _ in self.opened)

    def _add_marks(
        self, start_ns: Int64s, thread: Int64s, text_code: Int64s, texts: list[str], string_id: Int64s
    ) -> None:
        """Keep marks of the dispatch prefix; the texts of others may all differ and are not kept."""
        if start_ns.size:
            name = _by_row(text_code, texts, string_id, self._intern_dispatch, self._registered)
            self._note_dispatch(start_ns, name, thread)

    def _intern_dispatch(self, text: str) -> int:
        return self._intern(text) if text.startswith(self._options.dispatch_prefix) else -1

    def _note_dispatch(self, start_ns: Int64s, name: Int64s, thread: Int64s) -> None:
        chosen = (name >= 0) & self._is_dispatch[name]
        if chosen.any():
            self.dispatch.append((start_ns[chosen], name[chosen], thread[chosen]))

    def _note_domains(
        self, keys: list[tuple[int, int, int]], text_code: Int64s, texts: list[str], string_id: Int64s
    ) -> None:
        """Keep the name of each (start, process, domain id); the earliest of several counts."""
        registered = self._resolve([value for value in string_id.tolist() if value != NO_STRING])
        for (start, process, domain), code, string in zip(keys, text_code.tolist(), string_id.tolist(), strict=True):
            named = start, registered.get(string, texts[code])
            self._domain_names[process, domain] = min(named, self._domain_names.get((process, domain), named))

    def _text_of_strings(self, ids: list[int]) -> list[str]:
        texts = self._resolve(ids)
        named = (name_of(key, texts) for key in ids)
        return [fold_name(text) if self._cut else text for text in named]

    def _intern(self, text: str) -> int:
        name = self._name_ids.get(text)
        if name is None:
            is_dispatch = text.startswith(self._options.dispatch_prefix)
            if self._kept is not None and not is_dispatch and hash(text) not in self._kept:
                return 0
            name = self._name_ids[text] = len(self.names)
            self.names.append(text)
            if name >= self._is_dispatch.size:
                self._is_dispatch = np.concatenate((self._is_dispatch, np.zeros(max(64, name), bool)))
            self._is_dispatch[name] = is_dispatch
        return name

    def scope_of(self, group: int) -> int:
        """Return a number for the domain of a group."""
        return self.groups.pairs[group][0]

    def display_name(self, group: int) -> str:
        """Return ``domain:name`` of a group; the name alone in the default domain and in one that has no name.

        A domain's name is in an event of its own, which a capture that began late lacks.
        """
        scope, name = self.groups.pairs[group]
        if not scope or not name:
            return self.names[name]
        process, domain_code = self._domains.pairs[scope - 1]
        _, domain = self._domain_names.get((process, self._domain_ids.values[domain_code]), (0, ""))
        return f"{domain}:{self.names[name]}" if domain else self.names[name]


class _Registered:
    """A number for each registered string, found out when the string is first used."""

    def __init__(self, texts: Callable[[list[int]], list[str]], number: Callable[[str], int]) -> None:
        self._texts = texts
        self._number = number
        self._codes = Codes()
        self._numbers = np.zeros(0, np.int64)

    def numbers(self, string_id: Int64s) -> Int64s:
        code = self._codes.encode(string_id)
        new = self._codes.values[self._numbers.size :]
        if new:
            found = np.array([self._number(text) for text in self._texts(new)], np.int64)
            self._numbers = np.concatenate((self._numbers, found))
        return self._numbers[code]


def _by_row(
    text_code: Int64s, texts: list[str], string_id: Int64s, number: Callable[[str], int], registered: _Registered
) -> Int64s:
    """Return the number of each row's text: the registered string where there is one, else the inline text."""
    inline = string_id == NO_STRING
    used = np.zeros(len(texts), bool)
    used[text_code[inline]] = True
    number_of = np.full(len(texts), -1, np.int64)
    for code in np.flatnonzero(used).tolist():
        number_of[code] = number(texts[code])
    numbers = number_of[text_code]
    if not inline.all():
        numbers[~inline] = registered.numbers(string_id[~inline])
    return numbers
