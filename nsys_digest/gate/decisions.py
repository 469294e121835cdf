"""How changes are decided: by the test of all figures together, or by what is allowed alone where runs are too few.

More repeats never let a change pass that is plainly worse than allowed. Where so few runs cannot reach the confidence,
noise is not excluded, and a change that is more than allowed is what the policy says of that: a failure, unless it says
otherwise. One run a side is such a case, and so are three of many noisy figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from typing import Final

from nsys_digest.gate.policy import Inconclusive, Noise
from nsys_digest.gate.significance import (
    MAX_ARRANGEMENTS,
    Samples,
    TestResult,
    advised_runs,
    can_find,
    exceeds,
    is_out_of_reach,
    is_sure,
    judge,
    runs_for,
)
from nsys_digest.gate.verdict import Outcome, Verdict
from nsys_digest.model.quantity import shown, shown_change, shown_limit, shown_share

_INCONCLUSIVE: Final[dict[Inconclusive, Verdict]] = {"fail": "fail", "status4": "missing", "pass": "noise"}


def decide(items: Sequence[tuple[Outcome, Samples | None]], noise: Noise) -> tuple[tuple[Outcome, ...], int]:
    """Decide the changes, and return with how many runs a side noise would be excluded.

    An item without samples is decided already. All others have the same runs.
    """
    figures = [samples for _, samples in items if samples is not None]
    testable = [samples for samples in figures if _testable(samples, noise)]
    results = dict(zip(map(id, testable), judge(testable, noise.confidence), strict=True))
    needed = _runs_needed(list(results.values()), figures, noise.confidence)
    return tuple(
        outcome if samples is None else _decided(outcome, samples, results.get(id(samples)), noise, needed)
        for outcome, samples in items
    ), needed


def _testable(samples: Samples, noise: Noise) -> bool:
    return can_find(len(samples.base), len(samples.head), noise.confidence, samples.bad)


def _runs_needed(results: Sequence[TestResult], figures: Sequence[Samples], confidence: float) -> int:
    """Return the number of runs that is advised, or more where so many figures are noisy."""
    reach = [result.p_reach for result in results if is_out_of_reach(result, confidence)]
    if not reach:
        return advised_runs(confidence)
    base, head = len(figures[0].base), len(figures[0].head)
    as_bad = round(max(reach) * min(comb(base + head, head), MAX_ARRANGEMENTS))
    return max(advised_runs(confidence), runs_for(as_bad, min(base, head), confidence))


def _decided(outcome: Outcome, samples: Samples, result: TestResult | None, noise: Noise, needed: int) -> Outcome:
    if result is not None:
        outcome = replace(outcome, interval=result.interval, p_value=result.p_value, p_adjusted=result.p_adjusted)
    reason = _change_in_words(outcome, samples)
    if not exceeds(samples):
        return replace(outcome, verdict="pass", reason=reason)
    if result is not None:
        reason += f", p = {result.p_adjusted:.2g}"
        if is_sure(result, noise.confidence):
            return replace(outcome, verdict="fail", reason=reason)
        if not is_out_of_reach(result, noise.confidence):
            return replace(outcome, verdict="noise", reason=f"{reason}; that may be noise")
    return replace(
        outcome,
        verdict=_INCONCLUSIVE[noise.inconclusive],
        reason=f"{reason}; noise is not excluded, which takes {needed} runs a side",
        inconclusive=True,
    )


def _change_in_words(outcome: Outcome, samples: Samples) -> str:
    """Say what changed from what to what, and what is allowed."""
    assert outcome.unit is not None
    if not outcome.change and outcome.base == outcome.head:
        return f"{outcome.figure} is {shown(outcome.head, outcome.unit)}, as before"
    change = shown_change(outcome.change, outcome.unit)
    allowed = "none is allowed" if outcome.allowed == "none" else f"up to {outcome.allowed} is allowed"
    if max(abs(outcome.base or 0.0), abs(outcome.head or 0.0)) < samples.floor:
        allowed = f"nothing below {shown_limit(samples.floor, outcome.unit)} counts"
    return f"{outcome.figure} changed by {_sizes(outcome, change)}, {allowed}"


def _sizes(outcome: Outcome, change: str) -> str:
    """Say by how much and between what; medians are called so, since the change is not their difference."""
    assert outcome.unit is not None
    base, head = shown(outcome.base, outcome.unit), shown(outcome.head, outcome.unit)
    share = [] if outcome.change_ratio is None else [shown_share(outcome.change_ratio)]
    if len(outcome.base_runs) == len(outcome.head_runs) == 1:
        return f"{change}{''.join(f' ({part})' for part in share)} from {base} to {head}"
    return f"{change} ({'; '.join([*share, f'medians {base} and {head}'])})"
