"""A check as annotations of a GitHub Actions step: commands to the log that the web page shows."""

from __future__ import annotations

from typing import Final

from nsys_digest.gate.no_result import NoResult
from nsys_digest.gate.verdict import CheckResult, Outcome
from nsys_digest.render.escape import annotation, annotation_property
from nsys_digest.report.check import headline

_LEVELS: Final = {"fail": "error", "missing": "error", "noise": "warning"}
_SHOWN: Final = 10
"""A step shows ten annotations of a level; docs.github.com, workflow commands."""


def render(result: CheckResult, *, policy_file: str | None) -> str:
    """Return one command a line: the worst first, and the last for those that a step would not show."""
    lines = []
    for level in ("error", "warning"):
        found = [outcome for outcome in result.worst_first() if _LEVELS.get(outcome.verdict) == level]
        shown = found if len(found) <= _SHOWN else found[: _SHOWN - 1]
        lines += [_command(level, outcome, policy_file) for outcome in shown]
        if len(found) > len(shown):
            lines.append(f"::{level} title=nsys-digest::{len(found) - len(shown)} more; see the report of this step")
    if not lines:
        lines.append(f"::notice title=nsys-digest::{annotation(headline(result))}")
    return "\n".join(lines)


def render_no_result(found: NoResult) -> str:
    """Return the one command of a check without a result."""
    title = annotation_property(f"nsys-digest: {found.code}")
    return f"::error title={title}::{annotation(found.message)}"


def _command(level: str, outcome: Outcome, policy_file: str | None) -> str:
    properties = [f"title={annotation_property(f'nsys-digest: {outcome.figure}')}"]
    if policy_file is not None:
        properties.append(f"file={annotation_property(policy_file)}")
        properties += [f"line={outcome.line}"] if outcome.line else []
    why = f" ({outcome.why})" if outcome.why else ""
    return f"::{level} {','.join(properties)}::{annotation(outcome.reason + why)}"
