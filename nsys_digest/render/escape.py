"""Text that is not our own is hostile until it is escaped: one function for each kind of output.

It comes from a trace, a stored digest, a policy, or the name of a file. Text and messages take :func:`one_line`,
Markdown :func:`markdown` and :func:`markdown_code`, JUnit :func:`xml`, GitHub's annotations :func:`annotation`, SARIF
:func:`sarif`, JSON text :func:`json_text` and CSV :func:`csv_cell`. All but these two shorten what is longer than
``LONGEST``.
"""

from __future__ import annotations

import re
import zlib
from typing import Final

LONGEST: Final = 10_000
"""Characters of one name or message that people are shown; of a longer one the middle is left out, with a mark."""

_MARK: Final = 60
"""Characters of the mark at most."""

# Unicode's default ignorable characters that isprintable() lets through. The one that follows an emoji is no harm.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]")
# ##[name] of GitHub Actions, ##vso[name] of Azure Pipelines and ##teamcity[name] are commands anywhere in a line.
_LOG_COMMAND = re.compile(r"#(?=#\w*\[)")
# A line that begins with two colons is a command to the log of a GitHub Actions step.
_LINE_COMMAND = re.compile(r"^ *:(?=:)")

_FORMULA: Final = frozenset("=+-@'\uff1d\uff0b\uff0d\uff20")
"""What makes a spreadsheet take a cell for a formula, and the mark that says that it is none."""

_MARKUP = re.compile(r"[\\`*_{}\[\]<>()#+!|~&@$-]")
# What becomes a link, a mention or an emoji after Markdown is read, where a backslash no longer counts.
_LINKED = re.compile(
    r"@(?=\w)|[#!$&](?=\d)|[%~](?=[\w\"])|(?<=[wW]{3})(?=\.)|[gG][hH]-(?=\d)|:(?=//)|:(?=[\w+-]+:)|(?<=[Mm]ailto):|(?<=xmpp):"
)
_AT_START = re.compile(r"^(?:\d{1,9}(?=[.)])|(?=::))")  # of a list, or of a command to a log
_NO_LINK = "\ufdd0"  # a noncharacter, which one_line never lets through
_NO_LINK_ENTITY = "&#8203;"  # a space of no width


def shortened_middle(text: str, longest: int = LONGEST) -> str:
    """Return text of at most about ``longest`` characters: what is left out is counted, and told apart by a sum."""
    if len(text) <= longest:
        return text
    half = longest // 2
    left_out = text[half:-half]
    crc = zlib.crc32(left_out.encode("utf-8", "surrogatepass"))
    return f"{text[:half]} … [{len(left_out):,} characters left out, CRC {crc:08x}] … {text[-half:]}"


def shortened_names(text: str, joint: str) -> str:
    """Return names that a text joins, so short that the whole is not shortened: each keeps its ends, and the joint.

    Text that joins nothing is returned as it is.
    """
    if not joint or len(text) <= LONGEST:
        return text
    names = text.split(joint)
    longest = max(LONGEST // len(names) - len(joint) - _MARK, _MARK)
    return joint.join(shortened_middle(name, longest) for name in names)


def one_line(text: str) -> str:
    r"""Return text that cannot move a cursor, fake a line, hide, or command a log; such signs become ``\\xNN``.

    Where it begins a line of its own, take :func:`whole_line`.
    """
    text = shortened_middle(text)
    if not text.isprintable():
        text = text.translate({ord(char): _spelled(char) for char in set(text) if not char.isprintable()})
    if not text.isascii():
        text = _INVISIBLE.sub(lambda found: _spelled(found[0]), text)
    return _LOG_COMMAND.sub(r"\\x23", text) if "##" in text else text


def whole_line(text: str) -> str:
    """Return text as :func:`one_line` does, for a line that begins with it."""
    return without_line_command(one_line(text))


def without_line_command(line: str) -> str:
    """Return a line that is no command to the log of a CI step, whatever blanks it begins with."""
    return _LINE_COMMAND.sub(lambda found: found[0][:-1] + r"\x3a", line)


def _spelled(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def markdown(text: str) -> str:
    """Return text that reads the same in Markdown, also in a table cell, and becomes no markup, link or mention.

    Where a forge would link words of the finished page (``@name``, ``#1``, ``www.``), a space of no width parts them.
    """
    parted = _LINKED.sub(lambda found: found[0] + _NO_LINK, one_line(text))
    escaped = _MARKUP.sub(r"\\\g<0>", parted).replace(_NO_LINK, _NO_LINK_ENTITY)
    escaped = _AT_START.sub(r"\g<0>\\", escaped)
    return f"&#32;{escaped[1:]}" if escaped[:1] in {"", " "} else escaped


def markdown_code(text: str, *, in_table: bool = True) -> str:
    """Return text as a code span, in which nothing is a link; as plain text where none can hold it."""
    plain = one_line(text)
    if not plain.strip() or (in_table and r"\|" in plain):  # a table takes the backslash away, also within code
        return markdown(plain)
    fence = "`" * (max(map(len, re.findall("`+", plain)), default=0) + 1)
    blank = " " if plain[0] in "` " or plain[-1] in "` " else ""
    span = f"{fence}{blank}{plain}{blank}{fence}"
    return span.replace("|", r"\|") if in_table else span


def xml(text: str) -> str:
    """Return text whose characters XML 1.0 may hold, also for a line of its own; what writes the XML escapes markup."""
    return whole_line(text)


def annotation(text: str) -> str:
    """Return text as the message of a command to a GitHub Actions log: nothing in it ends the command."""
    return one_line(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def annotation_property(text: str) -> str:
    """Return text as a property of such a command, where colons and commas part."""
    return annotation(text).replace(":", "%3A").replace(",", "%2C")


def sarif(text: str) -> str:
    """Return text as a plain text message of SARIF 2.1.0: no embedded link (3.11.6), no placeholder (3.11.5)."""
    return re.sub(r"([\\\[\]])", r"\\\1", one_line(text)).replace("{", "{{").replace("}", "}}")


def csv_cell(text: str) -> str:
    r"""Return text as a cell of CSV, quoted where it must be (RFC 4180), and never a formula.

    Before text that begins with ``=``, ``+``, ``-``, ``@`` or ``'``, after blanks or not, stands a ``'``, so that to
    take one off a cell that begins with it gives the text back. What could command a terminal becomes ``\\xNN``, line
    ends too; nothing is shortened.
    """
    if not text.isprintable():
        text = text.translate({ord(char): _spelled(char) for char in set(text) if not char.isprintable()})
    if not text.isascii():
        text = _INVISIBLE.sub(lambda found: _spelled(found[0]), text)
    text = _LOG_COMMAND.sub(r"\\x23", text) if "##" in text else text
    if text.lstrip()[:1] in _FORMULA:
        text = f"'{text}"
    return '"' + text.replace('"', '""') + '"' if not text or '"' in text or "," in text else text


def json_text(document: str) -> str:
    r"""Return JSON text of the same value that is safe in a terminal and a log: ``\uNNNN`` for what is not.

    Such characters, and two ``#`` in a row, stand within strings alone, so the text can be searched as a whole.
    """
    if "##" in document:
        document = document.replace("##", "\\u0023#").replace("##", "\\u0023#")
    if document.isascii() and "\x7f" not in document:
        return document
    unsafe = {char for char in set(document) - {"\n"} if not char.isprintable() or _INVISIBLE.match(char)}
    return document.translate({ord(char): _json_spelled(ord(char)) for char in unsafe}) if unsafe else document


def _json_spelled(code: int) -> str:
    if code < 0x10000:
        return f"\\u{code:04x}"
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
