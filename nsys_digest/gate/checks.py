"""The gate: two sides and a policy in, an outcome for each figure out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from statistics import median
from typing import TypeAlias

from nsys_digest import __version__
from nsys_digest.compare.comparability import Comparability, Difference, comparability, not_as_asked, repeat_mismatches
from nsys_digest.compare.devices import documents
from nsys_digest.compare.runs import RunSet
from nsys_digest.errors import CapturesMismatch, UsageInvalid
from nsys_digest.gate.decisions import decide
from nsys_digest.gate.finding_limits import finding_outcomes
from nsys_digest.gate.policy import Policy, Rule
from nsys_digest.gate.presence import presence_outcome
from nsys_digest.gate.repeats import check_repeats, distinct, noise_report
from nsys_digest.gate.significance import Samples, shift
from nsys_digest.gate.verdict import CheckResult, Outcome, Verdict, overall
from nsys_digest.model.catalogue import Json
from nsys_digest.model.figures import lists_all, names, select
from nsys_digest.model.paths import Path, path_text
from nsys_digest.model.quantity import shown, shown_allowance, shown_limit
from nsys_digest.model.selection_options import WHOLE_TRACE, SelectionOptions

Values: TypeAlias = tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class _Sides:
    """The documents of both sides; ``base`` is None without a baseline."""

    head: tuple[Json, ...]
    base: tuple[Json, ...] | None


def check_sides(
    head: RunSet,
    base: RunSet | None,
    policy: Policy,
    *,
    allow_mismatch: Iterable[str] = (),
    min_repeats: int | None = None,
    asked: SelectionOptions = WHOLE_TRACE,
    notes: Sequence[str] = (),
) -> CheckResult:
    """Hold HEAD to a policy, against a baseline where there is one; ``asked`` is what both are to look at.

    Raises:
        UsageInvalid: the policy compares, and there is no baseline.
        CapturesMismatch: the captures differ in what changes figures by itself, and that was not allowed.
        MissingData: a side has fewer runs than asked for.

    """
    _check_baseline(policy, base)
    head, twice = distinct(head)
    base, twice_too = (None, ()) if base is None else distinct(base)
    check_repeats(head, base, policy.noise.min_repeats if min_repeats is None else min_repeats)
    found = _comparability(head, base, tuple(allow_mismatch), asked)
    after, noted = documents(head, head.runs[0].digest)
    before, noted_too = (None, ()) if base is None else documents(base, head.runs[0].digest)
    sides = _Sides(after, before)
    compared = [item for rule in policy.rules for item in _rule_outcomes(rule, sides, policy)]
    decided, runs_needed = decide(compared, policy.noise)
    outcomes = (
        *decided,
        *(presence_outcome(presence, head, sides.head) for presence in policy.presences),
        *(finding_outcomes(policy.findings, head) if policy.findings is not None else ()),
    )
    return CheckResult(
        verdict=overall(outcomes),
        head=tuple(run.source for run in head.runs),
        base=() if base is None else tuple(run.source for run in base.runs),
        policy=policy.source,
        outcomes=outcomes,
        noise=noise_report(outcomes, head, base, policy, runs_needed),
        allowed_mismatches=found.allowed,
        unknown_mismatches=found.unknown,
        notes=(*notes, *twice, *twice_too, *noted, *noted_too),
        tool_version=__version__,
    )


def _check_baseline(policy: Policy, base: RunSet | None) -> None:
    needs = [rule for rule in policy.rules if rule.compares]
    if base is None and needs:
        raise UsageInvalid(
            f"there is no baseline to compare with, as {policy.source} asks for (max_change of "
            f"{needs[0].figure.text}); give one with --baseline, or limits such as "
            "--max gpu_idle_within_span_s=0.5s, or a policy of limits alone, which --init begins"
        )


def _comparability(head: RunSet, base: RunSet | None, allow: tuple[str, ...], asked: SelectionOptions) -> Comparability:
    if base is not None:
        return comparability(base, head, allow, asked)
    among: tuple[Difference, ...] = (*repeat_mismatches(head, "HEAD"), *not_as_asked(head, "HEAD", asked))
    refused = [difference for difference in among if difference.code not in allow]
    if refused:
        reasons = "; ".join(f"{difference.message} ({difference.code})" for difference in refused)
        codes = ",".join(dict.fromkeys(difference.code for difference in among))
        raise CapturesMismatch(f"the runs are no repeats: {reasons}; check them anyway with --allow-mismatch {codes}")
    return Comparability(among, ())


def _rule_outcomes(rule: Rule, sides: _Sides, policy: Policy) -> Iterator[tuple[Outcome, Samples | None]]:
    """Yield an outcome for each figure of a rule; one with samples is a change, still to be decided."""
    head = [select(rule.figure, document) for document in sides.head]
    base = None if sides.base is None else [select(rule.figure, document) for document in sides.base]
    compared = base if rule.compares else None
    paths: dict[Path, None] = {}
    for found in (*(compared or ()), *head):
        paths.update(dict.fromkeys(found))
    if not paths:
        yield _nothing(rule, sides), None
    for path in paths:
        before = None if base is None else tuple(found.get(path) for found in base)
        after = tuple(found.get(path) for found in head)
        if rule.absent == "zero":
            before = None if before is None else _zeroed(before, base or (), path, sides.base or ())
            after = _zeroed(after, head, path, sides.head)
        yield from _figure_outcomes(rule, path, before, after, policy)


def _zeroed(values: Values, found: Sequence[dict[Path, float | None]], path: Path, documents: Sequence[Json]) -> Values:
    """Put zero where a run lacks the name; a null that a run has stays null, and so does what a list cut off."""
    return tuple(
        value if path in own or not lists_all(str(path[0]), document) else 0.0
        for value, own, document in zip(values, found, documents, strict=True)
    )


def _nothing(rule: Rule, sides: _Sides) -> Outcome:
    """Return the outcome of a rule that matched nothing."""
    section = rule.figure.segments[0].literal
    unmade = section is not None and any(section not in document for document in (*sides.head, *(sides.base or ())))
    reason = f"{rule.figure.text} matches nothing"
    if unmade:
        hint = "steps is made by --steps" if section == "steps" else "make it with --sections all"
        reason += f": the digests have no section {section}; {hint}"
    elif near := _near(rule, sides):
        reason += f"; did you mean {' or '.join(near)}?"
    skipped = rule.absent == "skip" or (rule.absent == "zero" and not unmade and not rule.figure.literal)
    blank = _blank(rule, rule.figure.text)
    return replace(blank, verdict="skipped" if skipped else "missing", reason=reason)


def _near(rule: Rule, sides: _Sides) -> list[str]:
    """Return up to three names of the section that are spelled much like the one that is not there."""
    first, name = rule.figure.segments[0].literal, rule.figure.segments[1:2]
    if first is None or not name or name[0].literal is None:
        return []
    known = dict.fromkeys(own for document in sides.head for own in names(first, document) or ())
    return [path_text((own,)) for own in get_close_matches(name[0].literal, known, 3)]


def _blank(rule: Rule, figure: str) -> Outcome:
    return Outcome("change", "pass", rule.number, rule.line, figure, rule.unit, "", "", rule.why)


def _figure_outcomes(
    rule: Rule, path: Path, before: Values | None, after: Values, policy: Policy
) -> Iterator[tuple[Outcome, Samples | None]]:
    seen = replace(
        _blank(rule, path_text(path)),
        base=_middle(before or ()),
        head=_middle(after),
        base_runs=before or (),
        head_runs=after,
    )
    gaps = _gaps("HEAD", after) + (_gaps("BASE", before) if before is not None and rule.compares else [])
    if gaps:
        verdict: Verdict = "skipped" if rule.absent == "skip" else "missing"
        cure = "" if rule.absent == "skip" else "; name it, or set absent to skip or zero"
        yield replace(seen, verdict=verdict, reason=f"{seen.figure} {' and '.join(gaps)}{cure}"), None
        return
    if rule.compares and before is not None:
        effect = rule.effect(policy.noise.min_effect)
        base_values, head_values = _numbers(before), _numbers(after)
        change = shift(base_values, head_values)
        change = round(change, 10) if rule.unit == "s" else change
        ratio = change / abs(seen.base) if seen.base else None
        samples = Samples(
            base_values, head_values, rule.bad, max(rule.relative or 0.0, effect), rule.absolute or 0.0, rule.floor
        )
        yield replace(seen, change=change, change_ratio=ratio, allowed=_allowed(rule, effect)), samples
    if rule.most is not None:
        yield _budget(replace(seen, kind="max"), rule.most), None
    if rule.least is not None:
        yield _budget(replace(seen, kind="min"), rule.least), None


def _numbers(values: Values) -> tuple[float, ...]:
    return tuple(float(value) for value in values if value is not None)


def _middle(values: Values) -> float | None:
    numbers = _numbers(values)
    return float(median(numbers)) if numbers else None


def _gaps(side: str, values: Values) -> list[str]:
    """Say in how many runs of a side a figure has no value."""
    missing = sum(value is None for value in values)
    if not missing:
        return []
    runs = "" if len(values) == 1 else f" in {missing} of {len(values)} runs"
    return [f"has no value{runs} of {side}" if runs else f"has no value in {side}"]


def _allowed(rule: Rule, effect: float) -> str:
    sign = {"up": "+", "down": "-", "either": "±"}[rule.bad]
    relative = max(rule.relative or 0.0, effect)
    if not relative and not rule.absolute:
        return "none"
    parts = [f"{sign}{100 * relative:.3g} %"] if relative else []
    if rule.absolute is not None:
        parts.append(f"{sign}{shown_allowance(rule.absolute, rule.unit)}")
    return " or ".join(parts)


def _budget(seen: Outcome, limit: float) -> Outcome:
    """Hold the median of HEAD to a limit."""
    assert seen.head is not None
    assert seen.unit is not None
    slack = 1e-9 * abs(limit)
    over = seen.head > limit + slack if seen.kind == "max" else seen.head < limit - slack
    sign = "at most" if seen.kind == "max" else "at least"
    allowed = f"{sign} {shown_limit(limit, seen.unit)}"
    reason = f"{seen.figure} is {shown(seen.head, seen.unit)}, {allowed} is allowed"
    return replace(
        seen,
        verdict="fail" if over else "pass",
        allowed=allowed,
        reason=reason,
        excess=round(abs(seen.head - limit), 10) if over else None,
    )
