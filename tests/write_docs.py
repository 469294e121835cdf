"""The tables of docs/json.md (keys), docs/metrics.md (figures, idle causes) and docs/export.md, as they are declared.

``python -m tests.write_docs`` writes them between their marks, and the console examples of all pages as the program
prints them now (``tests/doc_examples.py``); a test fails where a page differs. ``--only PAGE…`` takes these pages.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from nsys_digest.model.catalogue import AS_LIST, Key, is_list, is_mapping, keys_of, without_none
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import known_figures
from nsys_digest.model.idle_causes import IDLE_CAUSES
from nsys_digest.model.json_schema import definition_name
from nsys_digest.model.section_types import Cause, Durations, LaunchCost
from nsys_digest.model.step_types import Step
from nsys_digest.tables.registry import TABLES

_DOCS: Final = Path(__file__).parent.parent / "docs"
PAGES: Final = (_DOCS / "json.md", _DOCS / "metrics.md", _DOCS / "export.md")
SHAPES: Final = (Durations, Cause, LaunchCost, Step)
"""Parts of the document that occur in several places, and that the page tells once."""
MARKED: Final = re.compile(r"(<!-- keys: ([^>]*) -->\n)(.*?)(<!-- end of keys -->\n)", re.DOTALL)
FIGURES: Final = re.compile(r"(<!-- figures -->\n)(.*?)(<!-- end of figures -->\n)", re.DOTALL)
CAUSES: Final = re.compile(r"(<!-- causes -->\n)(.*?)(<!-- end of causes -->\n)", re.DOTALL)
TABLES_OF_EVENTS: Final = re.compile(r"(<!-- tables -->\n)(.*?)(<!-- end of tables -->\n)", re.DOTALL)
_HEAD: Final = "| key | type | unit | meaning |\n|---|---|---|---|\n"
_WORDS: Final = {int: "integer", float: "number", str: "string", bool: "boolean", type(None): "null"}
_UNITS: Final = {"gbps": "1e9 bytes/s"}


def type_of(hint: Any, key: Key) -> str:
    """Return the type of a key as the page writes it: a link for a shape that is told once."""
    hint, optional = without_none(hint)
    behind = " or null" if optional and not key.declared.left_out else ""
    if is_dataclass(hint) and isinstance(hint, type):
        name = definition_name(hint)
        return (f"[{name}](#{name})" if hint in SHAPES else "array" if _as_list(hint) else "object") + behind
    if get_origin(hint) is tuple:
        return f"array{behind}"
    if is_mapping(hint):
        return f"object{behind}"
    if hint in _WORDS:
        return ("number" if key.is_time and hint is int else _WORDS[hint]) + behind
    return f"string{behind}"


def _as_list(hint: type) -> bool:
    return bool(getattr(hint, AS_LIST, False))


def unit_of(key: Key) -> str:
    """Return the unit as the page writes it, or what a count counts."""
    unit = key.declared.unit
    return key.declared.counts or (_UNITS.get(unit, unit) if unit not in (None, "count") else "-")


def rows(cls: type, path: str, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str, str, str]]:
    """Yield path, type, unit and meaning of the keys of an object and of those within it."""
    told: set[str] = set()
    for key in keys_of(cls):
        within = key.declared.within
        if only and (within or key.key) not in only:
            continue
        if within is not None and within not in told:
            told.add(within)
            yield f"`{path}{within}`", "object", "-", cls.WITHIN[within]  # type: ignore[attr-defined]
        here = f"{path}{within}.{key.key}" if within else f"{path}{key.key}"
        whole = is_mapping(without_none(key.hint)[0]) and (key.declared.names or not key.is_time)
        yield f"`{here}`", type_of(key.hint, key), "-" if whole else unit_of(key), key.declared.meaning
        yield from _below(key.hint, key, here)


def _below(hint: Any, key: Key, here: str) -> Iterator[tuple[str, str, str, str]]:
    hint, _ = without_none(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        if hint not in SHAPES and not _as_list(hint):
            yield from rows(hint, f"{here}.")
    elif is_list(hint) or (is_mapping(hint) and not key.declared.names):
        item = get_args(hint)[0 if is_list(hint) else 1]
        behind = f"{here}[]" if is_list(hint) else f"{here}.NAME"
        if item in SHAPES:
            yield f"`{behind}`", type_of(item, key), "-", "each of them"
        elif not (is_dataclass(item) and isinstance(item, type) and _as_list(item)):
            yield from _below(item, key, behind)
    elif is_mapping(hint):
        item = get_args(hint)[1]
        listed = ", ".join(f"`{here}.{name}`" for name in key.declared.names)
        yield listed, type_of(item, key), unit_of(key), "those of that name"


def table(names: str) -> str:
    """Return the table of some keys of the digest, or of one shape."""
    wanted = tuple(names.split())
    shape = next((cls for cls in SHAPES if (definition_name(cls),) == wanted), None)
    found = rows(Digest, "", wanted) if shape is None else rows(shape, f"{definition_name(shape)}.")
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in found)


def written(text: str) -> str:
    """Return a page with its tables as they are declared."""
    text = MARKED.sub(lambda match: f"{match[1]}{table(match[2])}{match[4]}", text)
    text = CAUSES.sub(lambda match: f"{match[1]}{cause_table()}{match[3]}", text)
    text = TABLES_OF_EVENTS.sub(lambda match: f"{match[1]}{event_tables()}{match[3]}", text)
    return FIGURES.sub(lambda match: f"{match[1]}{figure_table()}{match[3]}", text)


def cause_table() -> str:
    """Return the table of the causes of idle time."""
    rows = (f"| `{name}` | {cause.meaning} |\n" for name, cause in IDLE_CAUSES.items())
    return "| cause | the piece |\n|---|---|\n" + "".join(rows)


def event_tables() -> str:
    """Return a heading and the columns of every table of events."""
    parts = []
    for one in TABLES:
        rows = (f"| `{column.name}` | {column.type} | {column.unit} | {column.meaning} |\n" for column in one.columns)
        head = "| column | type | unit | meaning |\n|---|---|---|---|\n"
        parts.append(f"\n### `{one.name}`\n\nA row is {one.meaning}; {one.order}.\n\n{head}{''.join(rows)}")
    return "".join(parts) + "\n"


def figure_table() -> str:
    """Return the table of every figure that a digest can have."""
    found = (
        f"| `{path}` | {_UNITS.get(str(known.unit), known.unit)} | {known.bad or '-'} | {known.meaning} |\n"
        for path, known in known_figures().items()
    )
    return "| figure | unit | bad | meaning |\n|---|---|---|---|\n" + "".join(found)


def _unless_piped(printed: Callable[[str, str], str]) -> Callable[[str, str], str]:
    """Leave what jq made of a document as it is: its versions write one number differently."""
    return lambda line, shown: shown if " | " in line else printed(line, shown)


def _write_examples(only: Sequence[str]) -> None:
    sys.path.insert(0, str(Path(__file__).parent))
    from doc_examples import rewritten
    from notebook_cells import rewrite
    from test_docs import PAGES as ALL
    from test_docs import printed_as_shown

    if not only:
        rewrite((_DOCS / "notebook.ipynb").resolve())
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "fixtures").symlink_to(_DOCS.parent / "fixtures")
        os.chdir(folder)
        os.environ.pop("COLUMNS", None)
        for page in ALL:
            if only and page.name not in only:
                continue
            text = page.read_text(encoding="utf-8")
            try:
                page.write_text(rewritten(text, _unless_piped(printed_as_shown)), encoding="utf-8")
            except ValueError as error:
                print(f"{page.name}: {error}", file=sys.stderr)


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(written(page.read_text(encoding="utf-8")), encoding="utf-8")
    _write_examples(sys.argv[2:] if sys.argv[1:2] == ["--only"] else ())
