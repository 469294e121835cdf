"""Everything about an SQLite file that can be told without SQLite: its kind, its header, and what lies beside it.

Facts about the file format are from www.sqlite.org/fileformat2.html (header) and www.sqlite.org/walformat.html.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from nsys_digest.errors import DigestError, NotATrace, OutOfResources, TraceInUse, TraceUnreadable
from nsys_digest.files import OTHER_FILE, is_scarce, open_regular

_MAGIC = b"SQLite format 3\0"
_LFS_MAGIC = b"version https://git-lfs"
_RAW_DATA = re.compile(rb"NVIDIA Nsight Systems Stream ([\d.]+)")
_HEADER_BYTES = 100
_BLOCK_BYTES = 512
_COMPRESSION = 4


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """A file that passed every check that needs no SQLite.

    ``has_log`` says that SQLite would look for a write-ahead log, and make files beside the input for that.
    ``data_bytes`` is how much data there can be: less than the length of a file with holes.
    """

    has_log: bool
    data_bytes: int


def check_file(path: Path) -> CheckedFile:
    """Check the kind of a file, its header, its length, and what lies beside it.

    Raises:
        TraceUnreadable: it is missing, no regular file, not readable, cut short, or its header is lost.
        NotATrace: it is no SQLite file.
        TraceInUse: a write-ahead log or journal beside it is not merged.

    """
    try:
        with open_regular(path) as file:
            facts = os.fstat(file.fileno())
            header = file.read(_HEADER_BYTES)
    except FileNotFoundError:
        raise TraceUnreadable(f"{path}: no such file; check the path") from None
    except IsADirectoryError:
        raise TraceUnreadable(
            f"{path}: this is a folder without a table of an export (.parquet, .arrow) in it; name the trace in it"
        ) from None
    except PermissionError:
        raise TraceUnreadable(f"{path}: no permission to read it; ask its owner, or: chmod +r") from None
    except OSError as error:
        if error.errno == OTHER_FILE:
            raise TraceUnreadable(
                f"{path}: this is not a regular file; SQLite needs one, so save it to disk first"
            ) from None
        raise unopened(path, error) from None
    _check_magic(path, header)
    _check_length(path, header, facts.st_size)
    wal = _is_wal(header)
    log_beside = _check_unmerged(path, wal=wal)
    # File systems that compress hold a little more than their blocks; some tell no blocks at all.
    blocks = facts.st_blocks * _BLOCK_BYTES * _COMPRESSION
    return CheckedFile(wal or log_beside, min(facts.st_size, blocks) if blocks else facts.st_size)


def unopened(path: Path, error: OSError) -> DigestError:
    """Return what is said of a file that the system does not open."""
    reason = error.strerror or error
    if is_scarce(error):
        return OutOfResources(f"{path}: cannot be opened ({reason}); raise the limit, as with: ulimit -n 1024")
    return TraceUnreadable(f"{path}: cannot be read ({reason}); check the path")


def export_again(path: Path) -> str:
    """Return the command that replaces an export, given that nsys named it after its report."""
    report = shlex.quote(str(path.with_suffix(".nsys-rep")))
    return f"nsys export --type sqlite --force-overwrite true {report}"


def _check_magic(path: Path, header: bytes) -> None:
    if not header:
        raise TraceUnreadable(f"{path}: the file is empty; export the report again: {export_again(path)}")
    if header.startswith(_LFS_MAGIC):
        raise NotATrace(f"{path}: this is a Git LFS pointer, not the trace; fetch it with: git lfs pull")
    if header.startswith(_MAGIC):
        return
    raw = _RAW_DATA.search(header)
    if path.suffix == ".qdstrm" or raw:
        version = f" of version {raw[1].decode()}" if raw else ""
        raise NotATrace(
            f"{path}: this is raw nsys data{version}, not an export; make a report of it with QdstrmImporter, then an "
            "export of that with: nsys export --type sqlite REPORT.nsys-rep"
        )
    if not header.strip(b"\0"):
        raise TraceUnreadable(
            f"{path}: its header is all zeros, as an interrupted export leaves it; again: {export_again(path)}"
        )
    if header.lstrip()[:1] in {b"{", b"["}:
        raise NotATrace(
            f"{path}: this is JSON and not a trace; a stored digest is for summarize, inspect, diff, check and baseline"
        )
    raise NotATrace(f"{path}: this is not an SQLite file; make one from the report with: {export_again(path)}")


def _check_length(path: Path, header: bytes, size: int) -> None:
    """Compare the length with the header's page count, where that is valid (change counter 24 equals 92)."""
    again = f"copy or export it again: {export_again(path)}"
    if len(header) < _HEADER_BYTES:
        raise TraceUnreadable(f"{path}: the file is cut short, to {size} bytes; {again}")
    page_size = int.from_bytes(header[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(header[28:32], "big")
    if header[24:28] == header[92:96] and size < pages * page_size:
        raise TraceUnreadable(
            f"{path}: the file is cut short: its header says {pages * page_size} bytes, it has {size}; {again}"
        )


def _is_wal(header: bytes) -> bool:
    return header[18] == 2 or header[19] == 2


def _check_unmerged(path: Path, *, wal: bool) -> bool:
    """Refuse a file whose newest state may be in a log or journal beside it: merging that would change the file.

    SQLite reads a log that lies beside a file whatever the header says, so that a log of another file of the same
    name would change what is read. Returns whether there is a log, then an empty one.
    """
    real = os.path.realpath(path)
    _refuse_pending(path, Path(real + "-journal"), "PRAGMA user_version", "")
    stray = "" if wal else "its header says that it has no log, so that this one may be of another file: move it away; "
    return _refuse_pending(path, Path(real + "-wal"), "PRAGMA wal_checkpoint(TRUNCATE)", stray)


def _refuse_pending(path: Path, beside: Path, cure: str, stray: str) -> bool:
    """Return whether there is a file of that name without any content; refuse one that has some."""
    try:
        if not stat.S_ISREG(beside.stat().st_mode):
            raise TraceInUse(
                f"{path}: {beside.name} beside it is where SQLite keeps changes, and is not a regular file; move it "
                "away"
            )
        with open_regular(beside) as file:
            pending = file.read(8).strip(b"\0")
    except FileNotFoundError:
        return False
    except OSError:
        pending = b"?"
    if pending:
        advice = stray or "close the program that has it open, "
        raise TraceInUse(
            f"{path}: {beside.name} beside it holds changes that are not in the file yet; {advice}or merge them with: "
            f'sqlite3 {shlex.quote(str(path))} "{cure}"'
        )
    return True
