"""Reading what is a regular file, and writing a file whole or not at all, whatever ends the program meanwhile."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from nsys_digest import signals

WRITTEN: Final[list[str]] = []
"""What this process has written whole, in order; a command that is interrupted says so."""

OTHER_FILE: Final = errno.ENOTSUP
"""The number of the error for a pipe, a device or a socket in the place of a file."""

_SCARCE: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def is_scarce(error: OSError) -> bool:
    """Tell whether it is the system that has no handle or memory left, and not the file."""
    return error.errno in _SCARCE


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file, or one that links lead to, for reading; anything else is refused before it is opened.

    Opening a pipe waits for a writer, opening a device may do something, and reading either need not end.

    Raises:
        IsADirectoryError: it is a folder. OSError: it is no regular file, or cannot be opened.

    """
    try:
        mode = path.stat().st_mode
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "this is a folder", str(path))
    if not stat.S_ISREG(mode):
        raise OSError(OTHER_FILE, "this is not a regular file; save it to disk first", str(path))
    return path.open("rb")


def read_regular(path: Path, at_most: int = -1) -> bytes:
    """Return the content of a regular file, or its beginning; see :func:`open_regular`."""
    with open_regular(path) as file:
        return file.read(at_most)


def read_text_file(path: Path, limit_bytes: int) -> str:
    """Return the text of a regular file of UTF-8, without a byte order mark.

    Raises:
        OSError: see :func:`open_regular`, or it is larger than the limit. UnicodeDecodeError: it is not UTF-8.

    """
    data = read_regular(path, limit_bytes + 1)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {limit_bytes:,} bytes")
    return data.decode("utf-8-sig")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside the target and put it in the target's place in one step.

    Raises:
        OSError: it could not be written; a file that was there is unchanged.

    """
    with whole(path) as part, part.open("wb") as file:
        file.write(data)


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give an empty private file beside the target; when it is filled, put it in the target's place in one step.

    Raises:
        OSError: it could not be written; a file that was there is unchanged.

    """
    part = path.parent / f".nsys-digest-{secrets.token_hex(8)}.part"
    with signals.cleaned(lambda: part.unlink(missing_ok=True)):  # before the file is there: no signal comes between
        try:
            with open(part, "xb", opener=_open_private):
                pass
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())
            part.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
            with signals.held():
                part.replace(path)
                WRITTEN.append(str(path))
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def _open_private(name: str, flags: int) -> int:
    return os.open(name, flags, 0o600)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
