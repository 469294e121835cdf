"""The processes that a recording started, also those that left their parent: Linux's /proc and child subreapers."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PR_SET_CHILD_SUBREAPER = 36  # prctl(2)
_PR_GET_CHILD_SUBREAPER = 37
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that runs, or has ended and waits to be collected."""

    pid: int
    parent: int
    name: str
    ended: bool


@contextmanager
def orphans_come_here() -> Iterator[None]:
    """Become the parent of every descendant whose own parent ends, so that daemons cannot hide.

    Where the system has no such thing, daemons that leave their parent are found by their environment only.
    """
    library = ctypes.CDLL(None)
    before = ctypes.c_int(0)
    library.prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        library.prctl(_PR_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def all_processes() -> dict[int, Process]:
    """Return every process that can be seen, by its id."""
    found = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and (process := _read(int(folder.name))) is not None:
            found[process.pid] = process
    return found


def _read(pid: int) -> Process | None:
    """Read /proc/PID/stat, proc(5): the name stands in brackets and may hold any sign, then state and parent."""
    try:
        head, _, rest = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")
        state, parent = rest.split()[:2]
        return Process(pid, int(parent), head.partition("(")[2], state in "ZX")
    except (OSError, ValueError):
        return None  # it has ended meanwhile


def children_of(pid: int) -> set[int]:
    """Return the children of a process, those that wait to be collected included."""
    return {process.pid for process in all_processes().values() if process.parent == pid}


def descendants(root: int, without: set[int], marker: bytes) -> list[Process]:
    """Return what runs below a process, and whatever has a text in its environment; ended processes are left out.

    The processes in ``without`` and what is below them only do not count.
    """
    processes = all_processes()
    below: dict[int, list[int]] = {}
    for process in processes.values():
        below.setdefault(process.parent, []).append(process.pid)
    found: set[int] = set()
    waiting = [root, *(pid for pid in processes if pid != root and marker in _environment(pid))]
    found.update(waiting[1:])
    while waiting:
        for pid in below.get(waiting.pop(), []):
            if pid not in found and pid not in without and pid != os.getpid():
                found.add(pid)
                waiting.append(pid)
    return [processes[pid] for pid in sorted(found - without) if not processes[pid].ended]


def belongs_to_nsys(pid: int, folder: Path, marker: bytes) -> bool:
    """Tell whether a process is a part of nsys: by its program's folder, or by the environment that only nsys has."""
    with suppress(OSError):
        if Path(f"/proc/{pid}/exe").readlink().is_relative_to(folder):
            return True
    return marker in _environment(pid)


def _environment(pid: int) -> bytes:
    try:
        return (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return b""


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended."""
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def collect(pids: set[int]) -> dict[int, int]:
    """Collect those of our children that have ended; return their statuses, 128 + N for one that signal N ended."""
    found = {}
    for pid in pids:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
        if done:
            code = os.waitstatus_to_exitcode(status)
            found[pid] = code if code >= 0 else 128 - code
    return found
