"""The figures of a digest and their paths, as the fields of its types declare them.

Objects lead on by key, and names by name. Lists lead on by what tells their items apart: ``devices.0``,
``memory.copies.HtoD/pageable/device``, ``dispatch_steps.FULL/8``; lists without that, such as streams, whose process
ids differ in every run, have no path. The pairs of ``api`` and ``top_kernels`` have ``count`` and ``total_s``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, ClassVar, Final, TypeAlias, get_args, get_origin

from nsys_digest.model.base_types import OTHER_NAMES
from nsys_digest.model.catalogue import AS_LIST, Declared, Json, Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.model.codec import in_document
from nsys_digest.model.digest import Digest
from nsys_digest.model.paths import Path, Pattern, path_text
from nsys_digest.units import to_ns

UNKNOWN: Final = "-"
ANY: Final = "*"
"""Stands in a path for every name."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A number: its name inside, where times are nanoseconds, its key in a document, and what is declared of it."""

    name: str
    key: str
    declared: Declared

    @property
    def unit(self) -> str:
        """Its unit in a document."""
        return str(self.declared.unit)


@dataclass(frozen=True, slots=True)
class Fixed:
    """Keys that are always the same, of a pair its positions; ``former`` leads from a former key to the present one.

    ``name`` is the name inside of a mapping by names that are always the same.
    """

    children: Mapping[str, Node]
    former: Mapping[str, str]
    as_list: bool = False
    name: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """Names from the trace, or items of a list by what ``items`` calls them."""

    child: Node
    items: Callable[[Any], Iterable[tuple[str, Any]]]


Node: TypeAlias = Leaf | Fixed | Named


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a document: which one, of which names, how much (None where it is null), and what is declared of it.

    ``figure`` is its path with ``*`` for every name, and ``names`` are those names in order.
    """

    figure: str
    names: tuple[str, ...]
    value: float | None
    declared: Declared

    @property
    def unit(self) -> str:
        """The unit of the value."""
        return str(self.declared.unit)


def figures(digest: Digest) -> Iterator[Figure]:
    """Yield every figure of a digest, in the order of its document; times in seconds."""
    for path, names_at, leaf, value in _all(_tree(), digest.to_dict(), (), ()):
        names_of = tuple(path[at] for at in names_at)
        generic = tuple(ANY if at in names_at else key for at, key in enumerate(path))
        yield Figure(".".join(generic), names_of, value, leaf.declared)


def value_of(digest: Digest, path: Path) -> float | None:
    """Return one figure of a digest, in the unit of its document; only what the path leads through is written out.

    Raises:
        KeyError: the digest has no such figure.

    """
    whole = next((key for key in keys_of(Digest) if key.key == path[0] and key.declared.within is None), None)
    if whole is None:
        raise KeyError(path[0])
    value = attrgetter(whole.attribute)(digest)
    if isinstance(value, Mapping):
        value = {name: value[name] for name in path[1:2] if name in value}
    node: Node = _tree()
    found: Any = {whole.key: in_document(whole, value)}
    for key in path:
        below = () if isinstance(node, Leaf) else _below(node, found)
        step = next(((child, item) for name, child, item in below if name == key), None)
        if step is None:
            raise KeyError(key)
        node, found = step
    if not isinstance(node, Leaf):
        raise KeyError(path[-1])
    number: float | None = found
    return number


def select(pattern: Pattern, document: Json) -> dict[Path, float | None]:
    """Return the figures of a document that a pattern matches, in the order of the document; None for null."""
    return dict(_selected(_tree(), document, pattern, ()))


def units(pattern: Pattern) -> frozenset[str]:
    """Return the units of the figures that a pattern can match in any digest; none where it matches no figure."""
    return frozenset(leaf.unit for leaf in _matching(_tree(), pattern, 0))


def known_paths() -> tuple[str, ...]:
    """Return the path of every figure that a digest can have, with ``*`` for names."""
    return tuple(known_figures())


@cache
def known_figures() -> Mapping[str, Declared]:
    """Return what is declared of every figure that a digest can have, by its path with ``*`` for names."""
    return {".".join(path): leaf.declared for path, leaf in _leaves(_tree(), ())}


def present_path(pattern: Pattern) -> str | None:
    """Return the path that a figure of former keys has now, with ``*`` for its names; None of one that never was."""
    found = _present(_tree(), pattern, ())
    return None if found is None else ".".join(found)


@dataclass(frozen=True, slots=True)
class RowFigure:
    """A figure of the items of a list: its name inside, its key in a document, and what is declared of it."""

    OWN_SCHEMA: ClassVar = {"type": "string"}

    name: str
    key: str
    declared: Declared
    path: Path

    def in_item(self, item: Any) -> bool:
        """Tell whether an item of a document has it, be it null; the keys of an inline part may lack."""
        return not isinstance(item, dict) or self.path[0] in item if self.path else True

    def own_form(self) -> str:
        """Return its key: how a document names it."""
        return self.key

    def value(self, item: Any) -> int | float | None:
        """Return its value in an item of a document: a time in nanoseconds, all else as it stands."""
        for key in self.path:
            item = None if item is None else item.get(key) if isinstance(item, dict) else item[int(key)]
        number: int | float | None = item
        return to_ns(number) if self.declared.unit == "s" else number


@cache
def columns(at: str) -> tuple[RowFigure, ...]:
    """Return the figures of what a path leads to, or of each item where it ends in ``*``; names within have their own.

    Raises:
        KeyError: there is no such path.

    """
    node: Node = _tree()
    for key in at.split("."):
        node = _child(node, key)
    return tuple(_columns(node, "", "", ()))


def items(at: str, document: Json) -> list[tuple[Path, Any]]:
    """Return what a path leads to in a document, with the names that its ``*`` stand for; nothing where it is null."""
    found: list[tuple[Node, Path, Any]] = [(_tree(), (), document)]
    for key in at.split("."):
        found = [
            (child, (*names_of, name) if key == ANY else names_of, item)
            for node, names_of, value in found
            if not isinstance(node, Leaf)
            for name, child, item in _below(node, value)
            if key in (ANY, name)
        ]
    return [(names_of, item) for _, names_of, item in found if item is not None]


def _child(node: Node, key: str) -> Node:
    if isinstance(node, Named) and key == ANY:
        return node.child
    if isinstance(node, Fixed):
        return next(iter(node.children.values())) if key == ANY else node.children[key]
    raise KeyError(key)


def _columns(node: Node, name: str, key: str, path: Path) -> Iterator[RowFigure]:
    if isinstance(node, Leaf):
        own = _ALONE.get(node.unit, "value") if not path else ""
        yield RowFigure(
            name or f"{own}{'_ns' * (node.unit == 's')}",
            key or f"{own}{'_s' * (node.unit == 's')}",
            node.declared,
            path,
        )
    elif isinstance(node, Fixed):
        for at, (below, child) in enumerate(node.children.items()):
            inside = child.name if isinstance(child, Leaf) and child.key == below else below
            inside = child.name or below if isinstance(child, Fixed) else inside
            yield from _columns(
                child, _joined(name, inside), _joined(key, below), (*path, str(at) if node.as_list else below)
            )


_ALONE: Final = {"s": "sum", "count": "count"}
"""What a number is called that is all that a name leads to."""


def _joined(before: str, key: str) -> str:
    return f"{before}.{key}" if before else key


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


def spelled(paths: Iterable[Path]) -> str:
    """Name paths in a message, the first five of them."""
    listed = [path_text(path) for path in paths]
    more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
    return f"{', '.join(listed[:5])}{more}"


def _selected(node: Node, value: Any, pattern: Pattern, path: Path) -> Iterator[tuple[Path, float | None]]:
    if len(path) == len(pattern.segments):
        if isinstance(node, Leaf):
            yield path, value
        return
    if isinstance(node, Leaf):
        return
    segment = pattern.segments[len(path)]
    for key, child, item in _below(node, value):
        if segment.matches(key):
            yield from _selected(child, item, pattern, (*path, key))


def _all(
    node: Node, value: Any, path: Path, names_at: tuple[int, ...]
) -> Iterator[tuple[Path, tuple[int, ...], Leaf, float | None]]:
    if isinstance(node, Leaf):
        yield path, names_at, node, value
        return
    named = (*names_at, len(path)) if isinstance(node, Named) else names_at
    for key, child, item in _below(node, value):
        yield from _all(child, item, (*path, key), named)


def _below(node: Fixed | Named, value: Any) -> Iterator[tuple[str, Node, Any]]:
    """Yield what stands under a part of a document: key, what it leads to, value; null leads to nulls by its keys."""
    if isinstance(node, Named):
        if value is not None:
            for name, item in node.items(value):
                yield name, node.child, item
        return
    for at, (key, child) in enumerate(node.children.items()):
        if value is None:
            yield key, child, None
        elif node.as_list:
            yield key, child, value[at]
        elif key in value:
            yield key, child, value[key]


def _matching(node: Node, pattern: Pattern, at: int) -> Iterator[Leaf]:
    if at == len(pattern.segments):
        if isinstance(node, Leaf):
            yield node
    elif isinstance(node, Fixed):
        for key, child in node.children.items():
            if pattern.segments[at].matches(key):
                yield from _matching(child, pattern, at + 1)
    elif isinstance(node, Named):
        yield from _matching(node.child, pattern, at + 1)


def _present(node: Node, pattern: Pattern, path: Path) -> Path | None:
    if len(path) == len(pattern.segments):
        return path if isinstance(node, Leaf) else None
    if isinstance(node, Leaf):
        return None
    segment = pattern.segments[len(path)]
    if isinstance(node, Named):
        return _present(node.child, pattern, (*path, path_text((segment.literal,)) if segment.literal else ANY))
    key = node.former.get(segment.literal or "", segment.literal)
    if segment.literal is None:
        return next(filter(None, (_present(child, pattern, (*path, ANY)) for child in node.children.values())), None)
    child = node.children.get(key or "")
    return None if child is None else _present(child, pattern, (*path, str(key)))


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, Leaf]]:
    if isinstance(node, Leaf):
        yield path, node
    elif isinstance(node, Fixed):
        for key, child in node.children.items():
            yield from _leaves(child, (*path, key))
    else:
        yield from _leaves(node.child, (*path, ANY))


@cache
def _tree() -> Fixed:
    node = _of_class(Digest)
    assert node is not None
    return node


def _of_class(cls: type) -> Fixed | None:
    """Return what the keys of a class lead to; None where no figure is in it."""
    keys = [key for key in keys_of(cls) if key.declared.within is None]
    found = {key.key: _node(key.hint, key) for key in keys}
    children = {key: child for key, child in found.items() if child is not None}
    former = {old: key.key for key in keys for old in key.declared.former}
    return Fixed(children, former, getattr(cls, AS_LIST, False)) if children else None


def _node(hint: Any, key: Key) -> Node | None:
    hint, _ = without_none(hint)
    declared = key.declared
    if is_dataclass(hint) and isinstance(hint, type):
        return _of_class(hint)
    if is_mapping(hint):
        child = _node(get_args(hint)[1], key)
        if child is None:
            return None
        if declared.names:
            return Fixed(dict.fromkeys(declared.names, child), {}, name=key.inside)
        return Named(child, Mapping.items)
    if is_list(hint):
        return _of_list(get_args(hint)[0], key)
    return None if declared.unit is None else Leaf(key.inside, key.key, declared)


def _of_list(item: Any, key: Key) -> Named | None:
    """Return what a list leads to whose items have names: the first of a pair, or what its keys say."""
    if get_origin(item) is tuple:
        child = _node(get_args(item)[1], key)
        return None if child is None else Named(child, numbered)
    child = _node(item, key) if key.declared.by else None
    return None if child is None else Named(child, _by_keys(*key.declared.by))


def numbered(pairs: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Tell items of one key apart: the second of ``0`` is ``0#2``."""
    seen: Counter[str] = Counter()
    for key, item in pairs:
        seen[key] += 1
        yield key if seen[key] == 1 else f"{key}#{seen[key]}", item


def _by_keys(*keys: str) -> Callable[[Any], Iterable[tuple[str, Any]]]:
    """Name items by what is declared to tell them apart; a key behind a ``?`` is left out where it is null."""
    parts = [(key.removeprefix("?"), key.startswith("?")) for key in keys]

    def name(item: Json) -> str:
        told = [(item[key], optional) for key, optional in parts]
        return "/".join(
            UNKNOWN if value is None else str(value) for value, left in told if value is not None or not left
        )

    return lambda value: numbered((name(item), item) for item in value)
