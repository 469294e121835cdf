"""Arrow record batches as lines of CSV or NDJSON: cells are made column by column, and each text once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pyarrow
from pyarrow import compute

from nsys_digest.render.escape import csv_cell, json_text

Lines = Literal["csv", "ndjson"]
_NULL: Final = {"csv": "", "ndjson": "null"}


def lines_of(reader: Any, form: Lines) -> Iterator[bytes]:
    """Yield the lines of a ``RecordBatchReader``, a batch at a time, in UTF-8; of CSV the head comes first.

    Columns are integers, booleans and dictionary-encoded texts. A null is an empty cell of CSV; an empty text is quoted.
    """
    names = reader.schema.names
    if form == "csv":
        yield (",".join(map(csv_cell, names)) + "\n").encode()
        before, between, behind = [""] + [","] * (len(names) - 1), "", "\n"
    else:
        keys = [json_text(json.dumps(name, ensure_ascii=False)) for name in names]
        before, between, behind = [("{" if not at else ",") + f"{key}:" for at, key in enumerate(keys)], "", "}\n"
    text_of: Callable[[str], str] = csv_cell if form == "csv" else _json_string
    cells: dict[int, tuple[Any, Any]] = {}
    for batch in reader:
        parts: list[Any] = []
        for prefix, column in zip(before, batch.columns, strict=True):
            parts += [pyarrow.scalar(prefix), _cells(column, text_of, cells)]
        lines = compute.binary_join_element_wise(
            *parts, pyarrow.scalar(behind), between, null_handling="replace", null_replacement=_NULL[form]
        )
        yield b"".join(value.encode() for value in lines.to_pylist())


def _cells(column: Any, text_of: Callable[[str], str], cells: dict[int, tuple[Any, Any]]) -> Any:
    """Return the cells of a column; those of the texts of a dictionary are made once, however many batches share it."""
    if not pyarrow.types.is_dictionary(column.type):
        return compute.cast(column, pyarrow.string())
    at = column.dictionary.buffers()[-1]
    key = 0 if at is None else at.address
    if key not in cells:
        cells[key] = column.dictionary, pyarrow.array(map(text_of, column.dictionary.to_pylist()), pyarrow.string())
    return cells[key][1].take(column.indices)


def _json_string(text: str) -> str:
    return json_text(json.dumps(text, ensure_ascii=False))
