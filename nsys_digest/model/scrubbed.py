"""What became of a scrubbed copy of a trace, and what a search found in one. No value of the trace is in here."""

from __future__ import annotations

from nsys_digest.model.catalogue import Json, document, figure, label, part, result
from nsys_digest.model.codec import encode, json_text


@result
class Removed:
    """What of a kind was taken out of a table."""

    table: str = label("name of the table")
    what: str = label("what was taken: the table, rows of it, or a column")
    kind: str = label("what it tells")
    count: int = figure("count", "rows, or values of the column", label="count", counts="values")


@result
class Replaced:
    """What of a kind was replaced within what stays."""

    kind: str = label("what was replaced")
    count: int = figure("count", "different texts that had it", label="count", counts="texts")


@result
class KeptTable:
    """A table of the copy."""

    name: str = label("name of the table")
    rows: int = figure("count", "its rows", label="rows", counts="rows")


@result
class Found:
    """What of a kind a search found in a copy, and where it stands first."""

    kind: str = label("what was found")
    count: int = figure("count", "how often", label="count", counts="places")
    offsets: tuple[int, ...] = label("byte offsets of the first places in the file")
    where: str = label("in what it was found: bytes, a text of a table, or the file's structure")


@document
class Verified:
    """What a search of a copy found: nothing where ``found`` is empty."""

    file: str = label("name of the copy, without its folder")
    against: str | None = label("name of the trace whose values were looked for; None of a search by form alone")
    searched_count: int = figure("count", "values of the trace that were looked for", label="searched", counts="values")
    found: tuple[Found, ...] = part("what was found, by kind")

    def to_dict(self) -> Json:
        """Return the fields."""
        written: Json = encode(self)
        return written

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        return json_text(self.to_dict(), compact=compact)


@document
class Scrubbed:
    """What was taken out of a trace, and what stays in its copy."""

    file: str = label("name of the trace, without its folder")
    output: str = label("name of the copy, without its folder")
    size_bytes: int = figure("bytes", "size of the copy", label="size")
    names_hashed: bool = label("whether names of kernels, ranges and other calls than CUDA's are hashed")
    removed: tuple[Removed, ...] = part("what was taken out, by table")
    replaced: tuple[Replaced, ...] = part("what was replaced within names and texts that stay, by kind")
    kept: tuple[KeptTable, ...] = part("tables of the copy, by name")
    searched_count: int = figure("count", "values that the copy was searched for", label="searched", counts="values")
    found: tuple[Found, ...] = part("what that search found; nothing, or the copy must not be shared")

    def to_dict(self) -> Json:
        """Return the fields."""
        written: Json = encode(self)
        return written

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        return json_text(self.to_dict(), compact=compact)
