"""Kernels, API calls and categories of each device for itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s, grouped_union
from nsys_digest.algorithms.streaming import windows_of_sorted
from nsys_digest.model.base_types import CountTotal
from nsys_digest.model.kernel_categories import OTHER
from nsys_digest.model.section_types import Category
from nsys_digest.model.split_types import DeviceUse
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.selection import Selection
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import NONE, Calls, Events, process_of_thread
from nsys_digest.trace.nsys.tables import name_of

_SEVERAL = -2


def device_of_calls(events: Events) -> Int64s:
    """Return the index of the device of each call, -1 where the trace does not tell.

    It is the one that ran what the call launched, of several the one that began first. A call that launched nothing is
    of the only device on which its thread launched work, or of the only one of its process where its thread has none.
    """
    operations, calls = events.operations, events.calls
    device = np.full(calls.start_ns.size, NONE, np.int64)
    linked = np.flatnonzero(operations.call != NONE)
    # the first to start comes last, so that it is what stays
    linked = linked[np.lexsort((operations.device[linked], operations.start_ns[linked]))][::-1]
    device[operations.call[linked]] = operations.device[linked]
    thread = np.repeat(np.arange(len(calls.threads)), np.diff(calls.edges))
    processes = [process_of_thread(one) for one in calls.threads]
    numbers = {process: number for number, process in enumerate(dict.fromkeys(processes))}
    process_of = np.array([numbers[process] for process in processes], np.int64)
    by_thread = _only_device(thread, device, len(calls.threads))
    by_process = _only_device(process_of[thread], device, len(numbers))[process_of]
    fallback = np.where(by_thread == NONE, by_process, by_thread)  # a thread of several devices is of none
    fallback = np.where(by_thread == _SEVERAL, NONE, np.maximum(fallback, NONE))
    unknown = np.flatnonzero(device == NONE)
    device[unknown] = fallback[thread[unknown]]
    return device


def _only_device(owner: Int64s, device: Int64s, owners: int) -> Int64s:
    """Return the only device of the calls of each owner; -1 of none that has one, -2 of several."""
    known = np.flatnonzero(device != NONE)
    least, most = np.full(owners, np.iinfo(np.int64).max), np.full(owners, NONE)
    np.minimum.at(least, owner[known], device[known])
    np.maximum.at(most, owner[known], device[known])
    return np.where((most != NONE) & (least != most), _SEVERAL, most)


def _totals(
    names: Sequence[str], place: Ints, device: Int64s, length_ns: Int64s, devices: int
) -> list[dict[str, CountTotal]]:
    """Add up lengths by device and name; ``names`` are by place and may repeat. Most total time first, then by name."""
    ids: dict[str, int] = {}
    id_of = np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
    key = device * len(ids) + (id_of[place] if place.size else place)
    count = np.bincount(key, minlength=devices * len(ids)).reshape(devices, len(ids))
    total_ns = np.zeros(devices * len(ids), np.int64)
    np.add.at(total_ns, key, length_ns)
    found = []
    for counts, totals in zip(count.tolist(), total_ns.reshape(devices, len(ids)).tolist(), strict=True):
        rows = ((name, CountTotal(counts[index], totals[index])) for name, index in ids.items() if counts[index])
        found.append(dict(sorted(rows, key=lambda row: (-row[1].total_ns, row[0]))))
    return found


def _kernels(context: Context, devices: int) -> list[dict[str, CountTotal]]:
    operations, own = context.events.operations, np.flatnonzero(context.whole_kernels.is_kernel)
    counts, within_ns = context.selection.clip(operations.start_ns[own], operations.end_ns[own])
    own = own[counts]
    names = [name_of(short, context.strings) for short, _ in operations.kernel_labels]
    return _totals(names, operations.label[own], operations.device[own].astype(np.int64), within_ns, devices)


def _api(calls: Calls, device: Int64s, selection: Selection, devices: int) -> list[dict[str, CountTotal]]:
    """Return the calls of each device, and behind them those of no known one."""
    counts, within_ns = selection.clip(calls.start_ns, calls.end_ns)
    device = np.where(device == NONE, devices, device)[counts]
    return _totals(calls.names, calls.group[counts], device, within_ns, devices + 1)


def _categories(context: Context, devices: int) -> list[Mapping[str, Category]]:
    operations, selection = context.events.operations, context.selection
    names, category = context.whole_kernels.by_name(
        [found.category if found else OTHER for found in context.whole_kernels.patterns]
    )
    own = np.flatnonzero(context.whole_kernels.is_kernel)
    start_ns, end_ns = operations.start_ns[own], operations.end_ns[own]
    key = operations.device[own].astype(np.int64) * len(names) + category[own]
    counts, within_ns = selection.clip(start_ns, end_ns)
    sums, unions = np.zeros((devices, len(names)), np.int64), np.zeros((devices, len(names)), np.int64)
    np.add.at(sums.reshape(-1), key[counts], within_ns)
    for window in selection.clip_grouped(windows_of_sorted(start_ns, end_ns, key)):
        merged = grouped_union(window.start_ns, window.end_ns, window.group)
        np.add.at(unions.reshape(-1), merged.group, merged.end_ns - merged.start_ns)
    found: list[Mapping[str, Category]] = []
    for device, number in enumerate(np.bincount(key[counts], minlength=sums.size).reshape(sums.shape).tolist()):
        shares_ns = context.shared_out.of(device)
        rows = (
            (name, Category(number[index], int(sums[device, index]), int(unions[device, index]), shares_ns[name]))
            for index, name in enumerate(names)
            if number[index]
        )
        found.append(dict(sorted(rows, key=lambda row: (-row[1].sum_ns, row[0]))))
    return found


def _make(context: Context) -> Made:
    devices = len(context.gpu.devices)
    kernels, categories = _kernels(context, devices), _categories(context, devices)
    api = _api(context.events.calls, device_of_calls(context.events), context.selection, devices)
    found = [
        DeviceUse(device.device, kernels[index], api[index], categories[index])
        for index, device in enumerate(context.gpu.devices)
    ]
    if api[devices]:
        found.append(DeviceUse(None, {}, api[devices], {}))
    return Made(tuple(found))


SECTION = Section("by_device", _make, Lane.time, frozenset({Blind.whole_graphs, Blind.unlaunched_work}))
