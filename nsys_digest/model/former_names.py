"""Keys that had another name before: a document with those is read as one with the present names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SECTIONS: Final[Mapping[str, str]] = {"api_tails": "api_durations", "kernel_tails": "kernel_durations"}


def with_present_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a digest's document with the present names; the one given is left as it is.

    Raises:
        KeyError, TypeError, AttributeError: it is no digest.

    """
    renamed = {_SECTIONS.get(key, key): value for key, value in document.items()}
    filters = renamed["capture"]["filters"]
    sections = [_SECTIONS.get(name, name) for name in filters["sections"]]
    if isinstance(renamed.get("steps"), dict):
        renamed["steps"] = _steps(renamed["steps"])
    return renamed | {"capture": renamed["capture"] | {"filters": filters | {"sections": sections}}}


def _steps(steps: dict[str, Any]) -> dict[str, Any]:
    """Return the section of a document in which the first step of all stood for the warm-up of each process."""
    if "first" not in steps:
        return steps
    first = [] if steps["first"] is None else [steps["first"]]
    added = {"names": [steps["name"]], "launched_busy": None, "idle_causes": None, "processes": []}
    warmup, slowest = (
        [{"process": None, "thread": None, "launched_busy_s": None} | step for step in rows]
        for rows in (first, steps["slowest"])
    )
    return steps | added | {"warmup": warmup, "slowest": slowest}
