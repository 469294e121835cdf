"""Documents against the published schemas, each prepared once: as it comes it looks every reference up anew."""

from __future__ import annotations

from functools import cache
from typing import Any

import jsonschema

import nsys_digest


def validate(document: object, of: str = "digest") -> None:
    """Fail where a document is not as the schema of its kind says."""
    validator(of).validate(document)


@cache
def validator(of: str = "digest") -> jsonschema.Draft202012Validator:
    schema = nsys_digest.json_schema(of)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(without_references(schema, schema.get("$defs", {})))


def without_references(part: Any, definitions: dict[str, Any]) -> Any:
    """Return a schema with every definition in the places that refer to it; none of ours holds itself."""
    if isinstance(part, list):
        return [without_references(value, definitions) for value in part]
    if not isinstance(part, dict):
        return part
    whole = {key: without_references(value, definitions) for key, value in part.items() if key not in {"$ref", "$defs"}}
    if "$ref" not in part:
        return whole
    name = part["$ref"].removeprefix("#/$defs/")
    referred = without_references(definitions[name], definitions)
    assert not whole.keys() & (referred.keys() - {"description", "title"}), name
    return referred | whole
