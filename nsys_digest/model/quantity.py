"""Amounts as a policy writes them and as people read them: ``50us``, ``5%``, ``1.5 MB``, ``0.5``."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import Final

from nsys_digest.units import MISSING, duration, percent, points, size, to_ns

_AMOUNT: Final = re.compile(r"\+?(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*([^\s\d.]*)")
_SCALES: Final = {
    "s": {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0},
    "bytes": {"B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9},
    "gbps": {"GB/s": 1.0, "MB/s": 1e-3},
    "ratio": {"%": 0.01},
    "count": {},
}
_NEED_A_UNIT: Final = {"s": ("s", "ms"), "bytes": ("B", "MB"), "gbps": ("GB/s", "MB/s")}
"""The units of figures that a number alone does not have, with examples of what to write behind it."""
_MOST: Final = 1e15
"""In seconds, bytes, counts or shares: more than any trace holds, and exact enough to be written out."""
_LONGEST_AMOUNT: Final = 100
_LONGEST_SHOWN: Final = 60
_CALLED: Final = {
    "s": "a time",
    "bytes": "a number of bytes",
    "gbps": "a bandwidth",
    "ratio": "a share",
    "count": "a count",
}


def amount(value: object, unit: str, *, or_share: bool = False) -> float:
    """Read an amount of a unit of the digest; times, bytes and bandwidths need theirs, and nothing, 0, needs none.

    ``or_share`` tells that a share may stand in its place.

    Raises:
        ValueError: it is none, of something else, or without its unit; the text says what to write.

    """
    number, suffix = _split(value)
    scales = _SCALES[unit]
    if not suffix and number and unit in _NEED_A_UNIT:
        *fitting, last = (
            f"'{_plain(value)}{suffix}'" for suffix in (*_NEED_A_UNIT[unit], *(["%"] if or_share else ()))
        )
        raise ValueError(f"{value!r} has no unit; write {', '.join(fitting)} or {last}")
    if suffix and suffix not in scales:
        fit = ", ".join(scales) or "a plain number"
        raise ValueError(f"{_shown_value(value)} does not fit {_CALLED[unit]}; use {fit}")
    return _within(number * scales[suffix] if suffix else number, value)


def share(value: object) -> float:
    """Read a share such as ``5%``; raises ValueError where it is none."""
    number, suffix = _split(value)
    if suffix != "%":
        raise ValueError(f"{_shown_value(value)} is no share; write one as '5%'")
    return _within(number / 100, value)


def _plain(value: object) -> str:
    return value.strip() if isinstance(value, str) else str(value)


def _within(number: float, value: object) -> float:
    if number > _MOST:
        raise ValueError(f"{_shown_value(value)} is more than any trace holds; give less than {_MOST:g}")
    return number


def _shown_value(value: object) -> str:
    """Quote a value for a message, the beginning of a long one."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def is_share(value: object) -> bool:
    """Tell whether a value is written as a share."""
    return isinstance(value, str) and value.rstrip().endswith("%")


def _split(value: object) -> tuple[float, str]:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{_shown_value(value)} is no amount; write one as '50us', '5%' or 10")
    if not isinstance(value, str):
        if not 0 <= value <= _MOST:
            raise ValueError(f"{value!r} is no amount; give 0 or more, and less than {_MOST:g}")
        return float(value), ""
    found = None if len(value) > _LONGEST_AMOUNT else _AMOUNT.fullmatch(value.strip())
    if found is None or not math.isfinite(float(found[1])):
        raise ValueError(f"{_shown_value(value)} is no amount; write one as '50us', '5%' or 10")
    return float(found[1]), found[2]


def shown(value: float | None, unit: str) -> str:
    """Write a value of a document for people: a time is in seconds."""
    return shown_inside(to_ns(value) if unit == "s" else value, unit)


def shown_inside(value: float | None, unit: str, *, places: int | None = None) -> str:
    """Write a value of a result for people: a time is in nanoseconds.

    A count has ``places`` behind the point; without them two, or none where it is whole.
    """
    if value is None:
        return MISSING
    if unit == "s":
        return duration(round(value))
    if unit == "ratio":
        return percent(value)
    if unit == "gbps":
        return f"{value:,.0f} GB/s" if abs(value) >= 100 else f"{Decimal(f'{value:.3g}'):f} GB/s"
    if unit == "bytes":
        return ("-" if value < 0 else "") + size(round(abs(value)))
    if places is None:
        places = 0 if value == round(value) else 2
    return f"{value:,.{places}f}"


def shown_limit(value: float, unit: str) -> str:
    """Write a limit for people: as a value, without zeros that nobody wrote; a share as exactly as it was given."""
    if unit == "ratio":
        return f"{100 * value:.6g} %"
    number, _, suffix = shown(value, unit).partition(" ")
    whole = number.rstrip("0").rstrip(".") if "." in number else number
    return f"{whole} {suffix}".rstrip()


def shown_allowance(value: float, unit: str) -> str:
    """Write how far a figure may move: as a limit, and of ratios in percentage points."""
    text = shown_limit(value, unit)
    return text.replace(" %", " pp") if unit == "ratio" else text


def shown_change(value: float | None, unit: str) -> str:
    """Write a difference for people, with its sign; of ratios in percentage points."""
    if value is None:
        return "-"
    if unit == "ratio":
        return points(value)
    text = shown(value, unit)
    return f"+{text}" if value > 0 else text


def shown_share(value: float | None) -> str:
    """Write a relative change for people; a change from nothing has none."""
    if value is None:
        return "-"
    percent = round(100 * value, 1)
    return f"{percent:+,.0f} %" if abs(percent) >= 1000 else f"{percent:+.1f} %" if percent else "0.0 %"
