"""A comparison in words: the paragraph that says what moved."""

from __future__ import annotations

from collections.abc import Iterator

from nsys_digest.compare.diff import ComparedSide, Diff
from nsys_digest.compare.span_breakdown import SpanBreakdown, Term
from nsys_digest.model.idle_causes import idle_words
from nsys_digest.units import duration

_NAMED_TERMS = 4
_NAMED_CALLS = 2
_ENOUGH = 0.9
_KERNELS = "kernels "
_IDLE = "idle "


def term_words(term: Term) -> str:
    """Name a term of the span for people."""
    if term.name == "beside":
        return "overlap of GPU work"
    if term.name.startswith(_KERNELS):
        return f"{term.name.removeprefix(_KERNELS)} kernels"
    cause = term.name.removeprefix(_IDLE)
    return idle_words(cause) or term.name


def signed(ns: int) -> str:
    """Write a change of a length of time with its sign."""
    return f"+{duration(ns)}" if ns > 0 else duration(ns)


def share(ratio: float | None) -> str:
    """Write a ratio as the change in per cent, with its sign; a dash where BASE is 0."""
    if ratio is None:
        return "-"
    change = round(100 * (ratio - 1), 1)
    if not change:
        return "0.0 %"
    return f"{change:+,.0f} %" if abs(change) >= 1000 else f"{change:+.1f} %"


def lead(found: Diff) -> tuple[str, ...]:
    """Say what moved, and how far it can be trusted."""
    names = " ".join((*_calls(found), *_names(found)))
    return tuple(filter(None, (" ".join(_span(found)), names, _trust(found))))


def _span(found: Diff) -> Iterator[str]:
    breakdown = found.span
    if breakdown is None:
        silent = [
            name
            for name, side in (("BASE", found.base), ("HEAD", found.head))
            if side.runs[side.typical].span_ns is None
        ]
        yield f"{' and '.join(silent)} {'have' if len(silent) > 1 else 'has'} no GPU activity: no span to compare."
        return
    both = f"GPU span {duration(breakdown.base_ns)} → {duration(breakdown.head_ns)}"
    if breakdown.change_ns == 0 and not any(term.change_ns for term in breakdown.terms):
        yield f"HEAD takes as long as BASE, {duration(breakdown.head_ns)} of GPU span, and in the same way."
        return
    if breakdown.change_ns == 0:
        yield f"HEAD takes as long as BASE, {duration(breakdown.head_ns)} of GPU span: {_terms(breakdown)}."
        return
    by = duration(abs(breakdown.change_ns))
    part = "" if breakdown.ratio is None else f" ({abs(100 * (breakdown.ratio - 1)):.1f} %)"
    way = "longer" if breakdown.change_ns > 0 else "less"
    yield f"HEAD takes {by}{part} {way} than BASE ({both}): {_terms(breakdown)}."
    busy, idle = breakdown.change_of("busy"), breakdown.change_of("idle")
    yield f"In all, busy {_moved(busy)} and idle {_moved(idle)}."


def _moved(ns: int) -> str:
    return signed(ns) if ns else "unchanged"


def _terms(breakdown: SpanBreakdown) -> str:
    moved = [term for term in breakdown.terms if term.change_ns]
    gross = sum(abs(term.change_ns) for term in moved)
    named: list[Term] = []
    for term in moved[:_NAMED_TERMS]:
        if named and sum(abs(one.change_ns) for one in named) >= _ENOUGH * gross:
            break
        named.append(term)
    words = [f"{_cause(term)} {signed(term.change_ns)}" for term in named]
    rest = breakdown.change_ns - sum(term.change_ns for term in named)
    if len(moved) > len(named):
        words.append(f"all else {_moved(rest)}")
    return ", ".join(words)


def _cause(term: Term) -> str:
    if term.name == "beside":
        return "more overlap" if term.change_ns < 0 else "less overlap"
    return term_words(term)


def _names(found: Diff) -> Iterator[str]:
    for key, what in (("kernels", "Kernel"), ("nvtx", "NVTX range")):
        table = found.tables[key]
        if table is None:
            continue
        counts = ((len(table.appeared), "appeared"), (len(table.vanished), "vanished"), (len(table.renamed), "renamed"))
        told = [f"{count:,} {how}" for count, how in counts if count]
        if told:
            yield f"{what} names: {', '.join(told)}."


def _calls(found: Diff) -> Iterator[str]:
    """Name the CUDA calls that one side alone has, those with most time first: few, and seldom without a meaning."""
    table = found.tables["api"]
    if table is None:
        return
    apart = [(row, "appeared", row.figures["total_ns"].head, row.figures["count"].head) for row in table.appeared]
    apart += [(row, "vanished", row.figures["total_ns"].base, row.figures["count"].base) for row in table.vanished]
    apart.sort(key=lambda one: -(one[2] or 0))
    told = [
        f"{row.name} {how} ({count:,} {'call' if count == 1 else 'calls'})"
        for row, how, _, count in apart[:_NAMED_CALLS]
    ]
    if told:
        more = f", {len(apart) - len(told):,} more" if len(apart) > len(told) else ""
        yield f"CUDA calls: {', '.join(told)}{more}."


def _trust(found: Diff) -> str:
    repeats = [_repeats(name, side) for name, side in (("BASE", found.base), ("HEAD", found.head))]
    told = "; ".join(filter(None, repeats))
    if told:
        return f"{told}. Figures are those of the run with the median span of each side."
    return "One run a side: how much of this is noise is unknown."


def _repeats(name: str, side: ComparedSide) -> str:
    spans = [run.span_ns for run in side.runs if run.span_ns is not None]
    if len(side.runs) < 2 or not spans:
        return ""
    return f"{len(side.runs)} runs of {name} span {duration(min(spans))} to {duration(max(spans))}"
