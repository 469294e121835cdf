"""The report of a comparison, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from nsys_digest.compare.diff import ComparedSide, Diff
from nsys_digest.compare.span_breakdown import Account, Term
from nsys_digest.compare.tables import Number, Pair, Row, Table, key_of
from nsys_digest.compare.threshold import Threshold
from nsys_digest.model.base_types import Warn
from nsys_digest.report.blocks import NAME, Block, Column, Report, numbers
from nsys_digest.report.diff_words import lead, share, signed, term_words
from nsys_digest.units import duration, percent, points, size


@dataclass(frozen=True, slots=True)
class _Layout:
    """How a table is shown: its title, further figures to show of both sides, whether its names begin with a device."""

    title: str
    more: tuple[tuple[str, str], ...] = ()
    by_device: bool = False


_COUNT = (("count", "count"),)
_TAILS = (("p99_ns", "p99"), ("max_ns", "max"))
_LAYOUTS = {
    "devices": _Layout("Devices, span", (("busy_ns", "busy"), ("idle_ns", "idle"))),
    "idle": _Layout("Idle time by cause", (("gaps", "gaps"),), by_device=True),
    "idle_host": _Layout("Idle in host code, by innermost NVTX range", by_device=True),
    "launch": _Layout(
        "Launches, from the call to the start of the work", (("latency_p50_ns", "p50"), ("launch_count", "count"))
    ),
    "api": _Layout("CUDA API calls", (("count", "calls"),)),
    "nvtx": _Layout("NVTX ranges, union", _COUNT),
    "kernels": _Layout("Kernels", _COUNT),
    "categories": _Layout("Kernel time by category", _COUNT),
    "memory": _Layout("Copies and sets", (("bytes", "bytes"),)),
    "communication": _Layout("Communication not hidden by compute, by device", (("union_ns", "in all"),)),
    "communication_kinds": _Layout("Communication by kind", _COUNT, by_device=True),
    "dispatch": _Layout("Dispatch marks, count"),
    "dispatch_steps": _Layout("Dispatch steps by mode and padded size, wall time", (("steps", "steps"),)),
    "steps": _Layout("Steps, wall time", (("p50_ns", "p50"), ("count", "count"))),
    "kernel_durations": _Layout("Kernel tails, p95", _TAILS),
    "api_durations": _Layout("CUDA API tails, p95", _TAILS),
    "nvtx_tails": _Layout("NVTX tails, p95", _TAILS),
    "dispatch_tails": _Layout("Dispatch step tails, p95", _TAILS),
}
_CHANGE = numbers("change", "%", "BASE", "HEAD")
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
        yield _account("Where the change of the span comes from", found.span, top, threshold)
    if len(found.devices) > 1:
        for device in found.devices:
            pair = (
                f"{device.base_device}"
                if device.base_device == device.head_device
                else (f"{device.base_device} of BASE and {device.head_device} of HEAD")
            )
            yield _account(f"Where the change of the span of device {pair} comes from", device.account, top, threshold)
    yield _headline(found)
    for name, table in found.tables.items():
        layout = _LAYOUTS[name]
        if table is None or (name == "devices" and one_device):
            continue
        if layout.by_device and one_device:
            table = _without_device(table)
        elif layout.by_device:
            layout = replace(layout, title=f"{layout.title}, by device")
        if name.startswith("dispatch_"):
            table = replace(table, rows=_without_twins(table.rows))
        yield from _table(layout, table, top, threshold)


def _without_twins(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Leave out a padded size that is the only one of its mode: its figures are those of the mode."""
    modes = {row.name: row.figures for row in rows}
    return tuple(row for row in rows if row.figures != modes.get(row.name.rpartition("/")[0]))


def _account(title: str, account: Account, top: int, threshold: Threshold) -> Block:
    shown = [term for term in account.terms if threshold.lets("ns", Pair(term.base_ns, term.head_ns))][:top]
    shown = [term for term in account.terms if term in shown]
    rest = [term for term in account.terms if term not in shown]
    rows = [_term(term, term_words(term)) for term in shown]
    if rest:
        whole = Term("rest", "idle", sum(term.base_ns for term in rest), sum(term.head_ns for term in rest))
        rows.append(_term(whole, f"all else, {len(rest):,} {'term' if len(rest) == 1 else 'terms'}"))
    rows.append(_term(Term("span", "busy", account.base_ns, account.head_ns), "span: the sum of the above"))
    beside = any(term.name == "beside" for term in shown)
    note = (
        "overlap is time beside other GPU work: the sums above count it again, the span counts it once"
        if beside
        else ""
    )
    return Block(title, (*_CHANGE, Column("term", "name")), tuple(rows), note)


def _term(term: Term, words: str) -> tuple[str, ...]:
    pair = Pair(term.base_ns, term.head_ns)
    return (signed(term.change_ns), share(pair.ratio), duration(term.base_ns), duration(term.head_ns), words)


def _headline(found: Diff) -> Block:
    rows = [
        (*_change(name, figure.pair), key_of(name))
        for name, figure in found.headline.items()
        if figure.pair.base or figure.pair.head
    ]
    return Block("Headline figures", (*_CHANGE, Column("figure", "name")), tuple(rows))


def _without_device(table: Table) -> Table:
    """Take the device off the names, where there is only one."""

    def bare(rows: tuple[Row, ...]) -> tuple[Row, ...]:
        return tuple(replace(row, name=row.name.partition("/")[2]) for row in rows)

    return replace(table, rows=bare(table.rows), appeared=bare(table.appeared), vanished=bare(table.vanished))


def _table(layout: _Layout, table: Table, top: int, threshold: Threshold) -> Iterator[Block]:
    by = table.by
    moved = [row for row in table.rows if threshold.lets(by, row.figures[by])]
    columns, cells = _columns(layout, by, moved[:top])
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
    if layout.more == _TAILS:  # the table of totals lists them
        return
    for rows_apart, side in ((table.appeared, "HEAD"), (table.vanished, "BASE")):
        yield _apart(layout, by, rows_apart, side, top, threshold)


def _columns(layout: _Layout, by: str, rows: Sequence[Row]) -> tuple[list[Column], list[list[str]]]:
    """Return the columns of numbers, and their cells; what is the same on both sides of every row is one column."""
    columns, cells = [*_CHANGE], [_change(by, row.figures[by]) for row in rows]
    splits = [row.split for row in rows]
    if any(split is not None and split.by_count_ns for split in splits):
        columns += numbers("by count", "by length")
        for row, split in zip(cells, splits, strict=True):
            row += ["-", "-"] if split is None else [signed(split.by_count_ns), signed(split.by_length_ns)]
    for name, word in layout.more:
        pairs = [_both(name, row.figures.get(name, Pair(None, None))) for row in rows]
        same = all(base == head for base, head in pairs)
        columns += numbers(word) if same else numbers(f"{word} BASE", f"{word} HEAD")
        for row, pair in zip(cells, pairs, strict=True):
            row += pair[:1] if same else pair
    return columns, cells


def _change(by: str, pair: Pair) -> list[str]:
    return [_signed(by, pair), share(pair.ratio), *_both(by, pair)]


def _renamed(layout: _Layout, table: Table, top: int) -> Iterator[Block]:
    by = table.by
    rows = tuple(
        line
        for row in table.renamed[:top]
        for line in (
            (*_change(by, row.figures[by]), row.base_name or ""),
            ("",) * len(_CHANGE) + (f"→ {row.name}",),
            ("",) * len(_CHANGE) + (f"  {row.why}",),
        )
    )
    yield Block(f"{layout.title}: renamed", (*_CHANGE, NAME), rows, _more(len(table.renamed) - top))
    families = tuple(
        (
            signed(int(family.figures[by].change or 0)),
            *_both(by, family.figures[by]),
            f"{len(family.base_names):,}",
            f"{len(family.head_names):,}",
            family.name,
        )
        for family in table.families[:top]
    )
    columns = (*numbers("change", "BASE", "HEAD", "names BASE", "HEAD"), NAME)
    title = f"{layout.title}: alike but for numbers (#), not matched one to one"
    yield Block(title, columns, families, _more(len(table.families) - top))


def _apart(layout: _Layout, by: str, rows: Sequence[Row], side: str, top: int, threshold: Threshold) -> Block:
    def value(row: Row, name: str) -> Number | None:
        pair = row.figures.get(name, Pair(None, None))
        return pair.head if side == "HEAD" else pair.base

    kept = [row for row in rows if threshold.keeps(by, value(row, by))]
    columns = (*numbers(side), *(Column(word) for _, word in layout.more), NAME)
    shown = tuple(
        (_value(by, value(row, by)), *(_value(name, value(row, name)) for name, _ in layout.more), row.name)
        for row in kept[:top]
    )
    return Block(f"{layout.title}: in {side} only", columns, shown, _more(len(kept) - top))


def _more(count: int) -> str:
    return f"{count:,} more" if count > 0 else ""


def _both(name: str, pair: Pair) -> tuple[str, str]:
    return _value(name, pair.base), _value(name, pair.head)


def _value(name: str, value: Number | None) -> str:
    if value is None:
        return "-"
    if name.endswith("_ns"):
        return duration(int(value))
    if "ratio" in name:
        return percent(value)
    if name == "bytes":
        return ("-" if value < 0 else "") + size(abs(int(value)))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _signed(name: str, pair: Pair) -> str:
    change = pair.change
    if "ratio" in name and change is not None:
        return points(change)
    text = _value(name, change)
    return f"+{text}" if change is not None and change > 0 else text
