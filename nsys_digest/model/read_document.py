"""A stored document of a comparison or a check, read back with a reason where it cannot be."""

from __future__ import annotations

from typing import Any, TypeVar

from nsys_digest.errors import DigestInvalid
from nsys_digest.model.catalogue import Json
from nsys_digest.model.decoder import Misfit, decode
from nsys_digest.model.json_text import parse_json

Made = TypeVar("Made")


def document_of(text: str, what: str) -> Any:
    """Return the document of a text; ``what`` is what was asked for: a comparison.

    Raises:
        DigestInvalid: it is no JSON, or holds a number that no document has.

    """
    return parse_json(text, f"write the {what} again with --format json")


def read_document(cls: type[Made], data: Json, what: str, version: str) -> Made:
    """Read a JSON document of the same major version; keys that this version does not know are left out.

    Raises:
        DigestInvalid: it is no such document, of another major version, or damaged.

    """
    major = version.partition(".")[0]
    told = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(told, str) or told.partition(".")[0] != major:
        raise DigestInvalid(
            f"this is no {what} of schema version {major} (schema_version is {told!r}); write it with --format json"
        )
    try:
        return decode(cls, data)
    except Misfit as misfit:
        raise DigestInvalid(f"this is no {what}, or a damaged one: key {misfit}; write it again") from None
