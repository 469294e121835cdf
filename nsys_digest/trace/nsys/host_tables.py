"""The tables of what threads did on the CPU: calls of the OS runtime libraries, scheduling, sampled call stacks."""

from __future__ import annotations

from typing import Final

from nsys_digest.trace.nsys.tables import CALL_STACKS, NO_STRING, OS_CALLS, SAMPLES, SCHEDULING, find_table
from nsys_digest.trace.source import Column, Query, Source

_COLUMNS: Final = {
    OS_CALLS: {
        "start_ns": Column("start"),
        "end_ns": Column("end"),
        "thread": Column("globalTid"),
        "name": Column("nameId", NO_STRING),
    },
    SCHEDULING: {"time_ns": Column("start"), "thread": Column("globalTid"), "is_in": Column("isSchedIn")},
    SAMPLES: {"time_ns": Column("start"), "thread": Column("globalTid"), "sample": Column("id")},
    CALL_STACKS: {
        "sample": Column("id"),
        "depth": Column("stackDepth"),
        "symbol": Column("symbol", NO_STRING),
        "module": Column("module", NO_STRING),
        "unresolved": Column("unresolved"),
    },
}


def host_query(source: Source, table: str) -> Query | None:
    """Return the columns of one of the four tables; None without it.

    A call has start, end, thread and the id of its name; scheduling has when a thread came onto a CPU or left it
    (``is_in`` 0); a sample has its time, thread and id; a frame of a call stack has the id of its sample, its depth (0
    is the function that ran), the ids of its symbol and module, and whether the symbol is but an address.
    """
    found = find_table(source, table)
    return None if found is None else Query(found, _COLUMNS[table])
