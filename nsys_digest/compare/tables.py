"""Rows of two digests side by side: by name, most moved first, with what is on one side only set apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from nsys_digest.compare.renames import Names
from nsys_digest.model.catalogue import Json, figure, label, part, result
from nsys_digest.model.figures import RowFigure
from nsys_digest.units import to_seconds

Number: TypeAlias = int | float
Values: TypeAlias = Mapping[str, Number | None]
"""The figures of one name on one side, by their names inside: times in nanoseconds."""

NO_NAMES: Final = Names((), ())
"""Nothing was renamed."""
NUMBER: Final = {"type": ["number", "null"]}
KEYS: Final = ("base", "head", "change", "ratio")


@dataclass(frozen=True, slots=True)
class Pair:
    """A figure on both sides: change is head minus base, ratio is head over base; null where there is none."""

    OWN_SCHEMA: ClassVar = {"type": "object", "properties": dict.fromkeys(KEYS, NUMBER), "required": list(KEYS)}

    column: RowFigure
    base: Number | None
    head: Number | None

    @property
    def own_key(self) -> str:
        """The key of the figure in a document."""
        return self.column.key

    @property
    def is_time(self) -> bool:
        """Whether its values are nanoseconds."""
        return self.column.declared.unit == "s"

    @property
    def change(self) -> Number | None:
        """Head minus base."""
        return None if self.base is None or self.head is None else self.head - self.base

    @property
    def ratio(self) -> float | None:
        """Head over base; None where base is 0."""
        return self.head / self.base if self.base and self.head is not None else None

    def written(self, value: Number | None) -> Number | None:
        """Return a value of the figure as a document has it."""
        return to_seconds(int(value)) if value is not None and self.is_time else value

    def own_form(self) -> Json:
        """Return the figure as a document has it."""
        values = {"base": self.base, "head": self.head, "change": self.change}
        return {key: self.written(value) for key, value in values.items()} | {"ratio": self.ratio}


@result
class Split:
    """The change of a total, cut in two that add up to it.

    ``by_count_ns`` is what another number of instances changes at the mean length of BASE, rounded; ``by_length_ns`` is
    what another mean length changes.
    """

    by_count_ns: int = figure("s", "of the change: by another count, at the mean of BASE", label="by count", least=None)
    by_length_ns: int = figure("s", "the rest of it", label="by length", least=None)


@result
class Row:
    """One name on both sides, or on one; where it was renamed, ``base_name`` is that in BASE, and ``why`` tells.

    ``split`` is the change of the total by count and by length; None without both, and where BASE has no instance.
    """

    MORE_KEYS: ClassVar = True

    name: str = label("the name, in HEAD where it was renamed")
    base_name: str | None = part("the name in BASE, of a renamed row", left_out=True, default=None)
    why: str | None = part("what the names differ in", left_out=True, default=None)
    figures: Mapping[str, Pair] = part("the figures of the name, by key", always=True, default_factory=dict)
    split: Split | None = part("its change by count and by length", inline=True, default=None)


@result
class Family:
    """Names on one side only that differ in no more than numbers, where none can be told to be another one renamed."""

    MORE_KEYS: ClassVar = True

    name: str = label("the names with # for their numbers")
    base_names: tuple[str, ...] = label("the names of BASE")
    head_names: tuple[str, ...] = label("the names of HEAD")
    figures: Mapping[str, Pair] = part("the figures of all of them, by key")


@result
class Table:
    """Rows of one kind, by how much the figure ``by`` moved.

    ``total`` is that figure over all names of either side; None where it does not add up. ``complete`` is False where
    the digests list only some of the names, so that none can be said to be on one side only.
    """

    MORE_KEYS: ClassVar = True

    by: RowFigure = part("the figure that rows are ordered by")
    complete: bool = label("whether the digests list all names, so that one can be said to be on one side only")
    total: Pair | None = part("that figure over all names of each side; null where it does not add up")
    rows: tuple[Row, ...] = part("names of both sides, most moved first")
    renamed: tuple[Row, ...] = part("names that were renamed", always=True, default=())
    appeared: tuple[Row, ...] = part("names of HEAD alone", always=True, default=())
    vanished: tuple[Row, ...] = part("names of BASE alone", always=True, default=())
    families: tuple[Family, ...] = part("names that could not be matched one to one", always=True, default=())


@dataclass(frozen=True, slots=True)
class Sides:
    """The named figures of both sides, and what is declared of each figure.

    ``by`` is the figure that rows are ordered by, ``count`` the one of how many instances it adds up, or None.
    """

    columns: Mapping[str, RowFigure]
    base: Mapping[str, Values]
    head: Mapping[str, Values]
    by: str
    count: str | None

    def row(self, base_name: str | None, head_name: str | None, why: str | None = None) -> Row:
        """Put the figures of two names side by side; of one name where the other is None."""
        base = {} if base_name is None else self.base[base_name]
        head = {} if head_name is None else self.head[head_name]
        figures = {
            name: Pair(column, base.get(name), head.get(name))
            for name, column in self.columns.items()
            if name in base or name in head
        }
        name = head_name if head_name is not None else base_name or ""
        return Row(name, None if why is None else base_name, why, figures, self._split(figures))

    def total(self, name: str, base: Iterable[str], head: Iterable[str]) -> Pair:
        """Return a figure over several names of each side."""
        return Pair(
            self.columns[name],
            sum(self.base[one].get(name) or 0 for one in base),
            sum(self.head[one].get(name) or 0 for one in head),
        )

    def _split(self, figures: Mapping[str, Pair]) -> Split | None:
        total, count = figures.get(self.by), figures.get(self.count or "")
        if total is None or count is None or total.change is None or count.change is None or not count.base:
            return None
        numerator, denominator = int(total.base or 0) * int(count.change), int(count.base)
        by_count = (2 * numerator + denominator) // (2 * denominator)
        return Split(by_count, int(total.change) - by_count)


def table(sides: Sides, *, adds_up: bool = False, complete: bool = True, names: Names = NO_NAMES) -> Table:
    """Put two sets of named figures side by side, most moved first.

    ``names`` tells which names on one side only were renamed; those become rows of their own list.
    """
    by, base, head = sides.by, sides.base, sides.head
    both = [sides.row(name, name) for name in base if name in head]
    if not complete:
        return Table(sides.columns[by], False, None, _moved(both, by))
    vanished, appeared = ([name for name in one if name not in other] for one, other in ((base, head), (head, base)))
    gone, new = {pair.base for pair in names.renamed}, {pair.head for pair in names.renamed}
    return Table(
        sides.columns[by],
        complete=True,
        total=sides.total(by, base, head) if adds_up else None,
        rows=_moved(both, by),
        renamed=_moved([sides.row(pair.base, pair.head, pair.why) for pair in names.renamed], by),
        appeared=_moved([sides.row(None, name) for name in appeared if name not in new], by),
        vanished=_moved([sides.row(name, None) for name in vanished if name not in gone], by),
        families=_families(sides, names),
    )


def _families(sides: Sides, names: Names) -> tuple[Family, ...]:
    families = []
    for alike in names.families:
        told = (sides.by, sides.count) if sides.count is not None else (sides.by,)
        figures = {name: sides.total(name, alike.base, alike.head) for name in told}
        families.append(Family(alike.name, alike.base, alike.head, figures))
    return tuple(sorted(families, key=lambda family: (-abs(family.figures[sides.by].change or 0), family.name)))


def _moved(rows: list[Row], by: str) -> tuple[Row, ...]:
    """Order rows by how much they moved, then by how much there is, then by name."""

    def key(row: Row) -> tuple[float, float, str]:
        pair = row.figures.get(by)
        if pair is None:
            return 0, 0, row.name
        return -abs(pair.change or 0), -max(abs(pair.base or 0), abs(pair.head or 0)), row.name

    return tuple(sorted(rows, key=key))
