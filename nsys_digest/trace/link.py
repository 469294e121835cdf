"""Each operation linked to the call that launched it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.members import Members, members
from nsys_digest.algorithms.nesting import running_max
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, call_class, call_name
from nsys_digest.trace.collect.api import ApiTotals, CallRows
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.collect.operations import OperationRows
from nsys_digest.trace.collect.overheads import OverheadRows
from nsys_digest.trace.collect.whole import EventRows, Scanned
from nsys_digest.trace.columns import Bools, Ints, smallest_type
from nsys_digest.trace.events import CLASSES, NONE, OVERHEADS, Calls, Events, Marks, Operations, Overheads
from nsys_digest.trace.link_host import link_host
from nsys_digest.trace.nsys.overheads import Overhead, overhead_of
from nsys_digest.trace.nsys.tables import GPU_KINDS, MIGRATION_KINDS, name_of

_DENSE = 8
_SLICE = 1 << 18


def link(
    rows: EventRows,
    scanned: Scanned,
    names: Mapping[int, str],
    devices: Sequence[int],
    counts: Bools | None = None,
) -> Events:
    """Link operations to calls, and put marks in order.

    ``names`` are the texts of string ids, ``devices`` the index into the devices of the digest of each place.
    ``counts`` tells which operations count; None is all.
    """
    calls = _calls(rows.calls, scanned.api, names)
    operations = _operations(rows.operations, scanned.gpu, devices, calls, counts)
    return Events(
        operations=operations,
        calls=calls,
        overheads=_overheads(rows.overheads, calls, names),
        ranges=rows.ranges,
        marks=_in_order(scanned.nvtx.marks),
        waits=rows.waits,
        host=None if rows.host is None else link_host(rows.host, calls.threads),
        page_faults=rows.page_faults,
        event_streams=rows.event_streams,
    )


def _calls(rows: CallRows, api: ApiTotals, names: Mapping[int, str]) -> Calls:
    texts = tuple(name_of(name, names) for _, name in api.groups)
    return Calls(
        start_ns=rows.start_ns,
        end_ns=rows.end_ns,
        group=rows.group,
        correlation=rows.correlation,
        edges=rows.edges,
        threads=rows.threads,
        names=texts,
        class_of_group=np.array([CLASSES.index(call_class(text)) for text in texts], np.int64),
        graph_group=np.array([call_name(text) in GRAPH_LAUNCH_CALLS for text in texts], bool),
        process_of_group=np.array([process for process, _ in api.groups], np.int64),
        failed=rows.failed,
    )


def _overheads(rows: OverheadRows, calls: Calls, names: Mapping[int, str]) -> Overheads:
    """Put rows in order by thread of the calls, and say what each is."""
    number = {thread: index for index, thread in enumerate(calls.threads)}
    of_thread = np.array([number.get(thread, len(number)) for thread in rows.threads], np.int64)
    kinds = [overhead_of(table, name_of(name, names), kind) for table, name, kind in rows.labels]
    of_label = np.array([OVERHEADS.index(kind) for kind in kinds], np.int8)
    thread, kind = of_thread[rows.thread], of_label[rows.label]
    order = np.lexsort((kind, rows.end_ns, rows.start_ns, thread))
    edges = np.searchsorted(thread[order], np.arange(len(calls.threads) + 1))
    of_driver = any(kind in (Overhead.loading, Overhead.queue_full) for kind in kinds)
    return Overheads(rows.start_ns[order], rows.end_ns[order], kind[order], edges, of_driver)


def _operations(
    rows: OperationRows, gpu: GpuTotals, devices: Sequence[int], calls: Calls, counts: Bools | None
) -> Operations:
    pairs = np.array(gpu.groups, np.int64).reshape(-1, 2)
    kind_of, place_of = pairs[:, 0], pairs[:, 1]
    process_of_place = np.array([place.process for place in gpu.places], np.int64)
    processes_of_calls = np.unique(calls.process_of_group)
    of_one_program = not process_of_place.any() and processes_of_calls.size == 1
    if of_one_program:
        process_of_place[:] = processes_of_calls  # an old export that names no process, of a program that has only one
    process_of_group = process_of_place[place_of]
    call: Ints = np.full(rows.start_ns.size, NONE, smallest_type(calls.start_ns.size))
    processes = np.unique(process_of_group[(process_of_group != 0) | of_one_program])
    operations_of = _by_process(processes, process_of_group, rows.group, rows.correlation)
    calls_of = _by_process(processes, calls.process_of_group, calls.group, calls.correlation)
    for number in range(processes.size):
        launched, chosen = operations_of.of(number), calls_of.of(number)
        call[launched] = _launching_call(
            calls, chosen, calls.correlation[chosen], rows.correlation[launched], rows.start_ns[launched]
        )
    launchable, unlinked = _count_unlinked(rows, gpu, call, counts)
    return Operations(
        start_ns=rows.start_ns,
        end_ns=rows.end_ns,
        kind=kind_of.astype(np.int8)[rows.group],
        device=np.array(devices, smallest_type(max(devices, default=0)))[place_of][rows.group],
        label=rows.label,
        call=call,
        correlation=rows.correlation,
        launchable=launchable,
        unlinked=unlinked,
        kernel_labels=rows.kernel_labels,
        copy_labels=rows.copy_labels,
        copies=rows.copies,
        set_bytes=rows.set_bytes,
        set_sizes=rows.set_sizes,
        graph_ids=rows.graph_ids,
    )


def _by_process(processes: Int64s, process_of_group: Int64s, group: Ints, correlation: Ints) -> Members:
    """Return the rows with a correlation id of each of those processes."""
    position = np.searchsorted(processes, process_of_group)
    known = np.isin(process_of_group, processes)
    rows = np.flatnonzero(known[group] & (correlation != 0)) if group.size else np.zeros(0, np.int64)
    found = members(position[group[rows]] if processes.size > 1 else rows, processes.size)
    return Members(rows[found.rows], found.edges)


def _count_unlinked(rows: OperationRows, gpu: GpuTotals, call: Ints, counts: Bools | None) -> tuple[Int64s, Int64s]:
    """Return, for each group, how many operations a call should have launched, and how many of them have none.

    Those alone that count.
    """
    is_copy = np.array([GPU_KINDS[kind] == "memcpy" for kind, _ in gpu.groups], bool)
    migrates = np.array([label.kind in MIGRATION_KINDS for label in rows.copy_labels], bool)
    without, migrations = (np.zeros(is_copy.size, np.int64) for _ in range(2))
    for low in range(0, call.size, _SLICE):
        unlinked = np.flatnonzero(call[low : low + _SLICE] == NONE) + low
        if counts is not None:
            unlinked = unlinked[counts[unlinked]]
        of_group = rows.group[unlinked]
        without += np.bincount(of_group, minlength=is_copy.size)
        if migrates.any():
            copies = np.flatnonzero(is_copy[of_group])
            moved = copies[migrates[rows.label[unlinked[copies]]]]
            migrations += np.bincount(of_group[moved], minlength=is_copy.size)
    return gpu.counts - migrations, without - migrations


def _launching_call(calls: Calls, chosen: Int64s, of_call: Ints, wanted: Ints, start_ns: Int64s) -> Int64s:
    """Return, for each wanted correlation id, the one of the chosen calls that launched work which began then, or NONE.

    An id that several calls share, as nested calls and a program that starts again in the same process do, is that of
    the last call that began by then, of nested ones the outer; where none had begun, of the first.
    """
    if not chosen.size or not wanted.size:
        return np.full(wanted.size, NONE, np.int64)
    low, high = int(of_call.min()), int(of_call.max())
    if high - low < _DENSE * chosen.size + 1024:
        place = np.subtract(of_call, low, dtype=np.int64)
        table = np.full(high - low + 1, NONE, smallest_type(chosen.size))
        table[place] = np.arange(chosen.size, dtype=table.dtype)
        shared_ids = np.unique(of_call[table[place] != np.arange(chosen.size)])
        inside = (wanted >= low) & (wanted <= high)
        found = np.full(wanted.size, NONE, np.int64)
        found[inside] = table[np.subtract(wanted[inside], low, dtype=np.int64)]
    else:
        order = np.argsort(of_call, kind="stable")
        ids = of_call[order]
        shared_ids = np.unique(ids[1:][ids[1:] == ids[:-1]])
        position = np.minimum(np.searchsorted(ids, wanted, side="left"), ids.size - 1)
        found = np.where(ids[position] == wanted, order[position], NONE)
    found = np.where(found == NONE, NONE, chosen[found])
    if shared_ids.size:
        again = np.flatnonzero(np.isin(wanted, shared_ids))
        of_shared = np.isin(of_call, shared_ids)
        found[again] = _call_by_time(calls, chosen[of_shared], of_call[of_shared], wanted[again], start_ns[again])
    return found


def _call_by_time(calls: Calls, chosen: Int64s, of_call: Ints, wanted: Ints, start_ns: Int64s) -> Int64s:
    """Return the call of each operation by id and time; every wanted id is that of a chosen call."""
    call, ids = _outer(calls, chosen, of_call)
    order = np.lexsort((calls.end_ns[call], calls.start_ns[call], ids))
    call, ids = call[order], ids[order]
    first = np.flatnonzero(np.append(True, ids[1:] != ids[:-1]))
    # calls and operations of one id in order of time, calls first where they begin together
    is_call = np.append(np.ones(call.size, bool), np.zeros(wanted.size, bool))
    merged = np.lexsort((~is_call, np.append(calls.start_ns[call], start_ns), np.append(ids, wanted)))
    begun = np.empty(merged.size, np.int64)
    begun[merged] = np.cumsum(is_call[merged]) - 1
    first_of_id = first[np.searchsorted(ids[first], wanted)]
    chosen_call: Int64s = call[np.maximum(begun[call.size :], first_of_id)]
    return chosen_call


def _outer(calls: Calls, chosen: Int64s, of_call: Ints) -> tuple[Int64s, Int64s]:
    """Return the calls that lie in no other call of the same id and thread, and the id of each."""
    order = np.lexsort((-calls.end_ns[chosen], calls.start_ns[chosen], calls.thread_of(chosen), of_call))
    call, ids = chosen[order], of_call[order].astype(np.int64)
    thread = calls.thread_of(call)
    begins = np.append(True, (ids[1:] != ids[:-1]) | (thread[1:] != thread[:-1]))
    latest_ns = running_max(calls.end_ns[call], begins)
    outer = begins.copy()
    outer[1:] |= calls.start_ns[call[1:]] >= latest_ns[:-1]
    return call[outer], ids[outer]


def _in_order(marks: Marks) -> Marks:
    """Put marks in order of thread, then of start, then of name."""
    rank = np.argsort(np.argsort(np.array(marks.names)))
    by = np.lexsort((rank[marks.name], marks.start_ns, marks.thread)) if marks.start_ns.size else marks.start_ns
    return Marks(marks.start_ns[by], marks.name[by], marks.thread[by], marks.names)
