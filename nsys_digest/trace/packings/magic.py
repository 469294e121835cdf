"""What files begin with: the kinds that a trace may be in, told by content and not by name.

From RFC 1952 (gzip), RFC 8878 (zstd), the xz and lz4 frame formats, POSIX.1-1988 (tar), PKWARE's APPNOTE (zip), the
formats of SQLite, Parquet and Arrow IPC; a report begins with a line of text and the number of the build that wrote it.
"""

from __future__ import annotations

import re
from typing import Final

HEAD_BYTES: Final = 512
_COMPRESSED: Final = {
    "gzip": b"\x1f\x8b\x08",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\0",
    "zstd": b"\x28\xb5\x2f\xfd",
    "lz4": b"\x04\x22\x4d\x18",
}
_TAR_MAGIC_AT: Final = 257
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06")
_SQLITE: Final = b"SQLite format 3\0"
_TABLES: Final = (b"PAR1", b"ARROW1", b"\xff\xff\xff\xff")
_REPORT = re.compile(rb"NVIDIA Tegra Profiler Report (\d{1,12})?")


def compression_of(head: bytes) -> str | None:
    """Return how a file is compressed; None where it is not."""
    return next((kind for kind, magic in _COMPRESSED.items() if head.startswith(magic)), None)


def is_tar(head: bytes) -> bool:
    """Tell whether that is how a tar archive begins."""
    return head[_TAR_MAGIC_AT : _TAR_MAGIC_AT + 5] == b"ustar"


def is_zip(head: bytes) -> bool:
    """Tell whether that is how a zip archive begins, an empty one too."""
    return head.startswith(_ZIP)


def is_sqlite(head: bytes) -> bool:
    """Tell whether that is how an SQLite file begins."""
    return head.startswith(_SQLITE)


def is_table(head: bytes) -> bool:
    """Tell whether that is how a file of Parquet or Arrow IPC begins."""
    return head.startswith(_TABLES)


def is_report(head: bytes) -> bool:
    """Tell whether that is how a report of nsys begins."""
    return _REPORT.match(head) is not None


def build_of_report(head: bytes) -> int | None:
    """Return the number of the build of nsys that wrote a report, which is at the end of that nsys' version."""
    found = _REPORT.match(head)
    return int(found[1]) if found and found[1] else None
