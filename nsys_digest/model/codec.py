"""Sections of the digest to JSON and back, by their types: times become seconds here and nowhere else.

A field ``busy_ns`` is written as ``busy_s``, in seconds; a field of nanoseconds that is a position on the trace's
clock keeps its name and unit. A field ``ns`` becomes ``s``.
"""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, field, fields, is_dataclass
from functools import cache
from itertools import repeat
from typing import Any, ClassVar, Final, Union, get_args, get_origin, get_type_hints

from nsys_digest.units import to_ns, to_seconds

_POSITIONS: Final = frozenset({"start_ns"})


def keyed(key: str) -> Any:
    """Declare a dataclass field that is written under another key than its name gives."""
    return field(metadata={"key": key})


def _key(declared: Field[Any]) -> tuple[str, bool]:
    """Return the JSON key of a field, and whether its values are times."""
    name = declared.name
    if name in _POSITIONS:
        return name, False
    time = name == "ns" or name.endswith("_ns")
    return declared.metadata.get("key", name[:-2] + "s" if time else name), time


def encode(value: Any, *, time: bool = False) -> Any:
    """Return a section as JSON values; ``time`` tells that its integers are nanoseconds."""
    if is_dataclass(value) and not isinstance(value, type):
        document = {}
        for declared in fields(value):
            key, is_time = _key(declared)
            document[key] = encode(getattr(value, declared.name), time=is_time)
        computed = getattr(value, "computed", None)
        return document if computed is None else computed(document)
    if isinstance(value, Mapping):
        return {key: encode(item, time=time) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [encode(item, time=time) for item in value]
    return to_seconds(value) if time and isinstance(value, int) else value


@cache
def _hints(cls: type) -> dict[str, Any]:
    return get_type_hints(cls)


def decode(hint: Any, document: Any) -> Any:
    """Read a section of that type back; raises KeyError, TypeError or ValueError where it does not fit."""
    return _decode(hint, document, time=False)


def _decode(hint: Any, value: Any, *, time: bool) -> Any:
    if value is None:
        return None
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        inner = [argument for argument in arguments if argument is not type(None)]
        return _decode(inner[0], value, time=time) if len(inner) == 1 else value
    if is_dataclass(hint) and isinstance(hint, type):
        hints = _hints(hint)
        found = {}
        for declared in fields(hint):
            key, is_time = _key(declared)
            if key not in value and declared.default is not MISSING:
                continue  # an older document
            found[declared.name] = _decode(hints[declared.name], value[key], time=is_time)
        return hint(**found)
    if origin is tuple:
        return tuple(_decode(arguments[0], item, time=time) for item in value)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _decode(arguments[1], item, time=time) for key, item in value.items()}
    return to_ns(value) if time else value


def check(hint: Any, value: Any, where: str) -> None:
    """Raise TypeError, with the place, where a value that was read from outside is not of its declared type."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None and type(None) in arguments:
            return
        if is_dataclass(arguments[0]) or get_origin(arguments[0]) is not None:
            check(arguments[0], value, where)
        elif not any(_is_plain(choice, value) for choice in arguments):
            raise TypeError(f"{where} is {type(value).__name__}")
    elif is_dataclass(hint) and isinstance(hint, type):
        if not isinstance(value, hint):
            raise TypeError(f"{where} is {type(value).__name__}")
        for name, inner in _hints(hint).items():
            if get_origin(inner) is not ClassVar:
                check(inner, getattr(value, name), f"{where}.{name}")
    elif origin is tuple:
        if not isinstance(value, tuple):
            raise TypeError(f"{where} is {type(value).__name__}")
        kinds = repeat(arguments[0]) if arguments[-1] is Ellipsis else arguments
        for index, (inner, item) in enumerate(zip(kinds, value, strict=False)):
            check(inner, item, f"{where}[{index}]")
    elif origin is not None:
        if not isinstance(value, Mapping):
            raise TypeError(f"{where} is {type(value).__name__}")
        for name, item in value.items():
            check(arguments[1], item, f"{where}.{name}")
    elif not _is_plain(hint, value):
        raise TypeError(f"{where} is {type(value).__name__}")


def _is_plain(hint: Any, value: Any) -> bool:
    """Tell whether a value is a finite number, a text or a flag, as the type says; a whole float is no int."""
    if hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return isinstance(value, hint) and (hint is bool or not isinstance(value, bool))
