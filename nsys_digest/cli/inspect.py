"""``nsys-digest inspect``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsys_digest.cli.options import (
    Compact,
    FormatChoice,
    KeepExport,
    MaxUnpacked,
    NsysPath,
    Output,
    StoreFolder,
    TraceOrDigest,
)
from nsys_digest.cli.output import check_output, chosen_format, tell, write_report
from nsys_digest.cli.scarce import shortage_at

if TYPE_CHECKING:
    from nsys_digest.model.inspection import Inspection
    from nsys_digest.model.stored_inspection import StoredInspection
    from nsys_digest.report.blocks import Report


def command(
    trace: TraceOrDigest,
    format: FormatChoice = None,
    output: Output = None,
    compact: Compact = False,
    store: StoreFolder = None,
    max_unpacked: MaxUnpacked = None,
    nsys: NsysPath = None,
    keep_export: KeepExport = None,
) -> None:
    """Say what is in a trace, and what is missing.

    Of 64 MB and more, only the ends of the event tables are read. A stored digest is told for what it is.
    """
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.api import inspect

    with shortage_at(trace):
        found = inspect(trace, store=store, max_unpacked=max_unpacked, nsys=nsys, keep_export=keep_export, tell=tell)
    write_report(lambda: found.to_json(compact=compact), lambda: _report(found), chosen, output)


def _report(found: Inspection | StoredInspection) -> Report:
    from nsys_digest.model.stored_inspection import StoredInspection
    from nsys_digest.report.digest import inspection_report
    from nsys_digest.report.stored import stored_report

    return stored_report(found) if isinstance(found, StoredInspection) else inspection_report(found)
