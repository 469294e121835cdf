"""The runs of both sides as repeats: which count, whether they are enough, and what they say of noise."""

from __future__ import annotations

from collections.abc import Sequence

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import MissingData
from nsys_digest.gate.policy import Policy
from nsys_digest.gate.verdict import NoiseReport, Outcome
from nsys_digest.units import counted


def distinct(side: RunSet) -> tuple[RunSet, tuple[str, ...]]:
    """Return a side without runs that are there twice, which are no repeats, and a note on each."""
    runs: list[Run] = []
    notes = []
    for run in side.runs:
        same = next((other for other in runs if other.digest == run.digest), None)
        if same is None:
            runs.append(run)
        else:
            notes.append(f"{run.source} is the same run as {same.source}, and counts once")
    return RunSet(tuple(runs)), tuple(notes)


def check_repeats(head: RunSet, base: RunSet | None, fewest: int) -> None:
    """Refuse fewer runs than asked for; raises MissingData."""
    counts = {"HEAD": len(head.runs)} | ({} if base is None else {"BASE": len(base.runs)})
    few = [f"{name} has {count}" for name, count in counts.items() if count < fewest]
    if few:
        raise MissingData(f"at least {fewest} runs a side are asked for, and {' and '.join(few)}; record more runs")


def noise_report(
    outcomes: Sequence[Outcome], head: RunSet, base: RunSet | None, policy: Policy, runs_needed: int
) -> NoiseReport:
    """Say how noise was dealt with."""
    noise = policy.noise
    tested = sum(outcome.p_adjusted is not None for outcome in outcomes)
    changes = [outcome for outcome in outcomes if outcome.kind == "change" and outcome.change is not None]
    unsure = [outcome for outcome in changes if outcome.inconclusive]
    base_runs, head_runs = 0 if base is None else len(base.runs), len(head.runs)
    runs = f"{counted(head_runs, 'run')} against {base_runs}"
    known = bool(changes) and tested == len(changes) and not unsure
    if not changes:
        text = "no changes were compared"
    elif known:
        text = (
            f"{runs}; exact permutation test of {counted(tested, 'figure')} together, "
            f"a false alarm in at most {100 * (1 - noise.confidence):.3g} % of checks"
        )
    else:
        how = "too few for so many noisy figures"
        if tested < len(changes):
            how = "too few to test every change" if tested else "too few to test changes, which are only compared"
        text = (
            f"not excluded: {runs} {'is' if head_runs == 1 else 'are'} {how}; record {runs_needed} runs a side to "
            f"exclude noise at {100 * noise.confidence:g} %"
        )
    return NoiseReport(
        known=known,
        confidence=noise.confidence,
        min_effect=noise.min_effect,
        base_runs=base_runs,
        head_runs=head_runs,
        repeats_needed=runs_needed,
        tested=tested,
        text=text,
    )
