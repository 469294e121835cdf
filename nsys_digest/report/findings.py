"""The findings of a digest: the first of them as lines above its report, and all of them as a report of their own."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from nsys_digest.findings.rules import NEEDED_SECTIONS, findings_of
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import units
from nsys_digest.model.finding_types import Evidence, Finding
from nsys_digest.model.paths import parse_path
from nsys_digest.model.quantity import shown, shown_inside
from nsys_digest.report.blocks import Block, Column, Report
from nsys_digest.report.selected import selected
from nsys_digest.units import duration, percent

FIRST: Final = 3
"""How many stand above the report of a digest."""
_COLUMNS: Final = (Column("value"), Column("figure", "name"))


def first_findings(digest: Digest) -> tuple[str, ...]:
    """Return the first findings of a digest as paragraphs, and what was not looked at."""
    return tuple(_lead(digest, findings_of(digest)[:FIRST]))


def rest_command(digest: Digest) -> tuple[str, str] | None:
    """Return how to see the others; None where there are none."""
    count = len(findings_of(digest))
    if count <= FIRST:
        return None
    return (
        f"All {count} findings, with their figures",
        f"nsys-digest findings {shlex.quote(digest.path or digest.file)}",
    )


def findings_report(digest: Digest) -> Report:
    """Arrange all findings of a digest."""
    findings = findings_of(digest)
    span, busy = digest.gpu_activity_span_ns, digest.gpu_busy_union_ns
    facts = (
        ("GPU span", "no GPU activity" if span is None else duration(span)),
        *((("GPU busy", f"{duration(busy)} ({percent(busy, span)})"),) if busy is not None else ()),
        ("findings", str(len(findings))),
    )
    return Report(
        title=f"Findings in {digest.file}",
        facts=facts,
        bars=(),
        blocks=tuple(_block(number, finding) for number, finding in enumerate(findings, 1)),
        warnings=(),
        notes="What is at stake is an upper bound, never a promise; findings overlap, so do not add them up."
        if findings
        else "",
        lead=(*selected(digest.capture), *_lead(digest, ())),
    )


def _lead(digest: Digest, shown_findings: tuple[Finding, ...]) -> Iterator[str]:
    findings = findings_of(digest)
    unmade = [name for name in NEEDED_SECTIONS if name not in digest.capture.sections]
    if digest.gpu_activity_span_ns is None and not findings:
        yield "No findings: the trace has no GPU activity that could be judged."
    elif not unmade and not any(one.at_stake_ns is not None for one in findings):
        yield "Nothing to gain: no finding is worth a hundredth of the span."
    for number, finding in enumerate(shown_findings, 1):
        yield f"{number}. {_worth(finding)}: {_sentence(finding.message)} {_sentence(finding.advice)} [{finding.code}]"
    if unmade and digest.gpu_activity_span_ns is not None:
        yield f"Findings are not complete: the digest was made without the sections {', '.join(unmade)}."


def _worth(finding: Finding) -> str:
    severity = finding.severity.capitalize()
    if finding.at_stake_ns is None:
        return severity
    share = "" if finding.share_of_span is None else f", {percent(finding.share_of_span)} of the span"
    return f"{severity}, up to {shown_inside(finding.at_stake_ns, 's')}{share}"


def _sentence(text: str) -> str:
    """End a text with one stop: none is added where it ends a sentence already."""
    return text if text.rstrip().endswith((".", "?", "!")) else f"{text}."


def _block(number: int, finding: Finding) -> Block:
    rows = tuple((_shown(one), one.figure) for one in finding.evidence)
    return Block(
        f"{number}. {_worth(finding)} [{finding.code}]: {finding.message}",
        _COLUMNS,
        rows,
        f"{_sentence(finding.advice)} See {finding.docs}",
    )


def _shown(evidence: Evidence) -> str:
    try:
        found = units(parse_path(evidence.figure))
    except ValueError:  # of a document that something else wrote
        found = frozenset()
    return shown(evidence.value, next(iter(found))) if len(found) == 1 else str(evidence.value)
