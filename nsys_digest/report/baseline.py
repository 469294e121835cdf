"""The list of baselines, as blocks of plain text."""

from __future__ import annotations

from nsys_digest.gate.baselines import Entry, Listing
from nsys_digest.report.blocks import Block, Column, Report
from nsys_digest.units import duration


def listing_report(listing: Listing, folder: str) -> Report:
    """Arrange what is kept: a table a name, the oldest run first."""
    names = dict.fromkeys(entry.name for entry in listing.entries)
    columns = (
        Column("saved at"),
        Column("span"),
        Column("commit", "name"),
        Column("GPU", "name"),
        Column("trace", "name"),
    )
    blocks = tuple(
        Block(f"@{name}", columns, tuple(_row(entry) for entry in listing.entries if entry.name == name))
        for name in names
    )
    runs = len(listing.entries)
    facts = [
        ("kept", f"{runs} {'run' if runs == 1 else 'runs'} of {len(names)} {'name' if len(names) == 1 else 'names'}")
    ]
    if listing.damaged:
        facts.append(("damaged", f"{len(listing.damaged)}, left out"))
    return Report(f"Baselines in {folder}", tuple(facts), (), blocks, (), "")


def _row(entry: Entry) -> tuple[str, ...]:
    return (
        f"{entry.saved_at[:19]}Z".replace("T", " "),
        duration(entry.digest.gpu_activity_span_ns),
        (entry.commit or "-")[:12],
        entry.gpu or "-",
        entry.digest.file,
    )
