"""Names as a shell takes them: many that are nearly the same are spelled once."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import takewhile
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9_./@%+:-]+")
_NUMBER_AT_END: Final = re.compile(r"(?<!\d)\d+$")
_NUMBER_AT_START: Final = re.compile(r"^\d+")


def spelled(names: Sequence[str]) -> str:
    """Return names as words of a shell: ``runs/base_{1,2,3}.json`` where they differ in one place only.

    Braces are those of bash, zsh and fish, in the order given. Names that need quotes, that are the same, or that have
    nothing in common are words of their own.
    """
    if len(names) < 2 or len(set(names)) < len(names) or not all(map(_SAFE.fullmatch, names)):
        return shlex.join(names)
    first = _NUMBER_AT_END.sub("", _beginning(names))
    rest = [name[len(first) :] for name in names]
    last = _NUMBER_AT_START.sub("", _beginning([name[::-1] for name in rest])[::-1])
    if not first and not last:
        return shlex.join(names)
    return f"{first}{{{','.join(name[: len(name) - len(last)] for name in rest)}}}{last}"


def _beginning(texts: Sequence[str]) -> str:
    """Return the longest text with which all begin."""
    alike = takewhile(lambda chars: len(set(chars)) == 1, zip(*texts, strict=False))
    return "".join(chars[0] for chars in alike)
