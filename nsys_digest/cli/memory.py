"""Settings of the process's memory."""

from __future__ import annotations

import sys
from contextlib import suppress

from nsys_digest.errors import NO_MEMORY, OutOfResources

_M_MMAP_THRESHOLD = -3  # malloc.h of glibc
_LARGE_BYTES = 4 << 20
_NUMPY_BYTES = 80 << 20


def make_sure_of_room() -> None:
    """Refuse to go on where numpy would find too little memory while it is imported.

    Its BLAS library then ends the process with a line of its own, or takes it down, before Python can say anything.

    Raises:
        OutOfResources: there is a limit of memory, and less is left than numpy takes.

    """
    try:
        import resource
    except ImportError:  # not on this system
        return
    limits = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    if "numpy" in sys.modules or all(limit == resource.RLIM_INFINITY for limit in limits):
        return
    import mmap

    try:
        mmap.mmap(-1, _NUMPY_BYTES, flags=mmap.MAP_PRIVATE).close()
    except OSError:
        raise OutOfResources(NO_MEMORY) from None


def give_back_freed_memory() -> None:
    """Have the C library give large arrays back to the system as soon as they are freed.

    For the time after reading: reading uses its own memory again, and what follows takes large arrays, each once.

    glibc keeps freed arrays of up to 32 MB for later, in each thread: a sixth of the peak of a large trace (mallopt(3),
    M_MMAP_THRESHOLD). Elsewhere there is no such setting, and nothing happens.
    """
    import ctypes

    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
