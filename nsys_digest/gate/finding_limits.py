"""What a policy says of findings, and the findings of the runs of HEAD held against it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from nsys_digest.compare.runs import RunSet
from nsys_digest.findings.rules import NEEDED_SECTIONS, RULES, findings_of
from nsys_digest.gate.policy_mistakes import clipped, close_matches, limit_amount
from nsys_digest.gate.verdict import Outcome
from nsys_digest.model.finding_types import SEVERITIES, Finding, Severity
from nsys_digest.model.paths import Segment, parse_glob
from nsys_digest.model.quantity import is_share, share, shown
from nsys_digest.units import to_seconds

FINDING_KEYS: Final = ("forbid", "severity", "max_at_stake", "allow", "why")


@dataclass(frozen=True, slots=True)
class FindingLimits:
    """Which findings no run may have: some codes, those of a severity or worse, those with more at stake.

    ``most_s`` is in seconds and ``most_share`` of the span; None stands for no such limit. ``allowed`` are left out of
    all of these.
    """

    line: int | None
    forbidden: tuple[Segment, ...] = ()
    severity: Severity | None = None
    most_s: float | None = None
    most_share: float | None = None
    allowed: tuple[Segment, ...] = ()
    why: str = ""

    def broken_by(self, finding: Finding) -> str | None:
        """Return what a finding breaks, in words; None where it may be there."""
        if any(code.matches(finding.code) for code in self.allowed):
            return None
        if any(code.matches(finding.code) for code in self.forbidden):
            return "not to be there"
        if self.severity is not None and SEVERITIES.index(finding.severity) <= SEVERITIES.index(self.severity):
            return f"less severe than {self.severity}"
        stake_s, part = to_seconds(finding.at_stake_ns), finding.share_of_span
        if stake_s is not None and self.most_s is not None and stake_s > self.most_s:
            return f"at most {shown(self.most_s, 's')} at stake"
        if part is not None and self.most_share is not None and part > self.most_share:
            return f"at most {shown(self.most_share, 'ratio')} of the span at stake"
        return None


def read_finding_limits(table: Mapping[str, Any], line: int | None, why: str) -> FindingLimits:
    """Read the table of findings of a policy; its keys were checked.

    Raises:
        ValueError: a value makes no sense, or the table forbids nothing.

    """
    severity = table.get("severity")
    if severity is not None and severity not in SEVERITIES:
        raise ValueError(f"severity is {clipped(repr(severity))}; choose from {', '.join(SEVERITIES)}")
    most = table.get("max_at_stake")
    limits = FindingLimits(
        line=line,
        forbidden=_codes(table, "forbid"),
        severity=severity,
        most_s=None if most is None or is_share(most) else limit_amount("max_at_stake", most, "s"),
        most_share=share(most) if is_share(most) else None,
        allowed=_codes(table, "allow"),
        why=why,
    )
    if not limits.forbidden and severity is None and most is None:
        raise ValueError("it forbids nothing; give forbid, severity or max_at_stake")
    return limits


def _codes(table: Mapping[str, Any], key: str) -> tuple[Segment, ...]:
    texts = table.get(key, [])
    texts = [texts] if isinstance(texts, str) else texts
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise ValueError(f"{key} is {clipped(repr(texts))}; give a list of codes, with * for any text")
    codes = [rule.code for rule in RULES]
    found = []
    for text in texts:
        code = parse_glob(text)
        if not any(map(code.matches, codes)):
            near = close_matches(text.strip("*"), codes, 1)
            hint = f"did you mean {near[0]}?" if near else f"the codes are {', '.join(codes)}"
            raise ValueError(f"no finding has a code like {clipped(text)}; {hint}")
        found.append(code)
    return tuple(found)


def finding_outcomes(limits: FindingLimits, head: RunSet) -> Iterator[Outcome]:
    """Yield an outcome for each code that a run breaks, or one that says that none does."""
    blank = Outcome("finding", "pass", 1, limits.line, "findings", None, "none that is forbidden", "", limits.why)
    unmade = [
        name
        for name in NEEDED_SECTIONS
        if any(name not in digest.capture.sections and digest.gpu_activity_span_ns for digest in head.digests)
    ]
    found = [{one.code: one for one in findings_of(digest)} for digest in head.digests]
    broken = {code: words for run in found for code, one in run.items() if (words := limits.broken_by(one)) is not None}
    for code, words in broken.items():
        yield _broken(blank, code, words, [run.get(code) for run in found], limits.broken_by)
    if unmade:
        reason = f"findings need the sections {', '.join(unmade)}, which a digest lacks; make it with --sections all"
        yield replace(blank, verdict="missing", reason=reason)
    elif not broken:
        yield replace(blank, reason="no run has a finding that the policy forbids")


def _broken(
    blank: Outcome, code: str, words: str, found: list[Finding | None], broken_by: Callable[[Finding], str | None]
) -> Outcome:
    bad = [one for one in found if one is not None and broken_by(one) is not None]
    stakes = tuple(None if one is None else to_seconds(one.at_stake_ns) for one in found)
    worst = max(bad, key=lambda one: one.at_stake_ns or 0)
    where = f" in {len(bad)} of {len(found)} runs" if len(found) > 1 else ""
    return replace(
        blank,
        verdict="fail",
        figure=f"findings.{code}.at_stake_s",
        unit="s",
        allowed=words,
        head=to_seconds(worst.at_stake_ns),
        head_runs=stakes,
        reason=f"finding {code}, {worst.severity}{where}: {worst.message}",
    )
