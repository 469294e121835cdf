"""Patterns that a user writes: in the syntax of RE2, of Arrow, whose time is linear in a text whatever the pattern."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

_BATCH: Final = 256
"""Texts that are searched at once: a signal is answered between two batches."""


class PatternInvalid(ValueError):
    """RE2 cannot do a pattern, or the text in place of what it matches."""


class ArrowMissing(Exception):
    """Arrow cannot be imported."""


def check_pattern(pattern: str, replacement: str = "") -> bool:
    r"""Return whether a pattern matches the empty text; ``\1`` in a replacement is the first group.

    Raises:
        PatternInvalid: it is none of RE2, which has no look-around and no back-references. ArrowMissing.

    """
    arrow, compute = _arrow()
    try:
        probe = arrow.array([""])
        compute.replace_substring_regex(probe, pattern, replacement)
        return bool(compute.match_substring_regex(probe, pattern)[0].as_py())
    except (arrow.ArrowInvalid, UnicodeEncodeError) as error:
        raise PatternInvalid(" ".join(str(error).split())) from None


def is_found(pattern: str, texts: Sequence[str]) -> list[bool]:
    """Return for each text whether a pattern that was checked is found in it."""
    arrow, compute = _arrow()
    found: list[bool] = []
    for start in range(0, len(texts), _BATCH):
        found += compute.match_substring_regex(_array(arrow, texts[start : start + _BATCH]), pattern).to_pylist()
    return found


def replaced(pattern: str, replacement: str, texts: Sequence[str]) -> list[str]:
    """Return each text with a replacement for all that a pattern that was checked matches in it."""
    arrow, compute = _arrow()
    new: list[str] = []
    for start in range(0, len(texts), _BATCH):
        batch = _array(arrow, texts[start : start + _BATCH])
        new += compute.replace_substring_regex(batch, pattern, replacement).to_pylist()
    return new


def _array(arrow: Any, texts: Sequence[str]) -> Any:
    """Return texts as Arrow has them; halves of a surrogate pair, which UTF-8 does not have, become ``?``."""
    try:
        return arrow.array(texts, arrow.string())
    except UnicodeEncodeError:
        return arrow.array([text.encode("utf-8", "replace").decode() for text in texts], arrow.string())


def _arrow() -> tuple[Any, Any]:
    """Return Arrow and its functions; they take time to import, which only those who have patterns pay."""
    try:
        import pyarrow
        from pyarrow import compute
    except (ImportError, SystemError):  # SystemError: a library that finds no memory while it is loaded
        raise ArrowMissing from None
    return pyarrow, compute
