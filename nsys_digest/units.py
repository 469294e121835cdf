"""Nanoseconds to seconds, once; and times and sizes as people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import overload

NS_PER_S = 1_000_000_000
MISSING = "-"
"""How a value that is not there is written for people."""


@overload
def to_seconds(ns: int) -> float: ...
@overload
def to_seconds(ns: None) -> None: ...
def to_seconds(ns: int | None) -> float | None:
    """Return the double nearest to ``ns / 1e9``; None stays None."""
    return None if ns is None else ns / NS_PER_S


@overload
def to_ns(seconds: float) -> int: ...
@overload
def to_ns(seconds: None) -> None: ...
def to_ns(seconds: float | None) -> int | None:
    """Undo :func:`to_seconds`: exact for every time below 26 days (2**51 ns)."""
    if seconds is None:
        return None
    # a list or text of a damaged document would be repeated a billion times
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{type(seconds).__name__} where seconds should be")
    return round(seconds * NS_PER_S)


def duration(ns: int | None) -> str:
    """Write a length of time with three to four digits and the largest unit that fits: ``1.234 ms``."""
    if ns is None:
        return MISSING
    size = abs(ns)
    if size < 1_000:
        return f"{ns} ns"
    for unit, scale in (("µs", 1_000), ("ms", 1_000_000)):
        if size < scale * 1_000:
            return f"{ns / scale:.{_decimals(size / scale)}f} {unit}"
    return f"{ns / NS_PER_S:.{_decimals(size / NS_PER_S)}f} s"


def _decimals(value: float) -> int:
    return 3 if value < 10 else 2 if value < 100 else 1


def instant(ns: int) -> str:
    """Write a point in time to the nanosecond, so that it can be found: ``4.600123456 s``."""
    whole, rest = divmod(abs(ns), NS_PER_S)
    return f"{'-' if ns < 0 else ''}{whole}.{rest:09d} s"


def counted(number: int, thing: str) -> str:
    """Write how many things there are: ``1 launch``, ``1,200 launches``, ``2 copies``."""
    if number == 1:
        return f"{number:,} {thing}"
    many = thing[:-1] + "ies" if thing.endswith("py") else thing + ("es" if thing.endswith("ch") else "s")
    return f"{number:,} {many}"


def percent(part: float | None, whole: float | None = 1) -> str:
    """Write ``part / whole`` with one decimal; ``<0.1 %`` and ``>99.9 %`` are near nothing and all, but not it."""
    if part is None or not whole:
        return MISSING
    share = 100 * part / whole
    if part > 0 and share < 0.05:
        return "<0.1 %"
    if part < whole and share >= 99.95:
        return ">99.9 %"
    return f"{share:.1f} %"


def points(change: float) -> str:
    """Write a change of a share in percentage points, with its sign."""
    return f"{100 * change:+.1f} pp" if change else "0.0 pp"


def utc_text(epoch_ns: int | None) -> str | None:
    """Write nanoseconds since 1970 as ISO 8601 in UTC, to the second: ``2026-11-30T01:41:44Z``."""
    if epoch_ns is None:
        return None
    return f"{datetime.fromtimestamp(epoch_ns // NS_PER_S, UTC):%Y-%m-%dT%H:%M:%SZ}"


def size(byte_count: int) -> str:
    """Write a size in decimal units: ``1.5 MB``."""
    value = float(byte_count)
    for unit in ("B", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"
