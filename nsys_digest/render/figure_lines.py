"""The figures of a digest as a long table: a line each, in CSV or NDJSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from nsys_digest.model.figures import ANY, Figure, known_paths
from nsys_digest.render.escape import csv_cell, json_text

FigureLines = Literal["csv", "ndjson"]
MOST_NAMES: Final = max(path.split(".").count(ANY) for path in known_paths())
"""Names that a figure has at most."""


def figure_lines(found: Iterable[Figure], form: FigureLines) -> Iterator[str]:
    """Yield the lines: the figure, ``*`` for each name, these names, its value as in the document, its unit.

    CSV has a column for each name and begins with its head; a cell of what is null or not there is empty.
    """
    if form == "csv":
        names = ["name", *(f"name_{number}" for number in range(2, MOST_NAMES + 1))]
        yield ",".join(["figure", *names, "value", "unit"])
    for one in found:
        if form == "csv":
            cells = [csv_cell(name) for name in one.names] + [""] * (MOST_NAMES - len(one.names))
            value = "" if one.value is None else json.dumps(one.value)
            yield ",".join([csv_cell(one.figure), *cells, value, csv_cell(one.unit)])
        else:
            row = {"figure": one.figure, "names": one.names, "value": one.value, "unit": one.unit}
            yield json_text(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
