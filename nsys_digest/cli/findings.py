"""``nsys-digest findings``."""

from __future__ import annotations

from dataclasses import replace

from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.options import CategoriesFile, Compact, FormatChoice, Output, StepName, TraceOrDocument
from nsys_digest.cli.output import check_output, chosen_format, tell, write_report
from nsys_digest.cli.progress import progress_bar


def command(
    trace: TraceOrDocument,
    format: FormatChoice = None,
    output: Output = None,
    steps: StepName = None,
    categories: CategoriesFile = None,
    compact: Compact = False,
) -> None:
    """Say what would gain most, by how much at most, and how."""
    check_output(output, trace)
    chosen = chosen_format(format, output)
    from nsys_digest.api import load_with
    from nsys_digest.findings.rules import NEEDED_SECTIONS
    from nsys_digest.options import options_of

    options = options_of({"sections": NEEDED_SECTIONS, "steps": steps, "categories": categories})
    with progress_bar(trace) as show:
        digest = load_with(trace, replace(options, progress=show, when_read=give_back_freed_memory, tell=tell))
    from nsys_digest.findings.document import findings_json
    from nsys_digest.report.findings import findings_report

    write_report(lambda: findings_json(digest, compact=compact), lambda: findings_report(digest), chosen, output)
