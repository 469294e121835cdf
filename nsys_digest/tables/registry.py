"""The one list of the tables."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

from nsys_digest.errors import UsageInvalid
from nsys_digest.tables import api, copies, gaps, graphs, kernels, launches, marks, nvtx, sets, steps
from nsys_digest.tables.table import Table

TABLES: Final[tuple[Table, ...]] = (
    kernels.TABLE,
    copies.TABLE,
    sets.TABLE,
    graphs.TABLE,
    api.TABLE,
    nvtx.TABLE,
    marks.TABLE,
    gaps.TABLE,
    launches.TABLE,
    steps.TABLE,
)


def table_of(name: str) -> Table:
    """Return the table of that name.

    Raises:
        UsageInvalid: there is none.

    """
    known = [table.name for table in TABLES]
    if name not in known:
        near = get_close_matches(name.lower(), known, 1, 0.5)
        hint = f"did you mean {near[0]}? The tables are" if near else "the tables are"
        raise UsageInvalid(f"there is no table {name!r}; {hint} {', '.join(known)}")
    return TABLES[known.index(name)]
