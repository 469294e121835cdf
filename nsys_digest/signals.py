"""Ctrl-C and SIGTERM: one line and the status that shells know, from the first moment on; never a traceback.

It imports next to nothing, so that it can be in force before the rest of the program is read.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

_WORDS: Final = {signal.SIGINT: ("interrupted", "interrupted"), signal.SIGTERM: ("terminated", "terminated")}
"""What a signal did, and the code of the message."""


class SignalReceived(KeyboardInterrupt):
    """A signal asked the program to end; where it passes, files that are half written are taken away."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def described(number: int, written: str) -> tuple[str, str, int]:
    """Return (message, code, exit status) of a program that a signal ended; ``written`` says what it had written."""
    word, code = _WORDS[signal.Signals(number)]
    return f"{word}; {written}", code, 128 + number


def end_at_once() -> None:
    """From now on end at these signals without any clean-up: before a command runs there is nothing to clean up."""
    for number in _WORDS:
        if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:  # not where it is ignored: nohup
            signal.signal(number, _end)


def ignore() -> None:
    """From now on ignore these signals: all is done, and the status says how it went."""
    for number in _WORDS:
        signal.signal(number, signal.SIG_IGN)


@contextmanager
def raised() -> Iterator[None]:
    """Raise :class:`SignalReceived` at these signals meanwhile, in a main thread, save where they are ignored."""
    before = {}
    with suppress(ValueError):  # of a thread that is not the main one
        for number in _WORDS:
            if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler, _end}:
                before[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _raise(number: int, _: FrameType | None) -> None:
    raise SignalReceived(number)


def _end(number: int, _: FrameType | None) -> None:
    message, code, status = described(number, "nothing was written")
    with suppress(OSError):
        os.write(2, f"nsys-digest: {message} [{code}]\n".encode())
    os._exit(status)
