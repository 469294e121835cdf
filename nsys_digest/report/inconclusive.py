"""The report of a check that came to no result."""

from __future__ import annotations

from nsys_digest.gate.inconclusive import Inconclusive
from nsys_digest.report.blocks import Report


def untold_report(found: Inconclusive) -> Report:
    """Say why nothing could be told, and of which runs."""
    result = found.result
    sides = [("HEAD", result.head), ("BASE", result.base)]
    return Report(
        title="Check cannot be told",
        facts=(*((name, ", ".join(runs)) for name, runs in sides if runs), ("policy", result.policy)),
        bars=(),
        blocks=(),
        warnings=(),
        notes="",
        lead=(f"Nothing was checked: {found.message} [{found.code}]",),
    )
