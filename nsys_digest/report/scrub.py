"""The reports of scrub: what was taken out, and what a search found. They name kinds and places, never a value."""

from __future__ import annotations

from collections.abc import Iterable

from nsys_digest.model.scrubbed import Found, Removed, Scrubbed, Verified
from nsys_digest.report.blocks import Block, Column, Report, filled
from nsys_digest.units import counted, size

_COUNT = Column("count", "number")
_KIND = Column("kind", "label")


def scrub_report(done: Scrubbed) -> Report:
    """Arrange what was taken out of a trace."""
    facts = (
        ("copy", f"{done.output}, {size(done.size_bytes)}, {counted(len(done.kept), 'table')}"),
        ("names", "hashed" if done.names_hashed else "as they were, but for words that identify"),
        ("search of the copy", _verdict(done.found, done.searched_count)),
    )
    blocks = (
        _found(done.found),
        Block(
            "Taken out",
            (_COUNT, _KIND, Column("table", "name"), Column("what", "label")),
            tuple((f"{one.count:,}", one.kind, one.table, one.what) for one in _most_first(done.removed)),
        ),
        Block(
            "Replaced in what stays",
            (_COUNT, _KIND),
            tuple((f"{one.count:,}", one.kind) for one in done.replaced),
        ),
    )
    return Report(done.file, facts, (), filled(blocks), (), "")


def verify_report(done: Verified) -> Report:
    """Arrange what a search found."""
    facts = (
        (
            "searched for",
            f"the values of {done.against}, and what has a telling form" if done.against else "what has a telling form",
        ),
        ("found", _verdict(done.found, done.searched_count)),
    )
    return Report(done.file, facts, (), filled((_found(done.found),)), (), "")


def _found(found: Iterable[Found]) -> Block:
    return Block(
        "Found, so that the file must not be shared",
        (_COUNT, _KIND, Column("where", "text"), Column("first byte offsets", "text")),
        tuple((f"{one.count:,}", one.kind, one.where, ", ".join(map(str, one.offsets))) for one in found),
    )


def _verdict(found: tuple[Found, ...], searched: int) -> str:
    kinds = sorted({one.kind for one in found})
    told = f"{', '.join(kinds)}" if kinds else "nothing"
    return f"{told}; {counted(searched, 'value')} of the trace looked for" if searched else told


def _most_first(removed: Iterable[Removed]) -> list[Removed]:
    """Return what tells of people and machines by table; names of numbers, which tell nothing, at the end."""
    return sorted(removed, key=lambda one: (one.kind == "names of numbers", one.table, one.what))
