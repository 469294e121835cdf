"""TOML that anybody may have written: read within limits, or refused with a reason."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

MOST_BYTES: Final = 1_000_000
"""The largest file of settings that is read; one written by hand has some thousand."""
_MOST_PARTS: Final = 64
"""The most parts of a dotted key: ``tomllib`` takes memory by the square of their number."""
_MOST_INTEGER: Final = 2**63 - 1
_TEXTS: Final = re.compile(
    r'''
      """ (?: [^"\\] | \\. | "(?!"") )* (?: """ | \Z )
    | \'{3} (?: [^'] | '(?!\'\') )* (?: \'{3} | \Z )
    | " (?: [^"\\\n] | \\. )* (?: " | (?=\n) | \Z )
    | ' [^'\n]* (?: ' | (?=\n) | \Z )
    | [#] [^\n]*
    ''',
    re.DOTALL | re.VERBOSE,
)
"""Quoted text and comments; what is not closed goes on to the end of its line, or of the file."""
_NO_KEY: Final = re.compile(r"[^\w.\- \t]")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the tables of a text.

    Raises:
        ValueError: it is not TOML, or too large to be settings; the text says which.

    """
    if len(text) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES:,} characters")
    for number, line in enumerate(_TEXTS.sub(_blank, text).split("\n"), 1):
        if any(word.count(".") >= _MOST_PARTS for word in _NO_KEY.split(line)):
            raise ValueError(f"a key has more than {_MOST_PARTS} parts (at line {number})")
    try:
        document = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(" ".join(str(error).split()).partition("; use sys.")[0]) from None
    _check_integers(document)
    return document


def _blank(found: re.Match[str]) -> str:
    """Return as many line ends as a quoted text or a comment has, and nothing else of it."""
    return "\n" * found[0].count("\n")


def _check_integers(document: dict[str, Any]) -> None:
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
        elif isinstance(value, list):
            left += value
        elif isinstance(value, int) and abs(value) > _MOST_INTEGER:
            raise ValueError("a whole number has more than 64 bits")
