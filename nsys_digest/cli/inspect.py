"""``nsys-digest inspect``."""

from __future__ import annotations

from nsys_digest.cli.options import Compact, FormatChoice, Output, Trace
from nsys_digest.cli.output import check_output, chosen_format, write_report
from nsys_digest.cli.scarce import shortage_at


def command(
    trace: Trace,
    format: FormatChoice = None,
    output: Output = None,
    compact: Compact = False,
) -> None:
    """Say what is in a trace, and what is missing. Of 64 MB and more, only the ends of the event tables are read."""
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.api import inspect

    with shortage_at(trace):
        found = inspect(trace)
    from nsys_digest.report.digest import inspection_report

    write_report(lambda: found.to_json(compact=compact), lambda: inspection_report(found), chosen, output)
