"""What a command line that is wrong was probably meant to be; it is proposed, never run."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

Words: TypeAlias = tuple[str, ...]

_TRACE_ENDS: Final = (".sqlite", ".db", ".json", ".nsys-rep", ".qdrep")
_COMMANDS: Final = {
    "compare": "diff",
    "report": "summarize",
    "rules": "categories",
    "show": "summarize",
    "stats": "summarize",
    "summary": "summarize",
    "profile": "record",
}
_FORMATS: Final = {"md": "markdown", "txt": "text", "plain": "text", "table": "text", "htm": "html", "jsonl": "ndjson"}
_OPTIONS: Final = {"--out": "--output", "--output-file": "--output", "--base": "--baseline", "--baseline": "--base"}
_MOST_EDITS: Final = 4


@dataclass(frozen=True, slots=True)
class CommandShape:
    """What a command takes: its options as they are spelled, and the formats it writes."""

    options: frozenset[str]
    formats: tuple[str, ...]


def corrected(
    words: Sequence[str], commands: Mapping[str, CommandShape], parses: Callable[[Sequence[str]], bool]
) -> str | None:
    """Return the command line that was probably meant, as a shell takes it; None where there is none that parses.

    ``words`` are those behind the program's name.
    """
    now: Words = tuple(words)
    seen = {now}
    for _ in range(_MOST_EDITS):
        edited = next((edit for edit in _edits(now, commands) if edit not in seen), None)
        if edited is None:
            return None
        if parses(edited):
            return shlex.join(["nsys-digest", *edited])
        seen.add(edited)
        now = edited
    return None


def _edits(words: Words, commands: Mapping[str, CommandShape]) -> Iterator[Words]:
    """Yield the words with one mistake mended, the likeliest first."""
    if not words:
        return
    if words[0] not in commands:
        yield from _with_command(words, commands)
        return
    name, rest = words[0], words[1:]
    shape = commands[name]
    yield from ((name, *edit) for edit in _with_options(rest, shape))
    yield from ((name, *edit) for edit in _with_formats(rest, shape))
    yield from _with_other_command(name, rest)
    if name == "check":
        yield from _with_head(rest)


def _with_command(words: Words, commands: Mapping[str, CommandShape]) -> Iterator[Words]:
    """Yield what it is where no command, or none that is known, comes first."""
    first = words[0]
    meant = _COMMANDS.get(first.lower()) or _nearest(first, commands)
    if meant:
        yield (meant, *words[1:])
    at = next((at for at, word in enumerate(words) if word in commands), None)
    if at is not None:
        yield (words[at], *words[:at], *words[at + 1 :])
    elif any(map(_is_trace, words)):
        yield ("summarize", *words)


def _with_options(rest: Words, shape: CommandShape) -> Iterator[Words]:
    """Yield what it is with an option that the command has in place of one that it has not."""
    for at, word in enumerate(rest):
        if word == "--":
            return
        flag, equals, value = word.partition("=")
        if not flag.startswith("--") or flag in shape.options:
            continue
        form = _FORMATS.get(flag[2:].lower(), flag[2:].lower())
        if form in shape.formats:
            yield (*rest[:at], "--format", form, *rest[at + 1 :])
        meant = _OPTIONS.get(flag)
        if meant not in shape.options:
            meant = _nearest(flag, shape.options)
        if meant:
            yield (*rest[:at], meant + equals + value, *rest[at + 1 :])


def _with_formats(rest: Words, shape: CommandShape) -> Iterator[Words]:
    """Yield what it is with a format that the command writes in place of one that it does not."""
    for at, word in enumerate(rest):
        flag, _, value = word.partition("=")
        if flag not in {"--format", "-f"}:
            continue
        joined = "=" in word
        given = value if joined else rest[at + 1] if at + 1 < len(rest) else ""
        meant = _FORMATS.get(given.lower()) or _nearest(given, shape.formats)
        if meant in shape.formats and meant != given:
            yield (*rest[:at], flag, meant, *rest[at + (1 if joined else 2) :])


def _with_other_command(name: str, rest: Words) -> Iterator[Words]:
    """Yield what it is with the command whose option it is, or that takes so many traces."""
    flags = {word.partition("=")[0] for word in rest}
    if name == "summarize":
        if {"-b", "--baseline", "-p", "--policy"} & flags:
            yield ("check", *rest)
        elif {"--base", "--head"} & flags or len([word for word in rest if _is_trace(word)]) == 2:
            yield ("diff", *rest)
    if name == "diff" and {"-b", "--baseline"} & flags:
        yield (name, *("--base" if word in {"-b", "--baseline"} else word for word in rest))
    if name == "diff" and {"-p", "--policy"} & flags:
        yield ("check", *rest)


def _with_head(rest: Words) -> Iterator[Words]:
    """Yield what it is with the last word of ``--baseline``, which takes all words that follow, as the run to check."""
    at = next((at for at, word in enumerate(rest) if word in {"-b", "--baseline"}), None)
    if at is None:
        return
    end = next((end for end in range(at + 1, len(rest)) if rest[end].startswith("-")), len(rest))
    if end - at > 2:
        yield (rest[end - 1], *rest[:at], *rest[end:], *rest[at : end - 1])


def _nearest(word: str, names: Iterable[str]) -> str | None:
    lower = {name.lower(): str(name) for name in sorted(names)}
    if word.lower() in lower:
        return lower[word.lower()]
    found = difflib.get_close_matches(word.lower(), lower, n=1, cutoff=0.75)
    return lower[found[0]] if found else None


def _is_trace(word: str) -> bool:
    """Tell whether a word looks like a trace, a stored digest, or a run of a store."""
    return word.startswith("@") or word.lower().endswith(_TRACE_ENDS) or (len(word) > 1 and Path(word).is_file())
