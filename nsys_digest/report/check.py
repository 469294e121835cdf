"""The report of a check, as blocks of plain text: what failed first."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from nsys_digest.gate.verdict import CheckResult, Outcome, Verdict
from nsys_digest.model.quantity import shown, shown_change, shown_share
from nsys_digest.report.blocks import NAME, Block, Column, Report, more, numbers
from nsys_digest.report.figure_columns import of
from nsys_digest.report.figure_words import figure_words
from nsys_digest.report.shell_words import spelled
from nsys_digest.units import counted

_TITLES: Final[dict[Verdict, str]] = {
    "fail": "Worse than allowed",
    "missing": "Without an answer",
    "noise": "Worse than allowed, but that may be noise",
    "pass": "Within what is allowed",
    "skipped": "Left out, as the policy says",
}
_SAID: Final = 5
_NAMED: Final = 10

_AMOUNTS = (
    of(Outcome, "change").head,
    Column("%"),
    of(Outcome, "base", "BASE").head,
    of(Outcome, "head", "HEAD").head,
    Column("allowed"),
)


def check_report(result: CheckResult, top: int, again: Sequence[str] = ()) -> Report:
    """Arrange a check; what passed is listed up to ``top`` rows, all else whole.

    ``again`` are options of the check that a command on the same runs needs too.
    """
    return Report(
        title=_title(result),
        facts=tuple(_facts(result)),
        bars=(),
        blocks=tuple(block for block in _blocks(result, top) if block.rows),
        warnings=(),
        notes=_notes(result),
        lead=tuple(_lead(result)),
        command=("What moved, and why", explanation(result, again))
        if result.verdict == "fail" and result.base
        else None,
    )


def _title(result: CheckResult) -> str:
    how = "passed" if result.passed else "failed" if result.verdict == "fail" else "has no answer"
    return f"Check {how}{_unsure(result)}"


def _unsure(result: CheckResult) -> str:
    """Say where the verdict may be noise, and how many runs would exclude it; nothing where there is nothing to say."""
    worst = [outcome for outcome in result.outcomes if outcome.verdict == result.verdict]
    unsure = [outcome for outcome in worst if outcome.inconclusive]
    noise = result.noise
    if not unsure:
        count = result.outcome_counts["noise"] if result.passed else 0
        return f", but {_worse(count)}, which may be noise" if count else ""
    runs = f"{counted(noise.head_runs, 'run')} against {noise.base_runs}"
    advice = f"record {noise.repeats_needed} runs a side"
    few = f"{runs} {'is' if noise.head_runs == 1 else 'are'} too few to exclude noise: {advice}"
    if result.passed:
        return f", but {_worse(len(unsure))} and {few}"
    return f", but {few}" if len(unsure) == len(worst) else ""


def _worse(count: int) -> str:
    return f"{count:,} {'figure is' if count == 1 else 'figures are'} worse than allowed"


def headline(result: CheckResult) -> str:
    """Say in one line how many checks there were and how they went."""
    counts = result.outcome_counts
    words = {
        "fail": "worse than allowed",
        "missing": "without an answer",
        "noise": "maybe noise",
        "pass": "within what is allowed",
        "skipped": "left out",
    }
    said = ", ".join(f"{count:,} {words[verdict]}" for verdict, count in counts.items() if count)
    return f"{counted(len(result.outcomes), 'check')}: {said}"


def _lead(result: CheckResult) -> Iterator[str]:
    yield f"{headline(result)}."
    bad = [outcome for outcome in result.worst_first() if outcome.verdict in {"fail", "missing"}]
    for outcome in bad[:_SAID]:
        words = figure_words(outcome.figure)
        what = f"{words}: " if words else ""
        yield f"{what}{outcome.reason}." + (f" {outcome.why[:1].upper()}{outcome.why[1:]}." if outcome.why else "")
    if len(bad) > _SAID:
        yield f"{len(bad) - _SAID:,} more {'is' if len(bad) == _SAID + 1 else 'are'} below."


def explanation(result: CheckResult, again: Sequence[str] = ()) -> str:
    """Return the command that explains a change, with the options ``again`` and what was allowed."""
    base = tuple(_spellings(result.base))
    mismatches = ",".join(dict.fromkeys(difference.code for difference in result.allowed_mismatches))
    start = ["nsys-digest", "diff", *again, *(["--allow-mismatch", mismatches] if mismatches else [])]
    if len(base) == len(result.head) == 1:
        return shlex.join([*start, base[0], result.head[0]])
    return f"{shlex.join(start)} --base {spelled(base)} --head {spelled(result.head)}"


def _spellings(sources: Sequence[str]) -> Iterator[str]:
    """Yield how runs are given to a command: those of a store by name and number."""
    kept = Counter(source.rpartition(" ")[0] for source in sources if source.startswith("@"))
    yield from (source for source in sources if not source.startswith("@"))
    yield from (f"{name}:{count}" if count > 1 else name for name, count in kept.items())


def _facts(result: CheckResult) -> Iterator[tuple[str, str]]:
    yield "HEAD", _runs(result.head)
    if result.base:
        yield "BASE", _runs(result.base)
    yield "policy", result.policy
    yield "noise", result.noise.text
    for difference in result.allowed_mismatches:
        yield f"mismatch, allowed: {difference.code}", difference.message
    for unknown in result.unknown_mismatches:
        yield f"not known: {unknown.code}", unknown.message
    for note in result.notes:
        yield "note", note


def _runs(sources: Sequence[str]) -> str:
    if len(sources) == 1:
        return sources[0]
    named = spelled(sources[:_NAMED]) if all(map(str.isprintable, sources)) else ", ".join(sources[:_NAMED])
    return f"{len(sources)} runs: {named}" + (f" and {len(sources) - _NAMED} more" if len(sources) > _NAMED else "")


def _blocks(result: CheckResult, top: int) -> Iterator[Block]:
    for verdict, title in _TITLES.items():
        found = [outcome for outcome in result.worst_first() if outcome.verdict == verdict]
        if verdict in {"missing", "skipped"}:
            yield Block(title, (Column("rule"), Column("why", "name")), tuple((_rule(o), o.reason) for o in found))
            continue
        rows = found[:top] if verdict == "pass" else found
        tested = verdict != "pass" and any(outcome.p_adjusted is not None for outcome in found)
        columns = _AMOUNTS + (numbers("p") if tested else ())
        yield Block(
            title, (*columns, NAME), tuple(_row(outcome, tested) for outcome in rows), more(len(found) - len(rows))
        )


def _row(outcome: Outcome, tested: bool) -> tuple[str, ...]:
    unit = outcome.unit or "count"
    p_value = () if not tested else ("-" if outcome.p_adjusted is None else f"{outcome.p_adjusted:.2g}",)
    return (
        shown_change(outcome.change, unit),
        shown_share(outcome.change_ratio),
        shown(outcome.base, unit),
        shown(outcome.head, unit),
        outcome.allowed,
        *p_value,
        outcome.figure,
    )


def _rule(outcome: Outcome) -> str:
    kind = outcome.kind if outcome.kind in {"require", "forbid", "finding"} else "rule"
    return f"{kind} {outcome.rule}"


def _notes(result: CheckResult) -> str:
    repeats = len(result.base) > 1 or len(result.head) > 1
    medians = "BASE and HEAD are medians of their runs, change is the median of all differences between them. "
    tested = "p is the share of all ways to deal the runs out in which any figure would look as bad. "
    return (
        (medians if repeats else "") + (tested if result.noise.tested else "") + "JSON has every figure of every run."
    )
