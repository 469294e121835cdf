"""GPU busy and idle time, by device and over all devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from nsys_digest.collect import GpuCollector
from nsys_digest.intervals import Intervals, empty, union
from nsys_digest.model import KINDS, Device, Stream
from nsys_digest.schema.capture import CaptureFacts, GpuFact, guess_gpu
from nsys_digest.schema.tables import known_process_of, process_of

_Key: TypeAlias = tuple[int, int]
"""(CUDA ordinal, nsys' id of the GPU, or -1 where only the ordinal is known)"""


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Busy and idle time; ``busy`` is the union of all devices, empty without GPU activity."""

    busy: Intervals
    span_ns: int | None
    devices: tuple[Device, ...]
    guessed: tuple[int, ...]
    """Ordinals whose GPU name is a guess."""
    shared: tuple[int, ...]
    """Ordinals that stand for different GPUs in different processes."""

    @property
    def busy_ns(self) -> int | None:
        """Length of the union; None without GPU activity."""
        return None if self.span_ns is None else self.busy.total_ns


def gpu_time(gpu: GpuCollector, facts: CaptureFacts) -> GpuTime:
    """Add up GPU activity.

    A device is a CUDA ordinal. Where the export maps ordinals to GPUs process by process, one ordinal that means
    different GPUs (CUDA_VISIBLE_DEVICES) becomes one device each, told apart by uuid.
    """
    table = _DeviceTable(facts)
    unions = _unions_by_kind(gpu, table)
    busy = {key: _merged(list(by_kind.values())) for key, by_kind in unions.items()}
    rows = _rows_by_stream(gpu, table)
    devices = tuple(
        _device(key, table, rows.get(key, []), unions.get(key, {}), busy.get(key, empty()))
        for key in sorted(table.keys())
    )
    whole = _merged(list(busy.values()))
    return GpuTime(whole, _span_ns(whole), devices, table.guessed(), table.shared())


def _span_ns(merged: Intervals) -> int | None:
    return int(merged.end_ns[-1] - merged.start_ns[0]) if merged.start_ns.size else None


def _unions_by_kind(gpu: GpuCollector, table: _DeviceTable) -> dict[_Key, dict[int, Intervals]]:
    """Return the union of each kind on each device, over all its processes."""
    parts: defaultdict[_Key, defaultdict[int, list[Intervals]]] = defaultdict(lambda: defaultdict(list))
    for piece in gpu.device_unions.pieces():
        edges = np.concatenate(([0], np.flatnonzero(np.diff(piece.group)) + 1, [piece.group.size])).tolist()
        for low, high in pairwise(edges):
            if high > low:
                kind, owner = gpu.device_groups.pairs[int(piece.group[low])]
                cut = Intervals(piece.start_ns[low:high], piece.end_ns[low:high])
                parts[table.key(*gpu.device_of(owner))][kind].append(cut)
    return {key: {kind: _merged(cuts) for kind, cuts in by_kind.items()} for key, by_kind in parts.items()}


def _merged(parts: list[Intervals]) -> Intervals:
    if not parts:
        return empty()
    if len(parts) == 1:
        return union(*parts[0])
    return union(np.concatenate([part.start_ns for part in parts]), np.concatenate([part.end_ns for part in parts]))


@dataclass(frozen=True, slots=True)
class _StreamRows:
    """Totals of one stream, lists by kind."""

    process: int
    context: int
    stream: int
    busy_ns: int
    counts: list[int]
    sums_ns: list[int]


def _rows_by_stream(gpu: GpuCollector, table: _DeviceTable) -> dict[_Key, list[_StreamRows]]:
    """Return the totals of each stream of each device, ordered by process, context and stream."""
    busy_ns = np.zeros(gpu.place_count, np.int64)
    for piece in gpu.stream_unions.pieces():
        np.add.at(busy_ns, piece.group, piece.end_ns - piece.start_ns)
    rows: defaultdict[_Key, list[_StreamRows]] = defaultdict(list)
    by_place: list[_StreamRows] = []
    for place, busy in enumerate(busy_ns.tolist()):
        process, device, context, stream = gpu.stream_of(place)
        row = _StreamRows(process, context, stream, busy, [0] * len(KINDS), [0] * len(KINDS))
        rows[table.key(process, device)].append(row)
        by_place.append(row)
    length = len(gpu.groups)
    totals = zip(gpu.groups.pairs, gpu.totals.count(length).tolist(), gpu.totals.sum(length).tolist(), strict=True)
    for (kind, place), count, sum_ns in totals:
        by_place[place].counts[kind], by_place[place].sums_ns[kind] = count, sum_ns
    return {
        key: sorted(streams, key=lambda row: (row.process, row.context, row.stream)) for key, streams in rows.items()
    }


def _device(
    key: _Key, table: _DeviceTable, rows: list[_StreamRows], unions: dict[int, Intervals], busy: Intervals
) -> Device:
    gpu = table.gpu(key)
    span_ns = _span_ns(busy)
    return Device(
        device=key[0],
        name=gpu.name if gpu else None,
        uuid=gpu.uuid if gpu else None,
        span_ns=span_ns,
        busy_ns=None if span_ns is None else busy.total_ns,
        union_ns={name: unions.get(kind, empty()).total_ns for kind, name in enumerate(KINDS)},
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
        self._guessed: set[int] = set()

    def key(self, global_pid: int, ordinal: int) -> _Key:
        """Return the key of the device that a process calls by that ordinal."""
        gpu = self._facts.gpu_of.get((process_of(global_pid), ordinal))
        if gpu is None:
            gpu, guess = guess_gpu(self._facts, ordinal)
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
