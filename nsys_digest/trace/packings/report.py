"""A report of nsys (``.nsys-rep``, formerly ``.qdrep``): an installed nsys exports it into the room."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Final

from nsys_digest.errors import ExportFailed, NsysMissing, UsageInvalid
from nsys_digest.files import WRITTEN
from nsys_digest.trace.packings.magic import build_of_report, is_report
from nsys_digest.trace.packings.room import Room, head_of

_SUFFIXES: Final = frozenset({".nsys-rep", ".qdrep"})


def is_a_report(path: Path) -> bool:
    """Tell whether a file is a report, by how it begins; one that begins in no known way, by its name."""
    head = head_of(path)
    known = head.startswith((b"SQLite format 3\0", b"version https://git-lfs")) or not head.strip(b"\0")
    return is_report(head) or (path.suffix in _SUFFIXES and not known)


def export_report(path: Path, room: Room) -> Path:
    """Have nsys write the SQLite export of a report.

    Raises:
        NsysMissing: none is here, or it lacks a library. ExportFailed: nsys failed; its own words are repeated.
        TraceUnreadable: the export is longer than the limit. UsageInvalid: it cannot be kept where it should be.

    """
    import shutil

    from nsys_digest.recorder.export import TooLargeError, export
    from nsys_digest.recorder.find import find_nsys

    kept = room.options.keep_export
    if kept is not None:
        _check_kept(kept)
    by_hand = f"export it where nsys is: nsys export --type sqlite {shlex.quote(str(room.given))}"
    try:
        nsys = find_nsys(room.options.nsys, imports=False)
    except NsysMissing as error:
        raise NsysMissing(f"{room.given}: this is an nsys report, and {error}; or {by_hand}") from None
    limit = room.limit(path.stat().st_size)
    folder = room.new_folder()
    try:
        done = export(nsys, path, folder, limit)
    except TooLargeError:
        raise room.too_large(limit) from None
    name = f"nsys {'.'.join(map(str, nsys.version))} ({nsys.path})"
    words = f": {'; '.join(done.messages)}" if done.messages else ""
    if done.file is None:
        wrote, own = build_of_report(head_of(path)), nsys.build
        newer = wrote is not None and own is not None and wrote > own
        by = f" (the report was written by build {wrote} of nsys)" if wrote is not None else ""
        why = (
            f"the report was written by a newer nsys, of build {wrote}, and this one is of build {own}{words}; take "
            "that version or a newer one with --nsys PATH"
            if newer
            else f"it ended with status {done.status}{by}{words}; see what it says of: "
            f"{shlex.quote(str(nsys.path))} export --type sqlite {shlex.quote(str(room.given))}"
        )
        raise ExportFailed(f"{room.given}: {name} could not export it: {why}")
    if room.options.tell is not None:
        where = f"; kept as {kept}" if kept is not None else ""
        room.options.tell(f"{room.given}: exported by {name}{words}{where}")
    if kept is None:
        return done.file
    try:
        shutil.move(done.file, kept)
    except OSError as error:
        raise UsageInvalid(
            f"{kept}: the export cannot be kept there ({error.strerror or error}); choose another place for "
            "--keep-export"
        ) from None
    WRITTEN.append(str(kept))
    return kept


def _check_kept(kept: Path) -> None:
    """Refuse, before any work, a place where the export cannot be kept."""
    if kept.exists():
        raise UsageInvalid(f"{kept}: this is there already; choose another place for --keep-export")
    if not kept.parent.is_dir():
        raise UsageInvalid(f"{kept}: the folder {kept.parent} is not there; make it first")
