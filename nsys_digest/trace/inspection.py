"""What is in an export; of a large one only the ends of its event tables are read."""

from __future__ import annotations

from typing import Final

from nsys_digest.errors import TraceUnreadable
from nsys_digest.model.base_types import Gpu, Traced
from nsys_digest.model.inspection import Inspection, LogLine, ProcessFact, TableFact
from nsys_digest.trace.nsys.capture import read_capture
from nsys_digest.trace.nsys.private import credentials
from nsys_digest.trace.nsys.tables import event_tables, gpu_tables, is_read, missing_columns, process_of
from nsys_digest.trace.nsys.traced import missing_tables
from nsys_digest.trace.source import Source
from nsys_digest.units import utc_text

_EXACT_BELOW_BYTES: Final = 64_000_000


def inspect_source(source: Source) -> Inspection:
    """Read the small tables, and the ends of the large ones.

    Below 64 MB rows and times are counted; above, rows are the range of row ids and times those of the first and last
    thousand rows of each table, since no container keeps them.
    """
    size = source.size_bytes
    exact = size < _EXACT_BELOW_BYTES
    facts = read_capture(source)
    tables, unreadable = _count_rows(source, exact=exact)
    filled = tuple(table for table in tables if table.rows)
    names = {table.name for table in filled}
    times = {
        table: source.time_range(table, "start", "end", exact=exact) for table in event_tables(source) if table in names
    }
    bounds = [bound for bound in times.values() if bound is not None]
    of_gpu = [bound for table in gpu_tables(source) if (bound := times.get(table)) is not None]
    absent = missing_tables(source.tables(), names, facts.traced)
    lacking = [f"table {table} lacks {', '.join(columns)}" for table, columns in missing_columns(source).items()]
    cuda_pids = {pid for pid, _ in facts.gpu_of}
    named = sorted((process_of(global_pid), name) for global_pid, name in facts.process_names.items())
    processes = [ProcessFact(pid, name) for pid, name in named if not cuda_pids or pid in cuda_pids]
    return Inspection(
        file=source.path.name,
        size_bytes=size,
        product=facts.product,
        product_version=facts.product_version,
        schema_version=facts.schema_version,
        session_ns=facts.session_ns,
        graph_trace_mode=facts.graph_trace_mode,
        gpus=tuple(Gpu(gpu.ordinal, gpu.name, gpu.uuid) for gpu in facts.gpus),
        processes=tuple(processes),
        process_count=len(facts.process_names),
        tables=filled,
        first_ns=min((low for low, _ in bounds), default=None),
        last_ns=max((high for _, high in bounds), default=None),
        gpu_first_ns=min((low for low, _ in of_gpu), default=None),
        gpu_last_ns=max((high for _, high in of_gpu), default=None),
        times_exact=exact,
        missing=(*absent, *lacking, *unreadable),
        diagnostics=tuple(LogLine(line.severity, line.text, line.count) for line in facts.diagnostics),
        credentials=credentials(source),
        traced=Traced(facts.traced.cuda, facts.traced.nvtx),
        recorded_at=utc_text(facts.recorded_at_ns),
    )


def _count_rows(source: Source, *, exact: bool) -> tuple[list[TableFact], list[str]]:
    """Return the rows of every table, and a line for each that cannot be read and that no digest needs."""
    counted, unreadable = [], []
    for name in sorted(source.tables()):
        try:
            counted.append(TableFact(name, *source.row_count(name, exact=exact)))
        except TraceUnreadable:
            if is_read(source, name):
                raise
            unreadable.append(f"table {name} is damaged; no digest needs it")
    return counted, unreadable
