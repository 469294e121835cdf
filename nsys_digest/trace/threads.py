"""Reader threads: every row of some tables, once.

A job is one range of rows of one table. Each thread reads through a connection of its own, with Python's lock
released, and hands batches to what takes them under its lock. All threads fill the same part: one part a thread, merged
at the end, holds each name in every thread, and with whole events half of the rows twice.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from nsys_digest.errors import ValueUnreadable
from nsys_digest.trace.source import Batch, Query, RowRange, Source

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (rows read, rows in all) about ten times a second."""

_THREADED_FROM_BYTES = 64_000_000
_MAX_THREADS = 4
LEAST_JOB_ROWS = 200_000
_JOBS_PER_THREAD = 8
TICK_S = 0.1


def default_threads(byte_count: int) -> int:
    """Return how many reader threads pay off for a file of that size on this machine."""
    return min(_MAX_THREADS, os.cpu_count() or 1) if byte_count >= _THREADED_FROM_BYTES else 1


@contextmanager
def values_in_range(source: Source, what: str) -> Iterator[None]:
    """Refuse values that no capture can have, and whose sums and differences would wrap around."""
    try:
        yield
    except OverflowError as error:
        wrong = str(error) or "last more than 292 years together, so that a time stamp is damaged"
        raise ValueUnreadable(
            f"{source.path}: {what} {wrong}; export the report again with: {source.made_by}"
        ) from None


@dataclass(slots=True)
class Task:
    """A table to read, what takes its batches, and the lock that is held meanwhile."""

    query: Query
    take: Callable[[Batch], None]
    lock: threading.Lock
    rows_read: int = 0


def read_tables(source: Source, tasks: list[Task], threads: int, progress: Progress | None) -> None:
    """Read all rows of all tasks with that many threads; the calling thread only waits, so Ctrl-C ends it at once."""
    rows = [source.row_count(task.query.table, exact=False)[0] for task in tasks]
    jobs: queue.SimpleQueue[tuple[Task, RowRange]] = queue.SimpleQueue()
    for task, count in zip(tasks, rows, strict=True):
        part_rows = max(LEAST_JOB_ROWS, count // (_JOBS_PER_THREAD * threads)) if threads > 1 else max(count, 1)
        for part in source.parts(task.query.table, part_rows):
            jobs.put((task, part))
    state = _State(threads)

    def work(number: int) -> None:
        try:
            while not state.stop.is_set():
                try:
                    task, part = jobs.get_nowait()
                except queue.Empty:
                    return
                for batch in source.batches(task.query, part):
                    with task.lock, values_in_range(source, f"the events of table {task.query.table}"):
                        task.take(batch)
                        task.rows_read += len(batch)
                    if task.rows_read > source.most_rows:  # pages that name each other go on for ever
                        source.check_whole(task.query.table, task.rows_read)
                    state.rows[number] += len(batch)
                    if state.stop.is_set():
                        return
        except BaseException as error:  # handed to the calling thread, which raises it
            state.errors.append(error)
            state.stop.set()

    workers = _started([threading.Thread(target=work, args=(number,), daemon=True) for number in range(threads)])
    if not workers:
        work(0)
    try:
        for worker in workers:
            while worker.is_alive():
                worker.join(TICK_S)
                if progress is not None:
                    progress(sum(state.rows), sum(rows))
    finally:
        state.stop.set()
    if state.errors:
        raise state.errors[0]
    for task, count in zip(tasks, rows, strict=True):
        if task.query.where is None and task.rows_read != count:  # rows were deleted, or the table is damaged
            source.check_whole(task.query.table, task.rows_read)


def _started(workers: list[threading.Thread]) -> list[threading.Thread]:
    """Start threads, and return those that could be: the system limits how many a user has."""
    for number, worker in enumerate(workers):
        try:
            worker.start()
        except RuntimeError:
            return workers[:number]
    return workers


class _State:
    """What the threads of one pass share."""

    def __init__(self, threads: int) -> None:
        self.stop = threading.Event()
        self.errors: list[BaseException] = []
        self.rows = [0] * threads  # one count a thread: they are read while they grow
