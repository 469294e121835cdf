"""The published JSON Schema of the digest, which ships in the package."""

from __future__ import annotations

from importlib import resources


def digest_schema_text() -> str:
    """Return the JSON Schema (draft 2020-12) of the digest, as text."""
    return resources.files("nsys_digest").joinpath("digest.schema.json").read_text(encoding="utf-8")
