"""Opening a trace: the one list of the containers that a trace may be in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from nsys_digest.errors import DigestError
from nsys_digest.trace.nsys.tables import check_is_trace
from nsys_digest.trace.source import Reader, ReaderUnfitError, Source
from nsys_digest.trace.sqlite import open_sqlite

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of file or folder that holds tables; ``recognizes`` looks at a path, ``open`` makes a source of it."""

    name: str
    recognizes: Callable[[Path], bool]
    open: Callable[[Path, Reader], Source]


CONTAINERS: Final = (Container("sqlite", lambda _: True, open_sqlite),)
"""In the order in which they are tried; the last takes what is left, and says what is wrong with it."""


def container_of(path: Path) -> Container:
    """Return the first container that recognizes a path."""
    return next(container for container in CONTAINERS if container.recognizes(path))


def read_trace(path: Path, reader: Reader, work: Callable[[Source], Result]) -> Result:
    """Open a trace and return what ``work`` makes of it.

    Where the fast reader turns out not to fit the file, it is done once more with the standard library, which reads it
    or says what is wrong.
    """
    try:
        with opened(path, reader) as source:
            return work(source)
    except ReaderUnfitError:
        with opened(path, "stdlib") as source:
            return work(source)


@contextmanager
def opened(path: Path, reader: Reader) -> Iterator[Source]:
    """Open a trace in any container and close it again.

    After Ctrl-C it stays open, since a reader thread may still be inside it.
    """
    source = container_of(path).open(path, reader)
    try:
        check_is_trace(source)
        yield source
    except DigestError as error:
        source.close()
        raise error.about(path) from None
    except Exception:
        source.close()
        raise
    source.close()
