"""Settings of the process's memory."""

from __future__ import annotations

from contextlib import suppress

_M_MMAP_THRESHOLD = -3  # malloc.h of glibc
_LARGE_BYTES = 4 << 20


def give_back_freed_memory() -> None:
    """Have the C library give large arrays back to the system as soon as they are freed.

    For the time after reading: reading uses its own memory again, and what follows takes large arrays, each once.

    glibc keeps freed arrays of up to 32 MB for later, in each thread: a sixth of the peak of a large trace (mallopt(3),
    M_MMAP_THRESHOLD). Elsewhere there is no such setting, and nothing happens.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
