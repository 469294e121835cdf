"""Arrow record batches as lines of CSV or NDJSON: cells are made column by column, and each text once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal

import pyarrow
from pyarrow import compute

from nsys_digest.render.escape import csv_cell, json_text

Lines = Literal["csv", "ndjson"]
_TEXT: Final = pyarrow.large_string()
_NULL: Final = {"csv": "", "ndjson": "null"}


def lines_of(reader: Any, form: Lines) -> Iterator[bytes | memoryview]:
    """Yield the lines of a ``RecordBatchReader``, a batch at a time, in UTF-8; of CSV the head comes first.

    Columns are integers, booleans and dictionary-encoded texts. A null is an empty cell of CSV, an empty text ``""``.
    """
    names = reader.schema.names
    head = b""
    if form == "csv":
        head = (",".join(map(csv_cell, names)) + "\n").encode()
        before, behind = [""] + [","] * (len(names) - 1), "\n"
    else:
        keys = [json_text(json.dumps(name, ensure_ascii=False)) for name in names]
        before, behind = [("," if at else "{") + f"{key}:" for at, key in enumerate(keys)], "}\n"
    text_of: Callable[[str], str] = csv_cell if form == "csv" else _json_string
    cells: dict[tuple[int, ...], tuple[Any, Any]] = {}
    for batch in reader:
        if head:  # not before there is a batch: what cannot be made leaves nothing
            yield head
            head = b""
        parts: list[Any] = []
        for prefix, column in zip(before, batch.columns, strict=True):
            parts += [_scalar(prefix), _cells(column, text_of, cells)]
        lines = compute.binary_join_element_wise(
            *parts, _scalar(behind), _scalar(""), null_handling="replace", null_replacement=_NULL[form]
        )
        yield memoryview(lines.buffers()[2])[: compute.sum(compute.binary_length(lines)).as_py()]
    if head:
        yield head


def _cells(column: Any, text_of: Callable[[str], str], cells: dict[tuple[int, ...], tuple[Any, Any]]) -> Any:
    """Return the cells of a column; those of the texts of a dictionary are made once, however many batches share it."""
    if not pyarrow.types.is_dictionary(column.type):
        return compute.cast(column, _TEXT)
    texts = column.dictionary
    key = (len(texts), *(0 if buffer is None else buffer.address for buffer in texts.buffers()))
    if key not in cells:  # the texts are held too, so that no others take their place in memory
        cells[key] = texts, pyarrow.array(map(text_of, texts.to_pylist()), _TEXT)
    return cells[key][1].take(column.indices)


def _scalar(text: str) -> Any:
    return pyarrow.scalar(text, _TEXT)


def _json_string(text: str) -> str:
    return json_text(json.dumps(text, ensure_ascii=False))
