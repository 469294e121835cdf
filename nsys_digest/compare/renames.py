"""Kernels and calls that were only renamed: names on one side only that are the same but for what builds change.

Names become keys by rule, from strict to loose. Names of equal keys are matched one to one, and only where nothing else
could be meant: one name on each side has the key, or of several exactly one pair agrees in category and in number of
launches.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

LIKE_COUNT: Final = (21, 20)
"""Launches of names that only their number tells apart differ by no more than this factor: 5 %."""
LIKELY_COUNT: Final = 2.0
"""Launches of names that differ in tile sizes or other numbers differ by no more than this factor."""


@dataclass(frozen=True, slots=True)
class Renamed:
    """A name of BASE, the name of HEAD that stands for the same, and what differs between them in words."""

    base: str
    head: str
    why: str


@dataclass(frozen=True, slots=True)
class Alike:
    """Names left over that share a key: which of them is which is open. ``#`` in the name stands for numbers."""

    name: str
    base: tuple[str, ...]
    head: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Names:
    """What became of names that are on one side only."""

    renamed: tuple[Renamed, ...]
    families: tuple[Alike, ...]


@dataclass(frozen=True, slots=True)
class _Level:
    """A way to make a key of a name, what it leaves out in words, and by which factor launches may differ."""

    leaves_out: str
    key: Callable[[str], str]
    within: float | None = None


LONGEST: Final = 50_000
"""Characters of a name that is looked at; no compiler makes a longer one, and reading one takes time at every level."""

_CLOSES: Final = {">": "<", ")": "("}
# A serial number or hash of a build: eight or more hex digits that stand alone, with a digit among them; or the mark of
# Triton for its specialized arguments, as in _kernel_0d1d2de3c.
_HASH: Final = re.compile(r"(?<![0-9A-Za-z])(?:(?=[0-9a-f]*\d)[0-9a-f]{8,}|(?:\d+(?:d|de|c)){2,}\d*)(?![0-9A-Za-z])")
_ARCHITECTURE: Final = re.compile(r"(?<![A-Za-z0-9])(sm|compute)_?\d{2,3}[af]?(?![0-9A-Za-z])")
_VERSION: Final = re.compile(r"_v\d+(?:_\d+)*(?=_|$)")
_TILES: Final = re.compile(r"(?<!\d)\d+(?:x\d+)+")
# Numbers that say what a kernel computes are kept: types (f32, bf16, fp8, e4m3, s8, int8), and dimensions (2d).
_NUMBER: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:f|bf|fp|tf|s|u|i|int|uint|float|half|complex|e\dm)\d+)+|(?<!\d)\d[dD](?![A-Za-z])|(\d+)"
)
# Types wherever they stand in a name, in capitals too and in runs: gemm_bf16bf16_tn, castF32ToF16, pack_double2.
_TYPES: Final = re.compile(
    r"(?i:bf16|tf32|(?:mx)?fp?(?:4|6|8|16|32|64)(?!\d)|nf[48]|e\dm\d|(?:u?int|float|double|half|complex|dim)\d+)"
    r"|(?:(?<![A-Za-z])[a-z]|(?<![A-Z])[A-Z])(?<=[SsIiUuCcBb])(?:4|8|16|32|64|128)(?!\d)"
)


def _split(name: str) -> tuple[str, str]:
    """Part template arguments and parameters, however deep they nest, from the rest; lone brackets stay in it."""
    opened: list[tuple[str, int]] = []
    kept: list[str] = []
    arguments = ""
    for char in name:
        kept.append(char)
        if char in "<(":
            opened.append((char, len(kept) - 1))
        elif char in _CLOSES and opened and opened[-1][0] == _CLOSES[char]:
            first = opened.pop()[1]
            arguments += "".join(kept[first:])
            del kept[first:]
    bare = "".join(kept).strip()
    return (bare, arguments) if bare else (name, "")


def _bare(name: str) -> str:
    return _split(name)[0]


def _types(name: str) -> tuple[str, ...]:
    """Return the types and dimensions in a name without its arguments: kernels of other types are other kernels."""
    return tuple(found[0].lower() for found in _TYPES.finditer(_bare(name)))


def _unversioned(name: str) -> str:
    return _VERSION.sub("", name) or name


def _any_build(name: str) -> str:
    return _unversioned(_ARCHITECTURE.sub(r"\1#", _HASH.sub("#", _bare(name))))


def _any_tiles(name: str) -> str:
    return _TILES.sub("#", _any_build(name))


def _any_numbers(name: str) -> str:
    return _NUMBER.sub(lambda found: found[0] if found[1] is None else "#", _any_tiles(name))


_ARGUMENTS: Final = _Level("template arguments", _bare)
_KERNEL_LEVELS: Final = (
    _ARGUMENTS,
    _Level("hash", lambda name: _HASH.sub("#", _bare(name))),
    _Level("version", lambda name: _unversioned(_bare(name))),
    _Level("GPU architecture", lambda name: _ARCHITECTURE.sub(r"\1#", _bare(name))),
    _Level("hash, version or GPU architecture", _any_build),
    _Level("tile sizes", lambda name: _TILES.sub("#", _bare(name)), LIKELY_COUNT),
    _Level("tile sizes, with hash, version or GPU architecture", _any_tiles, LIKELY_COUNT),
    _Level("numbers", _any_numbers, LIKELY_COUNT),
)
_CALL_LEVELS: Final = (_Level("version", _unversioned),)


def renamed_kernels(vanished: Mapping[str, int], appeared: Mapping[str, int], category: Callable[[str], str]) -> Names:
    """Match kernels that vanished with ones that appeared; the mappings give the launches of each name."""
    return _names(vanished, appeared, _KERNEL_LEVELS, category)


def renamed_calls(vanished: Mapping[str, int], appeared: Mapping[str, int]) -> Names:
    """Match API calls whose names differ in the version that CUDA appends (``cudaLaunchKernel_v7000``)."""
    return _names(vanished, appeared, _CALL_LEVELS, lambda _: "")


def _names(
    vanished: Mapping[str, int],
    appeared: Mapping[str, int],
    levels: Sequence[_Level],
    category: Callable[[str], str],
) -> Names:
    gone, new = (
        {name: count for name, count in names.items() if len(name) <= LONGEST} for names in (vanished, appeared)
    )
    found: list[Renamed] = []
    for level in levels:
        for old, fresh in _groups(gone, new, level.key):
            for base, head, how in _pairs(old, fresh, level, category):
                found.append(Renamed(base, head, f"same but for {_left_out(base, head, level)}{how}"))
                del gone[base], new[head]
    loosest = levels[-1].key
    families = tuple(
        Alike(loosest(next(iter(old))), tuple(old), tuple(fresh)) for old, fresh in _groups(gone, new, loosest)
    )
    return Names(tuple(found), families)


def _left_out(base: str, head: str, level: _Level) -> str:
    """Say what two names differ in, their arguments too where another rule than that of the arguments matched them."""
    if level is _ARGUMENTS or _split(base)[1] == _split(head)[1]:
        return level.leaves_out
    return f"{level.leaves_out}, and template arguments"


def _groups(
    gone: Mapping[str, int], new: Mapping[str, int], key: Callable[[str], str]
) -> list[tuple[dict[str, int], dict[str, int]]]:
    """Return the names of each key that both sides have."""
    sides: list[defaultdict[tuple[str, tuple[str, ...]], dict[str, int]]] = [defaultdict(dict), defaultdict(dict)]
    for names, by_key in zip((gone, new), sides, strict=True):
        for name, count in names.items():
            by_key[key(name), _types(name)][name] = count
    old, fresh = sides
    return [(old[shared], fresh[shared]) for shared in old if shared in fresh]


def _pairs(
    old: Mapping[str, int], fresh: Mapping[str, int], level: _Level, category: Callable[[str], str]
) -> Iterable[tuple[str, str, str]]:
    """Return (name of BASE, name of HEAD, how several were kept apart) of one key."""
    if len(old) == len(fresh) == 1:
        (base, before), (head, after) = *old.items(), *fresh.items()
        alone = level.within is None or _alike(before, after, level.within)
        return [(base, head, "")] if alone else []
    sides: list[defaultdict[str, dict[str, int]]] = [defaultdict(dict), defaultdict(dict)]
    for names, by_category in zip((old, fresh), sides, strict=True):
        for name, count in names.items():
            by_category[category(name)][name] = count
    how = "; of several the one with as many launches"
    return [
        (base, head, how)
        for kind, names in sides[0].items()
        for base, head in _only_partners(names, sides[1].get(kind, {}))
    ]


def _only_partners(old: Mapping[str, int], fresh: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    """Yield the pairs with about as many launches in which neither has another partner; sorted, so never n times m."""
    bases, heads = (sorted(names, key=names.__getitem__) for names in (old, fresh))
    base_counts, head_counts = ([names[name] for name in order] for names, order in ((old, bases), (fresh, heads)))
    for base, before in zip(bases, base_counts, strict=True):
        first, after = _like(head_counts, before)
        if after - first == 1:
            low, high = _like(base_counts, head_counts[first])
            if high - low == 1:
                yield base, heads[first]


def _like(counts: Sequence[int], count: int) -> tuple[int, int]:
    """Return where, in sorted counts, those begin and end that are within the factor of a count."""
    most, least = LIKE_COUNT
    return bisect_left(counts, -(-count * least // most)), bisect_right(counts, count * most // least)


def _alike(before: int, after: int, factor: float) -> bool:
    return max(before, after) <= factor * min(before, after)
