"""Tables as Arrow record batches, with what is declared of each column in the schema."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pyarrow

from nsys_digest.tables.linked import Linked
from nsys_digest.tables.table import Column, Maybe, Table, Text, Texts, Values
from nsys_digest.trace.events import NONE

_TYPES: Final = {
    "int64": pyarrow.int64(),
    "bool": pyarrow.bool_(),
    "text": pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
}


def schema_of(table: Table, about: Mapping[str, str] | None = None) -> Any:
    """Return the Arrow schema of a table; its fields have ``unit`` and ``meaning`` as metadata."""
    fields = [
        pyarrow.field(column.name, _TYPES[column.type], metadata={"unit": column.unit, "meaning": column.meaning})
        for column in table.columns
    ]
    told = {"table": table.name, "meaning": table.meaning, "order": table.order, **(about or {})}
    return pyarrow.schema(fields, metadata={f"nsys_digest.{key}": text for key, text in told.items()})


def reader_of(table: Table, linked: Linked, about: Mapping[str, str] | None = None) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` that makes the rows of a table as they are asked for."""
    schema = schema_of(table, about)
    return pyarrow.RecordBatchReader.from_batches(schema, _batches(table, schema, linked))


def _batches(table: Table, schema: Any, linked: Linked) -> Iterator[Any]:
    dictionaries: dict[int, Any] = {}
    """Those of ``Texts``, by identity: each is made once, and every batch of a file has the same."""
    held: list[Texts] = []
    for rows in table.rows(linked):
        arrays = [_array(column, rows[column.name], dictionaries, held) for column in table.columns]
        yield pyarrow.record_batch(arrays, schema=schema)


def _array(column: Column, values: Values, dictionaries: dict[int, Any], held: list[Texts]) -> Any:
    if isinstance(values, Text):
        key = id(values.texts)
        if key not in dictionaries:
            held.append(values.texts)  # so that no other takes its identity
            dictionaries[key] = pyarrow.array(list(map(_whole, values.texts.values)), pyarrow.string())
        # 0 where it is null: not every reader leaves a code alone that stands for nothing
        codes = pyarrow.array(np.maximum(values.codes, 0), pyarrow.int32(), mask=values.codes == NONE)
        return pyarrow.DictionaryArray.from_arrays(codes, dictionaries[key])
    if isinstance(values, Maybe):
        return pyarrow.array(values.values, pyarrow.int64(), mask=~values.known)
    return pyarrow.array(np.ascontiguousarray(values), _TYPES[column.type])


def _whole(text: str) -> str:
    """Return text that UTF-8 can hold."""
    return text.encode("utf-8", "replace").decode("utf-8")
