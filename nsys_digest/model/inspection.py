"""What an export holds, as ``inspect`` says it."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.model.base_types import Gpu, Traced
from nsys_digest.model.catalogue import Json
from nsys_digest.model.codec import encode, json_text
from nsys_digest.units import counted, size, to_seconds


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
class LogLine:
    """A warning or error of the collector's own log, and how often it is there."""

    severity: str
    message: str
    count: int


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
    diagnostics: tuple[LogLine, ...]
    traced: Traced
    recorded_at: str | None

    def __repr__(self) -> str:
        """Return the file and its size, and not all tables."""
        return f"<Inspection {self.file!r}: {size(self.size_bytes)}, {counted(len(self.tables), 'table')}>"

    def to_dict(self) -> Json:
        """Return the fields; lengths of time in seconds, positions in nanoseconds."""
        return {
            "file": self.file,
            "size_bytes": self.size_bytes,
            "product": self.product,
            "product_version": self.product_version,
            "schema_version": self.schema_version,
            "recorded_at": self.recorded_at,
            "session_s": to_seconds(self.session_ns),
            "traced": encode(self.traced),
            "graph_trace_mode": self.graph_trace_mode,
            "gpus": [encode(gpu) for gpu in self.gpus],
            "processes": [{"pid": process.pid, "name": process.name} for process in self.processes],
            "process_count": self.process_count,
            "tables": [{"name": table.name, "rows": table.rows, "exact": table.exact} for table in self.tables],
            "first_ns": self.first_ns,
            "last_ns": self.last_ns,
            "times_exact": self.times_exact,
            "missing": list(self.missing),
            "diagnostics": [
                {"severity": line.severity, "message": line.message, "count": line.count} for line in self.diagnostics
            ],
        }

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        return json_text(self.to_dict(), compact=compact)
