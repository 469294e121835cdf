"""A trace in one compressed stream (gzip, bzip2, xz, zstd, lz4), and a tar archive in one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from nsys_digest.errors import TraceUnreadable
from nsys_digest.trace.packings.archive import unpack_tar
from nsys_digest.trace.packings.magic import HEAD_BYTES, compression_of, is_tar
from nsys_digest.trace.packings.room import Ahead, Room, head_of

_SUFFIXES: Final = (".gz", ".bz2", ".xz", ".zst", ".zstd", ".lz4")


def _open(path: Path, kind: str) -> Any:
    """Open a stream of what is in a compressed file; of Arrow's codecs those that Python has not."""
    if kind == "gzip":
        import gzip

        return gzip.open(path)
    if kind == "bzip2":
        import bz2

        return bz2.open(path)
    if kind == "xz":
        import lzma

        return lzma.open(path)
    import pyarrow

    return pyarrow.CompressedInputStream(pyarrow.OSFile(str(path), "rb"), kind)


def is_compressed(path: Path) -> bool:
    """Tell whether a file begins as a compressed one."""
    return compression_of(head_of(path)) is not None


def decompress(path: Path, room: Room) -> Path:
    """Write what is in a compressed file to a file; of a tar archive the trace in it.

    Raises:
        TraceUnreadable: it is damaged, cut short, or longer than the limit.

    """
    kind = compression_of(head_of(path)) or ""
    packed_bytes = path.stat().st_size
    with _faults(kind, room), _open(path, kind) as stream:
        limit = room.limit(packed_bytes)
        ahead = Ahead(stream, HEAD_BYTES, limit, room.too_large(limit))
        if is_tar(ahead.head):
            return unpack_tar(ahead, room, packed_bytes)
        name = path.name.removesuffix(path.suffix) if path.suffix.lower() in _SUFFIXES else path.name
        return room.write(ahead, room.new_folder() / (name or "trace"), packed_bytes)


@contextmanager
def _faults(kind: str, room: Room) -> Iterator[None]:
    import lzma
    import zlib

    try:
        yield
    except EOFError:
        raise TraceUnreadable(f"{room.given}: the {kind} data is cut short; copy or compress it again") from None
    except (zlib.error, lzma.LZMAError, OSError) as error:  # OSError: gzip's, bz2's and Arrow's own
        said = " ".join(str(error).split())
        cut = "truncated" in said.lower() or "end" in said.lower().split()
        what = "cut short" if cut else "damaged"
        raise TraceUnreadable(f"{room.given}: the {kind} data is {what} ({said}); copy or compress it again") from None
