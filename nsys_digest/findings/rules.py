"""The one list of rules, and what makes findings of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from nsys_digest.findings import capture, copies, devices, dispatch, host, start_up
from nsys_digest.findings.thresholds import HIGH_SHARE, LEAST_NS, LEAST_SHARE, MEDIUM_SHARE
from nsys_digest.findings.view import Found, Rule, View
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import value_of
from nsys_digest.model.finding_types import Evidence, Finding, Severity
from nsys_digest.model.paths import parse_path

RULES: Final[tuple[Rule, ...]] = (
    *capture.RULES[:1],
    *start_up.RULES,
    *host.RULES,
    *devices.RULES,
    *copies.RULES,
    *dispatch.RULES,
    *capture.RULES[1:],
)
"""Every rule; of findings with equal time at stake the earlier comes first."""
NEEDED_SECTIONS: Final = ("idle", "launch", "memory", "communication", "nvtx", "dispatch_steps")
"""The sections that the rules look at; without one of them its rules find nothing."""
_DOCS: Final = "docs/findings.md"


def findings_of(digest: Digest) -> tuple[Finding, ...]:
    """Return the findings of a digest, those it has or, of an older document, those that its figures give."""
    return digest.findings if digest.findings is not None else find(digest)


def with_findings(digest: Digest) -> Digest:
    """Return a digest that has its findings."""
    return digest if digest.findings is not None else replace(digest, findings=find(digest))


def find(digest: Digest) -> tuple[Finding, ...]:
    """Apply every rule: most time at stake first, those without an amount last."""
    view = View(digest)
    made = [(rule, found) for rule in RULES if (found := rule.find(view)) is not None]
    findings = [_finding(rule, found, view) for rule, found in made if not _is_noise(rule, found, view)]
    return tuple(sorted(findings, key=lambda one: -1 if one.at_stake_ns is None else one.at_stake_ns, reverse=True))


def _whole_ns(rule: Rule, view: View) -> int:
    """Return what shares are taken of: the steady part, and the whole span where the finding is start-up itself."""
    return view.span_ns if rule in (*start_up.RULES, *capture.RULES) else view.steady_ns


def _is_noise(rule: Rule, found: Found, view: View) -> bool:
    if found.at_stake_ns is None or found.severe:
        return False
    return found.at_stake_ns < max(LEAST_NS, LEAST_SHARE * _whole_ns(rule, view))


def _finding(rule: Rule, found: Found, view: View) -> Finding:
    stake_ns = None if found.at_stake_ns is None else min(found.at_stake_ns, view.span_ns)
    share = None if stake_ns is None or not view.span_ns else stake_ns / view.span_ns
    return Finding(
        code=rule.code,
        severity=_severity(found, stake_ns, _whole_ns(rule, view)),
        at_stake_ns=stake_ns,
        share_of_span=share,
        message=found.message,
        advice=found.advice,
        evidence=tuple(_evidence(view.digest, found.figures)),
        docs=f"{_DOCS}#{rule.code}",
    )


def _severity(found: Found, stake_ns: int | None, whole_ns: int) -> Severity:
    if found.severe:
        return "high"
    if stake_ns is None or not whole_ns or stake_ns < MEDIUM_SHARE * whole_ns:
        return "low"
    return "high" if stake_ns >= HIGH_SHARE * whole_ns else "medium"


def _evidence(digest: Digest, figures: tuple[str, ...]) -> list[Evidence]:
    """Return the figures that the digest has, with their values; those that it was not asked for are left out."""
    found = []
    for text in dict.fromkeys(figures):
        path = tuple(segment.literal or "" for segment in parse_path(text).segments)
        try:
            value = value_of(digest, path)
        except KeyError:
            continue
        if value is not None:
            found.append(Evidence(text, value))
    return found
