"""What threads did on the CPU, whatever thread it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.codes import Codes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.columns import Columns, Ints
from nsys_digest.trace.nsys.tables import CALL_STACKS, NO_STRING, OS_CALLS, SAMPLES, SCHEDULING
from nsys_digest.trace.source import Batch


@dataclass(frozen=True, slots=True)
class HostRows:
    """Rows of the four tables, each as its columns of shape (n,); ``thread`` columns are indices into ``threads``.

    A table without rows is there with none.
    """

    os_start_ns: Int64s
    os_end_ns: Int64s
    os_thread: Ints
    os_name: Ints
    """Index into ``os_names``, the string ids of names."""
    sched_ns: Int64s
    sched_thread: Ints
    sched_is_in: Ints
    """1 where the thread came onto a CPU, 0 where it left one."""
    sample_ns: Int64s
    sample_thread: Ints
    sample_id: Ints
    frame_sample: Ints
    frame_depth: Ints
    frame_symbol: Ints
    """String id, ``NO_STRING`` for an address without a name."""
    frame_module: Ints
    threads: tuple[int, ...]
    os_names: tuple[int, ...]

    @property
    def name_ids(self) -> set[int]:
        """The string ids of the names in use."""
        frames = {one for column in (self.frame_symbol, self.frame_module) for one in np.unique(column).tolist()}
        return {*self.os_names, *frames} - {NO_STRING}


class HostPart:
    """Some of the rows."""

    def __init__(self, rows: Mapping[str, int]) -> None:
        """Start without a row; ``rows`` is about how many each table has."""
        self._threads, self._names = Codes(), Codes()
        self._os = Columns(rows.get(OS_CALLS, 0), 2, 2)
        self._sched = Columns(rows.get(SCHEDULING, 0), 1, 2)
        self._samples = Columns(rows.get(SAMPLES, 0), 1, 2)
        self._frames = Columns(rows.get(CALL_STACKS, 0), 0, 4)

    def taker(self, table: str) -> Callable[[Batch], None]:
        """Return what takes the rows of a table, with the columns of ``host_query``."""
        takers = {
            OS_CALLS: self._add_calls,
            SCHEDULING: self._add_scheduling,
            SAMPLES: self._add_samples,
            CALL_STACKS: self._add_frames,
        }
        return takers[table]

    def _add_calls(self, batch: Batch) -> None:
        start_ns, end_ns, thread, name = map(batch.ints, ("start_ns", "end_ns", "thread", "name"))
        real = end_ns > start_ns
        if not real.all():
            start_ns, end_ns, thread, name = start_ns[real], end_ns[real], thread[real], name[real]
        self._os.add(start_ns, end_ns, self._threads.encode(thread), self._names.encode(name))

    def _add_scheduling(self, batch: Batch) -> None:
        is_in = (batch.ints("is_in") != 0).astype(np.int64)
        self._sched.add(batch.ints("time_ns"), self._threads.encode(batch.ints("thread")), is_in)

    def _add_samples(self, batch: Batch) -> None:
        self._samples.add(batch.ints("time_ns"), self._threads.encode(batch.ints("thread")), batch.ints("sample"))

    def _add_frames(self, batch: Batch) -> None:
        symbol = np.where(batch.ints("unresolved") == 1, NO_STRING, batch.ints("symbol"))
        self._frames.add(batch.ints("sample"), batch.ints("depth"), symbol, batch.ints("module"))

    def merge(self, other: HostPart) -> None:
        """Take the rows of another part."""
        thread, name = self._threads.merge(other._threads), self._names.merge(other._names)
        for start_ns, end_ns, of_thread, of_name in other._os.slices():
            self._os.add(start_ns, end_ns, thread[of_thread], name[of_name])
        for mine, theirs in ((self._sched, other._sched), (self._samples, other._samples)):
            for time_ns, of_thread, rest in theirs.slices():
                mine.add(time_ns, thread[of_thread], rest)
        for columns in other._frames.slices():
            self._frames.add(*columns)

    def finish(self) -> HostRows:
        """End the part."""
        os_start_ns, os_end_ns, os_thread, os_name = self._os.finish()
        sched_ns, sched_thread, sched_is_in = self._sched.finish()
        sample_ns, sample_thread, sample_id = self._samples.finish()
        frame_sample, frame_depth, frame_symbol, frame_module = self._frames.finish()
        return HostRows(
            os_start_ns=os_start_ns,
            os_end_ns=os_end_ns,
            os_thread=os_thread,
            os_name=os_name,
            sched_ns=sched_ns,
            sched_thread=sched_thread,
            sched_is_in=sched_is_in,
            sample_ns=sample_ns,
            sample_thread=sample_thread,
            sample_id=sample_id,
            frame_sample=frame_sample,
            frame_depth=frame_depth,
            frame_symbol=frame_symbol,
            frame_module=frame_module,
            threads=tuple(self._threads.values),
            os_names=tuple(self._names.values),
        )
