"""Tables and headline figures of a comparison, read back from its document.

Which figure a key is depends on its table, so that no declaration of a type alone can tell; here the tables do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from nsys_digest.compare.changes import LISTED, columns_of
from nsys_digest.compare.tables import Family, Number, Pair, Row, Split, Table
from nsys_digest.compare.whole import COLUMNS, Headline
from nsys_digest.model.decoder import Misfit, decode, kind_of
from nsys_digest.model.figures import RowFigure
from nsys_digest.units import to_ns

Known: TypeAlias = Mapping[str, RowFigure]
"""Figures by their keys in a document."""


def read_tables(document: Any) -> dict[str, Table | None]:
    """Read every table of this version; None of one that the document does not have, as of one that is null.

    Raises:
        Misfit: a table is not as it should be.

    """
    found: dict[str, Table | None] = {}
    for name in LISTED:
        former = name.replace("_durations", "_tails")
        key = name if name in _object(document) or former not in document else former
        found[name] = None if document.get(key) is None else _within(f".{key}", _table, name, document[key])
    return found


def read_headlines(document: Any) -> dict[str, Headline]:
    """Read the headline figures that this version knows.

    Raises:
        Misfit: one is missing, or not as it should be.

    """
    return {name: _at(_object(document), column.key, _headline, column) for name, column in COLUMNS.items()}


def _headline(column: RowFigure, document: Any) -> Headline:
    def runs(key: str) -> tuple[Number | None, ...]:
        return tuple(_number(column, value) for value in _at(document, key, _list))

    return Headline(_pair(column, document), runs("base_runs"), runs("head_runs"))


def _table(name: str, document: Any) -> Table:
    listed = LISTED[name]
    columns = {column.name: column for column in columns_of(listed)}
    by = columns[listed.by]
    # keys of parts were once put together with an underscore, and what a table goes by had other names
    known = {column.key.replace(".", "_"): column for column in columns.values()}
    known |= {_at(document, "by", _text): by} | {column.key: column for column in columns.values()}

    def rows(key: str) -> tuple[Row, ...]:
        listed = _list(document.get(key, []))
        return tuple(_within(f".{key}[{at}]", _row, known, row) for at, row in enumerate(listed))

    total = document.get("total")
    return Table(
        by,
        complete=_at(document, "complete", _flag),
        total=None if total is None else _within(".total", _pair, by, total),
        rows=rows("rows"),
        renamed=rows("renamed"),
        appeared=rows("appeared"),
        vanished=rows("vanished"),
        families=tuple(_within(".families", _family, known, one) for one in _list(document.get("families", []))),
    )


def _row(known: Known, document: Any) -> Row:
    split = decode(Split, document) if "by_count_s" in _object(document) else None
    base_name, why = (None if (word := document.get(key)) is None else _text(word) for key in ("base_name", "why"))
    return Row(_at(document, "name", _text), base_name, why, _at(document, "figures", _pairs, known), split)


def _family(known: Known, document: Any) -> Family:
    base, head = (tuple(map(_text, _at(document, key, _list))) for key in ("base_names", "head_names"))
    return Family(_at(document, "name", _text), base, head, _at(document, "figures", _pairs, known))


def _pairs(known: Known, document: Any) -> dict[str, Pair]:
    """Read the figures that this version knows, by their names inside."""
    told = ((known[key], pair) for key, pair in _object(document).items() if key in known)
    return {column.name: _within(f".{column.key}", _pair, column, pair) for column, pair in told}


def _pair(column: RowFigure, document: Any) -> Pair:
    return Pair(column, *(_at(document, key, _number, column) for key in ("base", "head")))


def _number(column: RowFigure, value: Any) -> Number | None:
    if value is None:
        return None
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Misfit(f"is {kind_of(value)} where a number should be")
    if column.declared.unit != "s":
        return value
    try:
        return to_ns(value)
    except (ValueError, OverflowError):
        raise Misfit(f"is {kind_of(value)} where seconds should be") from None


def _within(place: str, read: Any, *values: Any) -> Any:
    """Read something; what does not fit is said to be there."""
    try:
        return read(*values)
    except Misfit as misfit:
        raise misfit.within(place) from None


def _at(document: Any, key: str, read: Any, *known: Any) -> Any:
    """Read what a key leads to, which must be there."""
    if key not in _object(document):
        raise Misfit("is missing", f".{key}")
    return _within(f".{key}", read, *known, document[key])


def _object(value: Any) -> Any:
    return _of(dict, "an object", value)


def _list(value: Any) -> Any:
    return _of(list, "a list", value)


def _flag(value: Any) -> Any:
    return _of(bool, "true or false", value)


def _text(value: Any) -> Any:
    return _of(str, "text", value)


def _of(kind: type, what: str, value: Any) -> Any:
    if not isinstance(value, kind):
        raise Misfit(f"is {kind_of(value)} where {what} should be")
    return value
