"""From a trace to its tables: read and linked once, then table by table, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from nsys_digest.errors import DigestError
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.summary import link_trace
from nsys_digest.tables.arrow import reader_of
from nsys_digest.tables.linked import Linked
from nsys_digest.tables.registry import table_of
from nsys_digest.tables.table import Rows
from nsys_digest.trace.open import TraceFile

_EVERY_NAME: Final = 2**31
_NEEDED: Final = ("categories",)
"""A section that needs every event, and kernels by category, which steps do too."""


class Tables:
    """The tables of a trace that was read; the file is not needed any more."""

    def __init__(self, trace: TraceFile, options: SummarizeOptions, tool_version: str) -> None:
        """Read a trace. Every name is kept apart, and one thread reads, so that the order of rows is that of the trace.

        Raises:
            What :func:`nsys_digest.summarize` raises.

        """
        asked = replace(options, sections=_NEEDED, max_nvtx_names=_EVERY_NAME, threads=1)
        self._linked = Linked(link_trace(trace, asked), options.dispatch_prefix)
        self._given = trace.given
        window = self._linked.trace.window
        self._about = {
            "file": trace.given.name,
            "version": tool_version,
            "window": "" if window is None else window.asked,
            "filters": ", ".join(options.selection.filter_words),
        }

    def reader(self, name: str) -> Any:
        """Return a ``pyarrow.RecordBatchReader`` of the rows of a table.

        Raises:
            UsageInvalid: there is no such table. MissingData: the trace has no such step.

        """
        table = table_of(name)
        named = replace(table, rows=lambda linked: self._with_file(table.rows(linked)))
        return reader_of(named, self._linked, self._about)

    def _with_file(self, rows: Iterator[Rows]) -> Iterator[Rows]:
        """Yield the rows; an error names the file."""
        try:
            yield from rows
        except DigestError as error:
            raise error.about(self._given) from None
