"""Which category a kernel belongs to, by its name: ordered patterns, shipped ones and a user's own."""

from __future__ import annotations

import re
import tomllib
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Self

from nsys_digest.errors import CategoriesInvalid

COMMUNICATION = "communication"
OTHER = "other"
"""The category of what no rule knows."""

KINDS = (
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
_TOP_KEYS = ("extends", "rule")
_RULE_KEYS = ("category", "pattern", "kind", "note")


@dataclass(frozen=True, slots=True)
class Rule:
    """One pattern, and the category of the kernels in whose names it is found.

    ``source`` says where the rule stands: ``shipped 12`` or ``mine.toml 3``, both counted from 1.
    """

    category: str
    pattern: str
    kind: str | None = None
    note: str = ""
    source: str = ""


class KernelCategories:
    """Rules in order: the first one whose pattern is found in a name wins."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._searches = tuple((re.compile(rule.pattern).search, rule) for rule in self._rules)
        self._known: dict[str, Rule | None] = {}

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, in the order in which they are tried."""
        return self._rules

    @classmethod
    def shipped(cls) -> Self:
        """Return the rules that come with the package."""
        return cls(_shipped())

    def classify(self, name: str) -> Rule | None:
        """Return the first rule that knows a demangled kernel name, or None."""
        if name not in self._known:
            start = name[:SEARCHED]
            self._known[name] = next((rule for search, rule in self._searches if search(start)), None)
        return self._known[name]


def load_kernel_categories(path: Path | None) -> KernelCategories:
    """Return the shipped rules, or those of a TOML file, before the shipped ones unless it says ``extends = false``."""
    if path is None:
        return KernelCategories.shipped()
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CategoriesInvalid(
            f"cannot read the rules {path}: {error.strerror}; check the path and permissions"
        ) from None
    except UnicodeDecodeError:
        raise CategoriesInvalid(f"{path} is not UTF-8 text; save it as a TOML file in UTF-8") from None
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        what = " ".join(str(error).split())
        raise CategoriesInvalid(
            f"{path} is not valid TOML: {what}; patterns are best written in single quotes: pattern = 'gemm'"
        ) from None
    _reject_unknown(document, _TOP_KEYS, str(path))
    extends = document.get("extends", True)
    if not isinstance(extends, bool):
        raise CategoriesInvalid(f"{path}: extends is not true or false; write extends = true to keep the shipped rules")
    own = _read_rules(document, path.name, str(path))
    return KernelCategories((*own, *_shipped()) if extends else own)


@cache
def _shipped() -> tuple[Rule, ...]:
    """Return the rules of the package."""
    text = resources.files("nsys_digest.model").joinpath("kernel_categories.toml").read_text(encoding="utf-8")
    return _read_rules(tomllib.loads(text), "shipped", "kernel_categories.toml of nsys-digest")


def _read_rules(document: Mapping[str, object], source: str, place: str) -> tuple[Rule, ...]:
    """Return the rules of a document; ``place`` begins each error."""
    tables = document.get("rule", [])
    if not isinstance(tables, list):
        raise CategoriesInvalid(f"{place}: rule is not a list of tables; begin each rule with [[rule]]")
    return tuple(
        _read_rule(table, f"{source} {number}", f"{place}, rule {number}") for number, table in enumerate(tables, 1)
    )


def _read_rule(table: object, source: str, place: str) -> Rule:
    """Return one rule, or raise what is wrong with it."""
    if not isinstance(table, dict):
        raise CategoriesInvalid(f"{place} is not a table; begin each rule with [[rule]]")
    _reject_unknown(table, _RULE_KEYS, place)
    category = _text(table, "category", place)
    pattern = _text(table, "pattern", place)
    if category is None:
        raise CategoriesInvalid(f'{place} has no category; add one, for example category = "gemm"')
    if not _CATEGORY.fullmatch(category):
        raise CategoriesInvalid(
            f"{place}: {category!r} is no name of a category; use small letters, digits and _, a letter first"
        )
    if pattern is None:
        raise CategoriesInvalid(f"{place} has no pattern; add one, for example pattern = 'my_kernel'")
    _check_pattern(pattern, place)
    kind = _text(table, "kind", place)
    if kind is not None and category != COMMUNICATION:
        raise CategoriesInvalid(f"{place} has a kind, but its category is {category}; only {COMMUNICATION} has kinds")
    if kind is not None and kind not in KINDS:
        raise CategoriesInvalid(f"{place}: {kind!r} is no kind of communication; use one of {', '.join(KINDS)}")
    return Rule(category, pattern, kind, _text(table, "note", place) or "", source)


def _check_pattern(pattern: str, place: str) -> None:
    """Raise when a pattern is no regular expression, or one that is found in every name."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", FutureWarning)
            compiled = re.compile(pattern)
    except (re.error, RecursionError, OverflowError, FutureWarning) as error:
        what = " ".join(str(error).split())
        raise CategoriesInvalid(
            f"{place}: {pattern!r} is no regular expression: {what}; put \\ before a sign that stands for itself"
        ) from None
    if compiled.search("") is not None:
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
