"""A pager for what is longer than the terminal, as git does it: ``PAGER``, or less that ends where all fits."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from typing import Final

_LESS: Final = ("less", "-FRX")
_NONE: Final = frozenset({"", "cat"})


def pager_words() -> list[str]:
    """Return the words of the pager that ``PAGER`` names, or of less; none where there is none, or ``cat``."""
    asked = os.environ.get("PAGER")
    if asked is None:
        words = list(_LESS)
    else:
        try:
            words = shlex.split(asked)
        except ValueError:
            return []
    if not words or words[0] in _NONE or shutil.which(words[0]) is None:
        return []
    return words


def paged(text: str) -> bool:
    """Show text of more lines than the terminal of standard output has in a pager; tell whether it was shown.

    A reader who ends the pager has all that was wanted.
    """
    words = pager_words()
    if not words or os.environ.get("TERM") == "dumb" or text.count("\n") < _terminal_lines():
        return False
    environment = {"LESS": "FRX", **os.environ}  # where PAGER is less, colours are shown and not spelled out
    try:
        pager = subprocess.Popen(words, stdin=subprocess.PIPE, env=environment)  # noqa: S603
    except OSError:
        return False
    with suppress(BrokenPipeError):
        pager.communicate(text.encode("utf-8", "backslashreplace"))
    return pager.wait() == 0


def _terminal_lines() -> int:
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).lines or 24
    except (OSError, ValueError):
        return 24
