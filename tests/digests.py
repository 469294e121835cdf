"""Digests to check, drawn from small traces or from the golden ones with figures put in place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.model.digest import Digest
from support import ROOT

GOLDEN = ROOT / "fixtures" / "golden"
TRACES = ROOT / "fixtures" / "traces"


def document(stem: str) -> dict[str, Any]:
    """Return the golden document of a trace."""
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{stem}.json").read_text(encoding="utf-8"))
    return loaded


def placed(whole: dict[str, Any], values: Mapping[tuple[str | int, ...], Any]) -> dict[str, Any]:
    """Put values into a document, each at the keys and positions that lead to it; a value of ``...`` takes away."""
    for path, value in values.items():
        place: Any = whole
        for key in path[:-1]:
            place = place[key]
        if value is ...:
            del place[path[-1]]
        else:
            place[path[-1]] = value
    return whole


def digest(stem: str = "serve", values: Mapping[tuple[str | int, ...], Any] | None = None) -> Digest:
    return Digest.from_dict(placed(document(stem), values or {}))


def spans(seconds: Sequence[float], name: str = "run") -> RunSet:
    """Return a side whose runs have these GPU spans, and are equal beside."""
    return RunSet(
        tuple(
            Run(f"{name}{number}", digest(values={("gpu_activity_span_s",): value}))
            for number, value in enumerate(seconds)
        )
    )


def one(values: Mapping[tuple[str | int, ...], Any] | None = None, stem: str = "serve", name: str = "run") -> RunSet:
    """Return a side of one run."""
    return RunSet((Run(name, digest(stem, values)),))


def stored(folder: Path, name: str, whole: dict[str, Any]) -> Path:
    """Write a document as a stored digest."""
    path = folder / name
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path
