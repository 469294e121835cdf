"""What a check found: one outcome for each figure of each rule, and the verdict over all."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from math import inf
from typing import Any, Final, Literal, TypeAlias

from nsys_digest.compare.comparability import Difference, Unknown
from nsys_digest.errors import CheckFailed, DigestError, FigureMissing, MissingData

CHECK_SCHEMA_VERSION: Final = "1.0"
Verdict: TypeAlias = Literal["fail", "missing", "noise", "pass", "skipped"]
ORDER: Final[tuple[Verdict, ...]] = ("fail", "missing", "noise", "pass", "skipped")
"""Worst first: too bad; no answer; too bad, but that may be noise; allowed; left out as the policy says."""
Kind: TypeAlias = Literal["change", "max", "min", "require", "forbid"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The verdict of one rule on one figure or name.

    ``base`` and ``head`` are medians over the runs and ``change`` the shift between them, in ``unit``; ``base_runs``
    and ``head_runs`` the values of the runs, None where a run has none. ``p_value`` and ``p_adjusted`` are None where
    nothing was tested. ``inconclusive`` marks a change that is more than allowed where the runs are too few to exclude
    noise; the policy says which verdict that is. ``reason`` is one line for people.
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
    inconclusive: bool = False
    base_runs: tuple[float | None, ...] = ()
    head_runs: tuple[float | None, ...] = ()


@dataclass(frozen=True, slots=True)
class NoiseReport:
    """How noise was dealt with: ``known`` where every change was tested and none is inconclusive.

    ``repeats_needed`` is with how many runs a side noise would be excluded; None where nothing was checked.
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
        """Return what a command line ends with, or None where the check passed.

        It is CheckFailed, FigureMissing, or MissingData where nothing is missing but runs.
        """
        if self.passed:
            return None
        counts = self.counts()
        worst = [outcome for outcome in self.worst_first() if outcome.verdict == self.verdict]
        kind: type[DigestError] = CheckFailed if self.verdict == "fail" else FigureMissing
        if self.verdict == "missing" and worst and all(outcome.inconclusive for outcome in worst):
            kind = MissingData
        if not worst:
            return FigureMissing(
                f"{self.policy}: every rule was skipped, so nothing was checked; relax absent = 'skip'"
            )
        what = "failed" if self.verdict == "fail" else "have no answer"
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
