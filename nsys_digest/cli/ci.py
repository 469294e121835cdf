"""What a check writes beside its report: for CI systems."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nsys_digest.cli.output import note, write
from nsys_digest.errors import OutputFailed

if TYPE_CHECKING:
    from nsys_digest.compare.verdict import CheckResult


@dataclass(frozen=True, slots=True)
class Files:
    """Where each form goes; None for nowhere."""

    json: Path | None
    markdown: Path | None
    junit: Path | None
    sarif: Path | None


def write_ci(result: CheckResult, files: Files, policy: Path | None, top: int, *, github: bool) -> None:
    """Write every form that was asked for.

    Raises:
        OutputFailed: one could not be written; those before it are.

    """
    from nsys_digest.render import github as annotations
    from nsys_digest.render import junit, markdown, sarif
    from nsys_digest.render.check import check_report

    policy_file = None if policy is None else str(policy)
    if files.json is not None:
        write(result.to_json(), files.json)
    if files.markdown is not None:
        write(markdown.render(check_report(result, top)), files.markdown)
    if files.junit is not None:
        write(junit.render(result, now=datetime.now(UTC)), files.junit)
    if files.sarif is not None:
        write(sarif.render(result, policy_file=policy_file), files.sarif)
    if github:
        _add_to_summary(markdown.render(check_report(result, top)))
        if sys.stderr is not None:
            print(annotations.render(result, policy_file=policy_file), file=sys.stderr)


def _add_to_summary(text: str) -> None:
    """Add to the summary of the step, which is a file that other programs of the step add to as well."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        note(
            "warning: GITHUB_STEP_SUMMARY is not set, so no summary is written; GitHub Actions sets it [usage-invalid]"
        )
        return
    try:
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
    except OSError as error:
        raise OutputFailed(
            f"{place}: the summary cannot be written ({error.strerror or error}); check GITHUB_STEP_SUMMARY"
        ) from None
