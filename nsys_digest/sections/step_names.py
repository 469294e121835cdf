"""Which names are one kind of step: the same name, names that differ in a number, and what a glob takes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from difflib import SequenceMatcher
from typing import Final

from nsys_digest.model.paths import parse_glob

_NUMBER: Final = re.compile(r"[0-9]+")
_GLOB: Final = re.compile(r"[*?\\]")
_AFTER: Final = re.compile(r"[^A-Za-z0-9]{0,4}[0-9]+[^A-Za-z0-9]{0,4}")
"""What numbers a step after its name: ``_17``, `` 3``, ``#4``, ``[5]``."""
_LIKE: Final = 0.6
_MOST_COMPARED: Final = 10_000


def family(name: str) -> str:
    """Return what takes a name and those that differ from it in numbers alone: every number as ``#``."""
    return _NUMBER.sub("#", escaped(name))


def escaped(name: str) -> str:
    """Return a name in which globs are characters."""
    return _GLOB.sub(r"\\\g<0>", name)


def matching(asked: str, names: Iterable[str]) -> frozenset[str]:
    """Return the names that are one kind of step; none where nothing fits.

    A name that is there stands for itself. Else ``#`` stands for a number, and ``*`` and ``?`` are globs. A name
    without any of these also stands for those that have nothing but a number after it: ``step`` for ``step 1``,
    ``step_2``, ``step#3``.
    """
    known = frozenset(names)
    if asked in known:
        return frozenset((asked,))
    fits = _numbered(asked) if "#" in asked else _by_glob(asked)
    found = frozenset(filter(fits, known))
    if found or any(sign in asked for sign in "*?"):
        return found
    return frozenset(
        name for name in known if name.startswith(asked) and _AFTER.fullmatch(name, len(asked)) is not None
    )


def _numbered(asked: str) -> Callable[[str], bool]:
    wanted = parse_glob(asked)
    return lambda name: wanted.matches(_NUMBER.sub("#", name))


def _by_glob(asked: str) -> Callable[[str], bool]:
    return parse_glob(asked).matches


def like(asked: str, names: Iterable[str]) -> list[str]:
    """Return what is spelled nearly as a name that is not there, or has it within; the nearest first."""
    known = sorted(set(names))
    if len(known) > _MOST_COMPARED:
        known = sorted(set(map(family, known)))[:_MOST_COMPARED]
    wanted = asked.casefold()
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    ranked = []
    for name in known:
        matcher.set_seq1(name.casefold())
        quick = matcher.real_quick_ratio() >= _LIKE and matcher.quick_ratio() >= _LIKE
        near = matcher.ratio() if quick else 0.0
        if near >= _LIKE or wanted in name.casefold():
            ranked.append((-near, len(name), name))
    return [name for _, _, name in sorted(ranked)]
