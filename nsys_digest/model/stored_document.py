"""What every document that can be stored does: written as declared, and read back or refused with a reason."""

from __future__ import annotations

from typing import ClassVar, Self

from nsys_digest.errors import DigestInvalid
from nsys_digest.model.catalogue import Json
from nsys_digest.model.codec import encode, json_text
from nsys_digest.model.decoder import Misfit, decode
from nsys_digest.model.json_text import parse_json


class StoredDocument:
    """A document with a ``schema_version``; ``d == type(d).from_json(d.to_json())``."""

    __slots__ = ()

    WHAT: ClassVar[str]
    """What it is called in messages."""
    COMMAND: ClassVar[str]
    """The command that writes one."""
    VERSION: ClassVar[str]
    """The ``schema_version`` that is written: major.minor."""

    def to_dict(self) -> Json:
        """Return the JSON document, times in seconds; its schema is printed by ``nsys-digest schema``."""
        written: Json = encode(self)
        return written

    @classmethod
    def from_dict(cls, data: Json) -> Self:
        """Read a JSON document of version 1; keys that this version does not know are left out.

        Raises:
            DigestInvalid: it is no such document, or damaged, or of another major version.

        """
        major = cls.VERSION.partition(".")[0]
        version = data.get("schema_version") if isinstance(data, dict) else None
        if not isinstance(version, str) or version.partition(".")[0] != major:
            raise DigestInvalid(
                f"this is no {cls.WHAT} of schema version {major} (schema_version is {version!r}); write one with: "
                f"{cls.COMMAND}"
            )
        try:
            return decode(cls, data)
        except Misfit as misfit:
            raise DigestInvalid(
                f"this is no {cls.WHAT}, or a damaged one: key {misfit}; write it again with: {cls.COMMAND}"
            ) from None

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text: indented by two, or on one line; never NaN or Infinity."""
        return json_text(self.to_dict(), compact=compact)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read JSON text.

        Raises:
            DigestInvalid: the text is no JSON, or no such document of a known version.

        """
        return cls.from_dict(parse_json(text, f"write a {cls.WHAT} with: {cls.COMMAND}"))
