"""The pictures of the documentation: drawn from the fixtures as they are, whole, and to scale."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from figures import LEFT, PARTS, RIGHT, RUNS, SERVE_GRAPHS, WIDTH, measured, serve_graphs, stacked
from nsys_digest import summarize
from support import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def test_the_committed_picture_is_the_one_that_is_drawn() -> None:
    assert SERVE_GRAPHS.read_bytes() == serve_graphs().encode()


@pytest.mark.parametrize("name", RUNS.values())
def test_parts_are_the_whole_span(name: str) -> None:
    trace = ROOT / "fixtures" / "workloads" / f"{name}.sqlite"
    parts = measured(trace)
    assert parts.keys() == PARTS.keys()
    assert sum(parts.values()) == summarize(trace).gpu_activity_span_ns


def test_bars_are_to_scale_and_stand_alone() -> None:
    bars = {
        "one": dict.fromkeys(PARTS, 20_000_000),  # 100 ms
        "two <&>": dict.fromkeys(PARTS, 0) | {"busy": 150_000_000, "host": 50_000_000},
    }
    text = stacked(bars, "a < b", "c")
    root = ET.fromstring(text)
    assert not {"href", "{http://www.w3.org/1999/xlink}href"} & {key for node in root.iter() for key in node.attrib}
    assert {node.tag.removeprefix(SVG) for node in root.iter()} == {"svg", "title", "desc", "rect", "text", "path"}
    drawn = [node for node in root.iter(f"{SVG}rect") if node.get("height") == "40"]
    widths = [float(node.attrib["width"]) for node in drawn]
    room = WIDTH - LEFT - RIGHT
    assert widths == pytest.approx([room / 10] * 5 + [room * 0.75, room * 0.25, 0, 0, 0], abs=0.01)
    starts = [float(node.attrib["x"]) for node in drawn]
    assert starts[:6] == pytest.approx([*(LEFT + room / 10 * place for place in range(5)), LEFT], abs=0.01)
    words = [node.text for node in root.iter(f"{SVG}text")]
    assert "two <&>" in words
    assert words.count("20") == 5  # each part of the first bar is labelled
    assert {"100.0 ms", "200.0 ms", "0", "100", "200"} <= set(words)
