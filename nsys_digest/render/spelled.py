"""Names as a shell takes them: many that are nearly the same are spelled once."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from typing import Final

_SAFE: Final = re.compile(r"[A-Za-z0-9_./@%+:-]+")
_NUMBER_AT_END: Final = re.compile(r"\d+$")
_NUMBER_AT_START: Final = re.compile(r"^\d+")


def spelled(names: Sequence[str]) -> str:
    """Return names as words of a shell: ``runs/base_{1,2,3}.json`` where they differ in one place only.

    Braces are those of bash, zsh and fish, in the order given. Names that need quotes, that are the same, or that have
    nothing in common are words of their own.
    """
    if len(names) < 2 or len(set(names)) < len(names) or not all(map(_SAFE.fullmatch, names)):
        return shlex.join(names)
    first = _NUMBER_AT_END.sub("", os.path.commonprefix(list(names)))
    rest = [name[len(first) :] for name in names]
    last = os.path.commonprefix([name[::-1] for name in rest])[::-1]
    last = _NUMBER_AT_START.sub("", last)
    if not first and not last:
        return shlex.join(names)
    return f"{first}{{{','.join(name[: len(name) - len(last)] for name in rest)}}}{last}"
