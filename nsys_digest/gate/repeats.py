"""The runs of both sides as repeats: which count, whether they are enough, and what they say of noise."""

from __future__ import annotations

from collections.abc import Sequence

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import MissingData
from nsys_digest.gate.policy import Policy
from nsys_digest.gate.significance import repeats_needed
from nsys_digest.gate.verdict import NoiseReport, Outcome


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


def noise_report(outcomes: Sequence[Outcome], head: RunSet, base: RunSet | None, policy: Policy) -> NoiseReport:
    """Say how noise was dealt with."""
    noise = policy.noise
    tested = sum(outcome.p_adjusted is not None for outcome in outcomes)
    changes = [outcome for outcome in outcomes if outcome.kind == "change" and outcome.change is not None]
    base_runs, head_runs = 0 if base is None else len(base.runs), len(head.runs)
    needed = repeats_needed(noise.confidence, "either" if any(rule.bad == "either" for rule in policy.rules) else "up")
    sure = f"{100 * noise.confidence:g} %"
    if not changes:
        text = "no changes were compared"
    elif tested == len(changes):
        text = (
            f"{head_runs} runs against {base_runs}; exact permutation test of {tested} figures together, "
            f"a false alarm in at most {100 * (1 - noise.confidence):.3g} % of checks"
        )
    else:
        text = (
            f"unknown: {head_runs} {'run' if head_runs == 1 else 'runs'} against {base_runs}, so changes are compared "
            f"and not tested; at least {needed} a side are needed at {sure}"
        )
    known = bool(changes) and tested == len(changes)
    return NoiseReport(known, noise.confidence, noise.min_effect, base_runs, head_runs, needed, tested, text)
