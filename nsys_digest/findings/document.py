"""The findings of a digest as JSON: some keys of its document, as they stand there."""

from __future__ import annotations

from operator import attrgetter
from typing import Final

from nsys_digest.findings.rules import with_findings
from nsys_digest.model.catalogue import keys_of
from nsys_digest.model.codec import in_document, json_text
from nsys_digest.model.digest import Digest

_KEYS: Final = ("file", "gpu_activity_span_s", "gpu_busy_union_s", "gpu_idle_within_span_s", "path", "findings")


def findings_json(digest: Digest, *, compact: bool = False) -> str:
    """Return the findings as JSON text, beside the file and the base times of the digest."""
    whole = with_findings(digest)
    keys = (key for key in keys_of(Digest) if key.key in _KEYS and key.declared.within is None)
    return json_text({key.key: in_document(key, attrgetter(key.attribute)(whole)) for key in keys}, compact=compact)
