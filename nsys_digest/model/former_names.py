"""Keys that had another name before: a document with those is read as one with the present names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SECTIONS: Final[Mapping[str, str]] = {"api_tails": "api_durations", "kernel_tails": "kernel_durations"}
_WARNINGS: Final[Mapping[str, str]] = {"unattributed-kernels": "unattributed-work"}
_SUM: Final[Mapping[str, str]] = {"s": "sum_s"}
_KEYS: Final[tuple[tuple[tuple[str, ...], Mapping[str, str]], ...]] = (
    (("idle", "devices", "*", "causes", "*"), _SUM),
    (("idle", "devices", "*", "histogram", "*"), _SUM),
    (("memory", "copies", "*"), _SUM),
    (("memory", "sets"), _SUM),
    (("communication", "*", "by_kind", "*"), _SUM),
    (("communication", "*"), {"total_s": "union_s", "overlapped_s": "hidden_s"}),
    (("dispatch_steps", "*"), {"gpu_busy_s": "gpu_overlap_s", "gpu_launched_s": "launched_busy_s"}),
)


def with_present_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a digest's document with the present names; the one given is left as it is.

    Raises:
        KeyError, TypeError, AttributeError: it is no digest.

    """
    renamed = _renamed(document, _SECTIONS)
    filters = renamed["capture"]["filters"]
    sections = [_SECTIONS.get(name, name) for name in filters["sections"]]
    for path, names in _KEYS:
        renamed = _within(renamed, path, names)
    renamed["warnings"] = [one | {"code": _WARNINGS.get(one["code"], one["code"])} for one in renamed["warnings"]]
    if isinstance(renamed.get("steps"), dict):
        renamed["steps"] = _steps(renamed["steps"])
    return renamed | {"capture": renamed["capture"] | {"filters": filters | {"sections": sections}}}


def _renamed(document: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in document.items()}


def _within(part: Any, path: tuple[str, ...], names: Mapping[str, str]) -> Any:
    """Return a part of a document with the keys at a path renamed; ``*`` stands for every item or name."""
    if not path:
        return _renamed(part, names)
    if path[0] != "*":
        return part | {path[0]: _within(part[path[0]], path[1:], names)} if path[0] in part else part
    if isinstance(part, list):
        return [_within(item, path[1:], names) for item in part]
    return {key: _within(item, path[1:], names) for key, item in part.items()}


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
