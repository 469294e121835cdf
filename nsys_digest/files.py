"""Writing a file whole or not at all; whatever ends the program, a signal too, no half of it stays."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

WRITTEN: Final[list[str]] = []
"""What this process has written whole, in order; a command that is interrupted says so."""


def write_whole(path: Path, data: bytes) -> None:
    """Write a file beside the target and put it in the target's place in one step.

    Raises:
        OSError: it could not be written; a file that was there is unchanged.

    """
    part = path.parent / f".nsys-digest-{secrets.token_hex(8)}.part"
    try:  # before the file is there, so that no signal can come between
        with open(part, "xb", opener=_open_private) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.chmod(stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o666 & ~_umask())
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
