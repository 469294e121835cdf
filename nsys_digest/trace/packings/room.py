"""Where a trace is unpacked: a temporary folder with a limit, gone when the trace is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from nsys_digest import signals
from nsys_digest.errors import DigestError, OutOfResources, TraceUnreadable
from nsys_digest.units import size

Made = TypeVar("Made")

_CHUNK_BYTES: Final = 1 << 20
_LEAST_LIMIT_BYTES: Final = 1 << 30
_RATIO: Final = 200
"""Traces shrink to a fifth or a twentieth; what grows by more than this is no trace, unless the user says so."""
_DISK_SHARE: Final = 0.9


@dataclass(frozen=True, slots=True)
class Unpacking:
    """How a packed trace or a report is made into one that can be read.

    ``max_unpacked`` is the most bytes to unpack; None takes 200 times the packed size (1 GiB at least), and at most
    nine tenths of the free disk. ``nsys`` exports a report; None has one looked for. The export of a report is kept as
    ``keep_export``. ``tell`` is called with a line on what was done.
    """

    max_unpacked: int | None = None
    nsys: Path | None = None
    keep_export: Path | None = None
    tell: Callable[[str], None] | None = None


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Return some bytes; none at the end."""
        ...


class Ahead:
    """A stream of which the first bytes were looked at, and of which no more than ``most`` bytes may be read."""

    def __init__(self, stream: Any, count: int, most: int | None = None, too_large: DigestError | None = None) -> None:
        """Read so many bytes, or all there are; ``too_large`` is raised where there are more than ``most``."""
        self._stream, self._most, self._too_large = stream, most, too_large
        self._read = 0
        self.head = b""
        while len(self.head) < count and (more := self._next(count - len(self.head))):
            self.head += more
        self._left = self.head

    def _next(self, size: int) -> bytes:
        found = bytes(self._stream.read(size))
        self._read += len(found)
        if self._most is not None and self._read > self._most and self._too_large is not None:
            raise self._too_large
        return found

    def read(self, size: int, /) -> bytes:
        """Return some bytes; none at the end."""
        if self._left:
            now, self._left = self._left[:size], self._left[size:]
            return now
        return self._next(size)


class Room:
    """A temporary folder and the bytes that may still be written there."""

    def __init__(self, given: Path, folder: Path, options: Unpacking) -> None:
        """Take the path that the user gave, which messages name."""
        self.given, self.folder, self.options = given, folder, options
        self._written = 0
        self._count = 0

    def limit(self, packed_bytes: int | None) -> int:
        """Return how many bytes may be unpacked of what has so many when packed; None: not known."""
        if self.options.max_unpacked is not None:
            return self.options.max_unpacked
        import shutil

        try:
            most = int(shutil.disk_usage(self.folder).free * _DISK_SHARE) + self._written
        except OSError:
            most = _LEAST_LIMIT_BYTES
        return most if packed_bytes is None else min(most, max(_LEAST_LIMIT_BYTES, _RATIO * packed_bytes))

    def new_folder(self) -> Path:
        """Make a folder of its own within the room."""
        self._count += 1
        folder = self.folder / str(self._count)
        self._made(folder.mkdir)
        return folder

    def write(self, stream: Readable, file: Path, packed_bytes: int | None) -> Path:
        """Write a stream to a file.

        Raises:
            TraceUnreadable: it is longer than the limit. OutOfResources: the disk is full.
            What the stream raises.

        """
        limit = self.limit(packed_bytes)
        with self._made(lambda: file.open("xb")) as out:
            while chunk := stream.read(_CHUNK_BYTES):
                self._written += len(chunk)
                if self._written > limit:
                    raise self.too_large(limit)
                self._made(lambda chunk=chunk: out.write(chunk))  # type: ignore[misc]
            self._made(out.flush)
        return file

    def too_large(self, limit: int) -> DigestError:
        """Return what is said of more than that many bytes."""
        return TraceUnreadable(
            f"{self.given}: it unpacks to more than {size(limit)}, and was left; where that is right, and the disk has "
            "room, raise the limit, as with: --max-unpacked 100GB"
        )

    def _made(self, make: Callable[[], Made]) -> Made:
        try:
            return make()
        except OSError as error:
            raise OutOfResources(
                f"{self.given}: it cannot be unpacked in {self.folder.parent} ({error.strerror or error}); make room "
                "there, or name another folder in the environment variable TMPDIR"
            ) from None


@contextmanager
def room_for(given: Path, options: Unpacking) -> Iterator[Room]:
    """Make a room, and take it away with all that is in it, whatever happens meanwhile."""
    import shutil
    import tempfile

    made: list[str] = []

    def take_away() -> None:
        for folder in made:
            shutil.rmtree(folder, ignore_errors=True)

    with signals.cleaned(take_away):
        try:
            with signals.held():  # no signal comes between the folder and the note of it
                made.append(tempfile.mkdtemp(prefix="nsys-digest-"))
        except OSError as error:
            raise OutOfResources(
                f"{given}: no temporary folder can be made ({error.strerror or error}); name a folder to write in, in "
                "the environment variable TMPDIR"
            ) from None
        try:
            yield Room(given, Path(made[0]), options)
        finally:
            take_away()


def head_of(path: Path, count: int = 512) -> bytes:
    """Return the first bytes of a regular file; nothing of what cannot be read, which is told elsewhere."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(count)
    except (OSError, ValueError):
        return b""
