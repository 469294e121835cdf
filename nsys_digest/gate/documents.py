"""The documents that have a published schema, and what writes each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nsys_digest.compare.diff import Diff
from nsys_digest.errors import UsageInvalid
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.model.catalogue import Json
from nsys_digest.model.digest import Digest
from nsys_digest.model.json_schema import schema_of

DOCUMENTS: Final[Mapping[str, type]] = {"digest": Digest, "diff": Diff, "check": CheckResult}


def document_schema(of: str) -> Json:
    """Return the JSON Schema (draft 2020-12) of one of ``DOCUMENTS``.

    Raises:
        UsageInvalid: there is no such document.

    """
    if of not in DOCUMENTS:
        raise UsageInvalid(f"there is no document {of!r}; choose from {', '.join(DOCUMENTS)}")
    return schema_of(of, DOCUMENTS[of])
