"""A digest that was stored as JSON: known from a trace by its content, and read within limits."""

from __future__ import annotations

from pathlib import Path

from nsys_digest.errors import DigestInvalid
from nsys_digest.model.digest import Digest
from nsys_digest.model.json_text import read_json

_STARTS = (b"{", b"[")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def is_stored(file: Path) -> bool:
    """Tell whether a file begins as a JSON document; one that cannot be read does not."""
    try:
        if not file.is_file():
            return False
        with file.open("rb") as stream:
            start = stream.read(4096)
    except (OSError, ValueError):
        return False
    return start.removeprefix(_BYTE_ORDER_MARK).lstrip().startswith(_STARTS)


def read_stored(file: Path, given: Path | None = None) -> Digest:
    """Read a stored digest; ``given`` is what messages call it.

    Raises:
        DigestInvalid: it is too large, no JSON, or no digest of a known version.

    """
    name = given or file
    try:
        return Digest.from_dict(read_json(file))
    except DigestInvalid as error:
        raise DigestInvalid(f"{name}: {error}") from None
    except OSError as error:
        raise DigestInvalid(
            f"{name}: the digest cannot be read ({error.strerror or error}); check the path, or write it with "
            "fewer names (--max-names)"
        ) from None
