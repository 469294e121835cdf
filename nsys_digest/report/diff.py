"""The report of a comparison, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nsys_digest.compare.diff import ComparedSide, Diff
from nsys_digest.compare.span_breakdown import SpanBreakdown, Term
from nsys_digest.compare.tables import Number, Pair, Row, Split, Table
from nsys_digest.compare.threshold import Threshold
from nsys_digest.model.base_types import Warn
from nsys_digest.model.catalogue import keys_of
from nsys_digest.model.figures import RowFigure
from nsys_digest.model.quantity import shown, shown_change
from nsys_digest.report.blocks import NAME, Block, Column, Report, numbers
from nsys_digest.report.diff_words import lead, share, signed, term_words
from nsys_digest.report.figure_columns import of
from nsys_digest.units import MISSING


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a table is shown: its title, and further figures to show of both sides.

    ``by_device`` names begin with a device. A table that ``has_twins`` has rows of a mode and of each size of it. One
    that is shown ``again`` has the names of another table, which lists those on one side only.
    """

    title: str
    more: tuple[str, ...] = ()
    by_device: bool = False
    has_twins: bool = False
    again: bool = False


_LENGTHS = ("p99_ns", "max_ns")
_LAYOUTS = {
    "devices": _Layout("Devices, span", ("busy_ns", "idle_ns")),
    "idle": _Layout("Idle time by cause", ("gaps",), by_device=True),
    "idle_host": _Layout("Idle in host code, by innermost NVTX range", by_device=True),
    "launch": _Layout("Launches, from the call to the start of the work", ("latency.p50_ns", "api.count")),
    "api": _Layout("CUDA API calls", ("count",)),
    "nvtx": _Layout("NVTX ranges, union", ("count",)),
    "kernels": _Layout("Kernels", ("count",)),
    "categories": _Layout("Kernel time by category", ("count",)),
    "busy_shares": _Layout("Busy time by kind of work, shared out", by_device=True),
    "memory": _Layout("Copies and sets", ("bytes",)),
    "communication": _Layout("Communication not hidden by compute, by device", ("union_ns",)),
    "communication_kinds": _Layout("Communication by kind", ("count",), by_device=True),
    "communication_by_range": _Layout("Communication not hidden by compute, by NVTX range", ("kernel_count",)),
    "graphs": _Layout("CUDA graphs, time of launches", ("launch_count",)),
    "dispatch": _Layout("Dispatch marks, count"),
    "dispatch_steps": _Layout("Dispatch steps by mode and padded size, wall time", ("steps",), has_twins=True),
    "steps": _Layout("Steps, wall time", ("wall.p50_ns", "count")),
    "kernel_durations": _Layout("Kernel durations, p95", _LENGTHS, again=True),
    "api_durations": _Layout("CUDA API durations, p95", _LENGTHS, again=True),
    "nvtx_durations": _Layout("NVTX durations, p95", _LENGTHS, again=True),
    "dispatch_durations": _Layout(
        "Dispatch step durations, p95", ("wall.p99_ns", "wall.max_ns"), has_twins=True, again=True
    ),
}
_TERM = next(RowFigure(key.inside, key.key, key.declared, ()) for key in keys_of(Term) if key.attribute == "base_ns")
_TERMS = {name: of(Term, name).head for name in ("change_ns", "base_ns", "head_ns")}
_CHANGE = (_TERMS["change_ns"], Column("%"), _TERMS["base_ns"], _TERMS["head_ns"])
_SPLIT = tuple(of(Split, name).head for name in ("by_count_ns", "by_length_ns"))
_NOTES = (
    "Change is HEAD minus BASE. CPU, API and NVTX times overlap GPU work and each other; only the terms of the span "
    "add up. JSON has every name and figure."
)


def diff_report(found: Diff, top: int, threshold: Threshold) -> Report:
    """Arrange a comparison: each list shows its ``top`` most moved rows of those that the threshold lets pass."""
    return Report(
        title=f"BASE {found.base.name} against HEAD {found.head.name}",
        facts=tuple(_facts(found)),
        bars=(),
        blocks=tuple(block for block in _blocks(found, top, threshold) if block.rows),
        warnings=tuple(_warnings(found)),
        notes=_NOTES,
        lead=lead(found),
    )


def _facts(found: Diff) -> Iterator[tuple[str, str]]:
    yield "BASE", _side(found.base)
    yield "HEAD", _side(found.head)
    for difference in found.comparability.allowed:
        yield f"mismatch, allowed: {difference.code}", difference.message
    for unknown in found.comparability.unknown:
        yield f"not known: {unknown.code}", unknown.message
    versions = sorted({run.tool_version for side in (found.base, found.head) for run in side.runs})
    if len(versions) > 1:
        yield "digests made by", f"nsys-digest {', '.join(versions)}; categories of kernels may differ"


def _side(side: ComparedSide) -> str:
    chosen = side.runs[side.typical]
    runs = "" if len(side.runs) == 1 else f", run {side.typical + 1} of {len(side.runs)}"
    return f"{chosen.source}{runs}"


def _warnings(found: Diff) -> Iterator[Warn]:
    """Yield the warnings of both digests; those that both have in the same words once."""
    base, head = found.base.warnings, found.head.warnings
    for warn in base:
        yield Warn(warn.code, f"{'BASE and HEAD' if warn in head else 'BASE'}: {warn.message}")
    for warn in head:
        if warn not in base:
            yield Warn(warn.code, f"HEAD: {warn.message}")


def _blocks(found: Diff, top: int, threshold: Threshold) -> Iterator[Block]:
    devices = found.tables["devices"]
    one_device = devices is not None and len((*devices.rows, *devices.appeared, *devices.vanished)) == 1
    if found.span is not None and any(term.change_ns for term in found.span.terms):
        yield _breakdown("Where the change of the span comes from", found.span, top, threshold)
    if len(found.devices) > 1:
        for device in found.devices:
            pair = (
                f"{device.base_device}"
                if device.base_device == device.head_device
                else (f"{device.base_device} of BASE and {device.head_device} of HEAD")
            )
            title = f"Where the change of the span of device {pair} comes from"
            yield _breakdown(title, device.breakdown, top, threshold)
    yield _headline(found)
    for name, table in found.tables.items():
        layout = _LAYOUTS[name]
        if table is None or (name == "devices" and one_device):
            continue
        if layout.by_device and one_device:
            table = _without_device(table)
        elif layout.by_device:
            layout = replace(layout, title=f"{layout.title}, by device")
        if layout.has_twins:
            table = replace(table, rows=_without_twins(table.rows))
        yield from _table(layout, table, top, threshold)


def _without_twins(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Leave out a padded size that is the only one of its mode: its figures are those of the mode."""
    modes = {row.name: row.figures for row in rows}
    return tuple(row for row in rows if row.figures != modes.get(row.name.rpartition("/")[0]))


def _breakdown(title: str, breakdown: SpanBreakdown, top: int, threshold: Threshold) -> Block:
    shown = [term for term in breakdown.terms if threshold.lets(_pair(term))][:top]
    shown = [term for term in breakdown.terms if term in shown]
    rest = [term for term in breakdown.terms if term not in shown]
    rows = [_term(term, term_words(term)) for term in shown]
    if rest:
        whole = Term("rest", "idle", sum(term.base_ns for term in rest), sum(term.head_ns for term in rest))
        rows.append(_term(whole, f"all else, {len(rest):,} {'term' if len(rest) == 1 else 'terms'}"))
    rows.append(_term(Term("span", "busy", breakdown.base_ns, breakdown.head_ns), "span: the sum of the above"))
    beside = any(term.name == "beside" for term in shown)
    note = (
        "overlap is time beside other GPU work: the sums above count it again, the span counts it once"
        if beside
        else ""
    )
    return Block(title, (*_CHANGE, Column("term", "name")), tuple(rows), note)


def _term(term: Term, words: str) -> tuple[str, ...]:
    return (*_change(_pair(term)), words)


def _pair(term: Term) -> Pair:
    return Pair(_TERM, term.base_ns, term.head_ns)


def _headline(found: Diff) -> Block:
    rows = [
        (*_change(figure.pair), figure.own_key)
        for figure in found.headline.values()
        if figure.pair.base or figure.pair.head
    ]
    return Block("Headline figures", (*_CHANGE, Column("figure", "name")), tuple(rows))


def _without_device(table: Table) -> Table:
    """Take the device off the names, where there is only one."""

    def bare(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(replace(row, name=row.name.partition("/")[2]) for row in rows)

    return replace(table, rows=bare(table.rows), appeared=bare(table.appeared), vanished=bare(table.vanished))


def _table(layout: _Layout, table: Table, top: int, threshold: Threshold) -> Iterator[Block]:
    by = table.by.name
    moved = [row for row in table.rows if threshold.lets(row.figures[by])]
    columns, cells = _columns(layout, table, moved[:top])
    rows = tuple((*row, of.name) for row, of in zip(cells, moved, strict=False))
    still = len(table.rows) - len(moved)
    less = "moved less" if threshold != Threshold() else "did not move"
    notes = (
        f"{len(moved) - top:,} more moved" if len(moved) > top else "",
        f"{still:,} {less}" if still else "",
        "" if table.complete else "the digest lists some names only: those of one side only are not known",
    )
    yield Block(layout.title, (*columns, NAME), rows, "; ".join(filter(None, notes)))
    yield from _renamed(layout, table, top)
    if layout.again:
        return
    for rows_apart, side in ((table.appeared, "HEAD"), (table.vanished, "BASE")):
        yield _apart(layout, by, rows_apart, side, top, threshold)


def _columns(layout: _Layout, table: Table, rows: Sequence[Row]) -> tuple[list[Column], list[list[str]]]:
    """Return the columns of numbers, and their cells; what is the same on both sides of every row is one column."""
    columns, cells = [*_CHANGE], [_change(row.figures[table.by.name]) for row in rows]
    splits = [row.split for row in rows]
    if any(split is not None and split.by_count_ns for split in splits):
        columns += _SPLIT
        for row, split in zip(cells, splits, strict=True):
            row += ["-", "-"] if split is None else [signed(split.by_count_ns), signed(split.by_length_ns)]
    for name in layout.more:
        found = [row.figures[name] for row in rows if name in row.figures]
        if not found:
            continue
        word = found[0].column.declared.label
        pairs = [_both(row.figures.get(name)) for row in rows]
        same = all(base == head for base, head in pairs)
        columns += numbers(word) if same else numbers(f"{word} BASE", f"{word} HEAD")
        for row, pair in zip(cells, pairs, strict=True):
            row += pair[:1] if same else pair
    return columns, cells


def _change(pair: Pair) -> list[str]:
    return [_signed(pair), share(pair.ratio), *_both(pair)]


def _renamed(layout: _Layout, table: Table, top: int) -> Iterator[Block]:
    by = table.by.name
    rows = tuple(
        line
        for row in table.renamed[:top]
        for line in (
            (*_change(row.figures[by]), row.base_name or ""),
            ("",) * len(_CHANGE) + (f"→ {row.name}",),
            ("",) * len(_CHANGE) + (f"  {row.why}",),
        )
    )
    yield Block(f"{layout.title}: renamed", (*_CHANGE, NAME), rows, _more(len(table.renamed) - top))
    families = tuple(
        (
            _signed(family.figures[by]),
            *_both(family.figures[by]),
            f"{len(family.base_names):,}",
            f"{len(family.head_names):,}",
            family.name,
        )
        for family in table.families[:top]
    )
    columns = (*_TERMS.values(), *numbers("names BASE", "names HEAD"), NAME)
    title = f"{layout.title}: alike but for numbers (#), not matched one to one"
    yield Block(title, columns, families, _more(len(table.families) - top))


def _apart(layout: _Layout, by: str, rows: Sequence[Row], side: str, top: int, threshold: Threshold) -> Block:
    def value(row: Row, name: str) -> str:
        pair = row.figures.get(name)
        return MISSING if pair is None else _value(pair, pair.head if side == "HEAD" else pair.base)

    kept = [row for row in rows if threshold.keeps(row.figures[by])]
    more = [name for name in layout.more if kept and name in kept[0].figures]
    words = [kept[0].figures[name].column.declared.label for name in more]
    shown = tuple((value(row, by), *(value(row, name) for name in more), row.name) for row in kept[:top])
    columns = (*numbers(side, *words), NAME)
    return Block(f"{layout.title}: in {side} only", columns, shown, _more(len(kept) - top))


def _more(count: int) -> str:
    return f"{count:,} more" if count > 0 else ""


def _both(pair: Pair | None) -> tuple[str, str]:
    return (MISSING, MISSING) if pair is None else (_value(pair, pair.base), _value(pair, pair.head))


def _value(pair: Pair, value: Number | None) -> str:
    return shown(pair.written(value), str(pair.column.declared.unit))


def _signed(pair: Pair) -> str:
    return shown_change(pair.written(pair.change), str(pair.column.declared.unit))
