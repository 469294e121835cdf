"""Baselines: digests that were kept, in a plain folder of JSON: one folder a name, one file a run.

A file is written beside its place and moved there in one step, under a name that no other writer takes, so any number
of writers may work at once, and no lock can stay behind.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import BaselineMissing, DigestInvalid, OutputFailed, StoreUnreadable, UsageInvalid
from nsys_digest.files import write_whole
from nsys_digest.model.digest import Digest
from nsys_digest.model.json_text import read_json

DEFAULT_STORE: Final = Path(".nsys-digest") / "baselines"
BASELINE_VERSION: Final = "1.0"
_LONGEST_NAME: Final = 200
_SPELLING: Final = re.compile(r"@([^:]+)(?::([1-9][0-9]{0,5}))?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One kept run; ``saved_at`` is UTC, ``gpu`` the GPUs that did work, None where none did."""

    name: str
    path: Path
    saved_at: str
    commit: str | None
    gpu: str | None
    digest: Digest

    def to_dict(self) -> dict[str, Any]:
        """Return what a list says of it."""
        return {
            "name": self.name,
            "saved_at": self.saved_at,
            "commit": self.commit,
            "gpu": self.gpu,
            "file": self.digest.file,
            "path": str(self.path),
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """Entries by name and time, the oldest first, and a line on each file that is damaged."""

    entries: tuple[Entry, ...]
    damaged: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picked:
    """The runs that a spelling such as ``@main:5`` stands for, the oldest first."""

    runs: tuple[Run, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...]
    damaged: tuple[str, ...]


class Store:
    """A folder of baselines; nothing is made before something is saved."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self.folder = DEFAULT_STORE if folder is None else Path(folder)

    def save(self, name: str, side: RunSet, commit: str | None = None) -> tuple[Path, ...]:
        """Keep the digests of the runs under a name; return the files.

        Raises:
            UsageInvalid: the name cannot be one.
            OutputFailed: a file could not be written.

        """
        folder = self.folder / _folder_name(name)
        began = datetime.now(UTC)
        paths = []
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for number, digest in enumerate(side.digests):
                moment = began + timedelta(microseconds=number)
                path = folder / f"{moment:%Y%m%dT%H%M%S.%f}Z-{secrets.token_hex(6)}.json"
                document = {
                    "baseline_version": BASELINE_VERSION,
                    "name": name,
                    "commit": commit,
                    "saved_at": f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z",
                    "gpu": gpu_of(digest),
                    "digest": digest.to_dict(),
                }
                text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
                write_whole(path, text.encode("utf-8", "backslashreplace"))
                paths.append(path)
        except OSError as error:
            raise OutputFailed(
                f"{folder}: the baseline cannot be saved ({error.strerror or error}); make room, or choose another "
                "folder with --store"
            ) from None
        return tuple(paths)

    def update(
        self, name: str, side: RunSet, commit: str | None = None, keep: int = 0
    ) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
        """Keep the runs, then drop the earlier ones of the same GPUs but the last ``keep``; return (new, dropped).

        What another writer saves meanwhile stays.

        Raises:
            UsageInvalid: the name cannot be one.
            OutputFailed: a file could not be written, or not be dropped.

        """
        gpus = {gpu_of(digest) for digest in side.digests}
        earlier = [entry.path for entry in self.entries(name).entries if entry.gpu in gpus]
        saved = self.save(name, side, commit)
        dropped = earlier[: max(len(earlier) - keep, 0)]
        for path in dropped:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise OutputFailed(
                    f"{path}: the earlier baseline cannot be dropped ({error.strerror or error}); the new "
                    "one is saved, delete this file"
                ) from None
        return saved, tuple(dropped)

    def entries(self, name: str | None = None) -> Listing:
        """Return what is kept, under one name or all; what is damaged is noted and left out.

        Raises:
            StoreUnreadable: the store or a folder of it cannot be read. UsageInvalid: the name cannot be one.

        """
        folders = [self.folder / _folder_name(name)] if name is not None else self._folders()
        found: list[Entry] = []
        damaged: list[str] = []
        for folder in folders:
            for path in _files(folder):
                try:
                    found.append(_entry(path))
                except FileNotFoundError:
                    continue  # dropped by another writer since it was listed
                except (OSError, ValueError, KeyError, TypeError, DigestInvalid, RecursionError) as error:
                    damaged.append(
                        f"{path}: this is no baseline ({_reason(error)}); it is left out, delete it or save it again"
                    )
        return Listing(tuple(found), tuple(damaged))

    def pick(self, spelling: str, like: RunSet | None = None) -> Picked:
        """Return the runs of ``@NAME`` (the last one saved) or ``@NAME:N`` (the last N), of the GPUs of ``like``.

        Raises:
            UsageInvalid: it is spelled otherwise.
            BaselineMissing: there is no such run. StoreUnreadable: the store cannot be read.

        """
        match = _SPELLING.fullmatch(spelling)
        if match is None:
            raise UsageInvalid(f"{spelling}: this names no baseline; write @NAME, or @NAME:5 for the last five")
        name, count = match[1], int(match[2] or 1)
        listing = self.entries(name)
        wanted = None if like is None else gpu_of(like.runs[0].digest)
        fitting = [entry for entry in listing.entries if wanted is None or entry.gpu == wanted]
        if not fitting:
            raise BaselineMissing(self._missing(name, wanted, listing))
        chosen = tuple(fitting[-count:])
        few = (
            (f"{spelling} has {len(chosen)} {'run' if len(chosen) == 1 else 'runs'} and not {count}",)
            if len(chosen) < count
            else ()
        )
        runs = tuple(Run(f"@{name} {_called(entry)}", entry.digest) for entry in chosen)
        return Picked(runs, chosen, few, listing.damaged)

    def _missing(self, name: str, gpu: str | None, listing: Listing) -> str:
        store = shlex.quote(str(self.folder))
        saving = f"save one with: nsys-digest baseline save {shlex.quote(name)} TRACE --store {store}"
        damaged = f", {len(listing.damaged)} damaged" if listing.damaged else ""
        if listing.entries:
            others = ", ".join(sorted({entry.gpu or "no GPU" for entry in listing.entries}))
            return f"{self.folder}: baseline {name} has no run on {gpu}, only on {others}{damaged}; {saving}"
        known = sorted(map(_name_of, self._folders()))
        there = f", there is {', '.join(known[:5])}" if known else ""
        return f"{self.folder}: there is no baseline {name}{damaged}{there}; {saving}"

    def _folders(self) -> list[Path]:
        return [path for path in _listed(self.folder) if path.is_dir()]


def _files(folder: Path) -> list[Path]:
    return [path for path in _listed(folder) if path.suffix == ".json"]


def _listed(folder: Path) -> list[Path]:
    """Return what is in a folder, in order; nothing for one that is not there."""
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise StoreUnreadable(
            f"{folder}: the baselines cannot be read ({getattr(error, 'strerror', None) or error}); check the "
            "permissions, or name another folder with --store"
        ) from None


def gpu_of(digest: Digest) -> str | None:
    """Return the GPUs that did work, by model, with how many where there are several; None without any."""
    models = Counter(device.name or "unknown GPU" for device in digest.devices if device.did_work)
    return ", ".join(model if count == 1 else f"{count} {model}" for model, count in sorted(models.items())) or None


def _called(entry: Entry) -> str:
    return entry.commit[:12] if entry.commit else entry.saved_at


def _folder_name(name: str) -> str:
    """Return the name as that of a folder: all but letters, digits, dots, ``_`` and ``-`` as ``%`` and two digits."""
    if not name or ":" in name or name.startswith("@"):
        raise UsageInvalid(f"{name!r} cannot name a baseline; give a name without : and without @ in front")
    spelled = re.sub(rb"[^A-Za-z0-9._-]", lambda match: b"%%%02X" % match[0][0], name.encode("utf-8", "surrogatepass"))
    folder = re.sub(r"^\.", "%2E", spelled.decode())
    if len(folder) > _LONGEST_NAME:
        raise UsageInvalid(f"{name!r} cannot name a baseline: it is too long; give a shorter name")
    return folder


def _name_of(folder: Path) -> str:
    return unquote(folder.name, errors="surrogatepass")


def _entry(path: Path) -> Entry:
    """Read a kept run; raises what reading JSON and digests raises."""
    document = read_json(path)
    if not isinstance(document, dict) or not str(document.get("baseline_version", "")).startswith("1."):
        raise ValueError("it has no baseline_version 1")
    commit, gpu, saved_at = document["commit"], document["gpu"], document["saved_at"]
    if not all(value is None or isinstance(value, str) for value in (commit, gpu)) or not isinstance(saved_at, str):
        raise ValueError("its commit, gpu or time is no text")
    return Entry(_name_of(path.parent), path, saved_at, commit, gpu, Digest.from_dict(document["digest"]))


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    text = getattr(error, "strerror", None) or str(error)
    return str(text).partition(";")[0]
