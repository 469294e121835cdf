"""Opening a trace: the one list of the containers that a trace may be in, and of what it may be packed in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

from nsys_digest.errors import DigestError, NotATrace, UsageInvalid
from nsys_digest.trace.folder.source import is_export_folder, open_folder
from nsys_digest.trace.nsys.tables import check_is_trace
from nsys_digest.trace.packings.archive import is_archive, unpack_archive
from nsys_digest.trace.packings.compressed import decompress, is_compressed
from nsys_digest.trace.packings.input_path import is_remote, is_standard_input
from nsys_digest.trace.packings.remote import fetch
from nsys_digest.trace.packings.report import export_report, is_a_report
from nsys_digest.trace.packings.room import Room, Unpacking, room_for
from nsys_digest.trace.packings.stdin import read_standard_input
from nsys_digest.trace.source import Reader, ReaderUnfitError, Source
from nsys_digest.trace.sqlite import open_sqlite

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Container:
    """A kind of file or folder that holds tables; ``recognizes`` looks at a path, ``open`` makes a source of it."""

    name: str
    recognizes: Callable[[Path], bool]
    open: Callable[[Path, Reader], Source]


@dataclass(frozen=True, slots=True)
class Packing:
    """What a trace is packed in or comes by; ``unpack`` writes what is in it to a room, and returns where that is."""

    name: str
    recognizes: Callable[[Path], bool]
    unpack: Callable[[Path, Room], Path]


CONTAINERS: Final = (
    Container("folder", is_export_folder, open_folder),
    Container("sqlite", lambda _: True, open_sqlite),
)
"""In the order in which they are tried; the last takes what is left, and says what is wrong with it."""

PACKINGS: Final = (
    Packing("standard input", is_standard_input, read_standard_input),
    Packing("address", is_remote, fetch),
    Packing("compressed", is_compressed, decompress),
    Packing("archive", is_archive, unpack_archive),
    Packing("report", is_a_report, export_report),
)
"""In the order in which they are tried, again for what was unpacked, until none is left."""

_DEEPEST: Final = 6


@dataclass(frozen=True, slots=True)
class TraceFile:
    """A trace as it was given, and the file or folder on this machine that it is read from."""

    given: Path
    local: Path

    def named(self, error: DigestError) -> DigestError:
        """Return an error that names the trace as it was given, in place of a temporary file."""
        if self.local == self.given:
            return error
        text = str(error).replace(str(self.local.with_suffix(".nsys-rep")), "REPORT.nsys-rep")
        return type(error)(text.replace(str(self.local), str(self.given)))


@contextmanager
def unpacked(given: Path, options: Unpacking | None = None) -> Iterator[TraceFile]:
    """Unpack a trace, through as many layers as there are; what was written for that is gone afterwards.

    Raises:
        UsageInvalid: the export of what is no report is to be kept. What the packings raise.

    """
    options = options or Unpacking()
    packing = _packing_of(given)
    if packing is None:
        _check_keeps_export(given, options, [])
        yield TraceFile(given, given)
        return
    with room_for(given, options) as room:
        local, passed = given, [packing.name]
        while packing is not None:
            local = packing.unpack(local, room)
            packing = _packing_of(local)
            if packing is not None:
                passed.append(packing.name)
            if len(passed) > _DEEPEST:
                raise NotATrace(f"{given}: it is packed more than {_DEEPEST} times over; unpack it first")
        _check_keeps_export(given, options, passed)
        yield TraceFile(given, local)


def _packing_of(path: Path) -> Packing | None:
    return next((packing for packing in PACKINGS if packing.recognizes(path)), None)


def _check_keeps_export(given: Path, options: Unpacking, passed: list[str]) -> None:
    if options.keep_export is not None and "report" not in passed:
        raise UsageInvalid(f"{given}: --keep-export keeps the export of a report, and this is none; leave it out")


def container_of(path: Path) -> Container:
    """Return the first container that recognizes a path."""
    return next(container for container in CONTAINERS if container.recognizes(path))


def read_trace(trace: Path | TraceFile, reader: Reader, work: Callable[[Source], Result]) -> Result:
    """Open a trace and return what ``work`` makes of it.

    Where the fast reader turns out not to fit the file, it is done once more with the standard library, which reads it
    or says what is wrong.
    """
    if isinstance(trace, Path):
        with unpacked(trace) as file:
            return read_trace(file, reader, work)
    try:
        with opened(trace, reader) as source:
            return work(source)
    except ReaderUnfitError:
        with opened(trace, "stdlib") as source:
            return work(source)


@contextmanager
def opened(trace: Path | TraceFile, reader: Reader) -> Iterator[Source]:
    """Open a trace in any container and close it again.

    After Ctrl-C it stays open, since a reader thread may still be inside it.
    """
    if isinstance(trace, Path):
        with unpacked(trace) as file, opened(file, reader) as within:
            yield within
        return
    try:
        source = container_of(trace.local).open(trace.local, reader)
    except DigestError as error:
        raise trace.named(error) from None
    source.path = trace.given
    try:
        check_is_trace(source)
        yield source
    except DigestError as error:
        source.close()
        raise trace.named(error).about(trace.given) from None
    except Exception:
        source.close()
        raise
    source.close()
