"""The tables of a comparison: every part of two digests side by side, with names that were only renamed matched.

What the rows of a table are, which figures they have and in what unit is the catalogue's; here is only said which parts
become a table, and which figure it goes by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

from nsys_digest.compare.devices import active, pair_devices
from nsys_digest.compare.renames import Names, renamed_calls, renamed_kernels
from nsys_digest.compare.tables import NO_NAMES, Sides, Table, Values, table
from nsys_digest.model.catalogue import Json
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import RowFigure, columns, items
from nsys_digest.model.kernel_categories import OTHER, KernelCategories
from nsys_digest.model.section_types import Durations

Labels: TypeAlias = tuple[str, ...]
"""What a side calls each device that did work."""
_LENGTHS: Final = tuple(field.name for field in fields(Durations))


@dataclass(frozen=True, slots=True)
class Listed:
    """A part of a digest that is a table: the path of its rows, and the figure that they go by.

    ``adds_up`` says that this figure of all rows means something, ``count`` is how many instances it adds up. ``only``
    are the figures of a table that shows the rows of another one in another order; all where it names none. ``beside``
    is a part that is one more row, with the name of that row. Names are matched as those of table ``names_of``.
    ``capped`` is the warning that says that rows are left out.
    """

    at: str
    by: str
    adds_up: bool = False
    count: str | None = None
    only: tuple[str, ...] = ()
    beside: tuple[str, str] | None = None
    names_of: str | None = None
    capped: str = ""


LISTED: Final[Mapping[str, Listed]] = {
    "devices": Listed("devices.*", "span_ns"),
    "idle": Listed("idle.devices.*.causes.*", "sum_ns", adds_up=True),
    "idle_host": Listed("idle.devices.*.host_by_nvtx.*", "sum_ns", adds_up=True),
    "launch": Listed("launch.by_api.*", "latency.total_ns", names_of="api"),
    "api": Listed("api.*", "total_ns", adds_up=True, count="count"),
    "nvtx": Listed("nvtx.*", "union_ns", capped="names-capped"),
    "kernels": Listed("top_kernels.*", "total_ns", adds_up=True, count="count"),
    "categories": Listed("categories.*", "sum_ns", adds_up=True, count="count"),
    "busy_shares": Listed("busy_shares.*.shares.*", "sum_ns", adds_up=True),
    "memory": Listed("memory.copies.*", "sum_ns", adds_up=True, count="count", beside=("set", "memory.sets")),
    "communication": Listed("communication.*", "exposed_ns"),
    "communication_kinds": Listed("communication.*.by_kind.*", "sum_ns", adds_up=True, count="count"),
    "communication_by_range": Listed("communication_by_range.*", "exposed_ns", capped="names-capped"),
    "graphs": Listed("graphs.*", "durations.total_ns", count="durations.count"),
    "dispatch": Listed("dispatch.*", "count"),
    "dispatch_steps": Listed("dispatch_steps.*", "wall.total_ns", count="wall.count", capped="dispatch-capped"),
    "steps": Listed("steps", "wall.total_ns", count="wall.count"),
    "api_durations": Listed("api_durations.*", "p95_ns", names_of="api"),
    "kernel_durations": Listed("kernel_durations.*", "p95_ns", names_of="kernels"),
    "nvtx_durations": Listed("nvtx.*", "p95_ns", only=_LENGTHS, capped="names-capped"),
    "dispatch_durations": Listed(
        "dispatch_steps.*",
        "wall.p95_ns",
        only=tuple(f"wall.{name}" for name in _LENGTHS),
        capped="dispatch-capped",
    ),
}
"""The tables, in the order of the document."""
TABLES: Final = tuple(LISTED)
LATER: Final = ("busy_shares", "communication_by_range", "graphs")
"""Those that the first documents of version 1.0 lack."""


@dataclass(frozen=True, slots=True)
class _Side:
    """A digest, its document, and what it calls its devices."""

    digest: Digest
    document: Json
    labels: Labels


def tables(base: Digest, head: Digest, kernel_categories: Callable[[], KernelCategories]) -> dict[str, Table | None]:
    """Return every table; None where a side lacks the section. The categories are read if names must be told apart."""
    ours, theirs = (
        _Side(digest, digest.to_dict(), of) for digest, of in zip((base, head), _device_labels(base, head), strict=True)
    )
    names: dict[str, Names] = {}
    found: dict[str, Table | None] = {}
    for name in ("api", "kernels", *(other for other in TABLES if other not in ("api", "kernels"))):
        listed = LISTED[name]
        sides = [_rows(name, listed, side) for side in (ours, theirs)]
        if sides[0] is None or sides[1] is None:
            found[name] = None
            continue
        both = Sides(
            {column.name: column for column in columns_of(listed)}, sides[0], sides[1], listed.by, listed.count
        )
        complete = _complete(name, base, head)
        if name == "api":
            names[name] = renamed_calls(*_counts_apart(both))
        elif name == "kernels":
            names[name] = _renamed_kernels(both, kernel_categories) if complete else NO_NAMES
        matched = names.get(name) or _present(names.get(listed.names_of or "", NO_NAMES), both)
        found[name] = table(both, adds_up=listed.adds_up, complete=complete, names=matched)
    return {name: found[name] for name in TABLES}


def columns_of(listed: Listed) -> tuple[RowFigure, ...]:
    """Return the figures of the rows of a table."""
    return tuple(column for column in columns(listed.at) if not listed.only or column.name in listed.only)


def _rows(name: str, listed: Listed, side: _Side) -> dict[str, Values] | None:
    """Return the figures of each name of a table; None where the digest lacks the section."""
    document, at = side.document, listed.at
    if name == "kernels" and "kernel_durations" in document:
        at = "kernel_durations.*"  # has all names, top_kernels the first ones
    if document.get(at.partition(".")[0]) is None or (name == "nvtx_durations" and not _has_lengths(side.digest)):
        return None
    told = items(at, document)
    if name == "steps":
        told = [((document["steps"]["name"],), document["steps"])]
    if listed.beside is not None:
        beside, part = listed.beside
        told += [((beside,), item) for _, item in items(part, document)]
    known = {column.name for column in columns_of(listed)}
    wanted = [column for column in columns(at) if column.name in known]
    places = _places(listed, side)
    found: dict[str, Values] = {}
    names = _numbered("/".join(_named(names, places)) for names, _ in told)
    for row, (own, item) in zip(names, told, strict=True):
        if places is None or own[0] in places:
            found[row] = {column.name: column.value(item) for column in wanted if column.in_item(item)}
    return found


def _places(listed: Listed, side: _Side) -> dict[str, str] | None:
    """Return what each device of a section is called; None of a section without devices.

    Devices that did nothing have no row; a section may list some of the others only.
    """
    section = listed.at.partition(".")[0]
    if section not in {"devices", "idle", "communication", "busy_shares"}:
        return None
    path = "idle.devices.*" if section == "idle" else f"{section}.*"
    own = [names[0] for names, _ in items(path, side.document)]
    devices = active(side.digest)
    called = list(zip(devices, side.labels, strict=True))
    if section == "devices":
        did = [name for name, device in zip(own, side.digest.devices, strict=True) if device.idle_ns is not None]
        return dict(zip(did, side.labels, strict=True))
    if section == "communication":
        called = [(device, label) for device, label in called if device.count["kernel"]]
    return dict(zip(own, (label for _, label in called), strict=False))


def _named(names: tuple[str, ...], places: Mapping[str, str] | None) -> tuple[str, ...]:
    return names if places is None else (places.get(names[0], names[0]), *names[1:])


def _has_lengths(digest: Digest) -> bool:
    return all(ranges.detail is not None for ranges in digest.nvtx.values())


def _device_labels(base: Digest, head: Digest) -> tuple[Labels, Labels]:
    """Return what each side calls its devices that did work: ``0``, or ``0→1`` for a pair of other ordinals."""
    bases, heads = active(base), active(head)
    names = [[str(device.device) for device in side] for side in (bases, heads)]
    for ours, theirs in pair_devices(base, head):
        if bases[ours].device != heads[theirs].device:
            both = f"{bases[ours].device}→{heads[theirs].device}"
            names[0][ours] = names[1][theirs] = both
    first, second = (_numbered(side) for side in names)
    return first, second


def _numbered(names: Iterable[str]) -> Labels:
    """Tell equal names apart: the second of ``0`` is ``0#2``."""
    seen: Counter[str] = Counter()
    told = []
    for name in names:
        seen[name] += 1
        told.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return tuple(told)


def _complete(name: str, base: Digest, head: Digest) -> bool:
    if capped := LISTED[name].capped:
        return not any(warn.code == capped for digest in (base, head) for warn in digest.warnings)
    if name == "kernels":
        return all(
            digest.kernel_durations is not None
            or sum(total.count for _, total in digest.top_kernels) == digest.kernel_count
            for digest in (base, head)
        )
    return True


def _renamed_kernels(sides: Sides, kernel_categories: Callable[[], KernelCategories]) -> Names:
    known: list[KernelCategories] = []
    apart = _counts_apart(sides)

    def category(name: str) -> str:
        if not known:
            known.append(kernel_categories())
            known[0].classify_all([*apart[0], *apart[1]])
        pattern = known[0].classify(name)
        return pattern.category if pattern else OTHER

    return renamed_kernels(*apart, category)


def _counts_apart(sides: Sides) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts of the names that only BASE has, and of those that only HEAD has."""
    return (
        {name: int(values["count"] or 0) for name, values in sides.base.items() if name not in sides.head},
        {name: int(values["count"] or 0) for name, values in sides.head.items() if name not in sides.base},
    )


def _present(names: Names, sides: Sides) -> Names:
    """Return the matches whose names a table has: not every call is a launch."""
    return Names(tuple(pair for pair in names.renamed if pair.base in sides.base and pair.head in sides.head), ())
