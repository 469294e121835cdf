"""Paths of figures: what a pattern means, and that every number of a digest that can be addressed has one path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsys_digest.model.figures import known_paths, select, units
from nsys_digest.model.paths import parse_glob, parse_path, path_text
from support import ROOT

GOLDEN = sorted((ROOT / "fixtures" / "golden").glob("*.json"))
NAMES = st.text(st.characters(exclude_categories=()), min_size=0, max_size=12) | st.sampled_from(
    ["a.b", '"', "'", "\\", "*", "?", "\x1b[31m", "aten::mm, seq = 1", "\ud800", "\U0001f600", "", " "]
)


def document(stem: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "fixtures" / "golden" / f"{stem}.json").read_text(encoding="utf-8"))
    return loaded


@given(st.lists(NAMES, min_size=1, max_size=4))
def test_a_path_as_text_means_that_path_alone(names: list[str]) -> None:
    pattern = parse_path(path_text(tuple(names)))
    assert [segment.literal for segment in pattern.segments] == names
    assert pattern.literal


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("PLE_*", ["PLE_", "PLE_CPU", "PLE_a.b\n"], ["ple_x", "xPLE_"]),
        ("step?", ["step1", "steps"], ["step", "step12"]),
        ('"a.b*"', ["a.b", "a.bc"], ["axb"]),
        ('"a\\*"', ["a*"], ["ab", "a"]),
        ("'a*'", ["a*"], ["ab"]),
        ('"\\u0041\\x42"', ["AB"], ["ab"]),
        ("[x]", None, None),
        ('"[memcpy *]"', ["[memcpy HtoD]"], ["m"]),
    ],
)
def test_globs(pattern: str, fits: list[str] | None, fits_not: list[str] | None) -> None:
    if fits is None or fits_not is None:
        with pytest.raises(ValueError, match="quote names"):
            parse_path(pattern)
        return
    (segment,) = parse_path(pattern).segments
    assert all(map(segment.matches, fits))
    assert not any(map(segment.matches, fits_not))


@pytest.mark.parametrize("text", ["", ".", "a.", ".a", "a..b", 'a"b"', '"a', "'a", '"\\q"', '"\\u12"', "a b", '"a"b'])
def test_what_is_no_path(text: str) -> None:
    with pytest.raises(ValueError, match=r"character|quote|where"):
        parse_path(text)


def test_a_name_alone_needs_no_quotes() -> None:
    assert parse_glob("NCCL:nccl* x.y").matches("NCCL:ncclAllReduce x.y")
    assert parse_glob("a\\*").literal == "a*"
    assert not parse_glob("a.c").matches("abc")


def numbers(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], float | None]:
    """Return every number of a document by the plainest possible path: list items by position."""
    if isinstance(value, dict):
        return {key: item for name, part in value.items() for key, item in numbers(part, (*path, name)).items()}
    if isinstance(value, list):
        return {key: item for at, part in enumerate(value) for key, item in numbers(part, (*path, str(at))).items()}
    return {path: value} if isinstance(value, int | float) and not isinstance(value, bool) else {}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda path: path.stem)
def test_every_path_of_the_schema_leads_to_the_number_of_the_document(golden: Path) -> None:
    """Every figure found has its own path, and between them they are the numbers of the document but labels."""
    whole = json.loads(golden.read_text(encoding="utf-8"))
    found: dict[tuple[str, ...], float | None] = {}
    for text in known_paths():
        selected = select(parse_path(text), whole)
        assert not selected.keys() & found.keys(), text
        found |= selected
    without_path = {"dispatch_timeline", "schema_version", "tool"}  # and the numbers that findings quote as evidence
    lists = ("streams", "by_process", "processes", "histogram", "longest", "gpus", "slowest")
    expected = [
        value
        for path, value in numbers(whole).items()
        if path[0] not in without_path
        and not (path[0] == "dispatch_steps" and "fields" in path)
        and not (path[0] == "findings" and "evidence" in path)
        and not (path[0] == "failed_calls" and path[-1] == "value")
        and not any(path[at] in lists and path[at + 1 : at + 2][0].isdigit() for at in range(len(path) - 1))
        and (path[-1] not in {"device", "padded", "start_ns", "max_nvtx_names"} or "sync_by_target" in path)
        and not (path[0] == "graphs" and path[-1] in {"process", "graph"})
    ]
    assert sorted(value for value in found.values() if value is not None) == sorted(expected)
    for path, value in found.items():
        assert select(parse_path(path_text(path)), whole) == {path: value}


def test_lists_are_addressed_by_what_tells_their_items_apart() -> None:
    whole = document("rank_0")
    assert select(parse_path("devices.1.busy_ratio"), whole) == {("devices", "1", "busy_ratio"): None}
    copies = select(parse_path("memory.copies.HtoD/*.count"), whole)
    assert copies == {("memory", "copies", "HtoD/pageable/device", "count"): 182}
    steps = select(parse_path("dispatch_steps.FULL/*.steps"), document("graph_graph"))
    assert {path[1]: value for path, value in steps.items()} == {"FULL/8": 40}
    kernels = select(parse_path("top_kernels.Kernel2.count"), whole)
    assert list(kernels.values()) == [380]
    calls = select(parse_path("api.cudaLaunchKernel*.total_s"), whole)
    assert [path[1] for path in calls] == ["cudaLaunchKernel_v7000", "cudaLaunchKernelExC_v11060"]


def test_devices_that_share_an_ordinal_are_told_apart() -> None:
    whole = document("rank_0")
    whole["devices"][1]["device"] = 0
    assert [path[1] for path in select(parse_path("devices.*.count.kernel"), whole)] == ["0", "0#2"]


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ('nvtx."a_s".count', "count"),
        ("dispatch.wait_s", "count"),
        ("devices.0.union_s.kernel", "s"),
        ("idle.devices.0.host_by_nvtx.x", "s"),
        ("idle.devices.0.causes.*.sum_s", "s"),
        ("steps.busy_ratio.p50", "ratio"),
        ("memory.copies.*.gbps.p50", "gbps"),
        ("memory.sets.bytes", "bytes"),
        ("api.x.total_s", "s"),
    ],
)
def test_units(text: str, unit: str) -> None:
    assert units(parse_path(text)) == {unit}


@pytest.mark.parametrize("text", ["nvtx", "nvtx.step", "devices.0.streams.7.busy_s", "idle.longest.0.length_s", "file"])
def test_what_is_no_figure(text: str) -> None:
    assert units(parse_path(text)) == frozenset()
