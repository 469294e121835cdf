"""Reading a small file of text, and writing a file whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path


def read_text_file(path: Path, limit_bytes: int) -> str:
    """Return the text of a regular file of UTF-8, without a byte order mark.

    Raises:
        OSError: it cannot be read, is a pipe, a device or a folder, or larger than the limit; nothing was waited for.
        UnicodeDecodeError: it is not UTF-8. ValueError: the path cannot be one.

    """
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {limit_bytes:,} bytes")
    return data.decode("utf-8-sig")


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside the target and put it in the target's place in one step.

    Raises:
        OSError: it could not be written; a file that was there is unchanged.

    """
    handle, name = tempfile.mkstemp(prefix=".nsys-digest-", suffix=".part", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
