"""The library as it is offered: what its signatures name can be imported, and what it returns is short to look at."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import pytest

import nsys_digest
from digests import TRACES

SERVE = TRACES / "serve.sqlite"
FUNCTIONS = [name for name in nsys_digest.__all__ if inspect.isfunction(getattr(nsys_digest, name))]


def classes_in(hint: Any) -> Iterator[type]:
    """Yield the classes that a type names, however deep."""
    if isinstance(hint, type) and not get_args(hint):
        yield hint
    for argument in get_args(hint):
        yield from classes_in(argument)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_type_of_a_signature_is_public(name: str) -> None:
    hints = get_type_hints(getattr(nsys_digest, name))
    assert hints
    own = [one for hint in hints.values() for one in classes_in(hint) if one.__module__.startswith("nsys_digest")]
    assert [one.__name__ for one in own if getattr(nsys_digest, one.__name__, None) is not one] == []


def test_signatures_name_types_of_the_package() -> None:
    found = {
        one.__name__
        for name in FUNCTIONS
        for hint in get_type_hints(getattr(nsys_digest, name)).values()
        for one in classes_in(hint)
    }
    assert {"Digest", "Diff", "CheckResult", "Inspection", "CategoryUse", "RunSet", "Policy"} <= found


def test_results_are_short_to_look_at() -> None:
    digest = nsys_digest.summarize(SERVE)
    assert repr(digest) == "<Digest 'serve.sqlite': span 1.710 s, busy 26.93 ms, 6,204 kernels>"
    assert repr(nsys_digest.diff(digest, digest)) == "<Diff 'serve.sqlite' to 'serve.sqlite'>"
    assert repr(nsys_digest.load_side([digest, digest])) == "<RunSet ['serve.sqlite', 'serve.sqlite']>"
    assert repr(nsys_digest.check(digest, digest)).startswith("<CheckResult pass: ")
    assert repr(nsys_digest.inspect(SERVE)).startswith("<Inspection 'serve.sqlite': 1.5 MB, ")
    assert repr(nsys_digest.classify(SERVE)) == "<CategoryUse 'serve.sqlite': 25 kernel names>"
