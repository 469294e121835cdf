"""What is said when the system has no memory, handle or thread left for the program."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nsys_digest.errors import NO_MEMORY, OutOfResources
from nsys_digest.files import is_scarce

_HANDLES = "no further file can be opened; raise the limit, as with: ulimit -n 1024"
_THREADS = "no further thread can be started; close other programs, or raise the limit, as with: ulimit -u 4096"
_DEPTH = "it is nested too deeply to be worked on; write it again"

_SIGNS = (
    ("start new thread", _THREADS),
    ("Too many open files", _HANDLES),
    ("failed to map segment", NO_MEMORY),
    ("Cannot allocate memory", NO_MEMORY),
    ("cannot allocate memory", NO_MEMORY),
    ("allocate", NO_MEMORY),
)


def shortage(error: BaseException | None) -> str | None:
    """Return the line for an error that comes of a shortage, or of an import that failed for one; else None."""
    if error is None:
        return None
    if isinstance(error, MemoryError):
        return NO_MEMORY
    if isinstance(error, RecursionError):
        return _DEPTH
    if isinstance(error, OSError) and is_scarce(error):
        return _HANDLES if "open files" in str(error) else NO_MEMORY
    if isinstance(error, RuntimeError | ImportError | OSError | SystemError):
        found = next((line for sign, line in _SIGNS if sign in str(error)), None)
        return found or shortage(error.__cause__ or error.__context__)
    return None


@contextmanager
def shortage_at(file: Path) -> Iterator[None]:
    """Have an error that comes of a shortage name the file that was worked on.

    Raises:
        OutOfResources: memory, handles, threads, or depth of nesting ran out.

    """
    try:
        yield
    except (MemoryError, RuntimeError, ImportError, SystemError, OSError) as error:
        line = shortage(error)
        if line is None:
            raise
        raise OutOfResources(f"{file}: {line}") from None
