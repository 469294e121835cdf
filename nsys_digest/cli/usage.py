"""What is said of a command line that cannot be read: what is wrong, and what to type instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

import typer

from nsys_digest.cli.output import Format
from nsys_digest.errors import DigestError

# typer takes click's classes along and has moved them more than once; this one has had the same name throughout.
UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException" and issubclass(base, Exception)
)

_PLAIN: Final = (
    (r" \(Possible options: .*| Did you mean .*", ""),
    (r"Value error, ", ""),
    (r"Got unexpected extra arguments?(\(s\))? \((.*)\)", r"more than it takes is given: \2"),
    (r"Input should be a valid integer, .*", "give a whole number"),
    (r"Input should be a valid number, .*", "give a number"),
    (r"Input should be greater than or equal to (\S+)", r"give \1 or more"),
    (r"Input should be less than or equal to (\S+)", r"give \1 or less"),
    (r"'(\S*)' is not a valid (integer|int)\b", r"'\1' is not a whole number"),
)
"""What typer says, in some versions in the words of its libraries, and what is said instead."""


def usage_message(error: Exception, words: Sequence[str], group: Any) -> str:
    """Return what is wrong with the words behind the program's name, and what to type instead.

    ``error`` is a :data:`UsageError`, and ``group`` the command that raised it.
    """
    message: str = error.format_message()  # type: ignore[attr-defined]
    for said, instead in _PLAIN:
        message = re.sub(said, instead, message)
    return f"{message.rstrip('.')}; {_where_to_turn(error, words, group)}"


def _where_to_turn(error: Exception, words: Sequence[str], group: Any) -> str:
    meant = _meant(words, group)
    if meant:
        return f"try: {meant}"
    context = getattr(error, "ctx", None)
    if context:
        return f"see: {context.command_path} --help"
    return f"see: nsys-digest {words[0]} --help" if words and words[0] in group.commands else "see: nsys-digest --help"


def _meant(words: Sequence[str], group: Any) -> str | None:
    """Return the command line that was probably meant; None where nothing near it is right."""
    from nsys_digest.cli.corrections import CommandShape, corrected

    shapes = {}
    for name, command in group.commands.items():
        options = {spelled for each in command.params for spelled in getattr(each, "opts", ()) if spelled[:1] == "-"}
        shapes[name] = CommandShape(frozenset(options), tuple(Format) if "--format" in options else ())

    # A command keeps what its first context says of it, such as how its help is asked for: it needs its parent's.
    parent = group.make_context("nsys-digest", [next(iter(group.commands))], resilient_parsing=True)

    def parses(edited: Sequence[str]) -> bool:
        try:
            with group.commands[edited[0]].make_context(edited[0], list(edited[1:]), parent=parent):
                return True
        except (DigestError, UsageError, typer.Exit, KeyError):
            return False

    return corrected(words, shapes, parses)
