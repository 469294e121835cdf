"""Where nsys is: the one asked for, the one on PATH, or the newest in the usual folders."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from nsys_digest.errors import NsysMissing
from nsys_digest.recorder.libraries import missing_libraries, packages_of

USUAL = (
    "/usr/local/cuda*/bin/nsys",
    "/opt/nvidia/nsight-systems*/bin/nsys",
    "/opt/nvidia/nsight-systems*/*/bin/nsys",
    "/opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
    "/usr/lib/nsight-systems/bin/nsys",
    "/usr/lib/nsight-systems/target-linux-*/nsys",
    "/opt/nvidia/nsight-compute/*/host/target-linux-*/nsys",
    "/usr/local/cuda*/nsight-compute-*/host/target-linux-*/nsys",
)
"""The folders that NVIDIA's packages, Debian's and those of Nsight Compute install into, as patterns of files."""

_VERSION = re.compile(r"version (\d+(?:\.\d+)+)(?:-\d*?(\d{8})v\d)?")
_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class Nsys:
    """An nsys that runs and can write a trace."""

    path: Path
    version: tuple[int, ...]
    build: int | None = field(default=None, compare=False)
    """The number that reports of this nsys begin with, where it tells it."""

    @property
    def folder(self) -> Path:
        """The folder that holds all programs of this nsys."""
        return Path(self.path).resolve().parent.parent


def find_nsys(asked: Path | None, *, usual: tuple[str, ...] = USUAL, imports: bool = True) -> Nsys:
    """Return an nsys that can write a trace: the one asked for, the one on PATH, or the newest of the usual folders.

    One that lacks a library of its importer is passed over for the next; the one asked for is never. Without
    ``imports`` that is no matter: exporting a report is the work of another program of nsys.

    Raises:
        NsysMissing: there is none, or each one found lacks something; the message says what and where was looked.

    """
    candidates = _asked(asked) if asked is not None else _installed(usual)
    problems = []
    for found in candidates:
        lacking = missing_libraries(found.path) if imports else []
        if not lacking:
            return found
        problems.append(
            f"{found.path}: its importer lacks {', '.join(lacking)} and could not write a trace, so nothing was run; "
            f"install {packages_of(lacking)}"
        )
    if problems:
        raise NsysMissing(problems[0])
    raise NsysMissing(
        f"no nsys on PATH, nor as {', '.join(usual)}; install Nsight Systems (Debian package nsight-systems-cli from "
        "NVIDIA's repository, or developer.nvidia.com/nsight-systems), or name it with --nsys PATH"
    )


def _asked(path: Path) -> list[Nsys]:
    if path.is_dir():
        path = path / "nsys"
    if not path.is_file():
        raise NsysMissing(f"{path}: there is no nsys; correct --nsys, or leave it out to have one looked for")
    found = _told_by(path)
    if found is None:
        raise NsysMissing(f"{path}: this does not answer to --version as nsys does; correct --nsys")
    return [found]


def _installed(usual: tuple[str, ...]) -> Iterator[Nsys]:
    on_path = shutil.which("nsys")
    if on_path is not None and (found := _told_by(Path(on_path))) is not None:
        yield found
    places = {path.resolve(): path for pattern in usual for path in sorted(Path("/").glob(pattern.lstrip("/")))}
    known = [found for path in places.values() if (found := _told_by(path)) is not None]
    yield from sorted(known, key=lambda each: (each.version, str(each.path)), reverse=True)


def _told_by(path: Path) -> Nsys | None:
    """Return an nsys with the version and build that it gives itself, as in 2025.3.2.0-253236398880v0.

    The last eight digits of the number behind the version are those that its reports begin with.
    """
    try:
        done = subprocess.run(  # noqa: S603 - the file is one that the user or the system installed as nsys
            [str(path), "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout.decode("utf-8", "replace"))
    if match is None:
        return None
    version = tuple(int(part) for part in match[1].split("."))
    return Nsys(path.absolute(), version, int(match[2]) if match[2] else None)
