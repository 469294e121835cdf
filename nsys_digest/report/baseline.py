"""The list of baselines, as blocks of plain text."""

from __future__ import annotations

from typing import Final

from nsys_digest.gate.baselines import Listing
from nsys_digest.model.digest import Digest
from nsys_digest.report.blocks import Column, Report
from nsys_digest.report.figure_columns import of, table, told
from nsys_digest.units import MISSING

_RUNS: Final = (
    told(Column("saved at"), lambda row: f"{row[1].saved_at[:19]}Z".replace("T", " ")),
    of(Digest, "gpu_activity_span_ns", "span"),
    told(Column("commit", "name"), lambda row: (row[1].commit or MISSING)[:12]),
    told(Column("GPU", "name"), lambda row: row[1].gpu or MISSING),
    told(Column("trace", "name"), lambda row: row[0].file),
)


def listing_report(listing: Listing, folder: str) -> Report:
    """Arrange what is kept: a table a name, the oldest run first."""
    names = dict.fromkeys(entry.name for entry in listing.entries)
    blocks = tuple(
        table(f"@{name}", _RUNS, ((entry.digest, entry) for entry in listing.entries if entry.name == name))
        for name in names
    )
    runs = len(listing.entries)
    facts = [
        ("kept", f"{runs} {'run' if runs == 1 else 'runs'} of {len(names)} {'name' if len(names) == 1 else 'names'}")
    ]
    if listing.damaged:
        facts.append(("damaged", f"{len(listing.damaged)}, left out"))
    return Report(f"Baselines in {folder}", tuple(facts), (), blocks, (), "")
