"""What a check found: one outcome for each figure of each rule, and the verdict over all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from math import inf
from typing import ClassVar, Final, Literal, TypeAlias

from nsys_digest.compare.comparability import Difference, Unknown
from nsys_digest.errors import CheckFailed, DigestError, FigureMissing, MissingData
from nsys_digest.model.catalogue import computed, document, label, part, result
from nsys_digest.model.digest import TOOL
from nsys_digest.model.stored_document import StoredDocument
from nsys_digest.units import counted

CHECK_SCHEMA_VERSION: Final = "1.0"
Verdict: TypeAlias = Literal["fail", "missing", "noise", "pass", "skipped"]
ORDER: Final[tuple[Verdict, ...]] = ("fail", "missing", "noise", "pass", "skipped")
"""Worst first: too bad; no answer; too bad, but that may be noise; allowed; left out as the policy says."""
Kind: TypeAlias = Literal["change", "max", "min", "require", "forbid", "finding"]


@result
class Outcome:
    """The verdict of one rule on one figure or name.

    ``base`` and ``head`` are medians over the runs and ``change`` the shift between them, in ``unit``; ``base_runs``
    and ``head_runs`` the values of the runs, None where a run has none. ``p_value`` and ``p_adjusted`` are None where
    nothing was tested. ``inconclusive`` marks a change that is more than allowed where the runs are too few to exclude
    noise; the policy says which verdict that is. ``reason`` is one line for people.
    """

    kind: Kind = label("what was looked at: a change, a limit, a name, or a finding")
    verdict: Verdict = label(
        "fail: worse than allowed; missing: no answer; noise: worse than allowed, but that may be noise; pass; "
        "skipped: left out as the policy says"
    )
    rule: int = label("number of the rule among those of its kind, from 1", least=1)
    line: int | None = label("its line in the policy, where known")
    figure: str = label("path of the figure, or what was required or forbidden")
    unit: str | None = label("s, ratio, bytes, gbps or count; null for a name", pattern="^(s|ratio|bytes|gbps|count)$")
    allowed: str = label("what is allowed, for people")
    reason: str = label("the outcome in one line for people")
    why: str = label("what the policy says it is for", always=True, default="")
    base: float | None = label("median over the runs of BASE", always=True, default=None)
    head: float | None = label("median over the runs of HEAD", always=True, default=None)
    change: float | None = label(
        "median of all differences between a run of HEAD and one of BASE", always=True, default=None
    )
    change_ratio: float | None = label("change over base; null where base is 0", always=True, default=None)
    excess: float | None = label(
        "how far HEAD is past the limit; absent for a change, and within the limit", default=None
    )
    interval: tuple[float, float] | None = label(
        "the change with the confidence of the policy, of this figure alone", always=True, default=None
    )
    p_value: float | None = label(
        "share of arrangements in which this figure looks as bad; null where nothing was tested",
        always=True,
        default=None,
    )
    p_adjusted: float | None = label(
        "share of arrangements in which any figure does; what the verdict is by", always=True, default=None
    )
    inconclusive: bool = label(
        "more than allowed, but the runs are too few to exclude noise; the policy says which verdict that is",
        default=False,
    )
    base_runs: tuple[float | None, ...] = label(
        "the value of each run of BASE; null where it has none", always=True, default=()
    )
    head_runs: tuple[float | None, ...] = label(
        "the value of each run of HEAD; null where it has none", always=True, default=()
    )


@result
class NoiseReport:
    """How noise was dealt with: ``known`` where every change was tested and none is inconclusive.

    ``repeats_needed`` is with how many runs a side noise would be excluded; None where nothing was checked.
    """

    known: bool = label("every change was tested, and none is inconclusive")
    confidence: float = label("of the whole check: a false alarm in at most 1 - confidence of checks")
    min_effect: float = label("smallest relative change that can fail")
    base_runs: int = label("runs of BASE", least=0)
    head_runs: int = label("runs of HEAD", least=1)
    repeats_needed: int | None = label(
        "with how many runs a side noise would be excluded at that confidence; null where nothing was checked"
    )
    tested: int = label("figures that were tested together", least=0)
    text: str = label("the same in one line for people")


@result
class StoppedBy:
    """An error that ended a check before it came to a result."""

    code: str = label("code of the error, as on standard error")
    message: str = label("the error in one line for people")


@document
class CheckResult(StoredDocument):
    """The result of a check; ``outcomes`` are in the order of the policy, then of the document."""

    WHAT: ClassVar = "check"
    COMMAND: ClassVar = "nsys-digest check HEAD -b BASE --format json"
    VERSION: ClassVar = CHECK_SCHEMA_VERSION
    MORE_KEYS: ClassVar = True
    WITHIN: ClassVar = {"tool": "what wrote the document"}
    TITLE: ClassVar = "nsys-digest check, version 1"
    ABOUT: ClassVar = (
        "What a check of runs against a policy found. Amounts are in the unit of their figure, times in seconds. Keys "
        "may be added within version 1; none changes its meaning."
    )

    schema_version: str = label(
        "major.minor; the minor number grows with added keys",
        pattern=r"^1\.[0-9]+$",
        always=True,
        default=CHECK_SCHEMA_VERSION,
    )
    tool_version: str = label("version of the package that wrote it", key="version", within="tool")
    verdict: Verdict = label("the worst of the outcomes; missing where all were skipped")
    head: tuple[str, ...] = label("runs of HEAD, as given")
    base: tuple[str, ...] = label("runs of BASE, as given; none without a baseline")
    policy: str = label("path of the policy, or built-in policy")
    noise: NoiseReport = part("how noise was dealt with")
    allowed_mismatches: tuple[Difference, ...] = part(
        "differences between the captures that were allowed", former=("allowed_unlike",)
    )
    unknown_mismatches: tuple[Unknown, ...] = part(
        "facts of the captures that a digest does not tell", former=("unknown_unlike",)
    )
    notes: tuple[str, ...] = label("what else bears on the result, one line each")
    outcomes: tuple[Outcome, ...] = part("one for each figure or name of each rule, in the order of the policy")
    stopped_by: StoppedBy | None = part(
        "only where the check came to no result: what stood against it; the verdict is missing then, and there are no "
        "outcomes",
        key="error",
        left_out=True,
        default=None,
    )

    def __repr__(self) -> str:
        """Return the verdict and how many outcomes there are, and not all of them."""
        return f"<CheckResult {self.verdict}: {counted(len(self.outcomes), 'outcome')}>"

    @property
    @computed("what wrote the document: always nsys-digest", key="name", within="tool", after="schema_version")
    def tool(self) -> Literal["nsys-digest"]:
        """The name of the program."""
        return TOOL

    @property
    @computed("outcomes by verdict", key="counts", after="policy", names=ORDER)
    def outcome_counts(self) -> Mapping[str, int]:
        """How many outcomes there are of each verdict."""
        found = Counter(outcome.verdict for outcome in self.outcomes)
        return {verdict: found[verdict] for verdict in ORDER}

    @property
    @computed("nothing failed and nothing was missing", after="verdict")
    def passed(self) -> bool:
        """Tell whether nothing failed and nothing was missing."""
        return self.verdict in {"pass", "noise"}

    def worst_first(self) -> tuple[Outcome, ...]:
        """Return the outcomes by verdict, then by the time that they cost, then the surest and largest change first."""
        return tuple(
            sorted(
                self.outcomes,
                key=lambda outcome: (
                    ORDER.index(outcome.verdict),
                    -_cost_s(outcome),
                    _chance(outcome),
                    -_relative(outcome),
                ),
            )
        )

    def error(self) -> DigestError | None:
        """Return what a command line ends with, or None where the check passed.

        It is CheckFailed, FigureMissing, or MissingData where nothing is missing but runs.
        """
        if self.passed:
            return None
        counts = self.outcome_counts
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


def _cost_s(outcome: Outcome) -> float:
    """Return by how many seconds a figure changed, or is past its limit; 0 for what is no time, or allowed."""
    if outcome.unit != "s" or outcome.verdict not in {"fail", "noise"}:
        return 0.0
    return abs(outcome.change or outcome.excess or 0.0)


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
