"""``nsys-digest workload phases``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nsys_digest.cli.options import Compact, FormatChoice, Output, Trace
from nsys_digest.cli.output import check_output, chosen_format, end_with, try_all, write_report
from nsys_digest.workloads.errors import PhasesDisagree


def command(
    log: Annotated[
        Path, typer.Argument(metavar="LOG", help="The log of a distillation step, as text or as its JSON document.")
    ],
    trace: Trace,
    format: FormatChoice = None,
    output: Output = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", min=0, max=100, metavar="PERCENT", help="How far times may lie apart.")
    ] = 2.0,
    floor_us: Annotated[
        int, typer.Option("--floor-us", min=0, metavar="US", help="Microseconds that are always allowed.")
    ] = 100,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Other ranges to list.")] = 20,
    compact: Compact = False,
    check: Annotated[bool, typer.Option("--check", help="End with status 5 unless everything agrees.")] = False,
) -> None:
    """Set the phases of a log beside the ranges of its trace.

    Wall time, GPU busy, launched and idle, and the difference of each phase.
    """
    check_output(output, trace)
    check_output(output, log)
    chosen = chosen_format(format, output)
    from nsys_digest.api import summarize
    from nsys_digest.workloads.phases.comparison import Tolerance, compare_phases
    from nsys_digest.workloads.phases.reader import read_log

    found = read_log(log)
    digest = summarize(trace, sections=["nvtx"])
    allowed = Tolerance(tolerance / 100, floor_us * 1_000)
    comparison = compare_phases(found, digest, name=log.name, tolerance=allowed)
    from nsys_digest.workloads.phases.report import phases_report

    def report() -> None:
        write_report(
            lambda: comparison.to_json(compact=compact), lambda: phases_report(comparison, top), chosen, output
        )

    if not check:
        report()
        return
    failed = try_all([report])
    try:
        comparison.require_agreement()
    except PhasesDisagree as disagreement:
        end_with(disagreement, failed)
    end_with(None, failed)
