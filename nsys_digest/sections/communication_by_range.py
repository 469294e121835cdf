"""Collectives by the ranges around the calls that launched them, and how much of their time other kernels hid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, GroupedIntervals, Int64s, Intervals, grouped_union
from nsys_digest.algorithms.lines import batches
from nsys_digest.algorithms.members import by_value
from nsys_digest.algorithms.streaming import StreamingUnion
from nsys_digest.model.split_types import RangeCommunication
from nsys_digest.sections.classified import Classified, kind_of_collective
from nsys_digest.sections.launched import LaunchedWork
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section
from nsys_digest.selection import Selection
from nsys_digest.trace.events import NONE, Events


def communication_by_range(
    events: Events,
    kernels: Classified,
    exposed: Sequence[Intervals],
    names: Sequence[str],
    selection: Selection,
) -> dict[str, RangeCommunication]:
    """Return the collectives of each range name that has some; ``names`` are those of the groups of ranges.

    A collective is of every name with a range around its launch call, on the thread of that range; of each name once.
    """
    of_label = np.array([bool(kind_of_collective(found)) for found in kernels.patterns], bool)
    collective = kernels.is_kernel & (events.operations.call != NONE)
    collective[collective] = of_label[events.operations.label[collective]]
    chosen = np.flatnonzero(collective)
    if not chosen.size or not events.ranges.start_ns.size:
        return {}
    ids: dict[str, int] = {}
    name_of_group = np.array([ids.setdefault(name, len(ids)) for name in names], np.int64)
    devices = len(exposed)
    count, sum_ns, union_ns, exposed_ns = (np.zeros(len(ids), np.int64) for _ in range(4))
    unions = StreamingUnion()
    for operation, own in _launched(events, chosen, name_of_group):
        start_ns, end_ns = events.operations.start_ns[operation], events.operations.end_ns[operation]
        counts, within_ns = selection.clip(start_ns, end_ns)
        count += np.bincount(own[counts], minlength=len(ids))
        np.add.at(sum_ns, own[counts], within_ns)
        unions.add(start_ns, end_ns, own * devices + events.operations.device[operation])
    coverage = [Coverage(selection.clip_merged(bare)) for bare in exposed]
    for window in selection.clip_grouped(unions.windows()):
        merged = grouped_union(window.start_ns, window.end_ns, window.group)
        own, device = np.divmod(merged.group, devices)
        np.add.at(union_ns, own, merged.end_ns - merged.start_ns)
        np.add.at(exposed_ns, own, _covered(coverage, merged, device))
    found = {}
    for name, index in ids.items():
        if count[index]:
            union, bare = int(union_ns[index]), int(exposed_ns[index])
            found[name] = RangeCommunication(int(count[index]), int(sum_ns[index]), union, union - bare, bare)
    return dict(sorted(found.items(), key=lambda row: (-row[1].union_ns, row[0])))


def _covered(coverage: Sequence[Coverage], merged: GroupedIntervals, device: Int64s) -> Int64s:
    covered = np.zeros(device.size, np.int64)
    for index, own in by_value(device):
        covered[own] = coverage[index].within(merged.start_ns[own], merged.end_ns[own])
    return covered


def _launched(events: Events, chosen: Int64s, name_of_group: Int64s) -> Iterator[tuple[Int64s, Int64s]]:
    """Yield operations and the name of a range around the launch of each, of each name once."""
    operations, ranges = events.operations, events.ranges
    some = replace(
        operations,
        **{
            column: getattr(operations, column)[chosen]
            for column in ("start_ns", "end_ns", "kind", "device", "label", "call", "correlation")
        },
    )
    work = LaunchedWork(replace(events, operations=some))
    thread = np.repeat(np.arange(len(ranges.threads), dtype=np.int32), np.diff(ranges.edges))
    for threads in batches(ranges.edges[: len(events.calls.threads) + 1], 0, 0):
        part = slice(int(ranges.edges[threads.low]), int(ranges.edges[threads.high]))
        own = np.flatnonzero(ranges.ends_on_thread[part]) + part.start
        found = work.within(thread[own], ranges.start_ns[own], ranges.end_ns[own])
        # ranges of one name that nest have the same calls: merged, each call is of a name once
        merged = grouped_union(found.first, found.after, name_of_group[ranges.group[own[found.asked]]])
        for operation, stretch in work.operations(merged.start_ns, merged.end_ns):
            yield chosen[operation], merged.group[stretch]


def _make(context: Context) -> Made:
    return Made(
        communication_by_range(
            context.events, context.whole_kernels, context.exposed, context.scanned.nvtx.names, context.selection
        )
    )


SECTION = Section("communication_by_range", _make, Lane.time, frozenset({Blind.whole_graphs, Blind.unlaunched_work}))
