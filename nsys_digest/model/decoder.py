"""JSON to results, as their fields are declared: here alone do seconds become nanoseconds.

What is read from outside is checked on the way. What there is to do for a type is found out once.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection
from dataclasses import is_dataclass
from functools import cache
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from nsys_digest.model.catalogue import AS_LIST, Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.units import to_ns

Made = TypeVar("Made")
Decoder: TypeAlias = Callable[[Any], Any]


class Misfit(ValueError):
    """Something in a document is not what it is declared to be; ``str`` says where and why."""

    def __init__(self, why: str, *where: str) -> None:
        self.why, self.where = why, where
        super().__init__(f"{''.join(where).lstrip('.') or 'the document'} {why}")

    def within(self, place: str) -> Misfit:
        """Return the same, with the place that it is within."""
        return Misfit(self.why, place, *self.where)


def decode(cls: type[Made], document: Any) -> Made:
    """Read a result of that type back; keys that it does not have are left out.

    Raises:
        Misfit: a key is missing that has no default, or a value is not of its type.

    """
    wanted: Any = cls
    made: Made = _reader(wanted)(document)
    return made


@cache
def _reader(cls: Any) -> Decoder:
    """Return what makes an object of a declared class from a document."""
    if getattr(cls, AS_LIST, False):
        return _list_object_reader(cls)
    plan, plain = _plan(cls), _plain_plan(cls)

    def reader(document: Any) -> Any:
        if not isinstance(document, dict):
            raise Misfit(f"is {kind_of(document)} where an object should be")
        found: dict[str, Any] = {}
        name = ""
        try:
            for attribute, name, read in plain:
                found[attribute] = read(document[name])
        except KeyError:
            found = {}
        except Misfit as misfit:
            raise misfit.within(f".{name}") from None
        for attribute, read_from in plan if len(found) < len(plain) or not plain else ():
            found[attribute] = read_from(document)
        return cls(**found)

    return reader


def _plain_plan(cls: type) -> list[tuple[str, str, Decoder]]:
    """Return for each field its key and what reads its value, where every field has a key of its own."""
    keys = [key for key in keys_of(cls) if not key.computed]
    if any(key.inline or key.declared.within for key in keys):
        return []
    return [(key.attribute, key.key, _value_reader(key)) for key in keys]


def _plan(cls: type) -> list[tuple[str, Decoder]]:
    """Return for each field of a class what reads it from the object that the class is written as."""
    plan: list[tuple[str, Decoder]] = []
    inline: dict[str, list[Key]] = {}
    for key in keys_of(cls):
        if key.inline:
            inline.setdefault(key.inline, []).append(key)
        elif not key.computed:
            plan.append((key.attribute, _key_reader(key)))
    hints = {name: _inner(cls, name) for name in inline}
    return plan + [(name, _inline_reader(hints[name], keys[0].key)) for name, keys in inline.items()]


def _inner(cls: type, name: str) -> type:
    inner: type = without_none(get_type_hints(cls)[name])[0]
    return inner


def _inline_reader(cls: type, first: str) -> Decoder:
    """Read a part whose keys stand among those of its owner; it is there with its first key."""
    read = _reader(cls)
    return lambda document: read(document) if first in document else None


def _key_reader(key: Key) -> Decoder:
    name, former, default = key.key, key.declared.former, key.default
    place = f".{name}"
    many = is_list(without_none(key.hint)[0])
    read = _value_reader(key)
    if key.declared.always:
        default = None
    if key.declared.within is not None:
        return _within_reader(key.declared.within, name, read, default)

    def reader(document: Any) -> Any:
        if name in document:
            value = document[name]
        else:
            for other in former:
                if other in document:
                    value = _listed(document[other]) if many else document[other]
                    break
            else:
                if default is None:
                    raise Misfit("is missing", place)
                return default()
        try:
            return read(value)
        except Misfit as misfit:
            raise misfit.within(place) from None

    return reader


def _listed(value: Any) -> Any:
    """Return what a former key holds where there can now be several: of one its list, of null none."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _value_reader(key: Key) -> Decoder:
    """Return what reads the value of a key."""
    declared = key.declared
    if declared.read is not None:
        return declared.read
    read = _decoder_of(key.hint, time=key.is_time, names=declared.names, later=declared.later, grows=declared.grows)
    return _with_present_values(read, dict(key.declared.former_values)) if key.declared.former_values else read


def _with_present_values(read: Decoder, present: dict[str, str]) -> Decoder:
    """Read a text, or a list of texts, of which some were called otherwise."""

    def reader(document: Any) -> Any:
        value = read(document)
        return present.get(value, value) if isinstance(value, str) else tuple(present.get(one, one) for one in value)

    return reader


def _within_reader(within: str, name: str, read: Decoder, default: Callable[[], Any] | None) -> Decoder:
    def reader(document: Any) -> Any:
        inner = document.get(within, {})
        if not isinstance(inner, dict):
            raise Misfit(f"is {kind_of(inner)} where an object should be", f".{within}")
        if name not in inner and default is not None:
            return default()
        try:
            if name not in inner:
                raise Misfit("is missing")
            return read(inner[name])
        except Misfit as misfit:
            raise misfit.within(f".{within}.{name}") from None

    return reader


def _list_object_reader(cls: type) -> Decoder:
    reads = [_decoder_of(key.hint, time=key.is_time) for key in keys_of(cls)]
    size = len(reads)

    def reader(value: Any) -> Any:
        if not isinstance(value, list) or len(value) < size:
            raise Misfit(f"is {kind_of(value)} where {size} values should be")
        return cls(*_each(reads, value))

    return reader


def _decoder_of(
    hint: Any, *, time: bool, names: tuple[str, ...] = (), later: Collection[str] = (), grows: bool = False
) -> Decoder:
    hint, optional = without_none(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        read = _reader(hint)
    elif is_list(hint):
        read = _items_reader(_decoder_of(get_args(hint)[0], time=time))
    elif get_origin(hint) is tuple:
        read = _row_reader([_decoder_of(item, time=time) for item in get_args(hint)])
    elif is_mapping(hint):
        read = _mapping_reader(_decoder_of(get_args(hint)[1], time=time), names, later, grows=grows)
    elif time:
        return _ns_or_none if optional else _ns
    else:
        return _leaf_reader(hint, optional=optional)
    return (lambda value: None if value is None else read(value)) if optional else read


def _items_reader(read: Decoder) -> Decoder:
    def reader(value: Any) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"is {kind_of(value)} where a list should be")
        found: list[Any] = []
        try:
            for item in value:
                found.append(read(item))
        except Misfit as misfit:
            raise misfit.within(f"[{len(found)}]") from None
        return tuple(found)

    return reader


def _row_reader(reads: list[Decoder]) -> Decoder:
    def reader(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(reads):
            raise Misfit(f"is {kind_of(value)} where {len(reads)} values should be")
        return tuple(_each(reads, value))

    return reader


def _each(reads: list[Decoder], values: list[Any]) -> list[Any]:
    """Read the values of a row, each by its own type."""
    found: list[Any] = []
    try:
        for read, value in zip(reads, values, strict=False):
            found.append(read(value))
    except Misfit as misfit:
        raise misfit.within(f"[{len(found)}]") from None
    return found


def _mapping_reader(read: Decoder, names: tuple[str, ...], later: Collection[str], *, grows: bool) -> Decoder:
    """Read a mapping; ``names`` are always there, in that order, but for those that came ``later``.

    Others are there only without such names, or of one that ``grows``.
    """

    def reader(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"is {kind_of(value)} where an object should be")
        name = ""
        found = {}
        try:
            for name in dict.fromkeys((*names, *value)) if grows else names or value:
                if name not in value:
                    if name in later:
                        continue
                    raise Misfit("is missing")
                found[name] = read(value[name])
        except Misfit as misfit:
            raise misfit.within(f".{name}") from None
        return found

    return reader


def _ns(value: Any) -> int:
    try:
        return int(to_ns(value))
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"is {kind_of(value)} where seconds should be") from None


def _ns_or_none(value: Any) -> int | None:
    return None if value is None else _ns(value)


_WORDS: Final = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _leaf_reader(hint: Any, *, optional: bool) -> Decoder:
    """Read a finite number, a text, a flag or one of some texts; a whole float is no int, and a flag no number."""
    if get_origin(hint) is Literal:
        return _choice_reader((*get_args(hint), *((None,) if optional else ())))
    kinds: tuple[type, ...] = get_args(hint) or (hint,)
    what = " or ".join(_WORDS[kind] for kind in kinds)
    exact = frozenset(kinds) | ({int} if float in kinds else set()) | ({type(None)} if optional else set())

    def reader(value: Any) -> Any:
        if type(value) not in exact or (type(value) is float and not math.isfinite(value)):
            raise Misfit(f"is {kind_of(value)} where {what} should be")
        return value

    return reader


def _choice_reader(choices: tuple[Any, ...]) -> Decoder:
    def reader(value: Any) -> Any:
        if value not in choices:
            raise Misfit(f"is {kind_of(value)} where one of {', '.join(map(str, choices))} should be")
        return value

    return reader


def kind_of(value: Any) -> str:
    """Say what a JSON value is."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return json.dumps(value)
