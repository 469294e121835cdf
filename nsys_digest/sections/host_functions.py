"""Sampled call stacks by function: the one that ran, and the first that is the program's."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.host_types import HostFunction
from nsys_digest.trace.events import NONE, Frames
from nsys_digest.trace.nsys.tables import NO_STRING, name_of

_MOST: Final = 100
_UNRESOLVED: Final = "(unresolved)"
_NO_STACK: Final = "(no call stack)"
_BELOW: Final = re.compile(
    r"\[[^\[\]]{0,99}(kernel|vdso|vsyscall|Unknown|Broken)[^\[\]]{0,99}\]"
    r"|(libc|libm|ld|libpthread|libdl|librt|ld-linux|ld-musl|libc\.musl)([-.].*)?"
    r"|(lib)?python[0-9.]*(m|d|t)?(\.so.*|\.dll|\.exe)?"
    r"|(ntdll|kernel32|kernelbase|ucrtbase|msvcrt)\.dll",
    re.IGNORECASE,
)
"""File names of the C library, the kernel and the Python interpreter, which programs go through."""


class Stacks(NamedTuple):
    """Of each sample the frame that ran, and the first outside of what programs go through; indices of frames."""

    leaf: Int64s
    """``NONE`` of a sample without a call stack."""
    outside: Int64s


def stacks(frames: Frames, samples: Int64s, strings: Mapping[int, str]) -> Stacks:
    """Find the two frames of some samples, whose ids are in order; where all frames are inside, the one that ran."""
    chosen = np.flatnonzero(np.isin(frames.sample, samples))
    chosen = chosen[np.lexsort((frames.depth[chosen], frames.sample[chosen]))]
    modules, which = np.unique(frames.module[chosen], return_inverse=True)
    below = np.array([is_below(name_of(module, strings)) for module in modules.tolist()], bool)[which]
    edges = np.searchsorted(frames.sample[chosen], samples, side="left")
    behind = np.searchsorted(frames.sample[chosen], samples, side="right")
    leaf = np.full(samples.size, NONE)
    known = behind > edges
    leaf[known] = chosen[edges[known]]
    candidates = np.append(np.flatnonzero(~below), chosen.size)
    first = candidates[np.searchsorted(candidates, edges)]
    found = first < behind
    outside = leaf.copy()
    outside[found] = chosen[first[found]]
    return Stacks(leaf, outside)


def is_below(module: str) -> bool:
    """Tell whether a module is the C library, the kernel or the interpreter."""
    return _BELOW.fullmatch(_file_name(module)) is not None


def by_function(frames: Frames, frame: Int64s, strings: Mapping[int, str]) -> tuple[HostFunction, ...]:
    """Count frames by function and module, most first, then by name."""
    known = frame[frame != NONE]
    pairs, counts = np.unique(np.stack((frames.symbol[known], frames.module[known])), axis=1, return_counts=True)
    found: Counter[tuple[str, str]] = Counter()
    for symbol, module, count in zip(*pairs.tolist(), counts.tolist(), strict=True):
        function = _UNRESOLVED if symbol == NO_STRING else name_of(symbol, strings)
        found[function, _file_name(name_of(module, strings))] += count
    if known.size < frame.size:
        found[_NO_STACK, _NO_STACK] += frame.size - known.size
    return tuple(HostFunction(*name, count) for name, count in _most(found.items()))


def _most(rows: Iterable[tuple[tuple[str, str], int]]) -> list[tuple[tuple[str, str], int]]:
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:_MOST]


def _file_name(module: str) -> str:
    return module.replace("\\", "/").rpartition("/")[2]
