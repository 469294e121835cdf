"""Options of the library: typed, checked wherever they are given, and the same for every function that takes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import nsys_digest
from digests import GOLDEN, TRACES
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import BaselineMissing, UsageInvalid
from nsys_digest.gate.baselines import Store
from nsys_digest.options import SELECTION, SummarizeKeywords, SummarizeOptions, options_of
from nsys_digest.testing import assert_no_regression
from support import call

DIGEST = nsys_digest.load(GOLDEN / "serve.json")
TRACE = TRACES / "nogpu.sqlite"
TAKERS: list[Callable[..., Any]] = [
    lambda **options: nsys_digest.summarize(TRACE, **options),
    lambda **options: nsys_digest.load(GOLDEN / "serve.json", **options),
    lambda **options: nsys_digest.load_side([GOLDEN / "serve.json"], **options),
    lambda **options: nsys_digest.diff(DIGEST, DIGEST, **options),
    lambda **options: nsys_digest.check(DIGEST, DIGEST, **options),
    lambda **options: nsys_digest.check(RunSet((Run("run", DIGEST),)), DIGEST, **options),
    lambda **options: assert_no_regression(DIGEST, DIGEST, **options),
]


@pytest.mark.parametrize("taker", TAKERS)
def test_a_misspelt_option_is_never_ignored(taker: Callable[..., Any]) -> None:
    for name, near in (
        ("polcy", "the options are top"),
        ("step", "did you mean 'steps'"),
        ("categorys", "'categories'"),
    ):
        with pytest.raises(TypeError, match=f"no option '{name}'; .*{near}"):
            taker(**{name: "x"})


@pytest.mark.parametrize("taker", TAKERS)
@pytest.mark.parametrize(
    "wrong",
    [{"top": -1}, {"reader": "fast"}, {"sections": ["moon"]}, {"sections": "idle"}, {"threads": 0}, {"gaps": -1}],
)
def test_an_option_that_makes_no_sense_is_refused_without_a_trace_too(
    taker: Callable[..., Any], wrong: dict[str, Any]
) -> None:
    with pytest.raises(UsageInvalid):
        taker(**wrong)


def test_keywords_and_options_are_the_same() -> None:
    """The keywords that say what is looked at are one option together."""
    keywords = [name for name in SummarizeKeywords.__annotations__ if name not in SELECTION]
    assert [field.name for field in fields(SummarizeOptions)] == [*keywords, "selection"]
    assert options_of({}) == SummarizeOptions()
    assert options_of({"sections": ["launch", "idle"]}).sections == ("idle", "launch")


@pytest.fixture
def store(tmp_path: Path) -> Path:
    Store(tmp_path / "store").save("main", RunSet((Run("run", DIGEST),)))
    return tmp_path / "store"


@pytest.mark.parametrize("function", [nsys_digest.diff, nsys_digest.check])
def test_either_side_is_a_path_a_digest_or_a_baseline(function: Callable[..., Any], store: Path) -> None:
    sides = [
        GOLDEN / "serve.json",
        str(GOLDEN / "serve.json"),
        DIGEST,
        "@main",
        ["@main:1"],
        [DIGEST],
        RunSet((Run("x", DIGEST),)),
    ]
    for base in sides:
        for head in sides:
            function(head, base, store=store)
    for base, head in ((DIGEST, "@none"), ("@none", DIGEST)):
        with pytest.raises(BaselineMissing):
            function(head, base, store=store)


def test_either_side_of_a_command_is_a_baseline(store: Path, tmp_path: Path) -> None:
    for command in (("diff", "@main", "@main"), ("check", "@main", "-b", "@main"), ("check", "--init", "@main")):
        assert call(*command, "--store", store, "-o", tmp_path / "out").status == 0, command
    ran = call("diff", "@main:3", GOLDEN / "serve.json", "--store", store, "-o", tmp_path / "out")
    assert (ran.status, ran.err) == (0, "nsys-digest: note: @main:3 has 1 run and not 3 [baseline-short]\n")
