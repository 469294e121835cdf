"""An option that takes all words up to the next option, as ``--baseline base/*.json`` does once a shell expanded it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand


def spread(words: Sequence[str], options: frozenset[str]) -> list[str]:
    """Write an option of several values as one option a value; all words behind ``--`` are arguments."""
    found: list[str] = []
    taking = ""
    for at, word in enumerate(words):
        if word == "--":
            return [*found, *words[at:]]
        if word in options:
            taking = word
            found += [word] if at + 1 == len(words) or words[at + 1].startswith("-") else []
        elif word.startswith("-") and word != "-":
            taking = ""
            found.append(word)
        else:
            found += [taking, word] if taking else [word]
    return found


class MultiValueBaseline(TyperCommand):
    """A command whose ``--baseline`` takes several values."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values before the options are read."""
        return super().parse_args(ctx, spread(args, frozenset({"--baseline", "-b"})))


class MultiValueSides(TyperCommand):
    """A command whose ``--base`` and ``--head`` take several values where both are given.

    With ``--base`` alone each takes one, since the arguments are the runs of HEAD.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Spread the values before the options are read."""
        own = args[: args.index("--")] if "--" in args else args
        both = "--head" in own and "--base" in own
        return super().parse_args(ctx, spread(args, frozenset({"--base", "--head"})) if both else args)
