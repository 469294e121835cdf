"""``nsys-digest schema``."""

from __future__ import annotations


def command() -> None:
    """Print the JSON Schema (draft 2020-12) of the digest."""
    from nsys_digest.cli.output import write
    from nsys_digest.schema_file import digest_schema_text

    write(digest_schema_text(), None)
