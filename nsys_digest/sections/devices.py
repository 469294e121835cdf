"""GPU busy and idle time, by device and over all devices."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from nsys_digest.algorithms.intervals import (
    GroupedIntervals,
    Int64s,
    Intervals,
    exact_sum,
    grouped_union,
    joined,
    union,
)
from nsys_digest.algorithms.members import Members, members
from nsys_digest.model.base_types import OPERATION_KINDS, Device, DeviceProcess, OtherStreams, Stream
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.nsys.capture import CaptureFacts, GpuFact, GpuGuesses
from nsys_digest.trace.nsys.tables import known_process_of, process_of

_Key: TypeAlias = tuple[int, int, str]
"""(CUDA ordinal, nsys' id of the GPU, uuid); -1 and "" where not known. MIG instances of a GPU differ in uuid alone."""


@dataclass(frozen=True, slots=True)
class Ambiguous:
    """A device of several processes that the export does not map to GPUs, so that each may have had its own."""

    ordinal: int
    processes: tuple[int | None, ...]


_MOST_DEVICES = 1024
MOST_STREAMS: Final = 1_000
"""Streams that are listed of a device; of more, those with most busy time."""
_SPAN_LIMIT = 2**63 - 1


@dataclass(frozen=True, slots=True)
class GpuTime:
    """Busy and idle time; ``busy`` is the union of all devices, empty without GPU activity."""

    busy: Intervals
    span_ns: int | None
    devices: tuple[Device, ...]
    device_of_place: tuple[int, ...]
    """Index into ``devices`` of each place of the totals, -1 of those that are not looked at."""
    guessed: tuple[int, ...]
    """Ordinals of one process each whose GPU name is a guess."""
    ambiguous: tuple[Ambiguous, ...]
    shared: tuple[int, ...]
    """Ordinals that stand for different GPUs in different processes."""

    @property
    def busy_ns(self) -> int | None:
        """Length of the union; None without GPU activity."""
        return None if self.span_ns is None else self.busy.total_ns


def gpu_time(
    gpu: GpuTotals, windows: Iterable[GroupedIntervals], facts: CaptureFacts, selection: Selection = WHOLE
) -> GpuTime:
    """Add up GPU activity; ``windows`` are the intervals by group, in windows of time.

    With a window all is cut to it, and every span, of a device that the trace has work of, is the window. With a filter
    only devices of work that it leaves are given.

    A device is a CUDA ordinal. Where the export maps ordinals to GPUs process by process, one ordinal that means
    different GPUs (CUDA_VISIBLE_DEVICES) or MIG instances becomes one device each, told apart by uuid.

    Raises:
        OverflowError: there are more devices than any machine has, or idle time over all of them leaves int64.

    """
    table = _DeviceTable(facts)
    places = gpu.places
    keys: dict[_Key, int] = {}
    device_of = np.array(
        [
            keys.setdefault(table.key(place.process, place.device), len(keys)) if looked_at else -1
            for place, looked_at in zip(places, gpu.looked_at, strict=True)
        ],
        np.int64,
    )
    owners = _Owners([process for process, _, _, _ in places], device_of.tolist())
    times = _Times(gpu, device_of, len(keys), owners, selection.length_ns)
    for window in selection.clip_grouped(windows):
        times.add(window)
    totals = _StreamTotals(gpu, times.by_place, device_of, len(keys))
    ordered = sorted(table.keys() if selection.has_no_filter else keys)
    if len(ordered) > _MOST_DEVICES:
        raise OverflowError(f"is of more than {_MOST_DEVICES:,} GPUs, so that an id is damaged")
    devices = tuple(
        _device(key, table, totals, times, keys[key], owners) if key in keys else _idle_device(key, table)
        for key in ordered
    )
    position = {keys[key]: index for index, key in enumerate(ordered) if key in keys}
    busy = joined(times.busy)
    span_ns = int(busy.end_ns[-1] - busy.start_ns[0]) if busy.start_ns.size else None
    if keys and selection.length_ns is not None:
        span_ns = selection.length_ns
    ambiguous = tuple(
        Ambiguous(key[0], tuple(own.process for own in devices[position[keys[key]]].by_process))
        for key in ordered
        if key in keys and key in table.unsure and keys[key] in owners.of_device
    )
    guessed = tuple(sorted(table.guessed - {device.ordinal for device in ambiguous}))
    if (span_ns or 0) * len(ordered) > _SPAN_LIMIT:
        raise OverflowError("spans more than 292 years over all GPUs, so that a time stamp is damaged")
    device_of_place = tuple(position.get(device, -1) for device in device_of.tolist())
    return GpuTime(busy, span_ns, devices, device_of_place, guessed, ambiguous, table.shared())


class _Spans:
    """Busy time of each of n groups, and its first start and last end, added up window by window.

    ``length_ns`` is the span of all where only a stretch of time is looked at, else None.
    """

    def __init__(self, groups: int, length_ns: int | None) -> None:
        self._length_ns = length_ns
        self.busy_ns = np.zeros(groups, np.int64)
        self.first_ns = np.full(groups, np.iinfo(np.int64).max)
        self.last_ns = np.full(groups, np.iinfo(np.int64).min)

    def add(self, merged: GroupedIntervals) -> None:
        """Take merged intervals, in order of group and start."""
        if not merged.group.size:
            return
        first = np.flatnonzero(np.diff(merged.group, prepend=-1))
        last = np.append(first[1:], merged.group.size) - 1
        group = merged.group[first]
        self.busy_ns[group] += np.add.reduceat(merged.end_ns - merged.start_ns, first)
        self.first_ns[group] = np.minimum(self.first_ns[group], merged.start_ns[first])
        self.last_ns[group] = np.maximum(self.last_ns[group], merged.end_ns[last])

    def of(self, group: int) -> tuple[int, int] | None:
        """Return (span, busy) of a group; None where it had no time."""
        if self._length_ns is not None:
            return self._length_ns, int(self.busy_ns[group])
        first_ns, last_ns = int(self.first_ns[group]), int(self.last_ns[group])
        return None if first_ns >= last_ns else (last_ns - first_ns, int(self.busy_ns[group]))

    def start_of(self, group: int) -> int | None:
        """Return where the span of a group begins; None where it had no time, or the span is a window."""
        first_ns = int(self.first_ns[group])
        return None if self._length_ns is not None or first_ns >= int(self.last_ns[group]) else first_ns


class _Owners:
    """The processes of each device that several processes used."""

    def __init__(self, process_of_place: list[int], device_of_place: list[int]) -> None:
        users: defaultdict[int, dict[int, None]] = defaultdict(dict)
        for process, device in zip(process_of_place, device_of_place, strict=True):
            if device >= 0:
                users[device][process] = None
        ids: dict[tuple[int, int], int] = {}
        self.of_device: dict[int, list[tuple[int, int]]] = {}
        """(globalPid, number) of each process of a device, in order of process."""
        for device, processes in users.items():
            if len(processes) > 1:
                ordered = sorted(processes, key=lambda process: (process_of(process), process))
                self.of_device[device] = [(own, ids.setdefault((device, own), len(ids))) for own in ordered]
        self.count = len(ids)
        self.of_place = np.array(
            [ids.get(pair, -1) for pair in zip(device_of_place, process_of_place, strict=True)], np.int64
        )
        """Number of the process on the device of each place; -1 where a process had the device alone."""


class _Times:
    """Lengths of unions, added up window by window."""

    def __init__(self, gpu: GpuTotals, device_of: Int64s, devices: int, owners: _Owners, length_ns: int | None) -> None:
        pairs = np.array(gpu.groups, np.int64).reshape(-1, 2)
        self._place = pairs[:, 1]
        self._device_and_kind = device_of[self._place] * len(OPERATION_KINDS) + pairs[:, 0]
        self._owner = owners.of_place
        self.by_place = np.zeros(device_of.size, np.int64)
        self.by_device_and_kind = np.zeros((devices, len(OPERATION_KINDS)), np.int64)
        self.devices = _Spans(devices, length_ns)
        self.owners = _Spans(owners.count, length_ns)
        self.busy: list[Intervals] = []

    def add(self, window: GroupedIntervals) -> None:
        """Merge a window by stream, by kind on each device, by device, and over all devices."""
        streams = grouped_union(window.start_ns, window.end_ns, self._place[window.group])
        np.add.at(self.by_place, streams.group, streams.end_ns - streams.start_ns)
        kinds = grouped_union(window.start_ns, window.end_ns, self._device_and_kind[window.group])
        np.add.at(self.by_device_and_kind.reshape(-1), kinds.group, kinds.end_ns - kinds.start_ns)
        devices = grouped_union(kinds.start_ns, kinds.end_ns, kinds.group // len(OPERATION_KINDS))
        self.devices.add(devices)
        if self.owners.busy_ns.size:
            owner = self._owner[streams.group]
            several = owner >= 0
            self.owners.add(grouped_union(streams.start_ns[several], streams.end_ns[several], owner[several]))
        self.busy.append(union(devices.start_ns, devices.end_ns))


class _StreamTotals:
    """Totals of each place, which is a stream of a context of a process on a device."""

    def __init__(self, gpu: GpuTotals, busy_ns: Int64s, device_of: Int64s, devices: int) -> None:
        self._place = np.array(gpu.places, np.int64).reshape(-1, 4)
        self._busy_ns = busy_ns
        self._count, self._sum_ns = (np.zeros((device_of.size, len(OPERATION_KINDS)), np.int64) for _ in range(2))
        kind, place = np.array(gpu.groups, np.int64).reshape(-1, 2).T
        self._count[place, kind], self._sum_ns[place, kind] = gpu.counts, gpu.sums_ns
        used = np.flatnonzero(self._count.any(axis=1))  # else all of a stream was outside of the window
        found = members(device_of[used], devices)
        self._of_device = Members(used[found.rows], found.edges)

    def by_kind(self, device: int) -> tuple[dict[str, int], dict[str, int]]:
        """Return the count and the plain sum of the operations of each kind on a device."""
        mine = self._of_device.of(device)
        count, sum_ns = (part[mine].sum(axis=0).tolist() for part in (self._count, self._sum_ns))
        return dict(zip(OPERATION_KINDS, count, strict=True)), dict(zip(OPERATION_KINDS, sum_ns, strict=True))

    def processes(self, device: int) -> tuple[int, ...]:
        """Return the ids of the processes of a device, ascending."""
        used = np.unique(self._place[self._of_device.of(device), 0]).tolist()
        return tuple(sorted({process_of(process) for process in used if process}))

    def streams(self, device: int) -> tuple[tuple[Stream, ...], OtherStreams | None]:
        """Return the streams of a device by process, context and stream: all, or those of most time; and the rest."""
        mine = self._of_device.of(device)
        process, _, context, stream = self._place[mine].T
        busy_ns, count = self._busy_ns[mine], self._count[mine].sum(axis=1)
        order = np.lexsort((stream, context, process))
        others = None
        if order.size > MOST_STREAMS:
            most = np.lexsort((stream, context, process, -count, -busy_ns))
            kept = np.zeros(order.size, bool)
            kept[most[:MOST_STREAMS]] = True
            rest = most[MOST_STREAMS:]
            others = OtherStreams(rest.size, exact_sum(busy_ns[rest]), int(count[rest].sum()))
            order = order[kept[order]]
        columns = (column[order].tolist() for column in (process, context, stream, busy_ns, count))
        return tuple(Stream(known_process_of(one), *row) for one, *row in zip(*columns, strict=True)), others


def _device(
    key: _Key, table: _DeviceTable, totals: _StreamTotals, times: _Times, number: int, owners: _Owners
) -> Device:
    gpu = table.gpu(key)
    span = times.devices.of(number)
    count, sum_ns = totals.by_kind(number)
    streams, other_streams = totals.streams(number)
    return Device(
        device=key[0],
        name=gpu.name if gpu else None,
        uuid=gpu.uuid if gpu else None,
        span_ns=None if span is None else span[0],
        busy_ns=None if span is None else span[1],
        union_ns=dict(zip(OPERATION_KINDS, times.by_device_and_kind[number].tolist(), strict=True)),
        sum_ns=sum_ns,
        count=count,
        streams=streams,
        other_streams=other_streams,
        processes=totals.processes(number),
        by_process=tuple(
            DeviceProcess(known_process_of(process), *(times.owners.of(own) or (None, None)))
            for process, own in owners.of_device.get(number, ())
        ),
        start_ns=times.devices.start_of(number),
    )


def _idle_device(key: _Key, table: _DeviceTable) -> Device:
    gpu, none = table.gpu(key), dict.fromkeys(OPERATION_KINDS, 0)
    return Device(key[0], gpu.name if gpu else None, gpu.uuid if gpu else None, None, None, none, none, none, (), ())


class _DeviceTable:
    """Which GPU a process means by an ordinal."""

    def __init__(self, facts: CaptureFacts) -> None:
        self._facts = facts
        self._guesses = GpuGuesses(facts)
        self._gpus: dict[_Key, GpuFact | None] = {}
        self.guessed: set[int] = set()
        """Ordinals whose GPU was guessed."""
        self.unsure: set[_Key] = set()
        """Devices that a process uses whose GPU the export does not tell, and which may be another."""

    def key(self, global_pid: int, ordinal: int) -> _Key:
        """Return the key of the device that a process calls by that ordinal."""
        gpu = self._facts.gpu_of.get((process_of(global_pid), ordinal))
        if gpu is not None:
            return self._note(ordinal, gpu)
        gpu, unsure = self._guesses.gpu(ordinal)
        key = self._note(ordinal, gpu)
        if unsure:
            self.unsure.add(key)
            if gpu is not None:
                self.guessed.add(ordinal)
        return key

    def _note(self, ordinal: int, gpu: GpuFact | None) -> _Key:
        key = (ordinal, -1, "") if gpu is None else (ordinal, -1 if gpu.gpu_id is None else gpu.gpu_id, gpu.uuid or "")
        self._gpus[key] = gpu
        return key

    def keys(self) -> set[_Key]:
        """Return the devices that had rows, and those that the trace knows and that had none."""
        for (_, ordinal), gpu in self._facts.gpu_of.items():
            self._note(ordinal, gpu)
        if not self._facts.gpu_of:
            used = {ordinal for ordinal, _, _ in self._gpus}
            for gpu in self._facts.gpus:
                if gpu.ordinal is not None and gpu.ordinal not in used:
                    self._note(gpu.ordinal, gpu)
        return set(self._gpus)

    def gpu(self, key: _Key) -> GpuFact | None:
        """Return the GPU of a key, None when the trace does not name it."""
        return self._gpus[key]

    def shared(self) -> tuple[int, ...]:
        """Return the ordinals that stand for more than one GPU."""
        uses = Counter(ordinal for ordinal, _, _ in self._gpus)
        return tuple(sorted(ordinal for ordinal, count in uses.items() if count > 1))
