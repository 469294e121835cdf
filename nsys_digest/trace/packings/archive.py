"""A tar or zip archive with one trace in it: a file, or the folder of an export.

Only names are taken from an archive, never paths, links or modes, so that nothing is written outside of the room.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Final, cast

from nsys_digest.errors import NotATrace, TraceUnreadable
from nsys_digest.trace.packings.magic import HEAD_BYTES, compression_of, is_report, is_sqlite, is_table, is_tar, is_zip
from nsys_digest.trace.packings.room import Ahead, Readable, Room, head_of

if TYPE_CHECKING:
    import zipfile

_SUFFIXES: Final = frozenset({".sqlite", ".nsys-rep", ".qdrep"})
_TABLES: Final = frozenset({".parquet", ".arrow"})
_ENCRYPTED: Final = 0x1
_MOST_MEMBERS: Final = 100_000
_SHOWN: Final = 4


def is_archive(path: Path) -> bool:
    """Tell whether a file begins as a tar or zip archive."""
    head = head_of(path)
    return is_tar(head) or is_zip(head)


def unpack_archive(path: Path, room: Room) -> Path:
    """Write the trace of an archive to a file or folder.

    Raises:
        TraceUnreadable: it is damaged, encrypted, or longer than the limit.
        NotATrace: it holds no trace, or several.

    """
    import zipfile

    size = path.stat().st_size
    with path.open("rb") as file:
        if is_tar(file.read(HEAD_BYTES)):
            file.seek(0)
            return unpack_tar(file, room, size)
    with _faults("zip", room), zipfile.ZipFile(path) as archive:
        return _unpack(_members_of_zip(archive, room), room, size)


def unpack_tar(stream: Readable, room: Room, packed_bytes: int) -> Path:
    """Write the trace of a tar archive that is read once from its beginning; see :func:`unpack_archive`."""
    import tarfile

    with _faults("tar", room), tarfile.open(fileobj=cast(IO[bytes], stream), mode="r|") as archive:
        members = (
            _Member(PurePosixPath(member.name), lambda member=member: archive.extractfile(member))  # type: ignore[misc]
            for member in archive
            if member.isreg()
        )
        return _unpack(members, room, packed_bytes)


@dataclass(frozen=True, slots=True)
class _Member:
    path: PurePosixPath
    open: Callable[[], Any]


@dataclass(slots=True)
class _Found:
    """What an archive holds, as far as it was read: each trace by its name in the archive, and where it was written."""

    traces: dict[str, Path] = field(default_factory=dict)
    documents: dict[str, Path] = field(default_factory=dict)
    folders: dict[str, Path] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)

    def place_for(self, path: PurePosixPath, head: bytes, room: Room) -> Path | None:
        """Return where to write a member that begins so; None where it is nothing to read."""
        suffix = path.suffix.lower()
        if suffix in _TABLES and (is_table(head) or not head):
            folder = self.folders.setdefault(str(path.parent), room.folder)
            if folder == room.folder:
                folder = self.folders[str(path.parent)] = room.new_folder()
            target = folder / path.name
            if target.exists():
                raise NotATrace(f"{room.given}: this archive holds {path} twice; unpack it, and name one")
            return target
        kept = self.traces
        if not (is_sqlite(head) or is_report(head) or compression_of(head) or suffix in _SUFFIXES):
            if suffix != ".json":
                self.others.append(str(path))
                return None
            kept = self.documents
        name = str(path) if str(path) not in kept else f"{path} (again)"
        kept[name] = room.new_folder() / path.name
        return kept[name]

    def one(self, room: Room) -> Path:
        """Return the one trace; an export counts for its report, and a document where there is no trace."""
        traces = self.traces | self.folders
        exports = {str(PurePosixPath(name).with_suffix("")) for name in traces if name.endswith(".sqlite")}
        reports = [name for name in traces if name.endswith((".nsys-rep", ".qdrep"))]
        for name in reports:
            if str(PurePosixPath(name).with_suffix("")) in exports:
                del traces[name]
        found = traces or self.documents
        if len(found) == 1:
            return next(iter(found.values()))
        if found:
            raise NotATrace(
                f"{room.given}: this archive holds {len(found)} traces ({_listed([*found])}); unpack it, and name one"
            )
        raise NotATrace(f"{room.given}: this archive holds no trace (in it: {_listed(self.others) or 'no file'})")


def _listed(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _unpack(members: Iterable[_Member], room: Room, packed_bytes: int) -> Path:
    found = _Found()
    for count, member in enumerate(members):
        if count >= _MOST_MEMBERS:
            raise NotATrace(f"{room.given}: this archive holds more than {_MOST_MEMBERS:,} files; unpack it first")
        if member.path.name.startswith(".") or "__MACOSX" in member.path.parts:
            continue  # what systems add to archives
        with member.open() as stream:
            ahead = Ahead(stream, HEAD_BYTES)
            target = found.place_for(member.path, ahead.head, room)
            if target is not None:
                room.write(ahead, target, packed_bytes)
        if len(found.folders) > 1 or len(found.traces) > 2:
            found.one(room)  # of several traces, no more than a few are unpacked
    return found.one(room)


def _members_of_zip(archive: zipfile.ZipFile, room: Room) -> Iterator[_Member]:
    for info in archive.infolist():
        if info.is_dir():
            continue
        if info.flag_bits & _ENCRYPTED:
            raise TraceUnreadable(f"{room.given}: {info.filename} in it is encrypted; unpack it first")
        yield _Member(PurePosixPath(info.filename), lambda info=info: archive.open(info))  # type: ignore[misc]


@contextmanager
def _faults(kind: str, room: Room) -> Iterator[None]:
    import struct
    import tarfile
    import zipfile
    import zlib

    try:
        yield
    except (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, struct.error) as error:
        raise TraceUnreadable(
            f"{room.given}: the {kind} archive is damaged or cut short ({error}); copy or pack it again"
        ) from None
    except NotImplementedError as error:  # a way of compression that zipfile has not
        raise TraceUnreadable(f"{room.given}: {kind} {error}; unpack it first") from None
