"""Text in lines of a width: nothing is lost, no number is parted from its unit, nor from what it equals.

It takes text that is escaped, and at most as long as :data:`nsys_digest.render.escape.LONGEST` and its escapes.
"""

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
_COMMAND = re.compile(r"(?:^|(?<=[ :])):(?=:)")


def wrapped(text: str, width: int) -> list[str]:
    """Return text in lines of at most that many cells, at least one; words longer than a line are parted.

    No line begins with two colons, which are a command to the log of a GitHub Actions step. The time is linear in the
    length of the text.
    """
    lines: list[str] = []
    line: list[str] = []
    used = -1  # cells of the line, less the blank before a word
    for word in _words(_COMMAND.sub(r"\\x3a", text), width):
        cells = cell_len(word)
        room = width - used - 1
        if cells <= room:
            line.append(word)
            used += 1 + cells
            continue
        begins_here = bool(line) and cells > width and room > width // 2  # it is parted anyway
        *whole, rest = _parted(word, width, room if begins_here else width)
        if begins_here:
            line.append(whole.pop(0))
        if line:
            lines.append(" ".join(line).rstrip())
        lines += (part.rstrip() for part in whole)
        line, used = [rest], cell_len(rest)
    return [*lines, " ".join(line).rstrip()]


def _words(text: str, width: int) -> Iterator[str]:
    for item in _ITEM.split(text):
        yield from [item] if cell_len(item) <= width else _SPACE.split(item)


def _parted(word: str, width: int, first: int) -> Iterator[str]:
    """Yield a word in parts of at most that many cells, the first of at most ``first``."""
    start, room = 0, first
    while (end := _fitting(word, start, room)) < len(word):
        found = (match.end() for match in _BREAK.finditer(word, start + (end - start) // 2, end + 1))
        end = max((at for at in found if at <= end), default=end)
        while end > start + 1 and word[end] == ":":
            end -= 1
        yield word[start:end]
        start, room = end, width
    yield word[start:]


def _fitting(word: str, start: int, cells: int) -> int:
    """Return the end of the longest part from ``start`` on that takes at most that many cells, one sign at least."""
    for at in range(start, len(word)):
        cells -= get_character_cell_size(word[at])
        if cells < 0:
            return max(at, start + 1)
    return len(word)


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
