"""What threads did on the CPU, by the thread of the calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.lines import by_line
from nsys_digest.trace.collect.host import HostRows
from nsys_digest.trace.columns import Ints
from nsys_digest.trace.events import NONE, Frames, HostActivity, OsCalls, Samples, Scheduling, process_of_thread


def link_host(rows: HostRows, threads: Sequence[int]) -> HostActivity:
    """Put rows in order, by thread of the calls, then by time; those of other threads are let go."""
    number = {thread: index for index, thread in enumerate(threads)}
    of_thread = np.array([number.get(thread, NONE) for thread in rows.threads], np.int64)
    traced = {process_of_thread(rows.threads[one]) for one in np.unique(rows.os_thread).tolist()}
    return HostActivity(
        calls=_os_calls(rows, of_thread, len(threads)),
        scheduling=_scheduling(rows, of_thread, len(threads)),
        samples=_samples(rows, of_thread, len(threads)),
        frames=Frames(rows.frame_sample, rows.frame_depth, rows.frame_symbol, rows.frame_module),
        has_os_calls=np.array([process_of_thread(thread) in traced for thread in threads], bool),
    )


def _os_calls(rows: HostRows, of_thread: Int64s, threads: int) -> OsCalls:
    order, edges = _order(rows.os_start_ns, of_thread, rows.os_thread, threads)
    start_ns, end_ns, name = (column[order] for column in (rows.os_start_ns, rows.os_end_ns, rows.os_name))
    again = (start_ns[1:] == start_ns[:-1]) & (end_ns[1:] == end_ns[:-1])
    if again.any():  # of equal calls the same one must decide, in whatever order the rows were read
        text = np.array(rows.os_names, np.int64)[name]
        order = order[np.lexsort((text, end_ns, start_ns, of_thread[rows.os_thread[order]]))]
        start_ns, end_ns, name = (column[order] for column in (rows.os_start_ns, rows.os_end_ns, rows.os_name))
    return OsCalls(start_ns, end_ns, name, edges, rows.os_names)


def _scheduling(rows: HostRows, of_thread: Int64s, threads: int) -> Scheduling:
    order, edges = _order(rows.sched_ns, of_thread, rows.sched_thread, threads)
    time_ns, is_in = rows.sched_ns[order], rows.sched_is_in[order]
    if (time_ns[1:] == time_ns[:-1]).any():  # a thread that leaves a CPU for another is on it
        order = order[np.lexsort((is_in, time_ns, of_thread[rows.sched_thread[order]]))]
        time_ns, is_in = rows.sched_ns[order], rows.sched_is_in[order]
    any_row = rows.sched_ns.size > 0
    first_ns, last_ns = (int(rows.sched_ns.min()), int(rows.sched_ns.max())) if any_row else (0, 0)
    return Scheduling(time_ns, is_in, edges, first_ns, last_ns, any_in_trace=any_row)


def _samples(rows: HostRows, of_thread: Int64s, threads: int) -> Samples:
    order, edges = _order(rows.sample_ns, of_thread, rows.sample_thread, threads)
    return Samples(rows.sample_ns[order], rows.sample_id[order], edges, any_in_trace=rows.sample_ns.size > 0)


def _order(time_ns: Int64s, of_thread: Int64s, thread: Ints, threads: int) -> tuple[Int64s, Int64s]:
    """Return the rows of threads of the calls in order, and the edges of each thread."""
    line = of_thread[thread] if thread.size else np.zeros(0, np.int64)
    kept = np.flatnonzero(line != NONE)
    order = kept[by_line(time_ns[kept], line[kept])]
    return order, np.searchsorted(line[order], np.arange(threads + 1))
