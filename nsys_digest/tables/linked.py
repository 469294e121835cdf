"""A linked trace as tables see it: names of devices, processes and operations, and which range was open when."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.nesting import innermost
from nsys_digest.sections.section import Context
from nsys_digest.sections.summary import LinkedTrace
from nsys_digest.tables.table import Maybe, Rows, Text, Texts, known, slices
from nsys_digest.trace.columns import Ints, smallest_type
from nsys_digest.trace.events import NONE, Events, Ranges
from nsys_digest.trace.nsys.tables import COPY_KINDS, GPU_KINDS, THREAD_BITS, name_of, processes_of


class Linked:
    """What tables are made from; what several need is worked out when the first asks for it."""

    def __init__(self, trace: LinkedTrace, dispatch_prefix: str) -> None:
        """Look at a linked trace; ``dispatch_prefix`` is how dispatch marks begin."""
        self.trace, self.context, self.dispatch_prefix = trace, trace.context, dispatch_prefix

    @property
    def events(self) -> Events:
        """All events that were read, whole."""
        return self.context.looked.all

    def operations_of(self, kind: str) -> Iterator[Int64s]:
        """Yield the operations of a kind that count, some at a time, in order of start."""
        of_kind, counts = self.events.operations.kind, self.context.looked.work_counts
        for part in slices(of_kind.size):
            chosen = of_kind[part] == GPU_KINDS.index(kind)
            if counts is not None:
                chosen &= counts[part]
            own = np.flatnonzero(chosen) + part.start
            if own.size:
                yield own

    def times(self, start_ns: Int64s, end_ns: Int64s) -> Rows:
        """Return the columns of ``TIMES`` of events that count."""
        _, part_ns = self.context.selection.clip(start_ns, end_ns)
        return {
            "start_ns": start_ns,
            "end_ns": end_ns,
            "duration_ns": np.maximum(end_ns - start_ns, 0),
            "part_ns": part_ns,
        }

    def place(self, operations: Int64s) -> Rows:
        """Return the columns of ``PLACE`` of some operations."""
        place = self._place_of_group[self.trace.group[operations]]
        process, context, stream = self._places.T
        return {
            **self.device(self.events.operations.device[operations]),
            "context_id": context[place],
            "stream_id": stream[place],
            **self.process(process[place]),
        }

    def device(self, index: Ints) -> Rows:
        """Return the columns of ``DEVICE`` of some devices, by index."""
        return {
            "device": self._ordinals[index],
            "device_name": self._device_names.of(index),
            "device_uuid": self._device_uuids.of(index),
        }

    def process(self, global_id: Int64s) -> Rows:
        """Return the columns of ``PROCESS``, by globalPid or globalTid; 0 stands for a process that nobody names."""
        ids, names = self._process_names
        process = global_id & ~np.int64(THREAD_BITS)
        index = np.minimum(np.searchsorted(ids, process), max(ids.size - 1, 0))
        index = np.where(ids[index] == process, index, NONE) if ids.size else np.full(process.size, NONE)
        return {"process_id": Maybe(processes_of(global_id), global_id != 0), "process": names.of(index)}

    def thread(self, global_tid: Int64s) -> Rows:
        """Return the columns of ``PROCESS`` and ``THREAD``, by globalTid; 0 stands for one that nobody names."""
        return {**self.process(global_tid), "thread_id": Maybe(global_tid & THREAD_BITS, global_tid != 0)}

    def call(self, call: Ints, correlation: Ints) -> Rows:
        """Return the columns of ``CALL``: of some calls, ``NONE`` for none, and the correlation id of what they did."""
        calls, there = self.events.calls, call != NONE
        at = np.where(there, call, 0)
        if not calls.start_ns.size:
            at, zeros = at[:0], np.zeros(call.size, np.int64)
            start_ns = end_ns = thread = group = zeros
            ranges: Ints = np.full(call.size, NONE)
        else:
            start_ns, end_ns, group = calls.start_ns[at], calls.end_ns[at], calls.group[at].astype(np.int64)
            thread = self.call_threads[calls.thread_of(at)]
            ranges = np.where(there, self.range_of_call[at], NONE)
        return {
            "correlation_id": known(correlation, 0),
            "call_id": known(call),
            "call": self.call_names.of(np.where(there, group, NONE)),
            "call_start_ns": Maybe(start_ns, there),
            "call_end_ns": Maybe(end_ns, there),
            "call_thread_id": Maybe(thread & THREAD_BITS, there),
            **self.range(ranges),
        }

    def range(self, index: Ints) -> Rows:
        """Return the columns of ``RANGE`` of some ranges, ``NONE`` for none."""
        return {"range_id": known(index), "range": self.range_name(index)}

    def range_name(self, index: Ints) -> Text:
        """Return the name of some ranges, ``NONE`` for none."""
        group = self.events.ranges.group
        if not group.size:
            return self.range_names.of(np.full(index.size, NONE))
        return self.range_names.of(np.where(index == NONE, NONE, group[index]))

    def operation_name(self, operations: Ints) -> Text:
        """Return what operations of what is looked at are called, as in the list of the longest gaps."""
        own = self.context.events.operations
        if not own.kind.size:
            return self._operation_names.of(np.full(operations.size, NONE))
        kind, label = own.kind[operations], own.label[operations].astype(np.int64)
        code = self._first_of_kind[kind] + np.where(self._has_labels[kind], label, 0)
        return self._operation_names.of(np.where(operations == NONE, NONE, code))

    @cached_property
    def call_names(self) -> Texts:
        """Recorded names of the groups of calls."""
        return Texts(self.events.calls.names)

    @cached_property
    def call_threads(self) -> Int64s:
        """The globalTid of each thread with a call."""
        return np.array(self.events.calls.threads, np.int64)

    @cached_property
    def range_threads(self) -> Int64s:
        """The globalTid of each thread."""
        return np.array(self.events.ranges.threads, np.int64)

    @cached_property
    def range_names(self) -> Texts:
        """Names of the groups of ranges."""
        return Texts(self.context.scanned.nvtx.names)

    @cached_property
    def range_of_call(self) -> Ints:
        """The innermost range around the start of each call on its thread."""
        calls = self.events.calls
        return innermost_at(self.events.ranges, calls.edges, calls.start_ns)

    @cached_property
    def short_names(self) -> Texts:
        """Short names of the labels of kernels."""
        strings = self.context.strings
        return Texts([name_of(short, strings) for short, _ in self.events.operations.kernel_labels])

    @cached_property
    def full_names(self) -> Texts:
        """Full names of the labels of kernels."""
        strings = self.context.strings
        return Texts([name_of(full, strings) for _, full in self.events.operations.kernel_labels])

    @cached_property
    def _places(self) -> Int64s:
        """(globalPid, context, stream) of each place."""
        places = [(place.process, place.context, place.stream) for place in self.context.scanned.gpu.places]
        return np.array(places, np.int64).reshape(-1, 3)

    @cached_property
    def _place_of_group(self) -> Int64s:
        return np.array([place for _, place in self.context.scanned.gpu.groups], np.int64)

    @cached_property
    def _ordinals(self) -> Int64s:
        return np.array(self.context.ordinals, np.int64)

    @cached_property
    def _device_names(self) -> Texts:
        return Texts([device.name for device in self.context.gpu.devices])

    @cached_property
    def _device_uuids(self) -> Texts:
        return Texts([device.uuid for device in self.context.gpu.devices])

    @cached_property
    def _process_names(self) -> tuple[Int64s, Texts]:
        named = sorted(self.trace.facts.process_names.items())
        return np.array([process for process, _ in named], np.int64), Texts([name for _, name in named])

    @cached_property
    def _operation_names(self) -> Texts:
        operations, strings = self.events.operations, self.context.strings
        kernels = [name_of(short, strings) for short, _ in operations.kernel_labels]
        copies = [f"[memcpy {COPY_KINDS.get(label.kind, 'unknown')}]" for label in operations.copy_labels]
        return Texts([*kernels, *copies, *(f"[{kind}]" for kind in GPU_KINDS)])

    @cached_property
    def _first_of_kind(self) -> Int64s:
        """Where the names of each kind begin."""
        operations = self.events.operations
        kernels, copies = len(operations.kernel_labels), len(operations.copy_labels)
        first = {"kernel": 0, "memcpy": kernels}
        return np.array([first.get(kind, kernels + copies + at) for at, kind in enumerate(GPU_KINDS)], np.int64)

    @cached_property
    def _has_labels(self) -> Int64s:
        return np.array([kind in {"kernel", "memcpy"} for kind in GPU_KINDS])


def context_with_step(context: Context, step: str) -> Context:
    """Return a context in which steps have that name."""
    return replace(context, options=replace(context.options, step=step))


def innermost_at(ranges: Ranges, edges: Int64s, time_ns: Int64s) -> Ints:
    """Return the innermost push/pop range open at each time on its thread, ``NONE`` where none is; shape (n,).

    Times of thread ``t`` are at ``edges[t]:edges[t + 1]``, in any order.
    """
    found: Ints = np.full(time_ns.size, NONE, smallest_type(ranges.start_ns.size))
    count = min(edges.size, ranges.edges.size) - 1
    both = np.flatnonzero((np.diff(edges)[:count] > 0) & (np.diff(ranges.edges)[:count] > 0))
    for thread in both.tolist():
        part = ranges.of_thread(thread)
        has_length = ranges.end_ns[part] > ranges.start_ns[part]
        own = np.flatnonzero(ranges.is_push_pop[part] & has_length) + part.start
        if not own.size:
            continue
        segments = innermost(ranges.start_ns[own], ranges.end_ns[own])
        here = slice(int(edges[thread]), int(edges[thread + 1]))
        at = np.searchsorted(segments.start_ns, time_ns[here], side="right") - 1
        inside = (at >= 0) & (time_ns[here] < segments.end_ns[at])
        found[here][inside] = own[segments.owner[at[inside]]]
    return found
