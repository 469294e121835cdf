"""GPUs of both sides under the same ordinals, where a side used others for the same work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.model.digest import Digest

Json: TypeAlias = dict[str, Any]


def documents(side: RunSet, like: Digest) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """Return the documents of a side, with the ordinals of ``like``, and a note on each run that had others.

    The GPUs that did work are matched in order, where there are as many of them; ordinals are left alone elsewhere.
    """
    found, notes = [], []
    for run in side.runs:
        document = run.digest.to_dict()
        renamed = _renamed(run, like)
        if renamed:
            _rename(document, renamed)
            used = ", ".join(f"{old} as {new}" for old, new in renamed.items() if old != new)
            notes.append(f"{run.source} used other GPUs than HEAD; its GPU ordinals are read {used}")
        found.append(document)
    return tuple(found), tuple(notes)


def _active(digest: Digest) -> list[int]:
    return [device.device for device in digest.devices if device.did_work]


def _renamed(run: Run, like: Digest) -> dict[int, int]:
    """Return the new ordinal of each old one; nothing where all stay or none can be matched."""
    own, wanted = _active(run.digest), _active(like)
    if own == wanted or len(own) != len(wanted) or len(set(own)) < len(own) or len(set(wanted)) < len(wanted):
        return {}
    renamed = dict(zip(own, wanted, strict=True))
    free = sorted({device.device for device in run.digest.devices} - set(own))
    places = iter(sorted((set(free) | set(own)) - set(wanted)))
    return renamed | {old: next(places, old) for old in free}


def _rename(document: Json, renamed: dict[int, int]) -> None:
    for item in _with_device(document):
        item["device"] = renamed.get(item["device"], item["device"])


def _with_device(document: Json) -> Iterator[Json]:
    yield from document["devices"]
    yield from document.get("idle", {}).get("devices", ())
    yield from document.get("communication", ())
