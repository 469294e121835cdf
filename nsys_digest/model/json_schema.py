"""The published JSON Schemas (draft 2020-12), as the fields of the documents' types declare them."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from typing import Any, Final, Literal, get_args, get_origin

from nsys_digest.model.catalogue import (
    AS_LIST,
    MORE_KEYS,
    OWN_SCHEMA,
    WITHIN,
    Declared,
    Json,
    Key,
    is_list,
    is_mapping,
    keys_of,
    without_none,
)

_LEAVES: Final = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}


def schema_of(document: str, cls: type) -> Json:
    """Return the JSON Schema of a kind of document, written by the class; every class within has a definition."""
    definitions: Json = {}
    root = _object(cls, definitions)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:nsys-digest:{document}:1",
        "title": getattr(cls, "TITLE"),  # noqa: B009 - declared by the class of a document alone
        "description": getattr(cls, "ABOUT"),  # noqa: B009
        **root,
        "$defs": dict(sorted(definitions.items())),
    }


def definition_name(cls: type) -> str:
    """Return the name of the definition of a class: ``nvtx_range`` of NvtxRange."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()


def _reference(cls: type, definitions: Json) -> Json:
    name = definition_name(cls)
    if name not in definitions:
        definitions[name] = {}  # a class can hold itself
        summary = (cls.__doc__ or "").partition("\n")[0]
        definitions[name] = {"description": summary, **_definition(cls, definitions)}
    return {"$ref": f"#/$defs/{name}"}


def _definition(cls: type, definitions: Json) -> Json:
    if hasattr(cls, OWN_SCHEMA):
        return dict(getattr(cls, OWN_SCHEMA))
    return _list_object(cls, definitions) if getattr(cls, AS_LIST, False) else _object(cls, definitions)


def _object(cls: type, definitions: Json) -> Json:
    keys = keys_of(cls)
    properties: Json = {}
    for key in keys:
        if key.declared.within is None:
            properties[key.key] = _described(key, definitions)
        elif key.declared.within not in properties:
            beside = [other for other in keys if other.declared.within == key.declared.within]
            properties[key.declared.within] = {
                "description": getattr(cls, WITHIN)[key.declared.within],
                **_beside(beside, definitions),
            }
    required = [key.declared.within or key.key for key in keys if key.required]
    made: Json = {
        "type": "object",
        "properties": properties,
        "required": list(dict.fromkeys(required)),
        "additionalProperties": bool(getattr(cls, MORE_KEYS, False)),
    }
    inline = [key.key for key in keys if key.may_lack]
    return made | ({"dependentRequired": {inline[0]: inline}} if inline else {})


def _beside(keys: list[Key], definitions: Json) -> Json:
    """Return the object that several fields are written in."""
    return {
        "type": "object",
        "properties": {key.key: _described(key, definitions) for key in keys},
        "required": [key.key for key in keys if key.required],
        "additionalProperties": True,
    }


def _list_object(cls: type, definitions: Json) -> Json:
    items = [_described(key, definitions) for key in keys_of(cls)]
    return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}


def _described(key: Key, definitions: Json) -> Json:
    hint = without_none(key.hint)[0] if key.declared.left_out else key.hint
    return {"description": key.declared.meaning, **_type(hint, key.declared, definitions)}


def _type(hint: Any, declared: Declared, definitions: Json) -> Json:
    hint, optional = without_none(hint)
    made = _of_hint(hint, declared, definitions)
    if not optional:
        return made
    if isinstance(made.get("type"), str):
        return made | {"type": [made["type"], "null"]}
    if "type" in made:
        return made | {"type": [*made["type"], "null"]}
    if "enum" in made:
        return {"enum": [*made["enum"], None]}
    return {"anyOf": [made, {"type": "null"}]}


def _of_hint(hint: Any, declared: Declared, definitions: Json) -> Json:
    if is_dataclass(hint) and isinstance(hint, type):
        return _reference(hint, definitions)
    if is_list(hint):
        return {"type": "array", "items": _type(get_args(hint)[0], declared, definitions)}
    if get_origin(hint) is tuple:
        items = [_type(item, declared, definitions) for item in get_args(hint)]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    if is_mapping(hint):
        return _mapping(_type(get_args(hint)[1], declared, definitions), declared)
    if get_origin(hint) is Literal:
        return {"enum": list(get_args(hint))}
    return _leaf(hint, declared)


def _mapping(child: Json, declared: Declared) -> Json:
    if declared.names:
        return {
            "type": "object",
            "properties": dict.fromkeys(declared.names, child),
            "required": [name for name in declared.names if name not in declared.later],
            "additionalProperties": declared.grows,
        }
    names = {"propertyNames": {"enum": list(declared.may_have)}} if declared.may_have else {}
    return {"type": "object", **names, "additionalProperties": child}


def _leaf(hint: Any, declared: Declared) -> Json:
    """Return the type of a number, a text or a flag; a time is a number, of seconds."""
    kinds = ["number" if declared.unit == "s" and kind is int else _LEAVES[kind] for kind in get_args(hint) or (hint,)]
    made: Json = {"type": kinds[0] if len(kinds) == 1 else kinds}
    numeric = {"integer", "number"} & set(kinds)
    if declared.least is not None and numeric:
        made["minimum"] = declared.least
    if declared.most is not None and numeric:
        made["maximum"] = declared.most
    if declared.pattern is not None and "string" in kinds:
        made["pattern"] = declared.pattern
    return made
