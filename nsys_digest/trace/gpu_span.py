"""When GPUs worked: the span alone, of all work or of what is looked at."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Final

import numpy as np

from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.nsys.tables import GPU_KINDS, gpu_query
from nsys_digest.trace.source import Batch, Source
from nsys_digest.trace.threads import Task, read_tables

_TIMES: Final = ("start_ns", "end_ns")
_PLACE: Final = ("process", "device", "stream")


class _Span:
    """The first start and the last end of operations that have a length."""

    def __init__(self, chosen: Chosen | None) -> None:
        self._chosen = chosen
        self.bounds: tuple[int, int] | None = None

    def add(self, batch: Batch) -> None:
        start_ns, end_ns = map(batch.ints, _TIMES)
        last_time(start_ns, end_ns)
        kept = end_ns > start_ns
        if self._chosen is not None:
            process, device, stream = map(batch.ints, _PLACE)
            kept &= np.ones(kept.size, bool) if self._chosen.processes is None else self._chosen.processes(process)
            kept &= np.ones(kept.size, bool) if self._chosen.work is None else self._chosen.work(device, stream)
        if kept.any():
            own = int(start_ns[kept].min()), int(end_ns[kept].max())
            low, high = self.bounds or own
            self.bounds = min(low, own[0]), max(high, own[1])


def gpu_span(source: Source, chosen: Chosen | None, threads: int) -> tuple[int, int] | None:
    """Return (first start, last end) of GPU work; None where there is none of any length."""
    span, lock = _Span(chosen), threading.Lock()
    needed = _TIMES if chosen is None else (*_TIMES, *_PLACE)
    tasks = []
    for kind in GPU_KINDS:
        query = gpu_query(source, kind)
        if query is not None:
            columns = {name: query.columns[name] for name in needed}
            tasks.append(Task(replace(query, columns=columns), span.add, lock))
    read_tables(source, tasks, threads, None)
    return span.bounds
