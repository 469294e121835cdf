"""What the system refuses: memory, file handles, threads, and depth; one line in place of a traceback."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from nsys_digest.errors import LimitReached

_NO_ROOM: Final = ("cannot allocate memory", "failed to map segment")
"""What the loader of shared libraries says where there is too little memory for one."""

_CURES: Final = {
    errno.EMFILE: "too many files are open; allow more with: ulimit -n, or take fewer --threads",
    errno.ENFILE: "too many files are open on this system; close some",
    errno.ENOMEM: "there is too little memory; free some, or take fewer --threads and --sections base",
    errno.EAGAIN: "no more threads or processes may be started; allow more with: ulimit -u, or take --threads 1",
}


@contextmanager
def limits_told(about: str = "") -> Iterator[None]:
    """Raise what the system refuses as one error that names the file ``about`` which it happened.

    Raises:
        LimitReached: memory, handles, threads, or depth of nesting ran out.

    """
    try:
        yield
    except (MemoryError, OSError, RuntimeError, ImportError) as error:
        reason = _reason(error)
        if reason is None:
            raise
        raise LimitReached(f"{about}: {reason}" if about else reason) from None


def _reason(error: Exception) -> str | None:
    """Return what ran out and what to do; None for every other error."""
    text = str(error)
    if isinstance(error, MemoryError) or (isinstance(error, ImportError) and any(map(text.lower().count, _NO_ROOM))):
        return _CURES[errno.ENOMEM]
    if isinstance(error, RecursionError):
        return "this is nested too deeply to be read; write it again"
    if isinstance(error, OSError):
        return _CURES.get(error.errno or 0)
    return _CURES[errno.EAGAIN] if "can't start new thread" in text else None
