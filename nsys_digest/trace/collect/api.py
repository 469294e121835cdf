"""CUDA API calls by process and name, and with detail one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.accumulators import Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.lines import by_line
from nsys_digest.model.cuda_errors import ANSWERS
from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.correlations import Correlations
from nsys_digest.trace.collect.times import last_time
from nsys_digest.trace.columns import Bools, Columns, Ints
from nsys_digest.trace.nsys.tables import API_CLASSES, OPEN, THREAD_BITS
from nsys_digest.trace.source import Batch

_COLUMNS = ("start_ns", "end_ns", "name", "event_class", "thread", "return_value")


@dataclass(frozen=True, slots=True)
class ApiTotals:
    """Calls added up; ``counts`` and ``sums_ns`` are by group, int64 of shape (groups,)."""

    groups: tuple[tuple[int, int], ...]
    """(globalPid, string id of the name)."""
    counts: Int64s
    sums_ns: Int64s
    backtrace_count: int
    reversed_count: int
    failures: Mapping[tuple[int, int], int]
    """Calls that failed by (group, return value); a value that is an answer is no failure."""


@dataclass(frozen=True, slots=True)
class CallRows:
    """Every call by thread, then by start; arrays of shape (n,).

    ``edges[t]:edges[t + 1]`` are the calls of thread ``t``, whose globalTid is ``threads[t]``.
    """

    start_ns: Int64s
    end_ns: Int64s
    group: Ints
    correlation: Ints
    edges: Int64s
    threads: tuple[int, ...]
    failed: Int64s
    """The calls that returned an error, in order."""


class ApiPart:
    """Some of the calls: totals, and with ``rows`` every call."""

    def __init__(self, rows: int | None = None, chosen: Chosen | None = None) -> None:
        """Start without a row; ``rows`` keeps every call: about how many there are.

        ``chosen`` says what counts; None is everything.
        """
        self._chosen = chosen
        self._processes, self._names = Codes(), Codes()
        self._groups = PairCodes()
        """(code of the process, code of the name id) of each group."""
        self._totals = Totals()
        self._backtrace_count = self._reversed_count = 0
        self.last_ns = OPEN
        """The largest start or end, backtrace rows included."""
        self._failures: Counter[tuple[int, int]] = Counter()
        self._calls = None if rows is None else _CallPart(rows)
        self.correlations = Correlations()
        """Those of calls that are kept in part."""

    @property
    def threads(self) -> tuple[int, ...]:
        """The globalTid of each thread with a call, where calls are kept; in the order in which they are numbered."""
        return () if self._calls is None else tuple(self._calls.threads.values)

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``api_query``."""
        start_ns, end_ns, name, event_class, thread, result = map(batch.ints, _COLUMNS)
        self.last_ns = max(self.last_ns, last_time(start_ns, end_ns))
        if self._chosen is not None:
            batch = self._chosen.of_processes(batch, thread & ~THREAD_BITS)
            start_ns, end_ns, name, event_class, thread, result = map(batch.ints, _COLUMNS)
        correlation = thread if self._calls is None else batch.ints("correlation")
        if event_class.size and (event_class.min() < API_CLASSES[0] or event_class.max() > API_CLASSES[1]):
            counted = (event_class >= API_CLASSES[0]) & (event_class <= API_CLASSES[1])
            self._backtrace_count += self._count(start_ns[~counted], end_ns[~counted])
            start_ns, end_ns, name, thread, result, correlation = (
                column[counted] for column in (start_ns, end_ns, name, thread, result, correlation)
            )
        length_ns = end_ns - start_ns
        counts = part_ns = None
        if self._chosen is not None and self._chosen.clip is not None:
            counts, part_ns = self._chosen.counted(start_ns, end_ns)
        if length_ns.size and length_ns.min() < 0:
            self._reversed_count += int(np.count_nonzero((length_ns < 0) & (True if counts is None else counts)))
            length_ns = np.maximum(length_ns, 0)
        process = self._processes.encode(thread & ~THREAD_BITS)
        group = self._groups.encode(process, self._names.encode(name))
        if counts is None or part_ns is None:
            self._totals.add(group, length_ns)
        else:
            self._totals.add(group[counts], part_ns[counts])
        failed = self._note_failures(group, result, counts) if result.any() else None
        if self._calls is not None:
            self._calls.add(start_ns, start_ns + length_ns, group, thread, correlation, failed)
            if self._chosen is not None:
                self.correlations.add(correlation)

    def _count(self, start_ns: Int64s, end_ns: Int64s) -> int:
        """Return how many rows count."""
        if self._chosen is None or self._chosen.clip is None:
            return start_ns.size
        return int(np.count_nonzero(self._chosen.clip(start_ns, end_ns)[0]))

    def _note_failures(self, group: Int64s, result: Int64s, counts: Bools | None) -> Int64s:
        """Count the calls that failed, and return which they are, those that do not count included."""
        failed = np.flatnonzero(result)
        failed = failed[~np.isin(result[failed], ANSWERS)]
        told = failed if counts is None else failed[counts[failed]]
        found, counted = np.unique(np.stack((group[told], result[told])), axis=1, return_counts=True)
        for pair, count in zip(found.T.tolist(), counted.tolist(), strict=True):
            self._failures[pair[0], pair[1]] += count
        return failed

    def merge(self, other: ApiPart) -> None:
        """Take the rows of another part, which keeps calls where this one does."""
        processes, names = self._processes.merge(other._processes), self._names.merge(other._names)
        group = self._groups.merge(other._groups, processes, names)
        self._totals.merge(other._totals, group)
        self._backtrace_count += other._backtrace_count
        self._reversed_count += other._reversed_count
        self.last_ns = max(self.last_ns, other.last_ns)
        for (there, result), count in other._failures.items():
            self._failures[int(group[there]), result] += count
        if self._calls is not None and other._calls is not None:
            self._calls.merge(other._calls, group)

    def finish(self) -> tuple[ApiTotals, CallRows | None]:
        """End the part: return the totals, and the calls where they are kept."""
        process, name = self._processes.values, self._names.values
        totals = ApiTotals(
            groups=tuple((process[one], name[other]) for one, other in self._groups.pairs),
            counts=self._totals.count(len(self._groups)),
            sums_ns=self._totals.sum(len(self._groups)),
            backtrace_count=self._backtrace_count,
            reversed_count=self._reversed_count,
            failures=dict(self._failures),
        )
        return totals, None if self._calls is None else self._calls.finish()


class _CallPart:
    """Some of the calls one by one."""

    def __init__(self, rows: int) -> None:
        self._rows = Columns(rows, 2, 3)
        """Start, end, group, code of the thread, correlation id."""
        self.threads = Codes()
        self._failed: list[Int64s] = []
        """Which of the rows failed, in batches."""

    def add(
        self,
        start_ns: Int64s,
        end_ns: Int64s,
        group: Int64s,
        thread: Int64s,
        correlation: Int64s,
        failed: Int64s | None,
    ) -> None:
        if failed is not None and failed.size:
            self._failed.append(failed + len(self._rows))
        self._rows.add(start_ns, end_ns, group, self.threads.encode(thread), correlation)

    def merge(self, other: _CallPart, group: Int64s) -> None:
        self._failed += [failed + len(self._rows) for failed in other._failed]
        thread = self.threads.merge(other.threads)
        for start_ns, end_ns, group_there, thread_there, correlation in other._rows.slices():
            self._rows.add(start_ns, end_ns, group[group_there], thread[thread_there], correlation)

    def finish(self) -> CallRows:
        order = by_line(self._rows.column(0), self._rows.column(3))
        failed = _places_of(self._failed, order)
        start_ns, end_ns, group, thread, correlation = self._rows.finish(order)
        return CallRows(
            start_ns=start_ns,
            end_ns=end_ns,
            group=group,
            correlation=correlation,
            edges=np.searchsorted(thread, np.arange(len(self.threads) + 1)),
            threads=tuple(self.threads.values),
            failed=failed,
        )


def _places_of(rows: list[Int64s], order: Int64s) -> Int64s:
    """Return where rows stand, in order, once all rows are put in ``order``."""
    if not rows:
        return np.zeros(0, np.int64)
    chosen = np.zeros(order.size, bool)
    chosen[np.concatenate(rows)] = True
    return np.flatnonzero(chosen[order])
