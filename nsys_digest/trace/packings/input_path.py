"""Inputs that are no path of this machine: standard input, and what an address names."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path, PosixPath, WindowsPath
from typing import Final

STANDARD_INPUT: Final = "-"
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,40}://.")

if sys.platform == "win32":
    _Local = WindowsPath
else:
    _Local = PosixPath


class InputPath(_Local):
    """An input that has a name and an end as a path has, and that nothing on this machine has as its path.

    ``address`` leads to it. As text it is that without what only its owner should see: user, password, query.
    """

    address: str = ""
    _shown: str | None = None

    def __str__(self) -> str:
        """Return what messages and documents call it."""
        return super().__str__() if self._shown is None else self._shown

    def __fspath__(self) -> str:
        """Return what messages and documents call it."""
        return str(self)


def input_path(given: str | os.PathLike[str]) -> Path:
    """Return the path of an input as a user gives it: a file, ``-`` for standard input, or an address with ``://``.

    A file that is called ``-`` is ``./-``.
    """
    if isinstance(given, Path):
        return given
    text = os.fspath(given)
    if text != STANDARD_INPUT and not _ADDRESS.match(text):
        return Path(text)
    shown = _without_secrets(text)
    path = InputPath(shown)
    path.address, path._shown = text, shown
    return path


def is_standard_input(path: Path) -> bool:
    """Tell whether it is standard input."""
    return isinstance(path, InputPath) and path.address == STANDARD_INPUT


def is_remote(path: Path) -> bool:
    """Tell whether it is an address."""
    return isinstance(path, InputPath) and path.address != STANDARD_INPUT


def _without_secrets(address: str) -> str:
    from urllib.parse import urlsplit, urlunsplit

    try:
        parts = urlsplit(address)
        host = parts.netloc.rpartition("@")[2]
        return urlunsplit((parts.scheme, host, parts.path, "", ""))
    except ValueError:
        return address.partition("?")[0]
