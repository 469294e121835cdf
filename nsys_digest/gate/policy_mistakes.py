"""Mistakes in a policy that would let it pass for ever, and what was meant; all raise ValueError with the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

from nsys_digest.model.figures import known_paths, present_path
from nsys_digest.model.paths import Pattern, Segment
from nsys_digest.model.quantity import amount
from nsys_digest.model.warning_codes import CODES

_HEADLINE: Final[Mapping[str, str]] = {
    "gpu_busy_ratio": "devices.*.busy_ratio",
    "kernel_sum_s": "categories.*.sum_s",
    "graph_count": "devices.*.count.graph",
    "memcpy_count": "devices.*.count.memcpy",
    "memset_count": "devices.*.count.memset",
    "exposed_communication_s": "communication.*.exposed_s",
    "api_count": "api.*.count",
    "api_total_s": "api.*.total_s",
    "dispatch_count": "dispatch.*",
}
"""Figures that a comparison shows first and no digest has, and the figures that they are made of."""
_LONGEST_MATCHED: Final = 200


def close_matches(text: str, words: Iterable[str], count: int) -> list[str]:
    """Return the words that are spelled much like a text; none for a long one, which costs the square of its length."""
    return [] if len(text) > _LONGEST_MATCHED else get_close_matches(text, list(words), count)


def clipped(text: str) -> str:
    """Return a text for a message, the beginning of a long one."""
    return text if len(text) <= _LONGEST_MATCHED else f"{text[:_LONGEST_MATCHED]}…"


def limit_amount(key: str, value: object, unit: str) -> float:
    """Read an amount of a rule; a ratio lies from 0 to 1."""
    try:
        found = amount(value, unit, or_share=key == "max_change")
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None
    if unit == "ratio" and found > 1:
        text = value.strip() if isinstance(value, str) else ""
        raise ValueError(f"{key} is {value!r}, but ratios are 0 to 1; {_as_ratio(key, found, text)}")
    return found


def _as_ratio(key: str, value: float, text: str) -> str:
    """Say how a number above 1 is spelled as a ratio: 50 as half."""
    if value > 100 or text.endswith("%"):
        return "a half is 0.5 or '50%'"
    if key == "max_change":
        return f"write {value / 100:g} for {value:g} points, or '{value:g}%' for that share of the base"
    return f"write {value / 100:g} or '{value:g}%'"


def check_code(text: str, name: Segment) -> None:
    """Refuse the name of a warning that no digest can have."""
    if any(name.matches(code) for code in CODES):
        return
    near = close_matches(text.strip("*"), CODES, 1)
    hint = f"did you mean {near[0]}?" if near else f"the codes are {', '.join(CODES)}"
    raise ValueError(f"no warning has a code like {clipped(text)}; {hint}")


def unknown_figure(figure: Pattern) -> str:
    """Say that no digest has a figure, and which one may be meant."""
    if (present := present_path(figure)) is not None:
        return f"{figure.text} is now called {present}"
    known = known_paths()
    below = [path for path in known if _begins(path, figure)]
    if below:
        keys = dict.fromkeys(path.split(".")[len(figure.segments)] for path in below)
        return f"{clipped(figure.text)} is no figure but holds some; go on with one of: {', '.join(keys)}"
    near = _near(figure.text, known)
    hint = f"did you mean {' or '.join(near)}?" if near else "docs/policy.md lists all figures"
    return f"there is no figure {clipped(figure.text)} in a digest; {hint}"


def _near(text: str, known: Iterable[str]) -> list[str]:
    if text in _HEADLINE:
        return [_HEADLINE[text]]
    return close_matches(re.sub(r'"[^"]*"|\'[^\']*\'', "*", text), list(known), 3)


def _begins(known: str, figure: Pattern) -> bool:
    keys = known.split(".")
    pairs = zip(keys, figure.segments, strict=False)
    return len(keys) > len(figure.segments) and all(key == "*" or part.matches(key) for key, part in pairs)
