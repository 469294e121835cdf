"""JSON that anybody may have written: read within limits, or refused with a reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from nsys_digest.errors import DigestInvalid
from nsys_digest.files import read_text_file

MOST_BYTES: Final = 256_000_000
"""The largest file that is read as a digest; one with 100,000 range names has about 60 million bytes."""
_MOST_DIGITS: Final = 20
"""Of a whole number; ids of nsys have 64 bits."""
_WRITE: Final = "write a digest with: nsys-digest summarize TRACE.sqlite --format json"


def read_json(file: Path) -> Any:
    """Return the document in a file.

    Raises:
        OSError: the file cannot be read, or is too large.
        DigestInvalid: it is no JSON, or holds a number that no digest has; without the path.

    """
    try:
        return parse_json(read_text_file(file, MOST_BYTES))
    except UnicodeDecodeError as error:
        raise DigestInvalid(f"this is not UTF-8 ({error.reason}); write the digest again") from None


def parse_json(text: str, remedy: str = _WRITE) -> Any:
    """Return the document of a text; ``remedy`` is what to do where it is none.

    Raises:
        DigestInvalid: it is no JSON, or holds a number that no digest has.

    """
    try:
        return json.loads(text, parse_int=_integer, parse_constant=_refused)
    except (ValueError, RecursionError) as error:
        raise DigestInvalid(f"this is not JSON ({error}); {remedy}") from None


def _integer(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits):,} digits")
    return int(digits)


def _refused(name: str) -> float:
    raise ValueError(f"{name} is no number")
