"""Text columns of Arrow as distinct values: what every container that reads with Arrow shares."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.source import Tail

TEXT_TYPES: Final = frozenset({"string", "binary", "large_string", "large_binary"})
_MANY_TEXTS: Final = 256


def distinct_texts(column: Any, cut: Tail | None) -> tuple[Int64s, list[str]]:
    """Return a text column without nulls as (codes, values); see :meth:`nsys_digest.trace.source.Batch.texts`."""
    codes, dictionary = _encoded(column)
    if cut is None or len(dictionary) < _MANY_TEXTS or not str(column.type).endswith("string"):
        values = decoded(dictionary)
        return codes, values if cut is None else [cut.off(value) for value in values]
    # Thousands of serial numbers a batch: RE2 takes them off before any becomes a Python string.
    from pyarrow import compute

    cut_codes, dictionary = _encoded(compute.replace_substring_regex(dictionary, cut.re2, ""))
    return cut_codes[codes], decoded(dictionary)


def _encoded(column: Any) -> tuple[Int64s, Any]:
    encoded = column.dictionary_encode()
    codes = np.frombuffer(encoded.indices.buffers()[1], np.int32, len(encoded), encoded.indices.offset * 4)
    return codes.astype(np.int64), encoded.dictionary


def decoded(texts: Any) -> list[str]:
    """Return the texts of an array without nulls; not valid UTF-8 is replaced."""
    try:
        values: list[str | bytes] = texts.to_pylist()
    except UnicodeDecodeError:
        values = texts.view(str(texts.type).replace("string", "binary")).to_pylist()
    return [value if isinstance(value, str) else value.decode("utf-8", "replace") for value in values]
