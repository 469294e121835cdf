"""One pass over each event table."""

from __future__ import annotations

import threading
from typing import Literal, TypeAlias

from nsys_digest.trace.collect.chosen import Chosen
from nsys_digest.trace.collect.kernels import KernelPart, KernelTotals
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import NO_EXTRAS, Activity, EventRows, Extras, Scanned, TracePart
from nsys_digest.trace.nsys.tables import NVTX, find_table, gpu_query
from nsys_digest.trace.scan_window import pays_off, scan_window
from nsys_digest.trace.source import SelectingSource, Source
from nsys_digest.trace.threads import Progress, Task, read_tables, values_in_range

Reading: TypeAlias = Literal["auto", "whole", "part"]
"""Whether all rows are read for a window, or only what it needs; "auto" does what is likely to be faster."""


def scan(
    source: Source,
    options: NvtxOptions,
    *,
    session_ns: int | None,
    threads: int,
    detail: bool = False,
    extras: Extras = NO_EXTRAS,
    chosen: Chosen | None = None,
    progress: Progress | None = None,
    reading: Reading = "auto",
) -> tuple[Scanned, Activity, EventRows | None]:
    """Read each event table once; the NVTX table twice when it has more names than are kept.

    ``detail`` keeps every operation, call and range for the sections that need them one by one, ``extras`` is what
    single sections need beside. ``chosen`` says what counts; None is everything.
    Of a window, ``reading`` says whether all rows are read or only what it needs, which makes no difference to the
    result.

    Raises:
        ReaderUnfitError: the source's fast reader cannot read this file.
        DigestError: the file cannot be read.

    """
    partly = reading == "part" or (reading == "auto" and pays_off(source, chosen))
    if partly and isinstance(source, SelectingSource) and chosen is not None and chosen.bounds_ns is not None:
        return scan_window(
            source,
            options,
            chosen,
            session_ns=session_ns,
            threads=threads,
            detail=detail,
            extras=extras,
            progress=progress,
        )
    part = TracePart(source, options, session_ns, detail=detail, extras=extras, chosen=chosen)
    read_tables(source, [*part.tables()], threads, progress)
    name_count = None
    if part.ranking is not None:
        name_count = part.ranking.name_count
        part.keep_names(part.ranking.kept(options.max_names, part.last_ns))
        read_tables(source, [*part.tables_of_ranges()], threads, progress)
    with values_in_range(source, f"the events of table {find_table(source, NVTX) or ''}"):
        return part.finish(name_count)


def scan_kernels(source: Source, *, threads: int, chosen: Chosen | None = None) -> KernelTotals:
    """Read the kernels alone; ``chosen`` says which count, None is all."""
    kernels = KernelPart(chosen)
    query = gpu_query(source, "kernel", detail=True)
    if query is not None:
        read_tables(source, [Task(query, kernels.add, threading.Lock())], threads, None)
    return kernels.finish()
