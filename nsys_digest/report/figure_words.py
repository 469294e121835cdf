"""What the path of a figure means, in words: for the figures that the built-in policy looks at."""

from __future__ import annotations

import re
from typing import Final

from nsys_digest.model.idle_causes import idle_words

_TOTALS: Final = {
    "gpu_activity_span_s": "GPU span",
    "gpu_busy_union_s": "GPU busy",
    "gpu_idle_within_span_s": "GPU idle",
    "kernel_count": "kernels",
}
_IDLE: Final = re.compile(r"idle\.devices\.([^.]+)\.causes\.(\w+)\.sum_s")
_NAMED: Final = (
    (re.compile(r"categories\.(.+)\.sum_s"), "{} kernels"),
    (re.compile(r"api\.(.+)\.count"), "calls of {}"),
    (re.compile(r"findings\.(.+)\.at_stake_s"), "finding {}"),
    (re.compile(r"communication\.(.+)\.exposed_s"), "GPU {}, communication not hidden by compute"),
)


def figure_words(figure: str) -> str:
    """Return what a figure is, nothing for one without words; the path is that of an outcome."""
    if idle := _IDLE.fullmatch(figure):
        return f"GPU {idle[1]} {idle_words(idle[2]) or idle[2]}"
    for pattern, words in _NAMED:
        if found := pattern.fullmatch(figure):
            return words.format(found[1])
    return _TOTALS.get(figure, "")
