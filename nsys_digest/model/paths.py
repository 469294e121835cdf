r"""Paths of figures as a policy writes them: segments between dots, with globs over names.

A bare segment holds letters, digits and ``_ - / : # =``, and the globs ``*`` (any text) and ``?`` (one character). In
double quotes any text may stand, with the escapes of a TOML basic string, the globs, and ``\*`` and ``\?`` for those
characters themselves. In single quotes every character stands for itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, TypeAlias

Path: TypeAlias = tuple[str, ...]
"""The path of one figure: the keys that lead to it."""

_BARE: Final = re.compile(r"[A-Za-z0-9_\-/:#=*?]+")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_\-/:#=]+")
_ESCAPES: Final = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}
_CODE_POINTS: Final = {"x": 2, "u": 4, "U": 8}
_ANY: Final = object()
_ONE: Final = object()


@dataclass(frozen=True, slots=True)
class Segment:
    """One step of a pattern: the pattern of a key, and the key itself where it has no glob."""

    pattern: re.Pattern[str]
    literal: str | None

    def matches(self, key: str) -> bool:
        """Tell whether a key fits, from its first to its last character."""
        return self.literal == key if self.literal is not None else self.pattern.fullmatch(key) is not None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A path of a policy, as written and in segments."""

    text: str
    segments: tuple[Segment, ...]

    @property
    def literal(self) -> bool:
        """Tell whether it has no glob, so that it can only mean one figure."""
        return all(segment.literal is not None for segment in self.segments)


def parse_path(text: str) -> Pattern:
    """Read a path; raises ValueError, with what is wrong, where it is none."""
    segments, at = [], 0
    while True:
        segment, at = _segment(text, at)
        segments.append(segment)
        if at == len(text):
            return Pattern(text, tuple(segments))
        if text[at] != ".":
            raise ValueError(f"there is {text[at]!r} where a dot should be, at character {at + 1}; quote the name")
        at += 1


def parse_glob(text: str) -> Segment:
    """Read a name with globs; it stands alone, so it needs no quotes, and a backslash makes a glob a character."""
    tokens: list[object] = []
    at = 0
    while at < len(text):
        escaped = text[at] == "\\" and text[at + 1 : at + 2] in {"*", "?", "\\"}
        at += escaped
        tokens.append(text[at] if escaped else _glob(text[at]))
        at += 1
    return _of(tokens)


def path_text(path: Path) -> str:
    """Return a path as text; read as a pattern it means exactly that path."""
    return ".".join(map(_quoted, path))


def _quoted(key: str) -> str:
    if _PLAIN.fullmatch(key):
        return key
    spelled = []
    for char in key:
        if char in '"\\*?':
            spelled.append(f"\\{char}")
        elif char.isprintable():
            spelled.append(char)
        else:
            spelled.append(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}")
    return f'"{"".join(spelled)}"'


def _segment(text: str, at: int) -> tuple[Segment, int]:
    """Read the segment that begins at a place; return it and the place behind it."""
    if text[at : at + 1] == "'":
        end = text.find("'", at + 1)
        if end < 0:
            raise ValueError(f"the quote at character {at + 1} is not closed")
        return _of(list(text[at + 1 : end])), end + 1
    if text[at : at + 1] == '"':
        return _in_double_quotes(text, at + 1)
    bare = _BARE.match(text, at)
    if bare is None:
        reason = "the path ends" if at == len(text) else f"there is {text[at]!r}"
        raise ValueError(f"{reason} where a name should be, at character {at + 1}; quote names with other signs")
    return _of([_glob(char) for char in bare[0]]), bare.end()


def _in_double_quotes(text: str, at: int) -> tuple[Segment, int]:
    tokens: list[object] = []
    start = at
    while at < len(text):
        char = text[at]
        if char == '"':
            return _of(tokens), at + 1
        if char != "\\":
            tokens.append(_glob(char))
            at += 1
            continue
        escape = text[at + 1 : at + 2]
        if escape in {"*", "?"}:
            tokens.append(escape)
        elif escape in _ESCAPES:
            tokens.append(_ESCAPES[escape])
        elif escape in _CODE_POINTS:
            digits = text[at + 2 : at + 2 + _CODE_POINTS[escape]]
            if not re.fullmatch(rf"[0-9A-Fa-f]{{{_CODE_POINTS[escape]}}}", digits) or int(digits, 16) > 0x10FFFF:
                raise ValueError(f"\\{escape}{digits} is no character, at character {at + 1}")
            tokens.append(chr(int(digits, 16)))
            at += len(digits)
        else:
            raise ValueError(f"there is no escape \\{escape}, at character {at + 1}")
        at += 2
    raise ValueError(f"the quote at character {start} is not closed")


def _glob(char: str) -> object:
    return _ANY if char == "*" else _ONE if char == "?" else char


def _of(tokens: list[object]) -> Segment:
    """Return a segment of characters and globs."""
    if _ANY not in tokens and _ONE not in tokens:
        literal = "".join(map(str, tokens))
        return Segment(re.compile(re.escape(literal)), literal)
    parts: list[str] = [""]
    for token in tokens:
        if token is _ANY:
            parts.append("")
        else:
            parts[-1] += "." if token is _ONE else re.escape(str(token))
    first, *between, last = parts if len(parts) > 1 else (parts[0], None)
    # What stands between two stars is taken where it comes first, for good: so the time is linear in the name.
    fixed = "".join(f"(?>.*?{part})" for part in between if part)
    return Segment(re.compile(first if last is None else f"{first}{fixed}.*{last}", re.DOTALL), None)
