"""What a check found: one outcome for each figure of each rule, and the verdict over all."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from math import comb, inf
from typing import Any, Final, Literal, TypeAlias

from nsys_digest.compare.comparability import Difference, Unknown
from nsys_digest.errors import CheckFailed, DigestError, FigureMissing
from nsys_digest.gate.significance import repeats_for

CHECK_SCHEMA_VERSION: Final = "1.0"
Verdict: TypeAlias = Literal["fail", "missing", "noise", "pass", "skipped"]
ORDER: Final[tuple[Verdict, ...]] = ("fail", "missing", "noise", "pass", "skipped")
"""Worst first: too bad; cannot be told; too bad, but may be noise; allowed; left out as the policy says."""
Kind: TypeAlias = Literal["change", "max", "min", "require", "forbid"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one rule on one figure or name.

    ``base`` and ``head`` are medians over the runs and ``change`` the shift between them, in ``unit``; ``base_runs``
    and ``head_runs`` the values of the runs, None where a run has none. ``p_value`` and ``p_adjusted`` are None where
    nothing was tested. ``reason`` is one line for people.
    """

    kind: Kind
    verdict: Verdict
    rule: int
    line: int | None
    figure: str
    unit: str | None
    allowed: str
    reason: str
    why: str = ""
    base: float | None = None
    head: float | None = None
    change: float | None = None
    change_ratio: float | None = None
    interval: tuple[float, float] | None = None
    p_value: float | None = None
    p_adjusted: float | None = None
    base_runs: tuple[float | None, ...] = ()
    head_runs: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """How noise was dealt with: ``known`` tells that changes were tested, and not only compared.

    ``repeats_needed`` is with how many runs on each side something could be found at all.
    """

    known: bool
    confidence: float
    min_effect: float
    base_runs: int
    head_runs: int
    repeats_needed: int | None
    tested: int
    text: str


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of a check; ``outcomes`` are in the order of the policy, then of the document."""

    verdict: Verdict
    head: tuple[str, ...]
    base: tuple[str, ...]
    policy: str
    outcomes: tuple[Outcome, ...]
    noise: NoiseReport
    allowed_mismatches: tuple[Difference, ...]
    unknown_mismatches: tuple[Unknown, ...]
    notes: tuple[str, ...]
    tool_version: str

    @property
    def passed(self) -> bool:
        """Tell whether nothing failed and nothing was missing."""
        return self.verdict in {"pass", "noise"}

    def repeats_wanted(self) -> int | None:
        """Return with how many runs a side the figures that may be noise can be told from it.

        None where the runs are enough: where none of these figures would fail if it were tested alone.
        """
        confidence = self.noise.confidence
        unsure = [outcome for outcome in self.outcomes if outcome.verdict == "noise"]
        alone = [outcome for outcome in unsure if (outcome.p_value or 0.0) <= 1 - confidence + 1e-9]
        if not alone:
            return None
        base, head = self.noise.base_runs, self.noise.head_runs
        as_bad = max(round((outcome.p_value or 0.0) * comb(base + head, head)) for outcome in alone)
        return repeats_for(max(as_bad, 1) * len(unsure), min(base, head), confidence)

    def worst_first(self) -> tuple[Outcome, ...]:
        """Return the outcomes by verdict, then the surest first, then by relative change, the largest first."""
        return tuple(
            sorted(
                self.outcomes,
                key=lambda outcome: (ORDER.index(outcome.verdict), _chance(outcome), -_relative(outcome)),
            )
        )

    def counts(self) -> dict[Verdict, int]:
        """Return how many outcomes there are of each verdict."""
        found = Counter(outcome.verdict for outcome in self.outcomes)
        return {verdict: found[verdict] for verdict in ORDER}

    def error(self) -> DigestError | None:
        """Return what a command line ends with: CheckFailed, FigureMissing, or None where the check passed."""
        if self.passed:
            return None
        counts = self.counts()
        kind = CheckFailed if self.verdict == "fail" else FigureMissing
        worst = [outcome for outcome in self.worst_first() if outcome.verdict == self.verdict]
        if not worst:
            return FigureMissing(
                f"{self.policy}: every rule was skipped, so nothing was checked; relax absent = 'skip'"
            )
        what = "failed" if self.verdict == "fail" else "could not be told"
        more = f"; {len(worst) - 1} more" if len(worst) > 1 else ""
        return kind(f"{counts[self.verdict]} of {len(self.outcomes)} checks {what}: {worst[0].reason}{more}")

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document; its schema is printed by ``nsys-digest schema --of check``."""
        return {
            "schema_version": CHECK_SCHEMA_VERSION,
            "tool": {"name": "nsys-digest", "version": self.tool_version},
            "verdict": self.verdict,
            "passed": self.passed,
            "head": list(self.head),
            "base": list(self.base),
            "policy": self.policy,
            "counts": dict(self.counts()),
            "noise": asdict(self.noise),
            "allowed_mismatches": [asdict(difference) for difference in self.allowed_mismatches],
            "unknown_mismatches": [asdict(unknown) for unknown in self.unknown_mismatches],
            "notes": list(self.notes),
            "outcomes": [_outcome(outcome) for outcome in self.outcomes],
        }

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text: indented by two, or on one line; never NaN or Infinity."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **layout)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return asdict(outcome) | {
        "interval": None if outcome.interval is None else list(outcome.interval),
        "base_runs": list(outcome.base_runs),
        "head_runs": list(outcome.head_runs),
    }


def _chance(outcome: Outcome) -> float:
    return 1.0 if outcome.p_adjusted is None else outcome.p_adjusted


def _relative(outcome: Outcome) -> float:
    """Return the size of a change beside its base; more than any where the base is nothing."""
    if outcome.change_ratio is None:
        return inf if outcome.change else 0.0
    return abs(outcome.change_ratio)


def overall(outcomes: tuple[Outcome, ...]) -> Verdict:
    """Return the worst verdict; with nothing but skipped ones the answer is missing."""
    worst = min((ORDER.index(outcome.verdict) for outcome in outcomes), default=ORDER.index("skipped"))
    found = ORDER[worst]
    return "missing" if found == "skipped" else found
