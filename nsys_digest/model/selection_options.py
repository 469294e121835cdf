"""What part of a trace is asked for, as people write it: a window, ranges by name, devices, processes, streams."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Final, NamedTuple

from nsys_digest.errors import UsageInvalid

_TIME: Final = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))\s*(%|[a-zµμ]*)")
_SCALES: Final = {"": 10**9, "s": 10**9, "ms": 10**6, "us": 10**3, "µs": 10**3, "μs": 10**3, "ns": 1}
_MOST_NS: Final = 2**62
_INSTANCES: Final = re.compile(r"([0-9]{1,18})(?:\.\.([0-9]{1,18}))?")
_LONGEST: Final = 1_000
_EXAMPLES: Final = "write FROM:TO such as 6.5s:7s, 250ms: or 10%:90%"


WHOLE_TRACE_WORDS: Final = "the whole trace"


class Bound(NamedTuple):
    """One side of a window: a position on the trace's clock, or a share of the GPU span; one of them is None."""

    at_ns: int | None
    share: Decimal | None


class Window(NamedTuple):
    """A window as asked for; a side that is None is open."""

    start: Bound | None
    end: Bound | None


class Instances(NamedTuple):
    """Instances ``first`` to ``last``, from 1 and in order of start, of the ranges that a glob matches; None is all."""

    name: str
    first: int | None
    last: int | None


class Piece(NamedTuple):
    """Ranges by name; with ``until`` from the start of each to the end of the next of those."""

    text: str
    ranges: Instances
    until: Instances | None


@dataclass(frozen=True, slots=True)
class SelectionOptions:
    """What is asked for; nothing is the whole trace.

    Raises:
        UsageInvalid: something makes no sense.

    """

    window: str | None = None
    within: tuple[str, ...] = ()
    skip_warmup: bool = False
    devices: tuple[int, ...] = ()
    processes: tuple[str, ...] = ()
    streams: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        _ = self.bounds, self.pieces
        for device in self.devices:
            if device < 0:
                raise UsageInvalid(f"device is {device}; give a CUDA ordinal, 0 or more")
        if any(not process.strip() for process in self.processes):
            raise UsageInvalid("a process is named by an empty text; give its id, or its name with * for any text")

    @property
    def is_whole(self) -> bool:
        """Whether the whole trace is asked for."""
        return not self.has_window and not (self.devices or self.processes or self.streams)

    @property
    def has_window(self) -> bool:
        """Whether part of the time is asked for."""
        return self.window is not None or bool(self.within) or self.skip_warmup

    @property
    def bounds(self) -> Window | None:
        """The window of time; None for all of it."""
        return None if self.window is None else _window_of(self.window)

    @property
    def pieces(self) -> tuple[Piece, ...]:
        """The ranges."""
        return tuple(map(_piece_of, self.within))

    @property
    def window_words(self) -> tuple[str, ...]:
        """What is asked of time, in words, one for each option."""
        words = [f"window {self.window}"] if self.window is not None else []
        words += [f"in {text}" for text in self.within]
        return (*words, *(["skip-warmup"] if self.skip_warmup else []))

    @property
    def filter_words(self) -> tuple[str, ...]:
        """What is asked of devices, processes and streams, in words."""
        return filter_words(self.devices, self.processes, self.streams)

    @property
    def words(self) -> str:
        """All that is asked for, in words."""
        return "; ".join((*self.window_words, *self.filter_words)) or WHOLE_TRACE_WORDS

    def keywords(self) -> Any:
        """Return this as the keywords of the library, those that are given."""
        found = {
            "window": self.window,
            "within": self.within,
            "skip_warmup": self.skip_warmup,
            "device": self.devices,
            "process": self.processes,
            "stream": self.streams,
        }
        return {name: value for name, value in found.items() if value}

    def command_words(self) -> list[str]:
        """Return the options of the command line that ask for this."""
        words = [] if self.window is None else ["--window", self.window]
        for flag, values in (
            ("--in", self.within),
            ("--device", self.devices),
            ("--process", self.processes),
            ("--stream", self.streams),
        ):
            words += [word for value in values for word in (flag, str(value))]
        return [*words, *(["--skip-warmup"] if self.skip_warmup else [])]


def filter_words(devices: Sequence[int], processes: Sequence[str], streams: Sequence[int]) -> tuple[str, ...]:
    """Return what is asked of devices, processes and streams, in words."""
    groups = (("device", devices), ("process", processes), ("stream", streams))
    return tuple(f"{what} {', '.join(map(str, values))}" for what, values in groups if values)


def selection_of(
    *,
    window: object = None,
    within: object = None,
    skip_warmup: object = False,
    device: object = None,
    process: object = None,
    stream: object = None,
) -> SelectionOptions:
    """Return what is asked for by values as a caller or a policy gives them: one of each, or several.

    Raises:
        UsageInvalid: something makes no sense.

    """
    if not isinstance(skip_warmup, bool):
        raise UsageInvalid(f"skip_warmup is {skip_warmup!r}; give true or false")
    return SelectionOptions(
        window=_window_text(window),
        within=tuple(_text("within", one) for one in _several(within)),
        skip_warmup=skip_warmup,
        devices=tuple(_whole_number("device", one) for one in _several(device)),
        processes=tuple(_text("process", one) for one in _several(process)),
        streams=tuple(_whole_number("stream", one) for one in _several(stream)),
    )


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple | set | frozenset | range) else (value,)


def _window_text(value: object) -> str | None:
    """Read a window: a text, or a pair of seconds or texts, None for an open side."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and len(value) == 2:
        sides = ["" if side is None else str(side) for side in value]
        if all(side is None or (isinstance(side, int | float | str) and not isinstance(side, bool)) for side in value):
            return ":".join(f"{Decimal(side):f}" if _is_plain(side) else side for side in sides)
    raise UsageInvalid(f"window is {value!r}; {_EXAMPLES}, or give a pair of seconds")


def _is_plain(text: str) -> bool:
    """Tell whether a text is how Python writes a number, which may have an exponent."""
    return bool(re.fullmatch(r"-?[0-9.]+(e[-+][0-9]+)?", text))


def _text(what: str, value: object) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str):
        raise UsageInvalid(f"{what} is {value!r}; give a text")
    return value


def _whole_number(what: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**63:
        raise UsageInvalid(f"{what} is {value!r}; give a whole number")
    return value


@cache
def _window_of(text: str) -> Window:
    sides = text.split(":")
    if len(sides) != 2:
        raise UsageInvalid(f"the window {_shown(text)} is no FROM:TO; {_EXAMPLES}")
    start, end = (_bound_of(side.strip(), text) if side.strip() else None for side in sides)
    if start is not None and end is not None:
        at, until = (start.at_ns, end.at_ns) if start.share is None and end.share is None else (start.share, end.share)
        if at is not None and until is not None and at >= until:
            raise UsageInvalid(f"the window {_shown(text)} ends before it starts, or has no length; {_EXAMPLES}")
    return Window(start, end)


def _bound_of(side: str, text: str) -> Bound:
    found = _TIME.fullmatch(side) if len(side) <= _LONGEST else None
    if found is None or (found[2] != "%" and found[2] not in _SCALES):
        units = ", ".join(unit for unit in _SCALES if unit.isascii() and unit)
        raise UsageInvalid(f"the window {_shown(text)} has the time {_shown(side)}; {_EXAMPLES}, in {units} or %")
    number = Decimal(found[1])
    if found[2] == "%":
        if not 0 <= number <= 100:
            raise UsageInvalid(f"the window {_shown(text)} has the share {side}; give 0% to 100% of the GPU span")
        return Bound(None, number / 100)
    if abs(number) >= _MOST_NS:
        raise UsageInvalid(f"the window {_shown(text)} is further away than 146 years; {_EXAMPLES}")
    at_ns = round(number * _SCALES[found[2]])
    if abs(at_ns) >= _MOST_NS:
        raise UsageInvalid(f"the window {_shown(text)} is further away than 146 years; {_EXAMPLES}")
    return Bound(at_ns, None)


@cache
def _piece_of(text: str) -> Piece:
    """Read ``NAME``, ``NAME#3``, ``NAME#2..9`` or ``FIRST..LAST``, where both may have a number."""
    if not text:
        raise UsageInvalid("a range is named by an empty text; give its name, with * for any text")
    before, between, behind = text.partition("..")
    if between and before and behind and not (_numbered(before) and behind.isdigit()):
        return Piece(text, _instances_of(before), _instances_of(behind))
    return Piece(text, _instances_of(text), None)


def _instances_of(text: str) -> Instances:
    found = _numbered(text)
    if found is None:
        return Instances(text, None, None)
    name, first, last = found
    if not 1 <= first <= last:
        raise UsageInvalid(f"{_shown(text)} names no instance; count from 1, as in NAME#3 or NAME#2..9")
    return Instances(name, first, last)


def _numbered(text: str) -> tuple[str, int, int] | None:
    """Return (name, first, last) of a text such as ``NAME#2..9``; None where it has no number."""
    name, _, numbers = text.rpartition("#")
    found = _INSTANCES.fullmatch(numbers)
    if not name or found is None:
        return None
    return name, int(found[1]), int(found[2] or found[1])


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")


@cache
def glob(pattern: str) -> re.Pattern[str]:
    """Return the expression of a glob, in which ``*`` stands for any text and ``?`` for one character."""
    pieces = re.split(r"(\*+|\?)", pattern)
    parts = (".*" if one.startswith("*") else "." if one == "?" else re.escape(one) for one in pieces)
    return re.compile("".join(parts), re.DOTALL)


def matches(pattern: str, text: str) -> bool:
    """Tell whether a glob matches a whole text; one without a glob's meaning that is equal does too."""
    return pattern == text or glob(pattern).fullmatch(text) is not None


WHOLE_TRACE: Final = SelectionOptions()
"""Nothing is asked for."""
