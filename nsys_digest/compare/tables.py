"""Rows of two digests side by side: by name, most moved first, with what is on one side only set apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from nsys_digest.compare.renames import Names
from nsys_digest.units import to_seconds

Number: TypeAlias = int | float
Figures: TypeAlias = Mapping[str, Number | None]
"""Figures by key; a key that ends in ``_ns`` is a time in nanoseconds, others are as the digest's JSON has them."""
Json: TypeAlias = dict[str, Any]

NO_NAMES: Final = Names((), ())
"""Nothing was renamed."""


def key_of(name: str) -> str:
    """Return the JSON key of a figure: times in seconds."""
    return name[:-2] + "s" if name.endswith("_ns") else name


def value_of(name: str, value: Number | None) -> Number | None:
    """Return the JSON value of a figure."""
    return to_seconds(int(value)) if value is not None and name.endswith("_ns") else value


@dataclass(frozen=True, slots=True)
class Pair:
    """A figure on both sides; None where a side does not have it."""

    base: Number | None
    head: Number | None

    @property
    def change(self) -> Number | None:
        """Head minus base."""
        return None if self.base is None or self.head is None else self.head - self.base

    @property
    def ratio(self) -> float | None:
        """Head over base; None where base is 0."""
        return self.head / self.base if self.base and self.head is not None else None

    def to_dict(self, name: str) -> Json:
        """Return the pair as the figure of that name."""
        values = {"base": self.base, "head": self.head, "change": self.change}
        return {key: value_of(name, value) for key, value in values.items()} | {"ratio": self.ratio}


@dataclass(frozen=True, slots=True)
class Split:
    """The change of a total, cut in two that add up to it.

    ``by_count_ns`` is what another number of instances changes at the mean length of BASE, rounded; ``by_length_ns`` is
    what another mean length changes.
    """

    by_count_ns: int
    by_length_ns: int


@dataclass(frozen=True, slots=True)
class Row:
    """One name on both sides, or on one; where it was renamed, ``base_name`` is that in BASE, and ``why`` tells."""

    name: str
    figures: Mapping[str, Pair]
    base_name: str | None = None
    why: str | None = None

    @property
    def split(self) -> Split | None:
        """The change of the total by count and by length; None without both, and where BASE has no instance."""
        total, count = self.figures.get("total_ns"), self.figures.get("count")
        if total is None or count is None or total.change is None or count.change is None or not count.base:
            return None
        numerator, denominator = int(total.base or 0) * int(count.change), int(count.base)
        by_count = (2 * numerator + denominator) // (2 * denominator)
        return Split(by_count, int(total.change) - by_count)

    def to_dict(self) -> Json:
        """Return the row, times in seconds."""
        document: Json = {"name": self.name}
        if self.base_name is not None:
            document |= {"base_name": self.base_name, "why": self.why}
        document["figures"] = {key_of(name): pair.to_dict(name) for name, pair in self.figures.items()}
        if (split := self.split) is not None:
            document |= {"by_count_s": to_seconds(split.by_count_ns), "by_length_s": to_seconds(split.by_length_ns)}
        return document


@dataclass(frozen=True, slots=True)
class Family:
    """Names on one side only that differ in no more than numbers, where none can be told to be another one renamed."""

    name: str
    base_names: tuple[str, ...]
    head_names: tuple[str, ...]
    figures: Mapping[str, Pair]

    def to_dict(self) -> Json:
        """Return the family, times in seconds."""
        return {
            "name": self.name,
            "base_names": list(self.base_names),
            "head_names": list(self.head_names),
            "figures": {key_of(name): pair.to_dict(name) for name, pair in self.figures.items()},
        }


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one kind, by how much the figure ``by`` moved.

    ``total`` is that figure over all names of either side; None where it does not add up. ``complete`` is False where
    the digests list only some of the names, so that none can be said to be on one side only.
    """

    by: str
    rows: tuple[Row, ...]
    appeared: tuple[Row, ...] = ()
    vanished: tuple[Row, ...] = ()
    renamed: tuple[Row, ...] = ()
    families: tuple[Family, ...] = ()
    total: Pair | None = None
    complete: bool = True

    def to_dict(self) -> Json:
        """Return the table, times in seconds."""
        lists = ("rows", "renamed", "appeared", "vanished", "families")
        return {
            "by": key_of(self.by),
            "complete": self.complete,
            "total": None if self.total is None else self.total.to_dict(self.by),
            **{name: [item.to_dict() for item in getattr(self, name)] for name in lists},
        }


@dataclass(frozen=True, slots=True)
class _Sides:
    base: Mapping[str, Figures]
    head: Mapping[str, Figures]

    def row(self, base_name: str | None, head_name: str | None) -> Row:
        """Put the figures of two names side by side; of one name where the other is None."""
        base = None if base_name is None else self.base[base_name]
        head = None if head_name is None else self.head[head_name]
        figures = {key: Pair(_figure(base, key), _figure(head, key)) for key in {**(base or {}), **(head or {})}}
        return Row(head_name if head_name is not None else base_name or "", figures)


def table(
    base: Mapping[str, Figures],
    head: Mapping[str, Figures],
    by: str,
    *,
    adds_up: bool = False,
    complete: bool = True,
    names: Names = NO_NAMES,
) -> Table:
    """Put two sets of named figures side by side, most moved first.

    ``names`` tells which names on one side only were renamed; those become rows of their own list.
    """
    sides = _Sides(base, head)
    both = [sides.row(name, name) for name in base if name in head]
    if not complete:
        return Table(by, _moved(both, by), complete=False)
    vanished, appeared = ([name for name in one if name not in other] for one, other in ((base, head), (head, base)))
    gone, new = {pair.base for pair in names.renamed}, {pair.head for pair in names.renamed}
    renamed = [
        Row(pair.head, sides.row(pair.base, pair.head).figures, base_name=pair.base, why=pair.why)
        for pair in names.renamed
    ]
    return Table(
        by,
        _moved(both, by),
        appeared=_moved([sides.row(None, name) for name in appeared if name not in new], by),
        vanished=_moved([sides.row(name, None) for name in vanished if name not in gone], by),
        renamed=_moved(renamed, by),
        families=_families(base, head, names),
        total=Pair(_sum(base.values(), by), _sum(head.values(), by)) if adds_up else None,
    )


def _families(base: Mapping[str, Figures], head: Mapping[str, Figures], names: Names) -> tuple[Family, ...]:
    families = []
    for alike in names.families:
        figures = {
            key: Pair(_sum([base[name] for name in alike.base], key), _sum([head[name] for name in alike.head], key))
            for key in ("total_ns", "count")
        }
        families.append(Family(alike.name, alike.base, alike.head, figures))
    return tuple(sorted(families, key=lambda family: (-abs(family.figures["total_ns"].change or 0), family.name)))


def _figure(figures: Figures | None, key: str) -> Number | None:
    return None if figures is None else figures.get(key)


def _sum(figures: Iterable[Figures], key: str) -> Number:
    return sum(one.get(key) or 0 for one in figures)


def _moved(rows: list[Row], by: str) -> tuple[Row, ...]:
    """Order rows by how much they moved, then by how much there is, then by name."""

    def key(row: Row) -> tuple[float, float, str]:
        pair = row.figures.get(by, Pair(None, None))
        return -abs(pair.change or 0), -max(abs(pair.base or 0), abs(pair.head or 0)), row.name

    return tuple(sorted(rows, key=key))
