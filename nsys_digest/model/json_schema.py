"""The published JSON Schemas, which ship in the package."""

from __future__ import annotations

from importlib import resources
from typing import Final

DOCUMENTS: Final = ("digest", "diff", "check")
"""The documents that have a schema, each in a file of that name."""


def schema_text(document: str) -> str:
    """Return the JSON Schema (draft 2020-12) of one of ``DOCUMENTS``, as text."""
    return resources.files("nsys_digest.model").joinpath(f"{document}.schema.json").read_text(encoding="utf-8")


def digest_schema_text() -> str:
    """Return the JSON Schema (draft 2020-12) of the digest, as text."""
    return schema_text("digest")
