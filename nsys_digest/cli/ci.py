"""What a check writes: its report, and what CI systems read beside it."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from nsys_digest.cli.output import Format, note, write, write_report
from nsys_digest.errors import OutputFailed
from nsys_digest.files import WRITTEN

if TYPE_CHECKING:
    from nsys_digest.gate.no_result import NoResult
    from nsys_digest.gate.verdict import CheckResult
    from nsys_digest.report.blocks import Report


@dataclass(frozen=True, slots=True)
class Forms:
    """A check in each form; all are made when they are asked for. ``json`` takes whether on one line."""

    json: Callable[[bool], str]
    report: Callable[[], Report]
    junit: Callable[[], str]
    sarif: Callable[[], str]
    annotations: Callable[[], str]


def forms_of_result(result: CheckResult, policy_file: str | None, top: int, again: Sequence[str]) -> Forms:
    """Return the forms of a result; ``top`` and ``again`` as in :func:`nsys_digest.report.check.check_report`."""
    from nsys_digest.render import github, junit, sarif
    from nsys_digest.report.check import check_report

    return Forms(
        json=lambda compact: result.to_json(compact=compact),
        report=lambda: check_report(result, top, again),
        junit=lambda: junit.render(result, now=datetime.now(UTC)),
        sarif=lambda: sarif.render(result, policy_file=policy_file),
        annotations=lambda: github.render(result, policy_file=policy_file),
    )


def forms_of_no_result(found: NoResult, policy_file: str | None) -> Forms:
    """Return the forms of a check that came to no result."""
    from nsys_digest.render import github, junit, sarif
    from nsys_digest.report.no_result import no_result_report

    return Forms(
        json=lambda compact: found.to_json(compact=compact),
        report=lambda: no_result_report(found),
        junit=lambda: junit.render_no_result(found, now=datetime.now(UTC)),
        sarif=lambda: sarif.render_no_result(found, policy_file=policy_file),
        annotations=lambda: github.render_no_result(found),
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which forms go where; None for nowhere, and for standard output in ``output``."""

    output: Path | None
    format: Format
    compact: bool
    json: Path | None
    markdown: Path | None
    junit: Path | None
    sarif: Path | None
    github: bool

    def writers(self, forms: Forms, *, to_stdout: bool) -> Iterator[Callable[[], None]]:
        """Yield what writes each form that was asked for; with ``to_stdout`` unset, nothing to standard output.

        Each raises OutputFailed where it could not write.
        """
        from nsys_digest.render.escape import json_text

        if to_stdout or self.output is not None:
            yield lambda: write_report(lambda: forms.json(self.compact), forms.report, self.format, self.output)
        texts: list[tuple[Path | None, Callable[[], str]]] = [
            (self.json, lambda: json_text(forms.json(False))),
            (self.markdown, lambda: _markdown(forms)),
            (self.junit, forms.junit),
            (self.sarif, forms.sarif),
        ]
        for place, text in texts:
            if place is not None:
                yield lambda place=place, text=text: write(text(), place)  # type: ignore[misc]
        if self.github:
            yield lambda: _add_to_summary(_markdown(forms))
            yield lambda: _annotate(forms.annotations())


def _markdown(forms: Forms) -> str:
    from nsys_digest.render import markdown

    return markdown.render(forms.report())


def _annotate(commands: str) -> None:
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(commands, file=sys.stderr)


def _add_to_summary(text: str) -> None:
    """Add to the summary of the step, which is a file that other programs of the step add to as well."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        note(
            "warning: GITHUB_STEP_SUMMARY is not set, so no summary is written; GitHub Actions sets it", "usage-invalid"
        )
        return
    try:
        with Path(place).open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text + "\n")
        WRITTEN.append(place)
    except OSError as error:
        raise OutputFailed(
            f"{place}: the summary cannot be written ({error.strerror or error}); check GITHUB_STEP_SUMMARY"
        ) from None
