"""Run nsys to its end: pass signals on to the program, keep the time limit, and end whatever is left running."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from nsys_digest.errors import RecordFailed
from nsys_digest.recorder.processes import (
    Process,
    belongs_to_nsys,
    children_of,
    collect,
    descendants,
    orphans_come_here,
    send,
)

_HELD = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
_SENT_BY_KERNEL = 0x80  # SI_KERNEL, sigaction(2): Ctrl-C on a terminal, which all of its processes got
_LADDER = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
_LOOK_S = 0.5
PROGRAM_OUT, PROGRAM_ERR = 8, 9
"""Our own streams as nsys passes them on: what nsys itself says goes to a file."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long each step of ending things may take, in seconds."""

    program_s: float = 10.0
    """From one signal to the program to the next, harder one."""
    writing_s: float = 900.0
    """For nsys to write the trace once a program that was ended has gone."""
    leftover_s: float = 5.0
    """From asking what was left running to end, to ending it."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended. ``signal`` is the one that asked this program to stop; ``leftovers`` are names of processes."""

    status: int
    timed_out: bool
    signal: int | None
    leftovers: tuple[str, ...]


@contextmanager
def signals_held() -> Iterator[set[int]]:
    """Keep signals back, so that nothing is left half done; give those that were kept back before."""
    usual = signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _HELD)
    try:
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        signal.signal(signal.SIGCHLD, usual)


class Supervisor:
    """One run of nsys; signals must be held while it lasts."""

    def __init__(self, folder: Path, marker: str, patience: Patience) -> None:
        self._folder = folder
        self._marker = marker.encode()
        self._patience = patience
        self._before = children_of(os.getpid())
        self._nsys = 0
        self._rung = 0
        self._climb_at: float | None = None
        self._automatic = False
        self._timed_out = False
        self._signal: int | None = None

    def run(
        self,
        words: Sequence[str],
        environment: Mapping[str, str],
        log: Path,
        mask: set[int],
        timeout_s: float | None,
    ) -> Ended:
        """Run nsys until it and all that it started have ended.

        Raises:
            RecordFailed: it could not be started.

        """
        with orphans_come_here():
            self._nsys = _start(words, environment, log, mask)
            try:
                status = self._wait(None if timeout_s is None else time.monotonic() + timeout_s)
            finally:
                leftovers = self._end_all()
        return Ended(status, self._timed_out, self._signal, leftovers)

    def _wait(self, limit: float | None) -> int:
        while True:
            done = collect(children_of(os.getpid()) - self._before)
            if self._nsys in done:
                return done[self._nsys]
            now = time.monotonic()
            if limit is not None and now >= limit:
                limit = None
                self._reach_limit()
            elif self._climb_at is not None and now >= self._climb_at:
                self._climb()
            due = [at - now for at in (limit, self._climb_at) if at is not None]
            found = signal.sigtimedwait(_HELD, max(0.0, min(_LOOK_S, *due) if due else _LOOK_S))
            if found is not None and found.si_signo != signal.SIGCHLD:
                self._obey(found.si_signo, by_terminal=found.si_code == _SENT_BY_KERNEL)

    def _reach_limit(self) -> None:
        """End the program; one that has ended in time only leaves nsys writing, which has a limit of its own."""
        self._automatic = True
        self._timed_out = bool(self._program())
        self._climb()

    def _obey(self, number: int, *, by_terminal: bool) -> None:
        self._signal = number
        if number != signal.SIGINT:  # who sends these does not wait for long
            self._automatic = True
            self._rung = max(self._rung, 1)
        if number == signal.SIGINT and by_terminal and self._rung == 0:
            self._rung = 1  # the program has it already
        else:
            self._climb()

    def _climb(self) -> None:
        """Send the next harder signal to the program; to nsys once the program is gone and its time is over."""
        self._climb_at = None
        running = self._program()
        if running and self._rung < len(_LADDER):
            number = _LADDER[self._rung]
            for process in running:
                send(process.pid, number)
            self._rung += 1
            pause = self._patience.program_s
        elif self._rung <= len(_LADDER) and self._automatic and not running:
            self._rung = len(_LADDER) + 1  # now nsys writes what it has
            pause = self._patience.writing_s
        else:
            send(self._nsys, signal.SIGTERM if self._rung <= len(_LADDER) + 1 else signal.SIGKILL)
            self._rung = len(_LADDER) + 2
            pause = self._patience.program_s
        if self._automatic or self._rung > len(_LADDER):
            self._climb_at = time.monotonic() + pause

    def _running(self) -> list[Process]:
        return descendants(os.getpid(), self._before, self._marker)

    def _program(self) -> list[Process]:
        return [process for process in self._running() if not self._is_nsys(process)]

    def _is_nsys(self, process: Process) -> bool:
        return process.pid == self._nsys or belongs_to_nsys(process.pid, self._folder, self._marker)

    def _end_all(self) -> tuple[str, ...]:
        """End what still runs; return the names of those that were not parts of nsys."""
        names = tuple(process.name for process in self._program())
        for number in (signal.SIGTERM, signal.SIGKILL):
            until = time.monotonic() + self._patience.leftover_s
            asked: set[int] = set()
            while left := self._running():
                for process in left:
                    if process.pid not in asked:  # one that has just come to be is asked as well
                        asked.add(process.pid)
                        send(process.pid, number)
                if time.monotonic() > until:
                    break
                signal.sigtimedwait({signal.SIGCHLD}, 0.05)
                collect(children_of(os.getpid()) - self._before)
        collect(children_of(os.getpid()) - self._before)
        return names


def _start(words: Sequence[str], environment: Mapping[str, str], log: Path, mask: set[int]) -> int:
    """Start nsys with what it says going to a file, and our own streams where the program finds them."""
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = []
    for own, passed in ((1, PROGRAM_OUT), (2, PROGRAM_ERR)):
        try:
            os.fstat(own)
            actions.append((os.POSIX_SPAWN_DUP2, own, passed))
        except OSError:  # closed when this program was started
            actions.append((os.POSIX_SPAWN_OPEN, passed, os.devnull, os.O_WRONLY, 0))
    actions.append((os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    actions.append((os.POSIX_SPAWN_DUP2, 1, 2))
    ours = [signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD]  # Python ignores the first two
    try:
        return os.posix_spawn(
            words[0], list(words), dict(environment), file_actions=actions, setsigmask=mask, setsigdef=ours
        )
    except OSError as error:
        reason = error.strerror or error
        raise RecordFailed(f"{words[0]}: nsys could not be started ({reason}); name another with --nsys PATH") from None


def program_words(program: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Return the words that run a program below nsys as it would run alone.

    Its streams are ours, and TMPDIR, which nsys got for itself, is what it was. Where nsys closes the two streams that
    hold ours, they are opened again by way of /proc. The shell runs one fixed script; the program's words are its
    arguments and are not read by it.
    """
    temporary = environment.get("TMPDIR")
    return [
        "/bin/sh",
        "-c",
        _SCRIPT,
        "sh",
        "unset" if temporary is None else "set",
        temporary or "",
        str(os.getpid()),
        *program,
    ]


_SCRIPT = f"""\
if [ "$1" = set ]; then TMPDIR=$2; export TMPDIR; else unset TMPDIR; fi
own=/proc/$3/fd
shift 3
if {{ true >&{PROGRAM_OUT} && true >&{PROGRAM_ERR}; }} 2>/dev/null
then exec "$@" >&{PROGRAM_OUT} 2>&{PROGRAM_ERR} {PROGRAM_OUT}>&- {PROGRAM_ERR}>&-
elif {{ true >>"$own/1" && true >>"$own/2"; }} 2>/dev/null
then exec "$@" >>"$own/1" 2>>"$own/2"
else exec "$@"
fi"""


def supported() -> bool:
    """Tell whether programs can be recorded on this system."""
    return sys.platform == "linux"
