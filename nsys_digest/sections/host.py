"""What threads did in host code while a GPU was idle: a split of the cause ``host`` of each device."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypedDict

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals
from nsys_digest.algorithms.lines import Lines, lines_of
from nsys_digest.model.base_types import Warn
from nsys_digest.model.host_types import HostCall, HostFunction, HostSplit
from nsys_digest.model.os_calls import state_in
from nsys_digest.sections.device_gaps import ThreadGaps, device_gaps
from nsys_digest.sections.host_functions import by_function, stacks
from nsys_digest.sections.idle import NO_RANGE, host_of
from nsys_digest.sections.os_timeline import STATES, OsTimeline, shown_states
from nsys_digest.sections.section import Context, Lane, Made, Section
from nsys_digest.sections.thread_timeline import ThreadTimeline, thread_batches
from nsys_digest.selection import WHOLE, Selection
from nsys_digest.trace.events import Events, HostActivity, Samples
from nsys_digest.trace.nsys.tables import name_of

_UNSEEN: Final = (
    ("calls of the OS runtime libraries", "-t cuda,nvtx,osrt", "blocked, io, sleep and other_os_call"),
    ("scheduling", "--cpuctxsw=process-tree", "descheduled"),
    ("sampled call stacks", "--sample=process-tree", "host_functions"),
)


class _Sampled(TypedDict):
    """The fields of a split that sampled call stacks give."""

    sample_count: int | None
    functions: tuple[HostFunction, ...] | None
    leaves: tuple[HostFunction, ...] | None


class _DeviceHost:
    """The host time of one device, added up batch of threads by batch of threads."""

    def __init__(
        self, events: Events, activity: HostActivity, own: Int64s, state_of_name: Int64s, selection: Selection
    ) -> None:
        """Take the operations of the device."""
        self.by_thread = ThreadGaps.of(events, device_gaps(events, own, selection))
        self._activity, self._state_of_name = activity, state_of_name
        groups = int(events.ranges.group.max(initial=-1)) + 1
        self._group_of_range = events.ranges.group
        self._by_group = np.zeros((len(STATES), groups), np.int64)
        self._states, self._outside = (np.zeros(len(STATES), np.int64) for _ in range(2))
        self._calls = np.zeros(len(activity.calls.names), np.int64)
        self._samples: list[Int64s] = []

    def add(self, lines: Lines, host: Intervals, timeline: ThreadTimeline, own: OsTimeline) -> None:
        """Take the host code of some threads, as places."""
        group = self._group_of_range[timeline.ranges.owner]
        own, in_calls = own.within(host)
        for index, pieces in enumerate(own.states(host, self._state_of_name)):
            if pieces.start_ns.size:
                within = Coverage(pieces).within(timeline.ranges.start_ns, timeline.ranges.end_ns)
                np.add.at(self._by_group[index], group, within)
                self._states[index] += pieces.total_ns
                self._outside[index] += pieces.total_ns - int(within.sum())
        np.add.at(self._calls, own.name, in_calls)
        self._samples.append(_samples_in(self._activity.samples, lines, host))

    def result(self, strings: Mapping[int, str], range_names: Sequence[str]) -> HostSplit:
        """Return what was added up; the names are by group."""
        activity, shown = self._activity, shown_states(self._activity)
        by_name: defaultdict[str, Int64s] = defaultdict(lambda: np.zeros(len(STATES), np.int64))
        for group in np.flatnonzero(self._by_group.any(axis=0)).tolist():
            by_name[range_names[group]] = by_name[range_names[group]] + self._by_group[:, group]
        by_name[NO_RANGE] = by_name[NO_RANGE] + self._outside
        ranges = [(name, ns) for name, ns in by_name.items() if ns.any()]
        ranges.sort(key=lambda row: (-int(row[1].sum()), row[0]))
        return HostSplit(
            states_ns={STATES[one].value: int(self._states[one]) for one in shown},
            states_by_nvtx_ns={name: _some(ns) for name, ns in ranges},
            calls=self._os_calls(strings) if activity.calls.names else None,
            **self._sampled(strings),
        )

    def _os_calls(self, strings: Mapping[int, str]) -> tuple[HostCall, ...]:
        by_name: Counter[str] = Counter()
        for one in np.flatnonzero(self._calls).tolist():
            by_name[name_of(self._activity.calls.names[one], strings)] += int(self._calls[one])
        calls = [HostCall(name, state_in(name).value, ns) for name, ns in by_name.items()]
        return tuple(sorted(calls, key=lambda call: (-call.sum_ns, call.name)))

    def _sampled(self, strings: Mapping[int, str]) -> _Sampled:
        if not self._activity.samples.any_in_trace:
            return _Sampled(sample_count=None, functions=None, leaves=None)
        frames = self._activity.frames
        leaf, outside = stacks(frames, np.sort(np.concatenate(self._samples or [np.zeros(0, np.int64)])), strings)
        return _Sampled(
            sample_count=leaf.size,
            functions=by_function(frames, outside, strings),
            leaves=by_function(frames, leaf, strings),
        )


def _some(ns: Int64s) -> dict[str, int]:
    return {STATES[one].value: int(ns[one]) for one in np.flatnonzero(ns).tolist()}


def _samples_in(samples: Samples, lines: Lines, host: Intervals) -> Int64s:
    """Return the samples of a batch of threads that were taken in host code, as places."""
    part = slice(int(samples.edges[lines.low]), int(samples.edges[lines.high]))
    inside = (samples.time_ns[part] >= lines.origin_ns) & (samples.time_ns[part] < lines.origin_ns + lines.width_ns)
    place = lines.put(samples.time_ns[part][inside], lines_of(samples.edges, lines.low, lines.high)[inside])
    last = np.searchsorted(host.start_ns, place, side="right") - 1
    begun = np.flatnonzero(last >= 0)
    within = begun[place[begun] < host.end_ns[last[begun]]]
    return samples.sample[part][inside][within].astype(np.int64)


def host(
    events: Events,
    activity: HostActivity,
    devices: Iterable[Int64s],
    strings: Mapping[int, str],
    range_names: Sequence[str],
    selection: Selection = WHOLE,
) -> tuple[HostSplit, ...]:
    """Split the host time of each device, in their order, as section idle has it.

    ``devices`` are the operations of each that has a span, ``strings`` the texts of string ids, ``range_names`` the
    names of ranges by group.
    """
    state_of_name = np.array(
        [STATES.index(state_in(name_of(name, strings))) for name in activity.calls.names], np.int64
    )
    found = [_DeviceHost(events, activity, own, state_of_name, selection) for own in devices]
    for lines in thread_batches(events, selection.window):
        timeline, own = ThreadTimeline.of(events, lines), OsTimeline.of(activity, lines)
        for device in found:
            device.add(lines, host_of(events, device.by_thread, lines, timeline), timeline, own)
    return tuple(device.result(strings, range_names) for device in found)


def _unseen(activity: HostActivity) -> Iterator[Warn]:
    """Say which tables the trace lacks."""
    there = (bool(activity.calls.names), activity.scheduling.any_in_trace, activity.samples.any_in_trace)
    lacking = [told for told, present in zip(_UNSEEN, there, strict=True) if not present]
    if lacking:
        what, how, lost = zip(*lacking, strict=True)
        yield Warn(
            "host-unseen",
            f"The trace has no {', no '.join(what)}, so that host code is not told apart by {', '.join(lost)}: profile "
            f"with {' '.join(how)}, as far as the system allows it",
        )


def _make(context: Context) -> Made:
    activity = context.events.host
    assert activity is not None
    names = context.scanned.nvtx.names
    devices = map(context.of_devices.of, context.devices_with_span)
    value = host(context.events, activity, devices, context.strings, names, context.selection)
    return Made(value, tuple(_unseen(activity)))


SECTION = Section("host", _make, Lane.time)
