"""Rows of overhead, by what they say the thread did.

Two tables hold them. In PROFILER_OVERHEAD nsys writes what it did itself in the traced process, and before 2025.5 also
what CUPTI reported; since then CUPTI_ACTIVITY_KIND_OVERHEAD has what the CUDA driver did. A row is known by its whole
name, and by its type (ENUM_CUPTI_OVERHEAD_TYPE) where the name is none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from nsys_digest.trace.nsys.tables import OVERHEAD_TABLES, find_table
from nsys_digest.trace.source import Column, Query, Source


class Overhead(StrEnum):
    """What a thread did in a row of overhead."""

    loading = "loading"
    """The driver loaded or compiled code for a call that needed it."""
    queue_full = "queue_full"
    """A launch waited, as the queue of commands was full."""
    profiler = "profiler"
    """The profiler's own work."""
    unknown = "unknown"
    """What the row does not say, and what the program would have done without the profiler as well."""


_BY_NAME: Final[Mapping[str, Overhead]] = {
    "runtime triggered module loading": Overhead.loading,
    "runtime module loading": Overhead.loading,
    "lazy function loading": Overhead.loading,
    "driver compiler": Overhead.loading,
    "driver jit compiler": Overhead.loading,
    "command buffer full": Overhead.queue_full,
    "buffer flush": Overhead.profiler,
    "instrumentation": Overhead.profiler,
    "resource management": Overhead.profiler,
    "resource creation/destruction": Overhead.profiler,
    "unknown": Overhead.unknown,
}
_BY_TYPE: Final[Mapping[int, Overhead]] = {
    2: Overhead.loading,
    3: Overhead.profiler,
    4: Overhead.profiler,
    5: Overhead.profiler,
    6: Overhead.loading,
    7: Overhead.loading,
    8: Overhead.queue_full,
}
_LIBRARY_CALLS: Final = ("dlopen", "dlclose")
"""Rows named so hold the whole call of the program, in which the library loads with or without nsys."""
NO_TYPE: Final = -1


def overhead_query(source: Source, table: str) -> Query | None:
    """Return start, end, thread, id of the name and type (``NO_TYPE`` for none) of each row; None without a table."""
    found = find_table(source, table)
    if found is None:
        return None
    columns = {
        "start_ns": Column("start"),
        "end_ns": Column("end"),
        "thread": Column("globalTid"),
        "name": Column("nameId", NO_TYPE),
        "type": Column("overheadType", NO_TYPE),
    }
    return Query(found, columns)


def overhead_of(table: str, name: str, kind: int) -> Overhead:
    """Return what a row says, by its table, its name and its type."""
    text = name.casefold().removeprefix("cupti").lstrip(": ").rstrip()
    if text in _BY_NAME:
        return _BY_NAME[text]
    if text.partition("(")[0] in _LIBRARY_CALLS:
        return Overhead.unknown
    return _BY_TYPE.get(kind, Overhead.profiler if table == OVERHEAD_TABLES[0] else Overhead.unknown)
