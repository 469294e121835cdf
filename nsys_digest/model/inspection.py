"""What an export holds, as ``inspect`` says it."""

from __future__ import annotations

from nsys_digest.model.base_types import Gpu, Traced
from nsys_digest.model.catalogue import Json, document, figure, label, part, result
from nsys_digest.model.codec import encode, json_text
from nsys_digest.units import counted, size


@result
class TableFact:
    """A table with rows; ``rows`` is the range of row ids where ``exact`` is false, which nsys leaves without holes."""

    name: str = label("name of the table")
    rows: int = figure("count", "its rows, or the range of its row ids", label="rows", counts="rows")
    exact: bool = label("whether the rows were counted")


@result
class ProcessFact:
    """A process that used CUDA, or any process where the export does not say which did."""

    pid: int = label("process id")
    name: str = label("name of the program")


@result
class LogLine:
    """A warning or error of the collector's own log, and how often it is there."""

    severity: str = label("how bad it is, in the collector's word")
    message: str = label("its text")
    count: int = figure("count", "how often it is there", label="count", counts="messages")


@document
class Inspection:
    """What an export holds. Times are on the trace's own clock; they are exact where ``times_exact`` says so."""

    file: str = label("name of the trace, without its folder")
    size_bytes: int = figure("bytes", "size of the file", label="size")
    product: str | None = label("the program that recorded it")
    product_version: str | None = label("its version")
    schema_version: str | None = label("version of the export's schema")
    recorded_at: str | None = label("when the trace's clock began: ISO 8601 in UTC, to the second")
    session_ns: int | None = figure("s", "length of the recording", label="session")
    traced: Traced = part("what was traced, with or without events")
    graph_trace_mode: str | None = label("how CUDA graphs were traced: `graph` or `node`")
    gpus: tuple[Gpu, ...] = part("GPUs that the trace names")
    processes: tuple[ProcessFact, ...] = part("processes that used CUDA; all, where the export does not say which did")
    process_count: int = figure("count", "processes that the export names", label="processes", counts="processes")
    tables: tuple[TableFact, ...] = part("tables with rows, by name")
    first_ns: int | None = label("position of the first event on the trace's own clock", counts="ns")
    last_ns: int | None = label("position of the last end of an event on the trace's own clock", counts="ns")
    gpu_first_ns: int | None = label("position of the first GPU work on the trace's own clock", counts="ns")
    gpu_last_ns: int | None = label("position of the last end of GPU work on the trace's own clock", counts="ns")
    times_exact: bool = label("whether these positions and all rows are exact")
    missing: tuple[str, ...] = label("what is missing, and why it matters")
    diagnostics: tuple[LogLine, ...] = part("warnings and errors of the collector's own log")
    credentials: tuple[str, ...] = label("names of environment variables in it that may hold a password, key or token")

    def __repr__(self) -> str:
        """Return the file and its size, and not all tables."""
        return f"<Inspection {self.file!r}: {size(self.size_bytes)}, {counted(len(self.tables), 'table')}>"

    def to_dict(self) -> Json:
        """Return the fields; lengths of time in seconds, positions in nanoseconds."""
        written: Json = encode(self)
        return written

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        return json_text(self.to_dict(), compact=compact)
