"""The console examples of the pages: written anew from what the program prints, with the same lines left out.

``python -m tests.write_docs`` rewrites each in place. A line of dots keeps its place: what stands between two of them
is found in what is printed now by its first and its last line, or by those most like them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

OMITTED: Final = "…"
CONSOLE: Final = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_USE: Final = re.compile(r"^\$ ", re.MULTILINE)
_LIKE: Final = 0.6


def rewritten(page: str, printed: Callable[[str, str], str]) -> str:
    """Return a page whose examples show what ``printed`` gives for (command line, what is shown now)."""
    return CONSOLE.sub(lambda block: f"```console\n{_block(block[1], printed)}```", page)


def _block(block: str, printed: Callable[[str, str], str]) -> str:
    before, *uses = _USE.split(block)
    return before + "".join(f"$ {_use(use, printed)}" for use in uses)


def _use(use: str, printed: Callable[[str, str], str]) -> str:
    command, _, shown = use.partition("\n")
    output = printed(command, shown)
    if output == shown:
        return use
    lines = [line.rstrip() for line in output.rstrip("\n").split("\n")]
    return "\n".join([command, *with_omissions(shown.rstrip("\n").split("\n"), lines)]) + "\n"


def with_omissions(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """Return what is printed with the same parts left out as in what was shown; all of it where none was.

    Raises:
        ValueError: a line that was shown has none like it.

    """
    result: list[str] = []
    at = 0
    parts = list(_parts(shown))
    for place, part in enumerate(parts):
        if place:
            result.append(OMITTED)
        if not part:
            continue
        start = _like(part[0], printed, at) if place else 0
        end = len(printed) if place == len(parts) - 1 else _like(part[-1], printed, start) + 1
        result += printed[start:end]
        at = end
    return result


def _parts(shown: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for line in shown:
        if line == OMITTED:
            yield part
            part = []
        else:
            part.append(line)
    yield part


def _like(line: str, printed: Sequence[str], at: int) -> int:
    """Return where a line is printed from ``at`` on, or where the one most like it is."""
    if line in printed[at:]:
        return printed.index(line, at)
    ratios = [difflib.SequenceMatcher(None, line, other).ratio() for other in printed[at:]]
    if max(ratios, default=0) < _LIKE:
        raise ValueError(f"nothing is printed like {line!r}; edit the example")
    return at + ratios.index(max(ratios))
