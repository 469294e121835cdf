"""What is in an export; of a large one only the ends of its event tables are read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from nsys_digest.model.base_types import Gpu, Json
from nsys_digest.trace.nsys.capture import read_capture
from nsys_digest.trace.nsys.tables import event_tables, missing_columns, missing_tables, process_of
from nsys_digest.trace.source import Source
from nsys_digest.units import to_seconds

_EXACT_BELOW_BYTES: Final = 64_000_000


@dataclass(frozen=True, slots=True)
class TableFact:
    """A table with rows; ``rows`` is the range of row ids where ``exact`` is false, which nsys leaves without holes."""

    name: str
    rows: int
    exact: bool


@dataclass(frozen=True, slots=True)
class ProcessFact:
    """A process that used CUDA, or any process where the export does not say which did."""

    pid: int
    name: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an export holds. Times are on the trace's own clock; they are exact where ``times_exact`` says so."""

    file: str
    size_bytes: int
    product: str | None
    product_version: str | None
    schema_version: str | None
    session_ns: int | None
    graph_trace_mode: str | None
    gpus: tuple[Gpu, ...]
    processes: tuple[ProcessFact, ...]
    process_count: int
    tables: tuple[TableFact, ...]
    first_ns: int | None
    last_ns: int | None
    times_exact: bool
    missing: tuple[str, ...]
    diagnostics: tuple[str, ...]

    def to_dict(self) -> Json:
        """Return the fields; lengths of time in seconds, positions in nanoseconds."""
        return {
            "file": self.file,
            "size_bytes": self.size_bytes,
            "product": self.product,
            "product_version": self.product_version,
            "schema_version": self.schema_version,
            "session_s": to_seconds(self.session_ns),
            "graph_trace_mode": self.graph_trace_mode,
            "gpus": [gpu.to_dict() for gpu in self.gpus],
            "processes": [{"pid": process.pid, "name": process.name} for process in self.processes],
            "process_count": self.process_count,
            "tables": [{"name": table.name, "rows": table.rows, "exact": table.exact} for table in self.tables],
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
            "times_exact": self.times_exact,
            "missing": list(self.missing),
            "diagnostics": list(self.diagnostics),
        }

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        layout: Json = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **layout)


def inspect_source(source: Source) -> Inspection:
    """Read the small tables, and the ends of the large ones.

    Below 64 MB rows and times are counted; above, rows are the range of row ids and times those of the first and last
    thousand rows of each table, since SQLite keeps neither.
    """
    size = source.path.stat().st_size
    exact = size < _EXACT_BELOW_BYTES
    facts = read_capture(source)
    tables = [TableFact(name, *source.row_count(name, exact=exact)) for name in sorted(source.tables())]
    filled = tuple(table for table in tables if table.rows)
    names = {table.name for table in filled}
    times = [source.time_range(table, "start", "end", exact=exact) for table in event_tables(source) if table in names]
    bounds = [bound for bound in times if bound is not None]
    absent = missing_tables(source.tables(), names)
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
        times_exact=exact,
        missing=(*absent, *lacking),
        diagnostics=tuple(f"{diagnostic.severity}: {diagnostic.text}" for diagnostic in facts.diagnostics),
    )
