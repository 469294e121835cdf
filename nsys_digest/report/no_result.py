"""The report of a check that came to no result."""

from __future__ import annotations

from nsys_digest.gate.no_result import NoResult
from nsys_digest.report.blocks import Report


def no_result_report(found: NoResult) -> Report:
    """Say why nothing was checked, and of which runs."""
    result = found.result
    sides = [("HEAD", result.head), ("BASE", result.base)]
    return Report(
        title="Check without a result",
        facts=(*((name, ", ".join(runs)) for name, runs in sides if runs), ("policy", result.policy)),
        bars=(),
        blocks=(),
        warnings=(),
        notes="",
        lead=(f"Nothing was checked: {found.message} [{found.code}]",),
    )
