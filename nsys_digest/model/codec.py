"""Results to JSON, as their fields are declared: here alone do times become seconds.

What there is to do for a type is found out once; then values are only passed through.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import cache
from operator import attrgetter, methodcaller
from typing import Any, TypeAlias, TypeVar, get_args, get_origin

from nsys_digest.model.catalogue import AS_LIST, OWN_FORM, OWN_KEY, Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.units import to_seconds

Made = TypeVar("Made")
Encoder: TypeAlias = Callable[[Any], Any]
Decoder: TypeAlias = Callable[[Any], Any]


def encode(value: Any) -> Any:
    """Return a declared result as JSON values."""
    cls: Any = type(value)
    return _encoder(cls)(value)


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
def _encoder(cls: Any) -> Encoder:
    """Return what makes an object of a declared class, or the list of its values."""
    if hasattr(cls, OWN_FORM):
        return methodcaller(OWN_FORM)
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
        kind, _ = without_none(get_args(hint)[1])
        made = _mapping_encoder(_encoder_of(get_args(hint)[1], time=time), keyed=hasattr(kind, OWN_KEY))
    else:
        return to_seconds if time and hint is int else None
    return (lambda value: None if value is None else made(value)) if optional else made


def _list_encoder(item: Encoder | None) -> Encoder:
    return list if item is None else lambda value: list(map(item, value))


def _row_encoder(items: list[Encoder | None]) -> Encoder:
    return lambda row: [value if item is None else item(value) for item, value in zip(items, row, strict=True)]


def _mapping_encoder(item: Encoder | None, *, keyed: bool) -> Encoder:
    if keyed and item is not None:
        return lambda value: {getattr(part, OWN_KEY): item(part) for part in value.values()}
    return dict if item is None else lambda value: {key: item(part) for key, part in value.items()}
