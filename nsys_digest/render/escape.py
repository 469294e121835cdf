"""Text from a trace is hostile until it is escaped: one function for each kind of output."""

from __future__ import annotations

import re
import unicodedata

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@$-])")


def one_line(text: str) -> str:
    r"""Return text that cannot move a cursor or fake a line: control and format characters become ``\\xNN``."""
    if text.isprintable():
        return text
    return "".join(
        char if char == " " or unicodedata.category(char)[0] not in "CZ" else _spelled(char) for char in text
    )


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def markdown(text: str) -> str:
    """Return text that reads the same inside a Markdown table cell and starts no markup, link or mention."""
    return _MARKDOWN.sub(r"\\\1", one_line(text)) or " "


def markdown_code(text: str) -> str:
    """Return text as a code span for a table cell; a bar or a backtick in it cannot end the cell or the span."""
    plain = one_line(text)
    if not plain.strip() or "`" in plain or "|" in plain or "\\" in plain:
        return markdown(plain)
    return f"`{plain}`"


def annotation(text: str) -> str:
    """Return text as the message of a command to a GitHub Actions log: nothing in it ends the command."""
    return one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation_property(text: str) -> str:
    """Return text as a property of such a command, where colons and commas part."""
    return annotation(text).replace(":", "%3A").replace(",", "%2C")


def sarif(text: str) -> str:
    """Return text as a plain text message of SARIF 2.1.0: no embedded link (3.11.6), no placeholder (3.11.5)."""
    return re.sub(r"([\\\[\]])", r"\\\1", one_line(text)).replace("{", "{{").replace("}", "}}")
