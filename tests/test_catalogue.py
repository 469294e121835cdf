"""The catalogue of figures: each declared once, on its field, and all else follows."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from nsys_digest import Digest, diff, json_schema
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.model.catalogue import Key, figure, is_list, is_mapping, keys_of, label, part, result, without_none
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.codec import encode
from nsys_digest.model.cuda_calls import CallClass
from nsys_digest.model.decoder import Misfit, decode
from nsys_digest.model.figures import figures, known_figures, known_paths, present_path, select
from nsys_digest.model.idle_causes import CAUSES, IDLE_CAUSES, doing_words
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.paths import parse_path
from support import ROOT

PACKAGE = ROOT / "nsys_digest"
POSITIONS = {"start_ns", "end_ns", "first_ns", "last_ns", "gpu_first_ns", "gpu_last_ns"}
"""On the clock of the trace."""
UNITS = {"s", "bytes", "count", "ratio", "gbps"}


def classes_of(hint: Any) -> Iterator[type]:
    """Yield the declared classes within a type."""
    hint, _ = without_none(hint)
    if is_dataclass(hint) and isinstance(hint, type):
        yield hint
        for key in keys_of(hint):
            yield from classes_of(key.hint)
    elif is_list(hint) or is_mapping(hint) or get_args(hint):
        for argument in get_args(hint):
            if argument is not Ellipsis:
                yield from classes_of(argument)


DECLARED = list(dict.fromkeys(one for document in (Digest, Inspection, CategoryUse) for one in classes_of(document)))


def numbers_of(key: Key) -> set[type]:
    """Return the kinds of number that a key can hold."""
    kinds, hint = set(), without_none(key.hint)[0]
    todo = [hint]
    while todo:
        one = todo.pop()
        if one in (int, float):
            kinds.add(one)
        todo += [argument for argument in get_args(one) if argument is not Ellipsis]
    return kinds


@pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.__name__)
def test_every_field_is_declared_with_a_meaning(cls: type) -> None:
    for key in keys_of(cls):
        assert key.declared.meaning, key.attribute
        assert key.declared.unit is None or key.declared.unit in UNITS
        if key.declared.unit is not None:
            assert key.declared.label, f"{key.attribute} is a figure and has no label"
        for one in fields(cls):
            # a name says its unit, and the declaration the same; a position on the clock is no length
            if one.name.endswith("_ns") and one.name not in POSITIONS and key.attribute == one.name:
                assert key.declared.unit == "s", one.name
                assert numbers_of(key) == {int}


def test_numbers_without_a_unit_only_say_which() -> None:
    told = {key.key for cls in DECLARED for key in keys_of(cls) if key.declared.unit is None and numbers_of(key)}
    assert told == POSITIONS | {"ordinal", "pid", "rows", "device", "processes", "process", "context", "stream"} | {
        "streams",
        "fields",
        "graph",
        "padded",
        "max_nvtx_names",
        "warmup",
        "at_min",
        "at_max",
        "value",
        "devices",
        "thread",
    }


def strings_of(path: Path) -> list[str]:
    return [
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("folder", ["model", "compare", "gate", "report", "render"])
def test_no_unit_is_guessed_from_spelling(folder: str) -> None:
    """Only the catalogue knows that a field ``busy_ns`` is written as ``busy_s``."""
    for path in sorted((PACKAGE / folder).rglob("*.py")):
        if path == PACKAGE / "model" / "catalogue.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                asked = {
                    text for argument in node.args for text in ast.walk(argument) if isinstance(text, ast.Constant)
                }
                if node.func.attr in {"endswith", "removesuffix", "partition", "rpartition"}:
                    endings = {text.value for text in asked} & {
                        "_s",
                        "_ns",
                        "s",
                        "ns",
                        "_ratio",
                        "_gbps",
                        "_bytes",
                        "ratio",
                    }
                    assert not endings, f"{path}:{node.lineno}"


@result
class Inner:
    """A part."""

    wait_ns: int = figure("s", "a wait", label="wait", former=("s",))
    kinds: Mapping[str, int] = figure("count", "by kind", label="kinds", names=("a", "b"))


@result
class Outer:
    """A part with everything in it."""

    name: str = label("its name")
    inner: Inner | None = part("an inner part")
    rows: tuple[tuple[str, Inner], ...] = part("named parts")
    shares: Mapping[str, float] = figure("ratio", "shares", label="share")
    flag: bool = label("a flag", within="options")
    later: int | None = figure("count", "added in a later minor version", label="later", default=None)


OUTER = Outer("x", Inner(1_500_000_000, {"a": 1, "b": 2}), (("n", Inner(1, {"a": 0, "b": 0})),), {"q": 0.5}, True)
WRITTEN = {
    "name": "x",
    "inner": {"wait_s": 1.5, "kinds": {"a": 1, "b": 2}},
    "rows": [["n", {"wait_s": 1e-9, "kinds": {"a": 0, "b": 0}}]],
    "shares": {"q": 0.5},
    "options": {"flag": True},
    "later": None,
}


def test_what_is_declared_is_written_and_read() -> None:
    assert encode(OUTER) == WRITTEN
    assert list(encode(OUTER)) == list(WRITTEN)
    assert decode(Outer, json.loads(json.dumps(WRITTEN))) == OUTER


def test_a_missing_key_has_its_default_and_a_former_one_is_read() -> None:
    old = {key: value for key, value in WRITTEN.items() if key != "later"}
    old["inner"] = {"s": 1.5, "kinds": {"a": 1, "b": 2, "unknown": 3}, "unknown": {}}
    assert decode(Outer, old | {"unknown": 1}) == OUTER


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"name": 1}, "name is 1 where text should be"),
        ({"inner": {"wait_s": "1", "kinds": {}}}, "inner.wait_s is text where seconds should be"),
        ({"inner": {"wait_s": 1, "kinds": {"a": 1}}}, "inner.kinds.b is missing"),
        ({"rows": [["n"]]}, "rows[0] is a list of 1 where 2 values should be"),
        ({"rows": [["n", {}]]}, "rows[0][1].wait_s is missing"),
        ({"shares": {"q": math.nan}}, "shares.q is NaN where a number should be"),
        ({"shares": []}, "shares is a list of 0 where an object should be"),
        ({"options": {}}, "options.flag is missing"),
        ({"options": []}, "options is a list of 0 where an object should be"),
        ({"later": True}, "later is true where a whole number should be"),
    ],
)
def test_what_does_not_fit_is_told_with_its_place(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(Misfit) as told:
        decode(Outer, WRITTEN | changes)
    assert str(told.value) == said


def golden(name: str) -> Digest:
    return Digest.from_json((ROOT / "fixtures" / "golden" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", ["serve", "rank_0", "nogpu"])
def test_figures_are_those_that_their_paths_select(name: str) -> None:
    digest = golden(name)
    document = digest.to_dict()
    listed = list(figures(digest))
    by_path: dict[str, list[float | None]] = {}
    for one in listed:
        by_path.setdefault(one.figure, []).append(one.value)
    assert set(by_path) <= set(known_paths())
    for path in known_paths():
        assert list(select(parse_path(path), document).values()) == by_path.get(path, [])
    busy = next(one for one in listed if one.figure == "gpu_busy_union_s")
    assert (busy.names, busy.unit, busy.value) == ((), "s", document["gpu_busy_union_s"])


def test_a_figure_has_the_names_on_its_way() -> None:
    found = {(one.figure, one.names): one.value for one in figures(golden("rank_0"))}
    assert found["memory.copies.*.count", ("HtoD/pageable/device",)] == 182
    assert found["devices.*.count.kernel", ("1",)] == 0


def test_every_known_figure_is_declared() -> None:
    assert {known.unit for known in known_figures().values()} == UNITS
    assert known_figures()["devices.*.busy_ratio"].bad == "down"
    assert known_figures()["nvtx.*.p95_s"].label == "p95"


@pytest.mark.parametrize(
    ("former", "present"),
    [
        ("idle.devices.*.causes.host.s", "idle.devices.*.causes.host.sum_s"),
        ("communication.0.total_s", "communication.0.union_s"),
        ('memory.copies."HtoD/*".s', "memory.copies.*.sum_s"),
        ("dispatch_steps.FULL/8.gpu_launched_s", "dispatch_steps.FULL/8.launched_busy_s"),
        ("api_tails.cudaFree.p95_s", "api_durations.cudaFree.p95_s"),
        ("nothing.of.it", None),
    ],
)
def test_a_former_path_leads_to_the_present_one(former: str, present: str | None) -> None:
    assert present_path(parse_path(former)) == present


def test_descriptions_are_published() -> None:
    schema = json_schema()
    assert schema["$defs"]["cause"]["properties"]["gaps"]["description"] == "gaps that have some of it"
    jsonschema.Draft202012Validator.check_schema(schema)


def test_reading_costs_a_small_multiple_of_parsing() -> None:
    """What a type needs is found out once: twice as many marks take twice as long, and few calls each."""
    document = golden("serve").to_dict()
    mark = document["dispatch_timeline"][0]

    def calls(count: int) -> int:
        made = 0

        def count_calls(_frame: Any, event: str, _argument: Any) -> None:
            nonlocal made
            made += event in {"call", "c_call"}

        import sys

        whole = document | {"dispatch_timeline": [mark] * count}
        sys.setprofile(count_calls)
        try:
            Digest.from_dict(whole)
        finally:
            sys.setprofile(None)
        return made

    few, more = calls(100), calls(1_100)
    assert more - few <= 1_000 * 20


def test_a_figure_declared_is_everywhere() -> None:
    """The example of docs/contributing.md; a document from before it has None."""
    digest = golden("rank_0")
    path = "memory.copies.*.gbps.p5"
    assert path in known_paths()
    assert json_schema()["$defs"]["bandwidth"]["properties"]["p5"]["type"] == ["number", "null"]
    table = diff(RunSet((Run("a", digest),)), RunSet((Run("b", digest),))).tables["memory"]
    assert table is not None
    assert all("gbps.p5" in row.figures for row in table.rows if row.name != "set")
    assert "gbps_p5" in digest.to_pandas()["memory_copies"]
    document = digest.to_dict()
    for row in document["memory"]["copies"]:
        del row["gbps"]["p5"]
    before = Digest.from_dict(document).memory
    assert before is not None
    assert {row.gbps.p5 for row in before.copies} == {None}


def test_every_cause_is_declared_once_with_its_words() -> None:
    """Its words and meaning stand nowhere else: a report that wrote them too would go stale."""
    assert [cause for cause in CAUSES if cause in set(CallClass)] == [kind.value for kind in CallClass]
    words = {text for cause in IDLE_CAUSES.values() for text in (cause.doing, cause.idle)}
    for path in sorted(PACKAGE.rglob("*.py")):
        if path.name != "idle_causes.py":
            assert not words & set(strings_of(path)), path


def test_a_cause_of_a_newer_version_is_said_to_be_one() -> None:
    assert doing_words("frozen") == "of a newer version of the digest"
