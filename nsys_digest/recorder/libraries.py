"""Whether the importer of nsys, which turns raw data into a trace, finds the libraries that it is linked with.

Without one of them the system refuses to start it: nsys then records everything and writes no trace.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

IMPORTER = "QdstrmImporter"
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)
_PLAIN = re.compile(r"[\w.+-]+")
_ANSWER_S = 30.0

# Packages of Debian and Ubuntu, whose newer releases have …t64 and still answer to these names; of Fedora and RHEL.
_PACKAGES = {
    "libdw.so.1": ("libdw1", "elfutils-libs"),
    "libelf.so.1": ("libelf1", "elfutils-libelf"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs"),
    "libGL.so.1": ("libgl1", "libglvnd-glx"),
    "libEGL.so.1": ("libegl1", "libglvnd-egl"),
    "libX11.so.6": ("libx11-6", "libX11"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon"),
    "libnss3.so": ("libnss3", "nss"),
    "libstdc++.so.6": ("libstdc++6", "libstdc++"),
    "libz.so.1": ("zlib1g", "zlib"),
}


def importer_of(nsys: Path) -> Path | None:
    """Return the importer that belongs to an nsys: beside it, or in the folder of the host's programs.

    That folder is ``host-linux-x64`` in Nsight Systems and ``linux-desktop-glibc_2_11_3-x64`` in Nsight Compute, next
    to that of nsys.
    """
    folder = nsys.resolve().parent
    return next(
        (path for path in (folder / IMPORTER, *sorted(folder.parent.glob(f"*/{IMPORTER}"))) if path.is_file()), None
    )


def missing_libraries(nsys: Path) -> list[str]:
    """Return the libraries that the importer of an nsys is linked with and the system does not have.

    Empty where that cannot be told: no importer of its own, or no ``ldd``.
    """
    importer = importer_of(nsys)
    ldd = shutil.which("ldd")
    if importer is None or ldd is None:
        return []
    paths = [str(importer.parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    try:
        done = subprocess.run(  # noqa: S603 - ldd of the system, on a program of nsys
            [ldd, str(importer)],
            env={**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(paths), "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_ANSWER_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    names = _NOT_FOUND.findall(done.stdout.decode("utf-8", "replace"))
    return sorted({name for name in names if _PLAIN.fullmatch(name)})


def packages_of(libraries: list[str]) -> str:
    """Return what to install for libraries, for people: packages of Debian and of RPM systems, or the files."""
    known = [_PACKAGES[name] for name in libraries if name in _PACKAGES]
    unknown = [name for name in libraries if name not in _PACKAGES]
    parts = []
    if known:
        debian, rpm = (" ".join(dict.fromkeys(names)) for names in zip(*known, strict=True))
        parts.append(f"{debian} (Debian, Ubuntu) or {rpm} (Fedora, RHEL)")
    if unknown:
        parts.append(f"the package of {', '.join(unknown)}")
    return " and ".join(parts)
