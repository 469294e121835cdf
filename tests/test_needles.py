"""Many byte strings looked for at once, against looking for each alone."""

from __future__ import annotations

import io
from random import Random

import pytest

import nsys_digest.algorithms.needles as module
from nsys_digest.algorithms.needles import Needles


def one_by_one(data: bytes, needles: set[bytes]) -> list[tuple[int, bytes]]:
    """Return every place of every string, found by comparing at every offset."""
    return sorted(
        (at, needle) for at in range(len(data)) for needle in needles if data[at : at + len(needle)] == needle
    )


def test_places_by_hand() -> None:
    #      0123456789
    data = b"abcdeabcde"
    assert list(Needles([b"abcd", b"eabc", b"zzzz"]).find(io.BytesIO(data))) == [
        (0, b"abcd"),
        (4, b"eabc"),
        (5, b"abcd"),
    ]
    assert list(Needles([b"abcd"]).find(io.BytesIO(b"abc"))) == []
    assert list(Needles([b"abcd"]).find(io.BytesIO(b""))) == []


@pytest.mark.parametrize("seed", range(8))
def test_random_strings_across_the_edges_of_chunks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_CHUNK", 37)
    random = Random(seed)
    data = bytes(random.choices(b"ab\0", k=500))
    needles = {bytes(random.choices(b"ab\0", k=random.randint(4, 9))) for _ in range(30)}
    needles |= {data[at : at + 60] for at in (0, 20, 440)}
    assert sorted(Needles(needles).find(io.BytesIO(data))) == one_by_one(data, needles)


def test_a_string_of_three_bytes_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter than 4 bytes"):
        Needles([b"abc"])
