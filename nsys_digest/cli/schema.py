"""``nsys-digest schema``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Document(StrEnum):
    """A document that has a schema."""

    digest = "digest"
    diff = "diff"
    check = "check"


def command(
    of: Annotated[Document, typer.Option("--of", help="The document of which command.")] = Document.digest,
) -> None:
    """Print the JSON Schema of a document.

    Draft 2020-12; of the digest, of a comparison, or of a check.
    """
    from nsys_digest.cli.output import write
    from nsys_digest.gate.documents import document_schema
    from nsys_digest.model.codec import json_text

    write(json_text(document_schema(of.value)), None)
