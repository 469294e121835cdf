"""Run one command as a whole process and measure it."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cost:
    """What one run of a process took.

    ``wall_s`` includes the start of the process, ``cpu_s`` is user and system time, ``peak_mb`` the peak
    resident set in units of 1e6 bytes. A process inherits the peak of the one that starts it, so the runner's
    own peak is the smallest value that can be seen. ``status`` is the exit status, negative for a signal.
    """

    wall_s: float
    cpu_s: float
    peak_mb: float
    status: int
    timed_out: bool


def measure(
    command: Sequence[str], output: Path, timeout_s: float, cwd: Path, env: Mapping[str, str] | None = None
) -> Cost:
    """Run a command with its standard output in a file and its standard error in another beside it."""
    expired = threading.Event()
    errors = output.with_name(output.name + ".err")
    with output.open("wb") as out, errors.open("wb") as err:
        began = time.perf_counter()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=cwd, env=env)

        def stop() -> None:
            expired.set()
            os.kill(process.pid, signal.SIGKILL)

        timer = threading.Timer(timeout_s, stop)
        timer.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss * 1024 / 1e6
    return Cost(wall, usage.ru_utime + usage.ru_stime, peak, process.returncode, expired.is_set())


def last_error(output: Path) -> str:
    """Return the last line that a measured command wrote to its standard error."""
    lines = output.with_name(output.name + ".err").read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "no message")
