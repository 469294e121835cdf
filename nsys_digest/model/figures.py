"""The figures of a digest and their paths, by its published JSON Schema.

Objects lead on by key, and names by name. Lists lead on by what tells their items apart: ``devices.0``,
``memory.copies.HtoD/pageable/device``, ``dispatch_steps.FULL/8``; lists without that, such as streams, whose process
ids differ in every run, have no path. The pairs of ``api`` and ``top_kernels`` have ``count`` and ``total_s``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, TypeAlias

from nsys_digest.model.base_types import OTHER_NAMES
from nsys_digest.model.json_schema import digest_schema_text
from nsys_digest.model.paths import Path, Pattern, path_text

Json: TypeAlias = dict[str, Any]
UNKNOWN: Final = "-"
_NAME: Final = "*"


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number; its unit is ``s``, ``ratio``, ``bytes``, ``gbps`` or ``count``."""

    unit: str


@dataclass(frozen=True, slots=True)
class Fixed:
    """Keys that are always the same; of a pair they are its positions."""

    children: Mapping[str, Node]


@dataclass(frozen=True, slots=True)
class Named:
    """Names from the trace, or items of a list by what ``items`` calls them."""

    child: Node
    items: Callable[[Any], Iterable[tuple[str, Any]]]


Node: TypeAlias = Leaf | Fixed | Named


def select(pattern: Pattern, document: Json) -> dict[Path, float | None]:
    """Return the figures of a document that a pattern matches, in the order of the document; None for null."""
    return dict(_selected(_tree(), document, pattern, ()))


def units(pattern: Pattern) -> frozenset[str]:
    """Return the units of the figures that a pattern can match in any digest; none where it matches no figure."""
    return frozenset(_units(_tree(), pattern, 0))


def known_paths() -> tuple[str, ...]:
    """Return the path of every figure of the schema, with ``*`` for names."""
    return tuple(".".join(path) for path, _ in _leaves(_tree(), ()))


def names(section: str, document: Json) -> tuple[str, ...] | None:
    """Return the names that a section has, or None where it was not made."""
    node = _tree().children.get(section)
    if section not in document or not isinstance(node, Named):
        return None
    return tuple(name for name, _ in node.items(document[section]))


def lists_all(section: str, document: Json) -> bool:
    """Tell whether a section has every name: range names are capped, and of kernels the first are listed."""
    if section == "nvtx":
        return OTHER_NAMES not in document["nvtx"]
    if section == "top_kernels":
        return bool(sum(count for _, (count, _) in document["top_kernels"]) == document["kernel_count"])
    return True


def _selected(node: Node, value: Any, pattern: Pattern, path: Path) -> Iterator[tuple[Path, float | None]]:
    if len(path) == len(pattern.segments):
        if isinstance(node, Leaf):
            yield path, value
        return
    if isinstance(node, Leaf):
        return
    segment = pattern.segments[len(path)]
    if isinstance(node, Fixed):
        for at, (key, child) in enumerate(node.children.items()):
            if not segment.matches(key):
                continue
            if isinstance(value, list):
                yield from _selected(child, value[at], pattern, (*path, key))
            elif value is None or key in value:
                yield from _selected(child, None if value is None else value[key], pattern, (*path, key))
    elif value is not None:
        for name, item in node.items(value):
            if segment.matches(name):
                yield from _selected(node.child, item, pattern, (*path, name))


def _units(node: Node, pattern: Pattern, at: int) -> Iterator[str]:
    if at == len(pattern.segments):
        if isinstance(node, Leaf):
            yield node.unit
    elif isinstance(node, Fixed):
        for key, child in node.children.items():
            if pattern.segments[at].matches(key):
                yield from _units(child, pattern, at + 1)
    elif isinstance(node, Named):
        yield from _units(node.child, pattern, at + 1)


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, Leaf):
        yield path, node.unit
    elif isinstance(node, Fixed):
        for key, child in node.children.items():
            yield from _leaves(child, (*path, key))
    else:
        yield from _leaves(node.child, (*path, _NAME))


def _numbered(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Tell items of one key apart: the second of ``0`` is ``0#2``."""
    seen: Counter[str] = Counter()
    for key, item in pairs:
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}#{seen[key]}", item


def _by_keys(*keys: str) -> Callable[[Any], Iterable[tuple[str, Any]]]:
    def items(value: Any) -> Iterable[tuple[str, Any]]:
        return _numbered(
            ("/".join(UNKNOWN if item[key] is None else str(item[key]) for key in keys), item) for item in value
        )

    return items


def _by_mode(value: Any) -> Iterable[tuple[str, Any]]:
    def key(item: Json) -> str:
        mode = UNKNOWN if item["mode"] is None else str(item["mode"])
        return mode if item["padded"] is None else f"{mode}/{item['padded']}"

    return _numbered((key(item), item) for item in value)


_LISTS: Final[Mapping[Path, Callable[[Any], Iterable[tuple[str, Any]]]]] = {
    ("devices",): _by_keys("device"),
    ("idle", "devices"): _by_keys("device"),
    ("communication",): _by_keys("device"),
    ("memory", "copies"): _by_keys("direction", "source_kind", "destination_kind"),
    ("dispatch_steps",): _by_mode,
    ("top_kernels",): _numbered,
}
"""The lists that have paths, and what tells their items apart."""
_PAIR: Final = Fixed({"count": Leaf("count"), "total_s": Leaf("s")})


@cache
def _tree() -> Fixed:
    schema = json.loads(digest_schema_text())
    node = _node(schema, schema, ())
    assert isinstance(node, Fixed)
    return node


def _node(schema: Json, root: Json, path: Path) -> Node | None:
    """Return what a part of the schema leads to; None where no figure is in it."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        if choice.get("type") != "null":
            return _node(choice, root, path)
    kinds = schema.get("type", ())
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if kinds & {"number", "integer"} and "string" not in kinds:
        return Leaf(_unit(path))
    if path == ("top_kernels",):
        return Named(_PAIR, _LISTS[path])
    if "prefixItems" in schema:
        return _PAIR
    if "array" in kinds:
        child = _node(schema["items"], root, (*path, _NAME)) if path in _LISTS else None
        return None if child is None else Named(child, _LISTS[path])
    if isinstance(schema.get("additionalProperties"), dict):
        child = _node(schema["additionalProperties"], root, (*path, _NAME))
        return None if child is None else Named(child, Mapping.items)
    found = {key: _node(part, root, (*path, key)) for key, part in schema.get("properties", {}).items()}
    children = {key: child for key, child in found.items() if child is not None and key not in _LABELS}
    return Fixed(children) if children else None


_LABELS: Final = frozenset({"device", "padded", "start_ns", "max_nvtx_names"})
"""Numbers that say which, not how much."""
_TIMES_BY_NAME: Final = frozenset({"host_by_nvtx", "idle_causes"})


def _unit(path: Path) -> str:
    key, above = path[-1], path[-2] if len(path) > 1 else ""
    if key == "s" or key.endswith("_s") or above.endswith("_s") or above in _TIMES_BY_NAME:
        return "s"
    if key.endswith("_ratio") or above.endswith("_ratio"):
        return "ratio"
    return "gbps" if above == "gbps" else "bytes" if key == "bytes" else "count"


def spelled(paths: Iterable[Path]) -> str:
    """Name paths in a message, the first five of them."""
    listed = [path_text(path) for path in paths]
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return f"{', '.join(listed[:5])}{more}"
