"""Many byte strings looked for in one file at once, in a time that is linear in its length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import BinaryIO, Final

import numpy as np

LEAST: Final = 4
"""Fewest bytes of a string that can be looked for."""
_CHUNK: Final = 1 << 22
_BITS: Final = 20
_SPREAD: Final = np.uint32(
    2654435761
)  # Knuth, "The Art of Computer Programming", volume 3, 6.4: multiplicative hashing


class Needles:
    """A set of byte strings of ``LEAST`` bytes and more, none of them looked for apart from the others."""

    def __init__(self, needles: Iterable[bytes]) -> None:
        """Index the strings by their first bytes."""
        self._by_key: defaultdict[int, list[bytes]] = defaultdict(list)
        for needle in set(needles):
            if len(needle) < LEAST:
                raise ValueError(f"{needle!r} is shorter than {LEAST} bytes")
            self._by_key[int.from_bytes(needle[:LEAST], "little")].append(needle)
        self._longest = max((len(needle) for found in self._by_key.values() for needle in found), default=LEAST)
        self._maybe = np.zeros(1 << _BITS, bool)
        self._maybe[_hashed(np.array(list(self._by_key), np.uint32))] = True

    def find(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        """Yield (offset, string) of every place in a file where one of the strings stands, in the order of the file."""
        begin, kept = 0, b""
        while chunk := file.read(_CHUNK):
            data = kept + chunk
            end = len(data) - self._longest + 1  # what begins behind it may not be whole yet
            yield from self._in(data, begin, max(end, 0))
            kept = data[max(end, 0) :]
            begin += len(data) - len(kept)
        yield from self._in(kept, begin, len(kept))

    def _in(self, data: bytes, begin: int, end: int) -> Iterator[tuple[int, bytes]]:
        places = [
            shift + LEAST * np.flatnonzero(self._maybe[_hashed(np.frombuffer(data, "<u4", count, shift))])
            for shift in range(LEAST)
            if (count := (len(data) - shift) // LEAST) > 0
        ]
        for place in np.sort(np.concatenate(places)).tolist() if places else ():
            if place >= end:
                return
            for needle in self._by_key.get(int.from_bytes(data[place : place + LEAST], "little"), ()):
                if data.startswith(needle, place):
                    yield begin + place, needle


def _hashed(keys: np.ndarray[tuple[int], np.dtype[np.uint32]]) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return (keys * _SPREAD) >> np.uint32(32 - _BITS)
