"""Having nsys write the SQLite export of a report."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from nsys_digest import signals
from nsys_digest.recorder.find import Nsys

_TICK_S: Final = 0.1
_TICKS_TO_DIE: Final = 100
_MOST_MESSAGES: Final = 5
_LONGEST_MESSAGE: Final = 300
_PROGRESS = re.compile(r"^(Processing \d+ events|\[\d+/\d+\]|\d+ events)|^[\[\]=\s\d%]*$")


class TooLargeError(Exception):
    """Raised when an export grows beyond what is allowed; it was ended."""


@dataclass(frozen=True, slots=True)
class Exported:
    """What nsys did: the file that it wrote, None where it failed; its status; and what it said, progress apart."""

    file: Path | None
    status: int
    messages: tuple[str, ...]


def export(nsys: Nsys, report: Path, folder: Path, most_bytes: int) -> Exported:
    """Write the SQLite export of a report into an empty folder, which also takes what nsys writes meanwhile.

    Raises:
        TooLargeError: it grew beyond that many bytes.

    """
    out, log = folder / "trace.sqlite", folder / "log"
    command = [str(nsys.path), "export", "--type", "sqlite", "--quiet", "true", "--output", str(out), str(report)]
    started: list[subprocess.Popen[bytes]] = []
    with log.open("wb") as said, signals.cleaned(lambda: _end_now(started)):
        with signals.held():  # no signal comes between the start of nsys and the note of it
            started.append(
                subprocess.Popen(  # noqa: S603 - the file is one that the user or the system installed as nsys
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=said,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={**os.environ, "TMPDIR": str(folder)},
                )
            )
        (process,) = started
        try:
            while process.poll() is None:
                if _bytes_in(folder) > most_bytes:
                    raise TooLargeError
                time.sleep(_TICK_S)
        except BaseException:
            _end(process)
            raise
    if _bytes_in(folder) > most_bytes:
        raise TooLargeError
    whole = process.returncode == 0 and out.is_file() and out.stat().st_size > 0
    return Exported(out if whole else None, process.returncode, _messages(log))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End nsys and what it started, which are a session of their own."""
    _kill(process)
    process.wait()


def _end_now(started: Iterable[subprocess.Popen[bytes]]) -> None:
    """Do the same within the handler of a signal, which may have come in the midst of a look at the process."""
    for process in started:
        if process.returncode is None:
            _kill(process)
            for _ in range(_TICKS_TO_DIE):
                with suppress(ChildProcessError):
                    if os.waitpid(process.pid, os.WNOHANG) == (0, 0):
                        time.sleep(_TICK_S / 10)
                        continue
                break


def _kill(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _bytes_in(folder: Path) -> int:
    total = 0
    for path in folder.iterdir():
        try:
            total += path.stat().st_size
        except OSError:  # it was there a moment ago
            continue
    return total


def _messages(log: Path) -> tuple[str, ...]:
    """Return the first lines that are no progress."""
    lines = re.split(r"[\r\n]+", log.read_bytes()[:100_000].decode("utf-8", "replace"))
    said = (" ".join(line.split())[:_LONGEST_MESSAGE] for line in lines if not _PROGRESS.search(line))
    return tuple(dict.fromkeys(filter(None, said)))[:_MOST_MESSAGES]
