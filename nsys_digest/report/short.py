"""The report of a digest on one screen: the verdict, why the GPU was idle, and the first rows of what took the time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from nsys_digest.model.base_types import Device, Warn
from nsys_digest.model.digest import ON_REQUEST, Digest
from nsys_digest.model.idle_causes import doing_words
from nsys_digest.model.section_types import Cause, Idle
from nsys_digest.report import totals
from nsys_digest.report.blocks import Block, Column, Report, filled
from nsys_digest.report.digest import bar_of, headline, tagged_blocks
from nsys_digest.report.figure_columns import of, share, table, told
from nsys_digest.report.findings import first_findings, rest_command
from nsys_digest.report.selected import selected
from nsys_digest.report.steps import steady_block
from nsys_digest.units import counted

TOP: Final = 5
"""Rows of each list."""
_MOST_CAUSES: Final = 4
_LEAST_SHARE: Final = 100
"""A cause of less than a hundredth of the idle time is left out, unless it is the first."""
_MOST_BARS: Final = 8
_MOST_WARNINGS: Final = 3


def short_report(digest: Digest, top: int = TOP) -> Report:
    """Arrange the first ``top`` rows of what takes most time, and say what was left out and how to see it."""
    blocks = filled(_blocks(digest, top))
    warnings, other_codes = _first_warnings(digest.warnings)
    return Report(
        title=digest.file,
        facts=tuple(headline(digest, brief=True)),
        bars=tuple(map(bar_of, _several(digest))),
        blocks=blocks,
        warnings=warnings,
        notes=_left_out(digest, blocks, other_codes),
        lead=(*selected(digest.capture), *first_findings(digest)),
        command=rest_command(digest),
    )


def _several(digest: Digest) -> list[Device]:
    """Return the devices that did work, where there are several and a screen has room for them."""
    active = [device for device in digest.devices if device.did_work]
    return active if 1 < len(active) <= _MOST_BARS else []


def _blocks(digest: Digest, top: int) -> Iterator[Block]:
    if digest.steps is not None:
        yield steady_block(digest.steps)
    if digest.idle is not None and not (digest.steps is not None and digest.steps.idle_causes_ns):
        yield replace(_idle(digest.idle), look="brief")
    for block in (totals.kernels(digest, top), totals.ranges(digest, top, whole=False), totals.calls(digest, top)):
        yield replace(block, look="brief", note="")
    asked = (block for name, block in tagged_blocks(digest, top) if name in ON_REQUEST)
    yield from (replace(block, look="brief") for block in asked)


_CAUSE: Final = of(Cause, "sum_ns")


def _idle(idle: Idle) -> Block:
    """Return the causes over all devices together."""
    causes: dict[str, Cause] = {}
    for device in idle.devices:
        for name, one in device.causes.items():
            so_far = causes.get(name, Cause(0, 0, 0))
            longest_ns = max(so_far.longest_ns, one.longest_ns)
            causes[name] = Cause(so_far.sum_ns + one.sum_ns, so_far.gaps + one.gaps, longest_ns)
    whole_ns = sum(device.idle_ns for device in idle.devices)
    ranked = sorted(((cause, name) for name, cause in causes.items()), key=lambda row: -row[0].sum_ns)
    rows = [row for at, row in enumerate(ranked[:_MOST_CAUSES]) if not at or row[0].sum_ns * _LEAST_SHARE >= whole_ns]
    columns = (
        _CAUSE,
        share(_CAUSE, whole_ns),
        of(Cause, "gaps"),
        of(Cause, "longest_ns"),
        told(Column("cause", "text"), lambda row: f"{row[1]}: {doing_words(row[1])}"),
    )
    many = len(idle.devices) > 1
    title = f"Why {f'the {len(idle.devices)} GPUs were' if many else 'the GPU was'} idle: what the host thread did"
    return table(title, columns, (row for row in rows if row[0].sum_ns))


def _first_warnings(warnings: tuple[Warn, ...]) -> tuple[tuple[Warn, ...], list[str]]:
    """Return the first warning of the first codes, and the codes of the others."""
    by_code: dict[str, Warn] = {}
    for warn in warnings:
        by_code.setdefault(warn.code, warn)
    first = tuple(by_code.values())[:_MOST_WARNINGS]
    rest = list(warnings)
    for warn in first:
        rest.remove(warn)
    return first, [warn.code for warn in rest]


def _left_out(digest: Digest, shown: tuple[Block, ...], codes: list[str]) -> str:
    """Say what a reader does not see, and how to."""
    titles = {block.title for block in shown}
    others = [(name, block) for name, block in tagged_blocks(digest, top=1) if block.rows and block.title not in titles]
    sections = list(dict.fromkeys(name for name, _ in others if name in digest.capture.sections))
    parts = []
    if codes:
        named = ", ".join(dict.fromkeys(codes))
        parts.append(f"{counted(len(codes), 'more warning')} ({named})")
    tables = [counted(len(others), "more table")] if others else []
    parts += [*tables, "the rows behind the first"]
    end = f", or --sections NAMES for whole tables: {', '.join(sections)}" if sections else ""
    return f"Left out: {', '.join(parts)}. To see it add --full{end}."
