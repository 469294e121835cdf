"""Text in lines of a width: nothing is lost, no number is parted from its unit, nor from what it equals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from rich.cells import cell_len, get_character_cell_size

NAME_CELLS: Final = 240
_UNIT = r"(?:ns|µs|ms|s|%|pp|[kMGT]?B)(?!\w)"
_GAP = rf"(?<!=)(?: (?!{_UNIT})|(?<!\d) )(?!=)"
_SPACE = re.compile(_GAP)
_ITEM = re.compile(rf"{_GAP}(?![<+-]?\d[\d,.]{{0,19}} {_UNIT})")
"""Where a line ends by choice: where ``_SPACE`` has it, but not between a value and what it is the value of."""
_BREAK = re.compile(r"[_,.<>()/| -]|:(?!:)|[a-z](?=[A-Z])")
_ORDER = re.compile(r"(?:^|(?<= ))::")


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of at most that many cells, at least one; words longer than a line are parted.

    No line begins with two colons, which are an order to the log of a GitHub Actions step.
    """
    lines: list[str] = []
    line: str | None = None
    for word in _words(_ORDER.sub(r"\\x3a:", text), width):
        if line is not None and cell_len(line) + 1 + cell_len(word) <= width:
            line = f"{line} {word}"
            continue
        room = width - cell_len(line) - 1 if line is not None else 0
        if cell_len(word) > width and room > width // 2:  # a word that is parted anyway may begin here
            *whole, word = _parted(word, room, most=1)
            line = f"{line} {whole[0]}"
        if line is not None:
            lines.append(line.rstrip())
        *whole, line = _parted(word, width)
        lines += (part.rstrip() for part in whole)
    return [*lines, (line or "").rstrip()]


def _words(text: str, width: int) -> Iterator[str]:
    for item in _ITEM.split(text):
        yield from [item] if cell_len(item) <= width else _SPACE.split(item)


def _parted(word: str, width: int, most: int | None = None) -> list[str]:
    """Return a word in parts of at most that many cells; after ``most`` of them the rest is left as it is."""
    parts: list[str] = []
    while cell_len(word) > width and len(parts) != most:
        at, cells = 0, get_character_cell_size(word[0])
        while cells <= width:
            at += 1
            cells += get_character_cell_size(word[at])
        at = max(at, 1)
        at = max((found.end() for found in _BREAK.finditer(word, at // 2, at + 1) if found.end() <= at), default=at)
        while at > 1 and word[at] == ":":
            at -= 1
        parts.append(word[:at])
        word = word[at:]
    return [*parts, word]


def shortened(names: Sequence[str], cells: int = NAME_CELLS) -> list[str]:
    """Return names with the middle of the longest left out; those that would read the same are kept whole."""
    short = [_without_middle(name, cells) for name in names]
    alike = Counter(dict(zip(names, short, strict=True)).values())
    return [brief if alike[brief] == 1 else name for name, brief in zip(names, short, strict=True)]


def _without_middle(name: str, cells: int) -> str:
    if len(name) <= cells // 2 or cell_len(name) <= cells:
        return name
    half = (cells - 3) // 2
    head, tail = half, half
    while cell_len(name[:head]) > half:
        head -= 1
    while cell_len(name[-tail:]) > half:
        tail -= 1
    return f"{name[:head]} … {name[-tail:]}"
