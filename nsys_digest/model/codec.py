"""Results to JSON and back, as their fields are declared: here alone do times become seconds, and seconds times.

What there is to do for a type is found out once; then values are only passed through.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

from nsys_digest.model.catalogue import Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.units import to_ns, to_seconds

Made = TypeVar("Made")
Encoder: TypeAlias = Callable[[Any], Any]
Decoder: TypeAlias = Callable[[Any], Any]
AS_LIST: Final = "AS_LIST"
"""The name of the class attribute that says: written as the list of its values."""


class Misfit(ValueError):
    """Something in a document is not what it is declared to be; ``str`` says where and why."""

    def __init__(self, why: str, *where: str) -> None:
        self.why, self.where = why, where
        super().__init__(f"{''.join(where).lstrip('.') or 'the document'} {why}")

    def within(self, place: str) -> Misfit:
        """Return the same, with the place that it is within."""
        return Misfit(self.why, place, *self.where)


def encode(value: Any) -> Any:
    """Return a declared result as JSON values."""
    return _encoder(type(value))(value)


def decode(cls: type[Made], document: Any) -> Made:
    """Read a result of that type back; keys that it does not have are left out.

    Raises:
        Misfit: a key is missing that has no default, or a value is not of its type.

    """
    made: Made = _reader(cls)(document)
    return made


def json_text(document: Any, *, compact: bool = False) -> str:
    """Return JSON values as text: indented by two, or on one line; never NaN or Infinity."""
    if compact:
        return json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def in_document(key: Key, value: Any) -> Any:
    """Return the value of one key as a document has it."""
    encoder = _encoder_of(key.hint, time=key.is_time)
    return value if encoder is None else encoder(value)


@cache
def _encoder(cls: type) -> Encoder:
    """Return what makes an object of a declared class, or the list of its values."""
    if getattr(cls, AS_LIST, False):
        keys = keys_of(cls)
        steps = [(attrgetter(key.attribute), _encoder_of(key.hint, time=key.is_time)) for key in keys]
        return lambda value: [get(value) if made is None else made(get(value)) for get, made in steps]
    plan = [
        (
            key.key,
            key.declared.within,
            attrgetter(key.attribute),
            _encoder_of(key.hint, time=key.is_time),
            key.inline and attrgetter(key.inline),
            key.declared.left_out,
        )
        for key in keys_of(cls)
    ]
    if all(within is None and not inline and not left_out for _, within, _, _, inline, left_out in plan):
        return _plain_encoder([(key, get, made) for key, _, get, made, _, _ in plan])

    def encoder(value: Any) -> dict[str, Any]:
        document: dict[str, Any] = {}
        for key, within, get, made, inline, left_out in plan:
            if inline and inline(value) is None:
                continue
            item = get(value)
            if item is None and left_out:
                continue
            into = document if within is None else document.setdefault(within, {})
            into[key] = item if made is None else made(item)
        return document

    return encoder


def _plain_encoder(plan: list[tuple[str, Encoder, Encoder | None]]) -> Encoder:
    def encoder(value: Any) -> dict[str, Any]:
        return {key: get(value) if made is None else made(get(value)) for key, get, made in plan}

    return encoder


def _encoder_of(hint: Any, *, time: bool) -> Encoder | None:
    """Return what makes a JSON value of a type; None where that is the value itself."""
    hint, optional = without_none(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        made = _encoder(hint)
    elif is_list(hint):
        made = _list_encoder(_encoder_of(get_args(hint)[0], time=time))
    elif get_origin(hint) is tuple:
        made = _row_encoder([_encoder_of(item, time=time) for item in get_args(hint)])
    elif is_mapping(hint):
        made = _mapping_encoder(_encoder_of(get_args(hint)[1], time=time))
    else:
        return to_seconds if time and hint is int else None
    return (lambda value: None if value is None else made(value)) if optional else made


def _list_encoder(item: Encoder | None) -> Encoder:
    return list if item is None else lambda value: list(map(item, value))


def _row_encoder(items: list[Encoder | None]) -> Encoder:
    return lambda row: [
        value if item is None else item(value) for item, value in zip(items, row, strict=True)
    ]


def _mapping_encoder(item: Encoder | None) -> Encoder:
    return dict if item is None else lambda value: {key: item(part) for key, part in value.items()}


@cache
def _reader(cls: type) -> Decoder:
    """Return what makes an object of a declared class from a document."""
    if getattr(cls, AS_LIST, False):
        return _list_object_reader(cls)
    plan = _plan(cls)

    def reader(document: Any) -> Any:
        if not isinstance(document, dict):
            raise Misfit(f"is {_kind(document)} where an object should be")
        found = {}
        for attribute, read in plan:
            found[attribute] = read(document)
        return cls(**found)

    return reader


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
    read = _decoder_of(key.hint, time=key.is_time, names=key.declared.names)
    if key.declared.former_values:
        read = _with_present_values(read, dict(key.declared.former_values))
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
                    value = document[other]
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


def _with_present_values(read: Decoder, present: dict[str, str]) -> Decoder:
    """Read a list of texts of which some were called otherwise."""
    return lambda values: tuple(present.get(value, value) for value in read(values))


def _within_reader(within: str, name: str, read: Decoder, default: Callable[[], Any] | None) -> Decoder:
    def reader(document: Any) -> Any:
        inner = document.get(within, {})
        if not isinstance(inner, dict):
            raise Misfit(f"is {_kind(inner)} where an object should be", f".{within}")
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
            raise Misfit(f"is {_kind(value)} where {size} values should be")
        return cls(*[read(item) for read, item in zip(reads, value, strict=False)])

    return reader


def _decoder_of(hint: Any, *, time: bool, names: tuple[str, ...] = ()) -> Decoder:
    hint, optional = without_none(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        read = _reader(hint)
    elif is_list(hint):
        read = _items_reader(_decoder_of(get_args(hint)[0], time=time))
    elif get_origin(hint) is tuple:
        read = _row_reader([_decoder_of(item, time=time) for item in get_args(hint)])
    elif is_mapping(hint):
        read = _mapping_reader(_decoder_of(get_args(hint)[1], time=time), names)
    else:
        read = _ns if time else _leaf_reader(hint)
    return (lambda value: None if value is None else read(value)) if optional else read


def _items_reader(read: Decoder) -> Decoder:
    def reader(value: Any) -> Any:
        if not isinstance(value, list):
            raise Misfit(f"is {_kind(value)} where a list should be")
        at = 0
        try:
            found = []
            for item in value:
                found.append(read(item))
                at += 1
        except Misfit as misfit:
            raise misfit.within(f"[{at}]") from None
        return tuple(found)

    return reader


def _row_reader(reads: list[Decoder]) -> Decoder:
    def reader(value: Any) -> Any:
        if not isinstance(value, list) or len(value) != len(reads):
            raise Misfit(f"is {_kind(value)} where {len(reads)} values should be")
        return tuple(read(item) for read, item in zip(reads, value, strict=True))

    return reader


def _mapping_reader(read: Decoder, names: tuple[str, ...]) -> Decoder:
    """Read a mapping; of one with names that are always there no other name."""

    def reader(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Misfit(f"is {_kind(value)} where an object should be")
        name = ""
        found = {}
        try:
            for name in names or value:
                if name not in value:
                    raise Misfit("is missing")
                found[name] = read(value[name])
        except Misfit as misfit:
            raise misfit.within(f".{name}") from None
        return found

    return reader


def _ns(value: Any) -> int:
    try:
        return to_ns(value)
    except (TypeError, ValueError, OverflowError):
        raise Misfit(f"is {_kind(value)} where seconds should be") from None


_WORDS: Final = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


def _leaf_reader(hint: Any) -> Decoder:
    """Read a finite number, a text, a flag or one of some texts; a whole float is no int, and a flag no number."""
    if get_origin(hint) is Literal:
        return _choice_reader(get_args(hint))
    kinds: tuple[type, ...] = get_args(hint) or (hint,)
    what = " or ".join(_WORDS[kind] for kind in kinds)
    exact = frozenset(kinds) | ({int} if float in kinds else set())

    def reader(value: Any) -> Any:
        if type(value) not in exact or (type(value) is float and not math.isfinite(value)):
            raise Misfit(f"is {_kind(value)} where {what} should be")
        return value

    return reader


def _choice_reader(choices: tuple[Any, ...]) -> Decoder:
    def reader(value: Any) -> Any:
        if value not in choices:
            raise Misfit(f"is {_kind(value)} where one of {', '.join(map(str, choices))} should be")
        return value

    return reader


def _kind(value: Any) -> str:
    """Say what a JSON value is."""
    if isinstance(value, str):
        return "text"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "null" if value is None else str(value)
