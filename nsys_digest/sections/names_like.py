"""What there is in place of a name that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

_SHOWN: Final = 3


def names_like(name: str, names: Iterable[str], thing: str = "range") -> str:
    """Say which names there are in place of one that is not; ``thing`` is what has the names."""
    known = sorted(set(names))
    if not known:
        return f"the trace has no {thing} at all"
    plain = name.strip("*").lower()
    close = [one for one in known if plain and plain in one.lower()] or get_close_matches(name, known, _SHOWN)
    shown = few(map(repr, close or known))
    return f"names like it: {shown}" if close else f"none is like it; there are {shown}"


def few(words: Iterable[str]) -> str:
    """Name the first of many."""
    told = list(words)
    return ", ".join(told[:_SHOWN]) + (" …" if len(told) > _SHOWN else "")
