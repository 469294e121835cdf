"""The permutation test: against enumeration by hand, and against a thousand simulated pairs."""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsys_digest.gate.significance import (
    MAX_ARRANGEMENTS,
    Samples,
    advised_runs,
    can_find,
    exceeds,
    judge,
    least_p,
    runs_for,
    shift,
)

VALUES = st.integers(0, 9).map(float)
PAIRS = 1_000


def plain_shift(base: list[float], head: list[float]) -> float:
    return statistics.median(after - before for after in head for before in base)


def wins(base: list[float], head: list[float]) -> float:
    """Return the statistic of Mann and Whitney: pairs in which HEAD is above, half a pair for equals."""
    return sum((after > before) + (after == before) / 2 for after in head for before in base)


Score = tuple[float, float]
ALLOWED: Score = (-math.inf, 0.0)


def plain_score(trial: Samples, base: list[float], head: list[float]) -> Score:
    """Return how bad one arrangement looks, from the definitions alone: by rank sum, then by how far it goes beyond."""
    change, middle = plain_shift(base, head), statistics.median(base)
    size = {"up": change, "down": -change, "either": abs(change)}[trial.bad]
    largest = max(abs(middle), abs(statistics.median(head)))
    allowed = max(trial.relative * abs(middle), trial.absolute)
    if size <= allowed + 1e-9 * largest or size <= 0 or largest < trial.floor:
        return ALLOWED
    score = wins(base, head) - len(base) * len(head) / 2
    return {"up": score, "down": -score, "either": abs(score)}[trial.bad], round(1 - allowed / size, 9)


def plain_judge(trials: list[Samples]) -> list[tuple[float, float]]:
    """Return (p, adjusted p) of each figure: step-down maxT, over every way to deal the runs out."""
    runs = len(trials[0].base) + len(trials[0].head)
    table = []
    for chosen in itertools.combinations(range(runs), len(trials[0].head)):
        scores = []
        for trial in trials:
            values = [*trial.base, *trial.head]
            head = [values[at] for at in chosen]
            scores.append(plain_score(trial, [values[at] for at in range(runs) if at not in chosen], head))
        table.append(scores)
    seen = table[-1]  # combinations come in order, so that the last one takes the last runs
    order = sorted(range(len(trials)), key=lambda at: seen[at], reverse=True)
    adjusted, worst = [1.0] * len(trials), 0.0
    for place, at in enumerate(order):
        if seen[at] == ALLOWED:
            break
        rest = order[place:]
        worst = max(worst, sum(max(row[other] for other in rest) >= seen[at] for row in table) / len(table))
        adjusted[at] = worst
    alone = [
        sum(row[at] >= seen[at] for row in table) / len(table) if seen[at] > ALLOWED else 1.0
        for at in range(len(trials))
    ]
    return list(zip(alone, adjusted, strict=True))


@st.composite
def checks(draw: st.DrawFn) -> list[Samples]:
    base, head = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    return [
        Samples(
            tuple(draw(st.lists(VALUES, min_size=base, max_size=base))),
            tuple(draw(st.lists(VALUES, min_size=head, max_size=head))),
            draw(st.sampled_from(["up", "down", "either"])),
            draw(st.sampled_from([0.0, 0.1, 0.5])),
            draw(st.sampled_from([0.0, 1.0])),
            draw(st.sampled_from([0.0, 3.0])),
        )
        for _ in range(draw(st.integers(1, 4)))
    ]


@given(checks())
@settings(max_examples=150, deadline=None)
@pytest.mark.slow
def test_it_is_the_enumeration_of_all_arrangements(trials: list[Samples]) -> None:
    for trial, finding, (alone, adjusted) in zip(trials, judge(trials, 0.95), plain_judge(trials), strict=True):
        assert finding.change == plain_shift(list(trial.base), list(trial.head))
        assert finding.p_value == pytest.approx(alone)
        assert finding.p_adjusted == pytest.approx(adjusted)
        assert finding.exceeds == exceeds(trial) == (plain_score(trial, list(trial.base), list(trial.head)) > ALLOWED)


def test_one_slow_side_of_five_against_five() -> None:
    # BASE 10 11 12 13 14, HEAD 20 21 22 23 24: of 252 arrangements one looks as bad
    finding = judge([trial([10, 11, 12, 13, 14], [20, 21, 22, 23, 24])], 0.95)[0]
    assert (finding.change, finding.exceeds) == (10, True)
    assert finding.p_value == finding.p_adjusted == finding.p_reach == pytest.approx(1 / 252)


def trial(base: list[float], head: list[float], **allowed: float) -> Samples:
    return Samples(
        tuple(base),
        tuple(head),
        "up",
        allowed.get("relative", 0.0),
        allowed.get("absolute", 0.0),
        allowed.get("floor", 0),
    )


def test_a_quiet_figure_costs_the_others_nothing() -> None:
    """A figure that no arrangement can push above its allowance leaves the p-value of another one as it was."""
    moved = trial([10, 11, 12, 13, 14], [20, 21, 22, 23, 24])
    quiet = [trial([100, 101, 102, 101, 100], [101, 100, 102, 100, 101], relative=0.05) for _ in range(30)]
    assert judge([moved, *quiet], 0.95)[0].p_adjusted == pytest.approx(1 / 252)


def test_a_change_far_beyond_is_not_hidden_by_noise_just_beyond() -> None:
    """Three against three: by ranks each figure looks as bad in one arrangement of 20, and not in the same one."""
    calls = trial([0, 0, 0], [28, 28, 28], relative=0.05, absolute=2)
    noisy = trial([100, 120, 100], [100, 121, 122], relative=0.05)
    findings = judge([calls, noisy], 0.95)
    assert findings[0].p_adjusted == pytest.approx(1 / 20)
    assert findings[1].p_adjusted > 1 / 20


def test_one_slow_run_neither_fails_nor_saves_a_check() -> None:
    outlier = judge([trial([10, 11, 12, 13, 14], [10, 11, 12, 13, 99])], 0.95)[0]
    assert outlier.p_adjusted > 0.05
    saved = judge([trial([10, 11, 12, 13, 14, 15, 99], [20, 21, 22, 23, 24, 25, 26])], 0.95)[0]
    assert saved.p_adjusted <= 0.05


@pytest.mark.parametrize(
    ("base", "head", "least"), [(1, 1, 1 / 2), (2, 2, 1 / 6), (3, 3, 1 / 20), (5, 5, 1 / 252), (1, 19, 1 / 20)]
)
def test_what_so_many_runs_can_find_at_best(base: int, head: int, least: float) -> None:
    assert least_p(base, head) == pytest.approx(least)
    assert can_find(base, head, 0.95) == (least <= 0.05)


def test_runs_that_are_needed() -> None:
    assert [advised_runs(confidence) for confidence in (0.5, 0.9, 0.95, 0.99, 0.999)] == [5, 5, 5, 5, 7]
    for confidence in (0.5, 0.9, 0.95, 0.99, 0.999):  # either way is bad: two of all arrangements look as bad
        assert 2 / math.comb(2 * advised_runs(confidence), advised_runs(confidence)) <= 1 - confidence
    # twelve arrangements of 252 are 0.048, thirteen are 0.052
    assert [runs_for(as_bad, 4, 0.95) for as_bad in (1, 12, 13)] == [5, 5, 6]


@pytest.mark.parametrize(("base", "head"), [(3, 3), (4, 5), (5, 5), (2, 7), (6, 6)])
def test_the_interval_is_cut_by_the_exact_distribution(base: int, head: int) -> None:
    """With c differences off each end, arrangements whose statistic is at most c - 1 are within the tail."""
    values = list(np.random.default_rng(base * 10 + head).permutation(base + head).astype(float))
    before, after = values[:base], values[base:]
    counts = [
        wins([values[at] for at in range(base + head) if at not in chosen], [values[at] for at in chosen])
        for chosen in itertools.combinations(range(base + head), head)
    ]
    ordered = sorted(a - b for a in after for b in before)
    cut = max((c for c in range(len(ordered)) if sum(w <= c - 1 for w in counts) / len(counts) <= 0.05), default=0)
    interval = judge([trial(before, after)], 0.9)[0].interval
    assert interval == ((ordered[cut - 1], ordered[-cut]) if cut else None)
    if interval is not None:
        assert interval[0] <= shift(before, after) <= interval[1]


Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]
NOISES: dict[str, Draw] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "lognormal": lambda random, shape: (
        (random.lognormal(0, 0.5, shape) - math.exp(0.125)) / math.sqrt((math.exp(0.25) - 1) * math.exp(0.25))
    ),
    "heavy-tailed": lambda random, shape: random.standard_t(3, shape) / math.sqrt(3),
}
"""Noise with mean 0 and standard deviation 1."""


def alarms(
    noise: str, runs: int, *, moved: float = 0.0, figures: int = 1, relative: float = 0.0, sd: float = 0.01
) -> int:
    """Count, of a thousand pairs of checks, those in which the first figure is found, or any without a change."""
    random = np.random.default_rng(20_261_130)
    found = 0
    for _ in range(PAIRS):
        values = 1 + sd * NOISES[noise](random, (figures, 2 * runs))
        values[0, runs:] += moved * sd
        trials = [trial(list(row[:runs]), list(row[runs:]), relative=relative) for row in values]
        hits = [finding.p_adjusted <= 0.05 + 1e-9 for finding in judge(trials, 0.95)]
        found += hits[0] if moved else any(hits)
    return found


def most(share: float, times: int = PAIRS) -> float:
    """Return the count that chance goes beyond once in a thousand."""
    return share * times + 3.1 * math.sqrt(share * (1 - share) * times)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("runs", [3, 5, 7])
@pytest.mark.slow
def test_false_alarms_are_as_configured(noise: str, runs: int) -> None:
    assert alarms(noise, runs) <= most(0.05)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.slow
def test_false_alarms_of_a_whole_check_are_as_configured(noise: str) -> None:
    """Ten noisy figures, no change: one of the ten is called a regression in at most 5 % of checks."""
    assert alarms(noise, 5, figures=10, relative=0.01 if noise == "heavy-tailed" else 0.0) <= most(0.05)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.slow
def test_twice_the_noise_is_found_with_seven_repeats(noise: str) -> None:
    assert alarms(noise, 7, moved=2) >= 0.95 * PAIRS


@pytest.mark.slow
def test_a_change_well_above_what_is_allowed_is_found_with_five_repeats_beside_others() -> None:
    """Ten figures with 1 % of noise and 5 % allowed, one of them 10 % up."""
    assert alarms("normal", 5, moved=10, figures=10, relative=0.05) >= 0.99 * PAIRS


def test_many_runs_are_drawn_with_a_fixed_seed() -> None:
    random = np.random.default_rng(7)
    values = random.standard_normal((2, 24))
    values[0, 12:] += 3
    trials = [trial(list(row[:12]), list(row[12:])) for row in values]
    first, again = judge(trials, 0.95), judge(trials, 0.95)
    assert first == again
    assert first[0].p_adjusted == pytest.approx(1 / MAX_ARRANGEMENTS)
    assert all(finding.p_adjusted >= 1 / MAX_ARRANGEMENTS for finding in first)
