"""A declared result as pandas tables: one row a thing, one column a key, times in seconds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass
from typing import Any, Final, TypeAlias, get_args, get_origin

import pandas

from nsys_digest.model.catalogue import AS_LIST, Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.model.codec import encode

Row: TypeAlias = dict[str, Any]
WHOLE: Final = "whole"
"""The table of what stands alone in the document."""


@dataclass(slots=True)
class _Table:
    """The columns of a table, by type, and its rows, by value; ``own`` are the columns that say whose a row is."""

    columns: list[str]
    rows: list[Row] = field(default_factory=list)


def frames(value: Any) -> dict[str, pandas.DataFrame]:
    """Return the tables of a declared result, named by the keys that lead to them, in the order of its document.

    Every list and every mapping from names is a table, those within it are tables of their own, with the columns that
    say whose each row is (``row``, its position, where nothing tells the items of a list apart). Objects within a row
    become columns: ``wall_p50_s``. What stands alone is a table of one row; ``whole`` has the numbers and texts of the
    document itself. A list of texts or numbers is a table with the column ``value``. An empty table keeps its columns.
    """
    found: dict[str, _Table] = {}
    document = encode(value)
    cls: Any = type(value)
    own: Row = {}
    for key in keys_of(cls):
        within = key.declared.within
        if within is not None:
            own |= {f"{within}_{name}": one for name, one in document[within].items()}
        elif _is_plain(key):
            own[key.key] = document.get(key.key)
    found[WHOLE] = _Table(list(own), [own])
    _within(cls, document, "", {}, (), found)
    return {name: _frame(table) for name, table in found.items()}


def _frame(table: _Table) -> pandas.DataFrame:
    """Return the table; integers of which some are missing stay integers."""
    frame = pandas.DataFrame(table.rows, columns=table.columns)
    for column in table.columns:
        kinds = {type(row[column]) for row in table.rows}
        if kinds == {int, type(None)}:
            frame[column] = pandas.array([row[column] for row in table.rows], "Int64")
    return frame


def _within(
    cls: type, document: Any, prefix: str, own: Row, own_columns: tuple[str, ...], found: dict[str, _Table]
) -> None:
    """Add the tables of an object; without a document their columns alone."""
    for at, key in enumerate(keys_of(cls)):
        value = _value(cls, document, at, key)
        hint, _ = without_none(key.hint)
        name = f"{prefix}{key.key}"
        if is_dataclass(hint) and isinstance(hint, type):
            if not prefix and any(_columns(hint)):
                _table(name, hint, (), found)
                found[name].rows += [] if value is None else [_row(hint, value)]
            _within(hint, value, f"{name}_", own, own_columns, found)
        elif is_list(hint) and _is_row(get_args(hint)[0]):
            _listed(name, get_args(hint)[0], key, value, own, own_columns, found)
        elif is_list(hint):
            found.setdefault(name, _Table([*own_columns, "value"]))
            found[name].rows += [own | {"value": item} for item in value or ()]
        elif is_mapping(hint) and not (key.declared.names and not _is_row(get_args(hint)[1])):
            rows = None if value is None else value.items()
            _named(name, get_args(hint)[1], key, rows, own, own_columns, found)


def _value(cls: type, document: Any, at: int, key: Key) -> Any:
    if document is None:
        return None
    if key.declared.within is not None:
        return (document.get(key.declared.within) or {}).get(key.key)
    return document[at] if getattr(cls, AS_LIST, False) else document.get(key.key)


def _is_plain(key: Key) -> bool:
    """Tell whether a key of the document itself holds a number or a text."""
    hint, _ = without_none(key.hint)
    return not (is_dataclass(hint) or is_mapping(hint) or is_list(hint))


def _is_row(hint: Any) -> bool:
    return is_dataclass(hint) or get_origin(hint) is tuple


def _listed(
    name: str, item: Any, key: Key, value: Any, own: Row, own_columns: tuple[str, ...], found: dict[str, _Table]
) -> None:
    if get_origin(item) is tuple:
        _named(name, get_args(item)[1], key, value, own, own_columns, found)
        return
    by = tuple(part.removeprefix("?") for part in key.declared.by)
    _table(name, item, own_columns, found)
    _within(item, None, f"{name}_", own, (*own_columns, *(by or ("row",))), found)
    for at, part in enumerate(value or ()):
        found[name].rows.append(own | _row(item, part))
        mine = {column: part[column] for column in by} or {"row": at}
        _within(item, part, f"{name}_", own | mine, (*own_columns, *mine), found)


def _named(
    name: str, hint: Any, key: Key, pairs: Any, own: Row, own_columns: tuple[str, ...], found: dict[str, _Table]
) -> None:
    """Add the table of a mapping, or of a list of pairs: what a value is called, and its columns."""
    told = key.key if "name" in own_columns else "name"
    columns = (*own_columns, told)
    if not is_dataclass(hint):
        leaf = {"s": "time_s", "count": "count"}.get(key.declared.unit or "", "value")
        found.setdefault(name, _Table([*columns, leaf]))
        found[name].rows += [own | {told: one, leaf: value} for one, value in pairs or ()]
        return
    assert isinstance(hint, type)
    _table(name, hint, columns, found)
    _within(hint, None, f"{name}_", own, columns, found)
    for one, value in pairs or ():
        mine = own | {told: one}
        found[name].rows.append(mine | _row(hint, value))
        _within(hint, value, f"{name}_", mine, columns, found)


def _table(name: str, cls: type, own_columns: tuple[str, ...], found: dict[str, _Table]) -> None:
    found.setdefault(name, _Table([*own_columns, *(column for column, _ in _columns(cls))]))


def _row(cls: type, document: Any) -> Row:
    return {column: _at(document, path) for column, path in _columns(cls)}


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step] if isinstance(step, int) else (document or {}).get(step)
    return document


def _columns(cls: type) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    """Yield the columns of an object: its numbers and texts, those of objects within it, and those by fixed names."""
    as_list = getattr(cls, AS_LIST, False)
    for at, key in enumerate(keys_of(cls)):
        steps = (at,) if as_list else tuple(filter(None, (key.declared.within, key.key)))
        hint, _ = without_none(key.hint)
        if is_dataclass(hint) and isinstance(hint, type):
            yield from ((f"{key.key}_{column}", (*steps, *path)) for column, path in _columns(hint))
        elif is_mapping(hint) and key.declared.names and not _is_row(get_args(hint)[1]):
            yield from ((f"{name}_{key.key}", (*steps, name)) for name in key.declared.names)
        elif not is_mapping(hint) and not is_list(hint):
            yield key.key, steps
