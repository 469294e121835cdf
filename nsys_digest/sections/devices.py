"""GPU busy and idle time, by device and over all devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, Intervals, grouped_union, joined, union
from nsys_digest.model.base_types import KINDS, Device, Stream
from nsys_digest.trace.collect.gpu import GpuCollector
from nsys_digest.trace.nsys.capture import CaptureFacts, GpuFact, guess_gpu
from nsys_digest.trace.nsys.tables import known_process_of, process_of

_Key: TypeAlias = tuple[int, int]
"""(CUDA ordinal, nsys' id of the GPU, or -1 where only the ordinal is known)"""


_MOST_DEVICES = 1024
_SPAN_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Busy and idle time; ``busy`` is the union of all devices, empty without GPU activity."""

    busy: Intervals
    span_ns: int | None
    devices: tuple[Device, ...]
    device_of_place: tuple[int, ...]
    """Index into ``devices`` of each place of the collector."""
    guessed: tuple[int, ...]
    """Ordinals whose GPU name is a guess."""
    shared: tuple[int, ...]
    """Ordinals that stand for different GPUs in different processes."""

    @property
    def busy_ns(self) -> int | None:
        """Length of the union; None without GPU activity."""
        return None if self.span_ns is None else self.busy.total_ns


def gpu_time(gpu: GpuCollector, facts: CaptureFacts) -> GpuTime:
    """Add up GPU activity; takes the unions out of the collector.

    A device is a CUDA ordinal. Where the export maps ordinals to GPUs process by process, one ordinal that means
    different GPUs (CUDA_VISIBLE_DEVICES) becomes one device each, told apart by uuid.

    Raises:
        OverflowError: there are more devices than any machine has, or idle time over all of them leaves int64.

    """
    table = _DeviceTable(facts)
    places = [gpu.stream_of(place) for place in range(gpu.place_count)]
    keys: dict[_Key, int] = {}
    device_of = np.array(
        [keys.setdefault(table.key(process, device), len(keys)) for process, device, _, _ in places], np.int64
    )
    times = _Times(gpu, device_of, len(keys))
    for window in gpu.take_windows():
        times.add(window)
    rows = _rows_by_stream(gpu, places, times.by_place.tolist(), device_of.tolist())
    ordered = sorted(table.keys())
    if len(ordered) > _MOST_DEVICES:
        raise OverflowError(f"is of more than {_MOST_DEVICES:,} GPUs, so that an id is damaged")
    devices = tuple(
        _device(key, table, rows[keys[key]], times.spans[keys[key]], times.by_device_and_kind[keys[key]].tolist())
        if key in keys
        else _device(key, table, [], _NO_SPAN, [0] * len(KINDS))
        for key in ordered
    )
    position = {keys[key]: index for index, key in enumerate(ordered) if key in keys}
    busy = joined(times.busy)
    span_ns = int(busy.end_ns[-1] - busy.start_ns[0]) if busy.start_ns.size else None
    if (span_ns or 0) * len(ordered) > _SPAN_LIMIT:
        raise OverflowError("spans more than 292 years over all GPUs, so that a time stamp is damaged")
    device_of_place = tuple(position[device] for device in device_of.tolist())
    return GpuTime(busy, span_ns, devices, device_of_place, table.guessed(), table.shared())


@dataclass(slots=True)
class _Span:
    """Busy time of a device, and its first start and last end; both None without activity."""

    busy_ns: int = 0
    first_ns: int | None = None
    last_ns: int | None = None


_NO_SPAN = _Span()


class _Times:
    """Lengths of unions, added up window by window."""

    def __init__(self, gpu: GpuCollector, device_of: Int64s, devices: int) -> None:
        pairs = np.array(gpu.groups.pairs, np.int64).reshape(-1, 2)
        self._place = pairs[:, 1]
        self._device_and_kind = device_of[self._place] * len(KINDS) + pairs[:, 0]
        self.by_place = np.zeros(device_of.size, np.int64)
        self.by_device_and_kind = np.zeros((devices, len(KINDS)), np.int64)
        self.spans = [_Span() for _ in range(devices)]
        self.busy: list[Intervals] = []

    def add(self, window: GroupedIntervals) -> None:
        """Merge a window by stream, by kind on each device, by device, and over all devices."""
        streams = grouped_union(window.start_ns, window.end_ns, self._place[window.group])
        np.add.at(self.by_place, streams.group, streams.end_ns - streams.start_ns)
        kinds = grouped_union(window.start_ns, window.end_ns, self._device_and_kind[window.group])
        np.add.at(self.by_device_and_kind.reshape(-1), kinds.group, kinds.end_ns - kinds.start_ns)
        devices = grouped_union(kinds.start_ns, kinds.end_ns, kinds.group // len(KINDS))
        edges = np.searchsorted(devices.group, np.arange(len(self.spans) + 1)).tolist()
        for span, (low, high) in zip(self.spans, pairwise(edges), strict=True):
            if high > low:
                start_ns, end_ns = devices.start_ns[low:high], devices.end_ns[low:high]
                span.busy_ns += int((end_ns - start_ns).sum())
                span.first_ns = int(start_ns[0]) if span.first_ns is None else span.first_ns
                span.last_ns = int(end_ns[-1])
        self.busy.append(union(devices.start_ns, devices.end_ns))


@dataclass(frozen=True, slots=True)
class _StreamRows:
    """Totals of one stream, lists by kind."""

    process: int
    context: int
    stream: int
    busy_ns: int
    counts: list[int]
    sums_ns: list[int]


def _rows_by_stream(
    gpu: GpuCollector, places: list[tuple[int, int, int, int]], busy_ns: list[int], device_of: list[int]
) -> defaultdict[int, list[_StreamRows]]:
    """Return the totals of each stream of each device, ordered by process, context and stream."""
    streams = [
        _StreamRows(process, context, stream, busy, [0] * len(KINDS), [0] * len(KINDS))
        for (process, _, context, stream), busy in zip(places, busy_ns, strict=True)
    ]
    length = len(gpu.groups)
    totals = zip(gpu.groups.pairs, gpu.totals.count(length).tolist(), gpu.totals.sum(length).tolist(), strict=True)
    for (kind, place), count, sum_ns in totals:
        streams[place].counts[kind], streams[place].sums_ns[kind] = count, sum_ns
    rows: defaultdict[int, list[_StreamRows]] = defaultdict(list)
    for device, stream in sorted(
        zip(device_of, streams, strict=True), key=lambda item: (item[1].process, item[1].context, item[1].stream)
    ):
        rows[device].append(stream)
    return rows


def _device(key: _Key, table: _DeviceTable, rows: list[_StreamRows], span: _Span, union_ns: list[int]) -> Device:
    gpu = table.gpu(key)
    span_ns = None if span.first_ns is None or span.last_ns is None else span.last_ns - span.first_ns
    return Device(
        device=key[0],
        name=gpu.name if gpu else None,
        uuid=gpu.uuid if gpu else None,
        span_ns=span_ns,
        busy_ns=None if span_ns is None else span.busy_ns,
        union_ns=dict(zip(KINDS, union_ns, strict=True)),
        sum_ns={name: sum(row.sums_ns[kind] for row in rows) for kind, name in enumerate(KINDS)},
        count={name: sum(row.counts[kind] for row in rows) for kind, name in enumerate(KINDS)},
        streams=tuple(
            Stream(known_process_of(row.process), row.context, row.stream, row.busy_ns, sum(row.counts)) for row in rows
        ),
        processes=tuple(sorted({process_of(row.process) for row in rows if row.process})),
    )


class _DeviceTable:
    """Which GPU a process means by an ordinal."""

    def __init__(self, facts: CaptureFacts) -> None:
        self._facts = facts
        self._gpus: dict[_Key, GpuFact | None] = {}
        self._guesses: dict[int, tuple[GpuFact | None, bool]] = {}
        self._guessed: set[int] = set()

    def key(self, global_pid: int, ordinal: int) -> _Key:
        """Return the key of the device that a process calls by that ordinal."""
        gpu = self._facts.gpu_of.get((process_of(global_pid), ordinal))
        if gpu is None:
            if ordinal not in self._guesses:
                self._guesses[ordinal] = guess_gpu(self._facts, ordinal)
            gpu, guess = self._guesses[ordinal]
            if guess:
                self._guessed.add(ordinal)
        return self._note(ordinal, gpu)

    def _note(self, ordinal: int, gpu: GpuFact | None) -> _Key:
        key = (ordinal, -1 if gpu is None or gpu.gpu_id is None else gpu.gpu_id)
        self._gpus[key] = gpu
        return key

    def keys(self) -> set[_Key]:
        """Return the devices that had rows, and those that the trace knows and that had none."""
        for (_, ordinal), gpu in self._facts.gpu_of.items():
            self._note(ordinal, gpu)
        if not self._facts.gpu_of:
            used = {ordinal for ordinal, _ in self._gpus}
            for gpu in self._facts.gpus:
                if gpu.ordinal is not None and gpu.ordinal not in used:
                    self._note(gpu.ordinal, gpu)
        return set(self._gpus)

    def gpu(self, key: _Key) -> GpuFact | None:
        """Return the GPU of a key, None when the trace does not name it."""
        return self._gpus[key]

    def guessed(self) -> tuple[int, ...]:
        """Return the ordinals whose GPU was guessed."""
        return tuple(sorted(self._guessed))

    def shared(self) -> tuple[int, ...]:
        """Return the ordinals that stand for more than one GPU."""
        uses = Counter(ordinal for ordinal, _ in self._gpus)
        return tuple(sorted(ordinal for ordinal, count in uses.items() if count > 1))
