"""What one pass over each event table keeps: totals, merged intervals, and the few rows that are listed whole."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import numpy as np

from nsys_digest.accumulators import Codes, Firsts, PairCodes, StreamingUnion, Totals
from nsys_digest.errors import ValueUnreadable
from nsys_digest.intervals import Int64s
from nsys_digest.schema.tables import (
    API_CLASSES,
    GPU_KINDS,
    NO_STRING,
    NVTX_DOMAIN_CREATE,
    NVTX_MARKS,
    OPEN,
    THREAD_BITS,
)
from nsys_digest.sources.base import Batch

_STREAM_BITS, _OTHER_BITS = 20, 14
_OTHER_MASK = (1 << _OTHER_BITS) - 1


def _last(start_ns: Int64s, end_ns: Int64s) -> int:
    return max(int(start_ns.max(initial=OPEN)), int(end_ns.max(initial=OPEN)))


class GpuCollector:
    """GPU activity: by stream for totals and stream busy time, by device and kind for the unions."""

    def __init__(self) -> None:
        """Start without a row."""
        self.processes = Codes()
        self._devices, self._contexts, self._streams = Codes(), Codes(), Codes()
        self._places = Codes()
        self.groups = PairCodes()
        """(kind, place) of each group; a place is a stream of a context of a device of a process."""
        self.totals = Totals()
        self.unions = StreamingUnion()
        self.kernel_names = Codes()
        self.kernels = Totals()
        self.graph_nodes: Counter[int] = Counter()
        """Operations with a graph node, by globalPid."""
        self.graph_node_kernel_count = 0
        self.skipped_count = 0
        self.last_ns = OPEN
        """The largest start or end."""

    def add(self, kind: int, batch: Batch) -> None:
        """Take rows of one kind (an index into ``GPU_KINDS``), with the columns of ``gpu_query``."""
        start_ns, end_ns = batch.ints(0), batch.ints(1)
        process = self.processes.encode(batch.ints(5))
        place = self._place(process, batch.ints(2), batch.ints(3), batch.ints(4))
        kinds = np.full(place.size, kind, np.int64)
        self.last_ns = max(self.last_ns, _last(start_ns, end_ns))
        length_ns = end_ns - start_ns
        skipped = np.count_nonzero(length_ns <= 0)
        if skipped:
            self.skipped_count += int(skipped)
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(kinds, place)
        self.totals.add(group, length_ns)
        self.unions.add(start_ns, end_ns, group)
        in_graph = batch.ints(6) != 0
        if in_graph.any():
            for code, count in enumerate(np.bincount(process[in_graph]).tolist()):
                self.graph_nodes[self.processes.values[code]] += count
        if GPU_KINDS[kind] == "kernel":
            self.graph_node_kernel_count += int(np.count_nonzero(in_graph))
            self.kernels.add(self.kernel_names.encode(batch.ints(7)), length_ns)

    def _place(self, process: Int64s, device: Int64s, context: Int64s, stream: Int64s) -> Int64s:
        """Return small ids of (process, device, context, stream)."""
        key = (process << _OTHER_BITS) | self._devices.encode(device)
        key = (key << _OTHER_BITS) | self._contexts.encode(context)
        key = (key << _STREAM_BITS) | self._streams.encode(stream)
        if max(map(len, (self.processes, self._devices, self._contexts))) >> _OTHER_BITS or (
            len(self._streams) >> _STREAM_BITS
        ):
            raise ValueUnreadable(
                "the GPU tables name more than 16,384 processes, devices or contexts, or a million streams; export "
                "the report again with: nsys export --type sqlite REPORT.nsys-rep"
            )
        return self._places.encode(key)

    @property
    def place_count(self) -> int:
        """How many streams were seen."""
        return len(self._places)

    def stream_of(self, place: int) -> tuple[int, int, int, int]:
        """Return (globalPid, device, context, stream) of a place."""
        key = self._places.values[place]
        stream = self._streams.values[key & ((1 << _STREAM_BITS) - 1)]
        key >>= _STREAM_BITS
        context, key = self._contexts.values[key & _OTHER_MASK], key >> _OTHER_BITS
        device, key = self._devices.values[key & _OTHER_MASK], key >> _OTHER_BITS
        return self.processes.values[key], device, context, stream


class ApiCollector:
    """CUDA API calls by (process, name)."""

    def __init__(self) -> None:
        """Start without a row."""
        self.processes, self.names = Codes(), Codes()
        self.groups = PairCodes()
        """(code of the process, code of the name id) of each group."""
        self.totals = Totals()
        self.backtrace_count = 0
        self.reversed_count = 0
        self.last_ns = OPEN
        """The largest start or end, backtrace rows included."""

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``api_query``."""
        start_ns, end_ns, name, event_class, thread = (batch.ints(index) for index in range(5))
        self.last_ns = max(self.last_ns, _last(start_ns, end_ns))
        if event_class.size and (event_class.min() < API_CLASSES[0] or event_class.max() > API_CLASSES[1]):
            counted = (event_class >= API_CLASSES[0]) & (event_class <= API_CLASSES[1])
            self.backtrace_count += int(counted.size - np.count_nonzero(counted))
            start_ns, end_ns, name, thread = (column[counted] for column in (start_ns, end_ns, name, thread))
        length_ns = end_ns - start_ns
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        group = self.groups.encode(self.processes.encode(thread & ~THREAD_BITS), self.names.encode(name))
        self.totals.add(group, length_ns)


_RANGE, _MARK, _DOMAIN = range(3)
_ROLE = np.full(256, _RANGE, np.int64)
_ROLE[list(NVTX_MARKS)] = _MARK
_ROLE[NVTX_DOMAIN_CREATE] = _DOMAIN

# PyTorch's emit_nvtx writes these behind an operator's name, torch/csrc/autograd/profiler_legacy.cpp.
_LIST = r"\[[\[\]()0-9, -]*\]"
_SERIALS = re.compile(rf"(?:, (?:seq = -?[0-9]+|op_id = -?[0-9]+|sizes = {_LIST}|input_op_ids = {_LIST}))+$")


def fold_name(text: str) -> str:
    """Take PyTorch's serial numbers and sizes off a range name: ``aten::mm, seq = 1, op_id = 2`` gives ``aten::mm``."""
    return _SERIALS.sub("", text)


class NvtxCollector:
    """NVTX ranges by (domain, name), and the marks and ranges of the dispatch prefix."""

    def __init__(
        self, resolve: Callable[[list[int]], dict[int, str]], dispatch_prefix: str, *, raw_names: bool
    ) -> None:
        """Resolve registered strings with ``resolve``; fold names unless ``raw_names``."""
        self._resolve = resolve
        self._prefix = dispatch_prefix
        self._cut = None if raw_names else _SERIALS
        self.processes = Codes()
        self.process_rows = Totals()
        self.domains = PairCodes()
        """(code of the process, domain id) of each domain other than the default."""
        self._domain_names: dict[tuple[int, int], tuple[int, str]] = {}
        self.names: list[str] = []
        self._name_ids: dict[str, int] = {}
        self._registered = Codes()
        self._registered_name = np.zeros(0, np.int64)
        self._is_dispatch = np.zeros(1, bool)
        self.groups = PairCodes()
        """(0 for the default domain or 1 + index into ``domains``, index into ``names``) of each group."""
        self.totals = Totals()
        self.firsts = Firsts()
        self.unions = StreamingUnion()
        self.opened: list[tuple[Int64s, Int64s]] = []
        """(start, group) of ranges without an end."""
        self.dispatch: list[tuple[Int64s, Int64s]] = []
        """(start, index into ``names``) of marks and ranges of the dispatch prefix."""
        self.reversed_count = 0

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``nvtx_query``."""
        start_ns, end_ns, event_type, string_id, domain, thread = (batch.ints(index) for index in range(6))
        process = self.processes.encode(thread & ~THREAD_BITS)
        text_code, texts = batch.texts(6, self._cut)
        role = _ROLE[event_type]
        if role.any():
            marks, created = np.flatnonzero(role == _MARK), np.flatnonzero(role == _DOMAIN)
            keys = zip(start_ns[created].tolist(), process[created].tolist(), domain[created].tolist(), strict=True)
            self._note_domains(list(keys), text_code[created], texts, string_id[created])
            self._add_marks(start_ns[marks], text_code[marks], texts, string_id[marks])
            ranges = np.flatnonzero(role == _RANGE)
            start_ns, end_ns, string_id, domain, process, text_code = (
                column[ranges] for column in (start_ns, end_ns, string_id, domain, process, text_code)
            )
        self._add_ranges(start_ns, end_ns, process, domain, self._names_of(text_code, texts, string_id))

    def _add_ranges(self, start_ns: Int64s, end_ns: Int64s, process: Int64s, domain: Int64s, name: Int64s) -> None:
        if not start_ns.size:
            return
        self.process_rows.add(process, np.zeros(process.size, np.int64))
        scope = np.zeros(domain.size, np.int64)
        if domain.any():
            named = domain != 0
            scope[named] = 1 + self.domains.encode(process[named], domain[named])
        group = self.groups.encode(scope, name)
        self.firsts.add(group, start_ns)
        self._note_dispatch(start_ns, name)
        if end_ns.min() == OPEN:
            still_open = end_ns == OPEN
            self.opened.append((start_ns[still_open], group[still_open]))
            start_ns, end_ns, group = start_ns[~still_open], end_ns[~still_open], group[~still_open]
        self._add_closed(start_ns, end_ns, group)

    def _add_closed(self, start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
        length_ns = end_ns - start_ns
        if length_ns.size and length_ns.min() < 0:
            self.reversed_count += int(np.count_nonzero(length_ns < 0))
            length_ns = np.maximum(length_ns, 0)
        self.totals.add(group, length_ns)
        self.unions.add(start_ns, end_ns, group)

    def close_open(self, last_ns: int) -> None:
        """End the ranges that were still open at the last time stamp of the trace."""
        for start_ns, group in self.opened:
            self._add_closed(start_ns, np.maximum(start_ns, last_ns), group)

    @property
    def open_count(self) -> int:
        """How many ranges had no end."""
        return sum(start_ns.size for start_ns, _ in self.opened)

    def _add_marks(self, start_ns: Int64s, text_code: Int64s, texts: list[str], string_id: Int64s) -> None:
        """Keep marks of the dispatch prefix; the texts of others may all differ and are not kept."""
        if start_ns.size:
            self._note_dispatch(start_ns, self._names_of(text_code, texts, string_id, only_dispatch=True))

    def _note_dispatch(self, start_ns: Int64s, name: Int64s) -> None:
        chosen = (name >= 0) & self._is_dispatch[name]
        if chosen.any():
            self.dispatch.append((start_ns[chosen], name[chosen]))

    def _note_domains(
        self, keys: list[tuple[int, int, int]], text_code: Int64s, texts: list[str], string_id: Int64s
    ) -> None:
        """Keep the name of each (start, process, domain id); the earliest of several counts."""
        registered = self._resolve([value for value in string_id.tolist() if value != NO_STRING])
        for (start, process, domain), code, string in zip(keys, text_code.tolist(), string_id.tolist(), strict=True):
            named = start, registered.get(string, texts[code])
            self._domain_names[process, domain] = min(named, self._domain_names.get((process, domain), named))

    def _names_of(
        self, text_code: Int64s, texts: list[str], string_id: Int64s, *, only_dispatch: bool = False
    ) -> Int64s:
        """Return the index into ``names`` of each row; -1 where ``only_dispatch`` leaves a row out."""
        inline = string_id == NO_STRING
        used = np.zeros(len(texts), bool)
        used[text_code[inline]] = True
        name_of = np.full(len(texts), -1, np.int64)
        for code in np.flatnonzero(used).tolist():
            if not only_dispatch or texts[code].startswith(self._prefix):
                name_of[code] = self._intern(texts[code])
        name = name_of[text_code]
        if not inline.all():
            name[~inline] = self._registered_names(string_id[~inline])
        return name

    def _registered_names(self, string_id: Int64s) -> Int64s:
        code = self._registered.encode(string_id)
        known = self._registered_name.size
        if known < len(self._registered):
            new = self._registered.values[known:]
            texts = self._resolve(new)
            named = (texts.get(key, f"[string {key}]") for key in new)
            ids = [self._intern(fold_name(text) if self._cut else text) for text in named]
            self._registered_name = np.concatenate((self._registered_name, np.array(ids, np.int64)))
        return self._registered_name[code]

    def _intern(self, text: str) -> int:
        name = self._name_ids.get(text)
        if name is None:
            name = self._name_ids[text] = len(self.names)
            self.names.append(text)
            if name >= self._is_dispatch.size:
                self._is_dispatch = np.concatenate((self._is_dispatch, np.zeros(max(64, name), bool)))
            self._is_dispatch[name] = text.startswith(self._prefix)
        return name

    def display_name(self, group: int) -> str:
        """Return ``domain:name`` of a group; the name alone in the default domain and in one that has no name.

        A domain's name is in an event of its own, which a capture that began late lacks.
        """
        scope, name = self.groups.pairs[group]
        if not scope:
            return self.names[name]
        _, domain = self._domain_names.get(self.domains.pairs[scope - 1], (0, ""))
        return f"{domain}:{self.names[name]}" if domain else self.names[name]
