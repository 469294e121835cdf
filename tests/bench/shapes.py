"""Traces that have very many of one thing: threads, domains, names, open ranges, modes or streams.

A shape of ``n`` has a kernel, its launch call and an NVTX row for each of the ``n``, but as its line says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, TypeAlias

from tests.bench.generate import open_empty
from tests.bench.layout import TABLES, write_facts

Row: TypeAlias = dict[str, Any]
Shape: TypeAlias = Callable[[int], Row]
"""What is different in the i-th launch: thread, stream, text, domain, type, end (None: it never ends)."""

_PROCESS = 1 << 24
_PUSH_POP, _MARK = 59, 34
_LONG_NAME = "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1>>"

SHAPES: Final[dict[str, Shape]] = {
    "threads": lambda i: {"thread": i + 1},
    "domains": lambda i: {"domain": i + 1},
    "names": lambda i: {"text": f"request {i}"},
    "long-names": lambda i: {"text": f"{_LONG_NAME * 20} {i}"},
    "open-ranges": lambda i: {"end": None},
    "open-ranges-of-many-names": lambda i: {"text": f"request {i}", "end": None},
    "modes": lambda i: {"text": f"CG_DISPATCH:actual=1:mode=M{i}:padded=8", "type": _MARK, "end": None},
    "streams": lambda i: {"stream": i},
}
"""The shapes by name."""


def write(path: Path, shape: str, count: int) -> None:
    """Write a trace of that shape."""
    different = SHAPES[shape]
    db = open_empty(path)
    db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "kernel"), (2, "cudaLaunchKernel_v7000")])
    for table, rows in (
        ("CUPTI_ACTIVITY_KIND_RUNTIME", _calls),
        ("CUPTI_ACTIVITY_KIND_KERNEL", _kernels),
        ("NVTX_EVENTS", _ranges),
    ):
        found = rows(different, count)
        first = next(found)
        names, places = ", ".join(f'"{name}"' for name in first), ", ".join("?" * len(first))
        statement = f"INSERT INTO {table} ({names}) VALUES ({places})"
        db.execute(statement, tuple(first.values()))
        db.executemany(statement, (tuple(row.values()) for row in found))
    write_facts(db, 1_000 * count)
    db.execute("commit")
    db.close()


def _calls(different: Shape, count: int) -> Iterator[Row]:
    for i in range(count):
        thread = _PROCESS + different(i).get("thread", 1)
        at = 1_000 * i
        yield {"start": at + 100, "end": at + 200, "eventClass": 0, "globalTid": thread, "correlationId": i + 1,
               "nameId": 2, "returnValue": 0}  # fmt: skip


def _kernels(different: Shape, count: int) -> Iterator[Row]:
    zeros = {name: 0 for name, kind in TABLES["CUPTI_ACTIVITY_KIND_KERNEL"].items() if "NOT NULL" in kind}
    for i in range(count):
        at = 1_000 * i
        yield zeros | {"start": at + 300, "end": at + 900, "contextId": 1, "correlationId": i + 1,
                       "streamId": different(i).get("stream", 7), "globalPid": _PROCESS, "demangledName": 1,
                       "shortName": 1}  # fmt: skip


def _ranges(different: Shape, count: int) -> Iterator[Row]:
    for i in range(count):
        row = {"text": "step", "thread": 1, "domain": 0, "end": 1_000 * i + 950, "type": _PUSH_POP, **different(i)}
        yield {"start": 1_000 * i + 50, "end": row["end"], "eventType": row["type"], "text": row["text"],
               "globalTid": _PROCESS + row["thread"], "domainId": row["domain"]}  # fmt: skip
