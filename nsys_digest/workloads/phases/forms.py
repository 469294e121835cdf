"""How a log writes its values, and how it reads them back: one form for each kind of value."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Final

_SECONDS = re.compile(r"-?\d{1,9}(\.\d{1,12})?")
_INTEGER = re.compile(r"-?\d{1,18}")
_ESCAPED = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_NS = Decimal(10**9)


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of value: to and from the text of a line, to and from JSON; readers raise ValueError."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]
    to_json: Callable[[Any], Any]
    from_json: Callable[[Any], Any]


def _same(kind: type) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"{value!r} is no {kind.__name__}")
        return value

    return check


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number")
    return int(text)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str) or not math.isfinite(float(value)):
        raise ValueError(f"{value!r} is no number")
    return float(value)


def _seconds(text: str) -> int:
    if not _SECONDS.fullmatch(text):
        raise ValueError(f"{text!r} is no number of seconds")
    return round(Decimal(text) * _NS)


def _seconds_from_json(value: Any) -> int:
    number = _number(value) if not isinstance(value, str) else math.nan
    if not abs(number) < 1e9:
        raise ValueError(f"{value!r} is no number of seconds")
    return round(Decimal(number) * _NS)


def _integers(text: str) -> tuple[int, ...]:
    if not (text.startswith("[") and text.endswith("]")):
        raise ValueError(f"{text!r} is no list")
    return tuple(_integer(item.strip()) for item in text[1:-1].split(",") if item.strip())


def _integers_from_json(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r} is no list")
    return tuple(map(_same(int), value))


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _without_exponent(value: float) -> str:
    """Return the shortest decimal that reads back as the value: 0.00005, 1, 1000000."""
    return f"{Decimal(repr(value)).normalize():f}"


def _scientific(value: float) -> str:
    """Return twelve digits behind the point and an exponent without padding: 1.788745430531e-5."""
    digits, _, exponent = f"{value:.12e}".partition("e")
    return f"{digits}e{int(exponent)}"


def _escaped(text: str) -> str:
    """Return text without blanks, backslashes and control characters, so that it ends where the next key begins."""
    return "".join(char if char.isprintable() and char not in " \\=" else _spelled(ord(char)) for char in text)


def _spelled(code: int) -> str:
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _unescaped(text: str) -> str:
    def char(match: re.Match[str]) -> str:
        code = int(match[1] or match[2] or match[3], 16)
        return chr(code) if code <= 0x10FFFF else match[0]

    return _ESCAPED.sub(char, text)


TEXT: Final = Form(_escaped, _unescaped, str, _same(str))
INTEGER: Final = Form(str, _integer, int, _same(int))
INTEGERS: Final = Form(lambda value: str(list(value)), _integers, list, _integers_from_json)
FLAG: Final = Form(lambda value: str(value).lower(), _flag, bool, _same(bool))
PLAIN: Final = Form(_without_exponent, _number, float, _number)
SCIENTIFIC: Final = Form(_scientific, _number, float, _number)
SECONDS: Final = Form(
    lambda ns: f"{Decimal(ns) / _NS:.6f}", _seconds, lambda ns: float(Decimal(ns) / _NS), _seconds_from_json
)
PERCENT: Final = Form(lambda value: f"{value:.3f}", _number, float, _number)


def keys(record: Any) -> list[tuple[str, str, Form, bool]]:
    """Return (field, key, form, whether it may be missing) of a record or its class."""
    return [
        (item.name, item.metadata["key"] or item.name, item.metadata["form"], item.default is None)
        for item in fields(record)
    ]


def line(kind: str, record: Any) -> str:
    """Return a record as a line; what is None is left out."""
    values = ((key, form, getattr(record, name)) for name, key, form, _ in keys(record))
    return " ".join([kind, *(f"{key}={form.write(value)}" for key, form, value in values if value is not None)])


def plain(record: Any) -> dict[str, Any]:
    """Return a record as a JSON object; what is None is null."""
    values = ((key, form, getattr(record, name)) for name, key, form, _ in keys(record))
    return {key: None if value is None else form.to_json(value) for key, form, value in values}
