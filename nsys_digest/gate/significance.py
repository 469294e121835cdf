"""Whether changes are more than noise: an exact permutation test over all figures of a check at once.

If nothing changed, each run might as well have been of the other side. So every way to deal the runs out to the two
sides is tried, all figures together, and the change that was seen counts only if few of the other ways look as bad:
Westfall and Young, Resampling-Based Multiple Testing (1993), step-down maxT, on the rank sums of Mann and Whitney. How
large a change is, is the median of all differences between a run of HEAD and one of BASE (Hodges and Lehmann 1963). A
way to deal counts as bad only where its change also is more than what the policy allows; so a figure whose noise is far
below its allowance costs the others nothing. Of equal rank sums the one is worse whose change goes farther beyond what
is allowed; so a call that was never made and is made 28 times now is not hidden by noise that is just beyond.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from math import comb, sqrt
from statistics import NormalDist
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Direction = Literal["up", "down", "either"]
Floats = NDArray[np.float64]

ADVISED_RUNS: Final = 5
"""252 arrangements: at 0.95, twelve may look as bad, so that a dozen noisy figures hide nothing."""
HIGHEST_CONFIDENCE: Final = 0.999
"""Beyond, the arrangements that are tried are too few."""
MAX_ARRANGEMENTS: Final = 4_000
"""Up to 7 against 7 runs all arrangements are tried, beyond that as many as this, drawn with a fixed seed."""
_SEED: Final = 20_260
_TIE: Final = 0.49
"""What decides between equal rank sums is less than the half by which unequal ones differ at least."""
_SLACK: Final = 1e-9
"""Changes that are equal to the allowance but for rounding are not more than it."""
_MAX_REPEATS: Final = 1_000
_EXACT_RUNS: Final = 60
"""With more runs of both sides together, the rank sum is taken to be normal for the interval."""


@dataclass(frozen=True, slots=True)
class Samples:
    """One figure of both sides, and what is allowed: a bad change is more than both allowances, and above the floor."""

    base: tuple[float, ...]
    head: tuple[float, ...]
    bad: Direction
    relative: float
    absolute: float
    floor: float


@dataclass(frozen=True, slots=True)
class TestResult:
    """What was found for one figure.

    ``exceeds`` tells that the change is bad and more than allowed. ``p_value`` is the share of arrangements in which
    this figure looks as bad, ``p_adjusted`` that in which any figure does; both are 1 where the change is within what
    is allowed. ``p_reach``, the same for all figures of a check, is the share of arrangements in which any figure
    looks as bad as it can: every run of one side beyond every run of the other, by more than allowed. ``interval``
    holds the change with the confidence asked for, for this figure alone; None with too few runs.
    """

    change: float
    exceeds: bool
    p_value: float
    p_adjusted: float
    p_reach: float
    interval: tuple[float, float] | None


def shift(base: Sequence[float], head: Sequence[float]) -> float:
    """Return the median of all differences between a run of HEAD and one of BASE."""
    return float(np.median(np.subtract.outer(np.asarray(head, float), np.asarray(base, float))))


def least_p(base_runs: int, head_runs: int, bad: Direction = "up") -> float:
    """Return the least p-value that so many runs can give: one arrangement of all, or two where either way is bad."""
    return min(1.0, (2 if bad == "either" else 1) / comb(base_runs + head_runs, head_runs))


def can_find(base_runs: int, head_runs: int, confidence: float, bad: Direction = "up") -> bool:
    """Tell whether so many runs can find anything at that confidence."""
    return least_p(base_runs, head_runs, bad) <= 1 - confidence + _SLACK


def advised_runs(confidence: float) -> int:
    """Return with how many runs a side noise can be excluded: the one number that reports, policies and docs give.

    It is ``ADVISED_RUNS``, or as many as that confidence needs for a figure where either way is bad.
    """
    return next(runs for runs in range(ADVISED_RUNS, _MAX_REPEATS) if can_find(runs, runs, confidence, "either"))


def runs_for(as_bad: int, more_than: int, confidence: float) -> int:
    """Return with how many runs a side, above some, so many arrangements may look as bad."""
    allowed = 1 - confidence + _SLACK
    return next(runs for runs in range(more_than + 1, _MAX_REPEATS) if as_bad / comb(2 * runs, runs) <= allowed)


def is_sure(result: TestResult, confidence: float) -> bool:
    """Tell whether a change is more than what is allowed, and more than noise."""
    return result.exceeds and result.p_adjusted <= 1 - confidence + _SLACK


def is_out_of_reach(result: TestResult, confidence: float) -> bool:
    """Tell whether so few runs cannot reach that confidence: too many noisy figures could look as bad as can be.

    A figure whose sides do not overlap, and that is not sure, is always out of reach: only figures that look as bad
    as can be count against it. So more repeats never let it pass.
    """
    return result.exceeds and result.p_reach > 1 - confidence + _SLACK


def judge(figures: Sequence[Samples], confidence: float) -> list[TestResult]:
    """Judge the figures of one check together; all have the same runs, in the same order."""
    if not figures:
        return []
    base_runs, head_runs = len(figures[0].base), len(figures[0].head)
    rows = _arrangements(base_runs + head_runs, head_runs)
    bad = [exceeds(samples) for samples in figures]
    scores = np.vstack([_rank_scores(samples, rows) for samples in figures])
    worst = scores == base_runs * head_runs / 2
    scores[np.logical_not(bad), 0] = -np.inf
    least = min((own[0] for own, seen in zip(scores, bad, strict=True) if seen), default=np.inf)
    for samples, own in zip(figures, scores, strict=True):
        _weigh(samples, rows, own, least)
    p_reach = float(np.mean((worst & np.isfinite(scores)).any(axis=0)))
    adjusted = _step_down(scores)
    return [
        TestResult(
            change=shift(samples.base, samples.head),
            exceeds=bad[at],
            p_value=_share(own, own[0]),
            p_adjusted=float(adjusted[at]),
            p_reach=p_reach,
            interval=_interval(samples, confidence),
        )
        for at, (samples, own) in enumerate(zip(figures, scores, strict=True))
    ]


def exceeds(samples: Samples) -> bool:
    """Tell whether the change is bad and more than allowed, whatever the noise."""
    return bool(np.isfinite(_beyond(samples, np.array([samples.base], float), np.array([samples.head], float))[0]))


@lru_cache(maxsize=4)
def _arrangements(runs: int, head_runs: int) -> NDArray[np.intp]:
    """Return which runs are HEAD in each arrangement, one a row; the first is the real one: the last runs."""
    real = np.arange(runs - head_runs, runs)
    if comb(runs, head_runs) <= MAX_ARRANGEMENTS:
        others = [chosen for chosen in combinations(range(runs), head_runs) if chosen != tuple(real)]
        return np.array([tuple(real), *others], dtype=np.intp)
    draw = np.random.default_rng(_SEED).permuted(np.tile(np.arange(runs), (MAX_ARRANGEMENTS - 1, 1)), axis=1)
    return np.vstack([real, np.sort(draw[:, :head_runs], axis=1)])


def _rank_scores(samples: Samples, rows: NDArray[np.intp]) -> Floats:
    """Return how bad each arrangement looks by its rank sum, less the mean of all."""
    ranks = _ranks(np.array((*samples.base, *samples.head), dtype=np.float64))
    sums: Floats = ranks[rows].sum(axis=1) - rows.shape[1] * (len(ranks) + 1) / 2
    return {"up": sums, "down": -sums, "either": np.abs(sums)}[samples.bad]


def _weigh(samples: Samples, rows: NDArray[np.intp], scores: Floats, least: float) -> None:
    """Put -inf for the arrangements that are allowed, and for those with a score below the least that counts.

    To the others is added how far beyond the allowance they are.
    """
    values = np.array((*samples.base, *samples.head), dtype=np.float64)
    looked_at = np.flatnonzero(scores >= least)
    scores[scores < least] = -np.inf
    if not len(looked_at):
        return
    in_head = np.zeros((len(looked_at), len(values)), dtype=bool)
    np.put_along_axis(in_head, rows[looked_at], values=True, axis=1)
    base = np.broadcast_to(values, in_head.shape)[~in_head].reshape(len(looked_at), len(samples.base))
    scores[looked_at] += _TIE * _beyond(samples, base, values[rows[looked_at]])


def _beyond(samples: Samples, base: Floats, head: Floats) -> Floats:
    """Return which part of the change of each arrangement, one a row, is beyond what is allowed, from 0 to 1.

    It is -inf where the change is not bad, or not more than allowed.
    """
    differences = head[:, :, np.newaxis] - base[:, np.newaxis, :]
    change = np.median(differences.reshape(len(head), -1), axis=1)
    middle = np.median(base, axis=1)
    size = np.maximum(np.abs(middle), np.abs(np.median(head, axis=1)))
    badness = {"up": change, "down": -change, "either": np.abs(change)}[samples.bad]
    limit = np.maximum(samples.relative * np.abs(middle), samples.absolute)
    slack = _SLACK * size
    bad = (badness > limit + slack) & (badness > 0) & (size >= samples.floor - slack)
    part = np.full(len(head), -np.inf)
    part[bad] = np.round(1 - limit[bad] / badness[bad], 9)
    return part


def _ranks(values: Floats) -> Floats:
    """Return the ranks from 1; equal values share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Floats = (last - (counts - 1) / 2)[inverse]
    return ranks


def _share(scores: Floats, seen: float) -> float:
    """Return the share of arrangements that look as bad as one; 1 for one that is allowed."""
    return float(np.mean(scores >= seen)) if np.isfinite(seen) else 1.0


def _step_down(scores: Floats) -> Floats:
    """Return the adjusted p-value of each figure: rows are figures, the first column is what was seen."""
    order = np.argsort(-scores[:, 0], kind="stable")
    worst = np.maximum.accumulate(scores[order][::-1], axis=0)[::-1]
    p_values = np.array([_share(row, row_seen) for row, row_seen in zip(worst, scores[order, 0], strict=True)])
    adjusted = np.empty(len(scores))
    adjusted[order] = np.maximum.accumulate(p_values)
    return adjusted


def _interval(samples: Samples, confidence: float) -> tuple[float, float] | None:
    """Return the interval of the shift: the differences cut at both ends by the exact distribution of the rank sum."""
    differences = np.sort(np.subtract.outer(np.asarray(samples.head, float), np.asarray(samples.base, float)).ravel())
    cut = _cut(len(samples.base), len(samples.head), (1 - confidence) / 2)
    return None if cut is None else (float(differences[cut]), float(differences[-1 - cut]))


@lru_cache(maxsize=16)
def _cut(base_runs: int, head_runs: int, tail: float) -> int | None:
    """Return the most differences that may be cut off an end, less one; None where none may."""
    if base_runs + head_runs > _EXACT_RUNS:
        spread = sqrt(base_runs * head_runs * (base_runs + head_runs + 1) / 12)
        return max(int(base_runs * head_runs / 2 - NormalDist().inv_cdf(1 - tail) * spread), 0)
    ways = _ways(base_runs, head_runs)
    below = np.cumsum(ways) / comb(base_runs + head_runs, head_runs)
    count = int(np.searchsorted(below, tail + 1e-12, side="right"))
    return None if count == 0 else count - 1


def _ways(base_runs: int, head_runs: int) -> Floats:
    """Return in how many arrangements each number of pairs, from 0, has its run of HEAD above that of BASE."""
    table = {(0, runs): np.array([1.0]) for runs in range(base_runs + 1)}
    for of_head in range(1, head_runs + 1):
        table[of_head, 0] = np.array([1.0])
        for of_base in range(1, base_runs + 1):
            found = np.zeros(of_head * of_base + 1)
            highest_in_head = table[of_head - 1, of_base]
            found[of_base : of_base + len(highest_in_head)] += highest_in_head
            highest_in_base = table[of_head, of_base - 1]
            found[: len(highest_in_base)] += highest_in_base
            table[of_head, of_base] = found
    return table[head_runs, base_runs]
