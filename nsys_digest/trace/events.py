"""Operations, calls, ranges and marks one by one, as linking leaves them: frozen, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.trace.columns import Bools, Ints
from nsys_digest.trace.nsys.overheads import Overhead
from nsys_digest.trace.nsys.tables import THREAD_BITS

NONE = -1
CLASSES = tuple(CallClass)
OVERHEADS = tuple(Overhead)


class CopyLabel(NamedTuple):
    """What kind of copy it is, and between which kinds of memory, in the numbers of nsys."""

    kind: int
    source: int
    destination: int
    cause: int
    """What caused a migration; 0 where it is none, or the trace does not say."""


@dataclass(frozen=True, slots=True)
class Copies:
    """Every copy that counts, in the order of the operations; arrays of shape (n,)."""

    label: Ints
    """Index into the labels of copies."""
    bytes: Ints
    length_ns: Ints
    part_ns: Ints
    """The time within what is looked at."""


@dataclass(frozen=True, slots=True)
class Calls:
    """CUDA API calls, by thread, then by start; arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are the calls of thread ``t``, whose globalTid is ``threads[t]``.
    """

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    """Index into the groups of the totals: (process, name)."""
    correlation: Ints
    edges: Int64s
    threads: tuple[int, ...]
    names: tuple[str, ...]
    """Recorded name of each group."""
    class_of_group: Int64s
    """Index into ``CLASSES`` of each group."""
    graph_group: Bools
    """Whether a group is a CUDA graph launch."""
    process_of_group: Int64s
    """The globalPid of each group."""
    failed: Int64s
    """The calls that returned an error, in order."""

    def of_thread(self, thread: int) -> slice:
        """Return where the calls of a thread are."""
        return slice(int(self.edges[thread]), int(self.edges[thread + 1]))

    def thread_of(self, call: Ints) -> Int64s:
        """Return the thread of each call."""
        return np.searchsorted(self.edges, call, side="right") - 1


@dataclass(frozen=True, slots=True)
class Operations:
    """GPU operations in order of start; arrays of shape (n,)."""

    start_ns: Int64s
    end_ns: Int64s
    kind: Ints
    """Index into ``GPU_KINDS``."""
    device: Ints
    """Index into the devices of the digest."""
    label: Ints
    """What it is: of a kernel an index into ``kernel_labels``, of a copy one into ``copy_labels``, of a set one into
    ``set_sizes``, of a graph launch one into ``graph_ids``."""
    call: Ints
    """Index into the calls: the one that launched it; ``NONE`` where the trace does not say."""
    correlation: Ints
    launchable: Int64s
    """How many of each group of the totals a call should have launched: all but page migrations."""
    unlinked: Int64s
    """How many of these have no call."""
    kernel_labels: tuple[tuple[int, int], ...]
    """(string id of the short name, string id of the full name)."""
    copy_labels: tuple[CopyLabel, ...]
    copies: Copies
    set_bytes: int
    """Bytes of all sets together."""
    set_sizes: tuple[int, ...] = ()
    graph_ids: tuple[int, ...] = ()
    """The executable graph of each label, 0 where the trace does not say."""


@dataclass(frozen=True, slots=True)
class Ranges:
    """NVTX ranges, by thread, then by start, the outer one first; open ones are closed. Arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are the ranges that began on thread ``t`` of the calls; threads without a call follow.
    """

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    """Index into the groups of the totals: (domain, name)."""
    is_push_pop: Bools
    ends_on_thread: Bools
    was_open: Bools
    edges: Int64s
    threads: tuple[int, ...]

    def of_thread(self, thread: int) -> slice:
        """Return where the ranges of a thread are; nowhere for a thread that has none."""
        if thread >= self.edges.size - 1:
            return slice(0, 0)
        return slice(int(self.edges[thread]), int(self.edges[thread + 1]))


@dataclass(frozen=True, slots=True)
class Marks:
    """Marks and ranges of the dispatch prefix; arrays of shape (n,)."""

    start_ns: Int64s
    name: Int64s
    """Index into ``names``."""
    thread: Int64s
    """Numbered as those of the ranges."""
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WaitedFor:
    """What waits of one process were for, in order of correlation id; arrays of shape (n,)."""

    correlation: Ints
    context: Ints
    stream: Ints
    event: Ints

    def event_of(self, correlation: Ints) -> Int64s:
        """Return the event that each call waited for; -1 where no row, or more than one, tells."""
        first = np.searchsorted(self.correlation, correlation, side="left")
        known = np.searchsorted(self.correlation, correlation, side="right") - first == 1
        event = np.full(correlation.size, NONE)
        event[known] = self.event[first[known]]
        return event

    def of(self, correlation: Ints) -> tuple[Int64s, Int64s]:
        """Return the context and the stream that each call waited for; -1 where no row, or more than one, tells."""
        first = np.searchsorted(self.correlation, correlation, side="left")
        known = np.searchsorted(self.correlation, correlation, side="right") - first == 1
        context, stream = (np.full(correlation.size, NONE) for _ in range(2))
        context[known], stream[known] = self.context[first[known]], self.stream[first[known]]
        return context, stream


@dataclass(frozen=True, slots=True)
class Overheads:
    """Rows of overhead, by thread, then by start; arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are those of thread ``t`` of the calls, and those of other threads come last; each has a
    length.
    """

    start_ns: Int64s
    end_ns: Int64s
    kind: Ints
    """Index into ``OVERHEADS``."""
    edges: Int64s
    of_driver: bool
    """Whether the trace has overhead of the driver, on any thread: loading, compilation, full queues."""


@dataclass(frozen=True, slots=True)
class OsCalls:
    """Calls of the OS runtime libraries, by thread of the calls, then by start; each has a length."""

    start_ns: Int64s
    end_ns: Int64s
    name: Ints
    """Index into ``names``."""
    edges: Int64s
    names: tuple[int, ...]
    """String ids."""


@dataclass(frozen=True, slots=True)
class Scheduling:
    """When threads came onto a CPU or left it, by thread of the calls, then by time."""

    time_ns: Int64s
    is_in: Ints
    """1 where the thread came onto a CPU, 0 where it left one."""
    edges: Int64s
    first_ns: int
    """When scheduling was first and last recorded, of any thread; both 0 where it never was."""
    last_ns: int
    any_in_trace: bool
    """Whether the trace has scheduling, of any thread."""


@dataclass(frozen=True, slots=True)
class Samples:
    """When call stacks of threads were sampled, by thread of the calls, then by time."""

    time_ns: Int64s
    sample: Ints
    edges: Int64s
    any_in_trace: bool
    """Whether the trace has samples, of any thread."""


@dataclass(frozen=True, slots=True)
class Frames:
    """Frames of all sampled call stacks, in no order; arrays of shape (n,)."""

    sample: Ints
    depth: Ints
    """0 is the function that ran."""
    symbol: Ints
    """String id; ``NO_STRING`` for an address without a name."""
    module: Ints
    """String id."""


@dataclass(frozen=True, slots=True)
class HostActivity:
    """What the threads of the calls did on the CPU; a table that the trace lacks gives the same as an empty one."""

    calls: OsCalls
    scheduling: Scheduling
    samples: Samples
    frames: Frames
    has_os_calls: Bools
    """Whether the process of each thread has calls of the OS runtime libraries."""


@dataclass(frozen=True, slots=True)
class PageFaults:
    """Page faults of unified memory; None where the trace has no table of them."""

    cpu: int | None
    gpu: int | None


@dataclass(frozen=True, slots=True)
class Events:
    """Everything one by one; the marks are by thread, then by start, then by name."""

    operations: Operations
    calls: Calls
    overheads: Overheads
    ranges: Ranges
    marks: Marks
    waits: Mapping[int, WaitedFor]
    """By globalPid; of processes for which the trace says it."""
    host: HostActivity | None
    """None unless it is asked for."""
    page_faults: PageFaults
    event_streams: Mapping[tuple[int, int, int], int]
    """The stream on which each (globalPid, context, event) was recorded; ``NONE`` where on several."""


def process_of_thread(global_tid: int) -> int:
    """Return the globalPid of a globalTid."""
    return global_tid & ~THREAD_BITS
