"""Which category a kernel belongs to, by its name: ordered patterns, shipped ones and a user's own."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Self

from nsys_digest.algorithms.patterns import ArrowMissing, PatternInvalid, check_pattern, is_found
from nsys_digest.errors import CategoriesInvalid
from nsys_digest.files import read_text_file
from nsys_digest.model.base_types import CategoriesFile
from nsys_digest.model.split_types import WORK_WITHOUT_CATEGORY
from nsys_digest.model.toml_text import MOST_BYTES, parse_toml

COMMUNICATION = "communication"
OTHER = "other"
"""The category of what no pattern takes."""

COMMUNICATION_KINDS = (
    "all_reduce",
    "reduce_scatter",
    "all_gather",
    "broadcast",
    "reduce",
    "all_to_all",
    "send_receive",
    "dispatch",
    "combine",
    "barrier",
    "other",
)
"""What a communication kernel can be; one without a kind is of kind other."""

SEARCHED = 50_000
"""Characters of a name that patterns are looked for in: all of every name that a compiler makes."""

_CATEGORY = re.compile(r"[a-z][a-z0-9_]*")
_TOP_KEYS = ("extends", "category")
_KEYS = ("name", "pattern", "kind", "note")


@dataclass(frozen=True, slots=True)
class CategoryPattern:
    """One pattern, and the category of the kernels in whose names it is found.

    ``source`` says where it stands: ``shipped 12`` or ``mine.toml 3``, both counted from 1. A shipped pattern is a
    Python regular expression of bounded work; a user's is one of RE2, which cannot run away.
    """

    category: str
    pattern: str
    kind: str | None = None
    note: str = ""
    source: str = ""
    is_shipped: bool = False


class KernelCategories:
    """Patterns in order, a user's before the shipped ones: the first one that is found in a name wins."""

    def __init__(self, patterns: Iterable[CategoryPattern], file: CategoriesFile | None = None) -> None:
        """Take the patterns, and what is to be said of the file that they are from."""
        self.file = file
        self._patterns = tuple(patterns)
        self._own = tuple(entry for entry in self._patterns if not entry.is_shipped)
        self._shipped = tuple((re.compile(entry.pattern).search, entry) for entry in self._patterns if entry.is_shipped)
        self._known: dict[str, CategoryPattern | None] = {}

    @property
    def patterns(self) -> tuple[CategoryPattern, ...]:
        """All patterns, in the order in which they are tried."""
        return self._patterns

    @classmethod
    def shipped(cls) -> Self:
        """Return the patterns that come with the package."""
        return cls(_shipped())

    def classify(self, name: str) -> CategoryPattern | None:
        """Return the first pattern that is found in a demangled kernel name, or None."""
        if name not in self._known:
            self.classify_all([name])
        return self._known[name]

    def classify_all(self, names: Iterable[str]) -> list[CategoryPattern | None]:
        """Return for each name the first pattern that is found in it, or None; faster than one name at a time."""
        wanted = list(names)
        new = [name for name in dict.fromkeys(wanted) if name not in self._known]
        starts = [name[:SEARCHED] for name in new]
        for name, start, own in zip(new, starts, self._first_own(starts), strict=True):
            self._known[name] = own or next((entry for search, entry in self._shipped if search(start)), None)
        return [self._known[name] for name in wanted]

    def _first_own(self, texts: Sequence[str]) -> list[CategoryPattern | None]:
        """Return for each text the first of the user's patterns that is found in it: they stand before the shipped."""
        first: list[CategoryPattern | None] = [None] * len(texts)
        left = [*range(len(texts))]
        for entry in self._own:
            found = is_found(entry.pattern, [texts[index] for index in left])
            for index, hit in zip(left, found, strict=True):
                if hit:
                    first[index] = entry
            left = [index for index, hit in zip(left, found, strict=True) if not hit]
        return first


def load_kernel_categories(path: Path | None) -> KernelCategories:
    """Return the shipped categories, or those of a file before them, or alone where it says ``extends = false``."""
    if path is None:
        return KernelCategories.shipped()
    try:
        text = read_text_file(path, MOST_BYTES)
    except OSError as error:
        raise CategoriesInvalid(
            f"cannot read the kernel categories {path}: {error.strerror}; check the path and permissions"
        ) from None
    except UnicodeDecodeError:
        raise CategoriesInvalid(f"{path} is not UTF-8 text; save it as a TOML file in UTF-8") from None
    try:
        document = parse_toml(text)
    except ValueError as error:
        what = " ".join(str(error).split())
        raise CategoriesInvalid(
            f"{path} is not valid TOML: {what}; patterns are best written in single quotes: pattern = 'gemm'"
        ) from None
    _reject_unknown(document, _TOP_KEYS, str(path))
    extends = document.get("extends", True)
    if not isinstance(extends, bool):
        raise CategoriesInvalid(f"{path}: extends is not true or false; write extends = true to keep the shipped ones")
    own = _read_patterns(document, path.name, str(path))
    file = CategoriesFile(path.name, hashlib.sha256(text.encode()).hexdigest())
    return KernelCategories((*own, *_shipped()) if extends else own, file)


@cache
def _shipped() -> tuple[CategoryPattern, ...]:
    """Return the patterns of the package."""
    text = resources.files("nsys_digest.model").joinpath("kernel_categories.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)["category"]
    return tuple(
        CategoryPattern(
            table["name"],
            table["pattern"],
            table.get("kind"),
            table.get("note", ""),
            f"shipped {number}",
            is_shipped=True,
        )
        for number, table in enumerate(tables, 1)
    )


def _read_patterns(document: Mapping[str, object], source: str, place: str) -> tuple[CategoryPattern, ...]:
    """Return the patterns of a document; ``place`` begins each error."""
    tables = document.get("category", [])
    if not isinstance(tables, list):
        raise CategoriesInvalid(f"{place}: category is not a list of tables; begin each entry with [[category]]")
    return tuple(
        _read_pattern(table, f"{source} {number}", f"{place}, category {number}")
        for number, table in enumerate(tables, 1)
    )


def _read_pattern(table: object, source: str, place: str) -> CategoryPattern:
    """Return one pattern, or raise what is wrong with it."""
    if not isinstance(table, dict):
        raise CategoriesInvalid(f"{place} is not a table; begin each entry with [[category]]")
    _reject_unknown(table, _KEYS, place)
    category = _text(table, "name", place)
    pattern = _text(table, "pattern", place)
    if category is None:
        raise CategoriesInvalid(f'{place} has no name; add one, for example name = "gemm"')
    if not _CATEGORY.fullmatch(category):
        raise CategoriesInvalid(
            f"{place}: {category!r} is no name of a category; use small letters, digits and _, a letter first"
        )
    if category in WORK_WITHOUT_CATEGORY:
        raise CategoriesInvalid(f"{place}: {category} is the name of a kind of work, not of kernels; use another")
    if pattern is None:
        raise CategoriesInvalid(f"{place} has no pattern; add one, for example pattern = 'my_kernel'")
    _check_pattern(pattern, place)
    kind = _text(table, "kind", place)
    if kind is not None and category != COMMUNICATION:
        raise CategoriesInvalid(f"{place} has a kind, but its category is {category}; only {COMMUNICATION} has kinds")
    if kind is not None and kind not in COMMUNICATION_KINDS:
        raise CategoriesInvalid(
            f"{place}: {kind!r} is no kind of communication; use one of {', '.join(COMMUNICATION_KINDS)}"
        )
    return CategoryPattern(category, pattern, kind, _text(table, "note", place) or "", source)


def _check_pattern(pattern: str, place: str) -> None:
    """Raise when a pattern is none that RE2 can do, or one that is found in every name."""
    try:
        is_everywhere = check_pattern(pattern)
    except PatternInvalid as error:
        raise CategoriesInvalid(
            f"{place}: {pattern!r} is no regular expression of RE2: {error}; put \\ before a sign that stands for "
            "itself, and use neither look-around nor back-references"
        ) from None
    except ArrowMissing:
        raise CategoriesInvalid(f"{place}: patterns need pyarrow; install it: pip install pyarrow") from None
    if is_everywhere:
        raise CategoriesInvalid(
            f"{place}: {pattern!r} matches the empty string, so every kernel; name part of a kernel"
        )


def _reject_unknown(table: Mapping[str, object], known: tuple[str, ...], place: str) -> None:
    """Raise at the first key that means nothing."""
    for key in table:
        if key not in known:
            raise CategoriesInvalid(f"{place}: unknown key {key!r}; use {', '.join(known)}")


def _text(table: Mapping[str, object], key: str, place: str) -> str | None:
    """Return a value that is text or missing."""
    value = table.get(key)
    if value is not None and not isinstance(value, str):
        raise CategoriesInvalid(f"{place}: {key} is not text; put it in quotes")
    return value
