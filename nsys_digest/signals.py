"""Ctrl-C, SIGTERM and SIGHUP: one line and the status that shells know, from the first moment on; never a traceback.

Where the program only reads and writes files, the handler itself takes away what is half written, says the line and
ends the process: no exception is raised, which the import system, a callback or a destructor could lose, and reader
threads are not torn out of a driver while Python ends. Where other programs run, an exception ends them first.

It imports next to nothing, so that it can be in force before the rest of the program is read.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Final

_WORDS: Final = {
    signal.SIGINT: ("interrupted", "interrupted"),
    signal.SIGTERM: ("terminated", "terminated"),
    signal.SIGHUP: ("terminated", "terminated"),
}
"""What a signal did, and the code of the message."""

_AGAIN_S: Final = 0.005

_clean_ups: list[Callable[[], object]] = []
_written: Callable[[], str] | None = None
_received: SignalReceived | None = None
_is_held = False
_waiting: int | None = None
"""A signal that came while it was held, or where its exception would have been lost."""


class SignalReceived(KeyboardInterrupt):
    """A signal asked the program to end; where it passes, other programs are ended and files taken away."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def described(number: int, written: str) -> tuple[str, str, int]:
    """Return (message, code, exit status) of a program that a signal ended; ``written`` says what it had written."""
    word, code = _WORDS[signal.Signals(number)]
    return f"{word}; {written}", code, 128 + number


def end_at_once() -> None:
    """From now on end the process at these signals, with what :func:`cleaned` and :func:`say_written` were given."""
    for number in _WORDS:
        if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler}:  # not where it is ignored: nohup
            signal.signal(number, _end)


def say_written(written: Callable[[], str]) -> None:
    """Have the line of a process that ends at once say what was written until then; of one line, and escaped."""
    global _written
    _written = written


@contextmanager
def cleaned(clean_up: Callable[[], object]) -> Iterator[None]:
    """Have a process that ends at once meanwhile call this first; it must not wait for anything."""
    _clean_ups.append(clean_up)
    try:
        yield
    finally:
        _clean_ups.remove(clean_up)


@contextmanager
def held() -> Iterator[None]:
    """Have a signal wait for the end of a step that is done in no time, and of which no half must be seen."""
    global _is_held
    _is_held = True
    try:
        yield
    finally:
        _is_held = False
        _let_go()


def _let_go() -> None:
    global _waiting
    number, _waiting = _waiting, None
    if number is not None:
        signal.raise_signal(number)


def ignore() -> None:
    """Ignore these signals from now on where they would end the process at once: the last word is about to be said."""
    for number in _WORDS:
        if signal.getsignal(number) is _end:
            signal.signal(number, signal.SIG_IGN)


def leave(status: int) -> int:
    """Return the exit status, but end the process here where a signal was raised in it.

    Threads may still run in libraries that do not stand it that Python ends around them.
    """
    ignore()
    if _received is None:
        return status
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


@contextmanager
def raised() -> Iterator[None]:
    """Raise :class:`SignalReceived` at the first of these signals meanwhile, and take no notice of those that follow.

    Nothing happens outside of the main thread, or where a signal is ignored.
    """
    global _received
    before = {}
    with suppress(ValueError):  # of a thread that is not the main one
        for number in _WORDS:
            if signal.getsignal(number) in {signal.SIG_DFL, signal.default_int_handler, _end}:
                before[number] = signal.signal(number, _raise)
    if before:
        _received = None
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if _received is not None and handler is _end else handler)
        if before:
            signal.setitimer(signal.ITIMER_REAL, 0)
            _let_go()


def _raise(number: int, frame: FrameType | None) -> None:
    global _received, _waiting
    if _received is not None:
        return
    _waiting = number
    if _is_held:
        return
    if _would_be_lost(frame):
        signal.signal(signal.SIGALRM, lambda _, later: _raise(number, later))
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        return
    _waiting = None
    _received = SignalReceived(number)
    raise _received


def _would_be_lost(frame: FrameType | None) -> bool:
    """Tell whether an exception that is raised in a frame would not come out of it.

    Python drops what a destructor or a callback of a weak reference raises, and the locks of its import system do not
    stand it; what a module does while it is imported can be interrupted.
    """
    if frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        return True
    while frame is not None:
        code = frame.f_code
        if code.co_name == "__del__" or code.co_filename.endswith(
            ("weakref.py", "_weakrefset.py", "logging/__init__.py")
        ):
            return True
        frame = frame.f_back
    return False


def _end(number: int, _: FrameType | None) -> None:
    global _waiting
    if _is_held:
        _waiting = number
        return
    for handled in _WORDS:
        signal.signal(handled, signal.SIG_IGN)
    for clean_up in reversed(_clean_ups):
        with suppress(OSError):
            clean_up()
    message, code, status = described(number, "nothing was written" if _written is None else _written())
    if sys.stderr is not None:  # where it was closed at the start, its number may be that of another file
        with suppress(OSError):
            os.write(2, f"nsys-digest: {message} [{code}]\n".encode("utf-8", "backslashreplace"))
    os._exit(status)
