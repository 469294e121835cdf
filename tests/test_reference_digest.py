"""A trace drawn from a published digest digests to that digest: same keys, same order, same values."""

from __future__ import annotations

import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import summarize

REFERENCE = Path(__file__).parent.parent / "fixtures" / "reference" / "summary.json"
FROZEN = 12
SPAN_START = 1_000_000_000


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def draw(reference: dict[str, Any]) -> TraceBuilder:
    """Draw a trace with the counts, totals, unions, overlaps and marks of the reference.

    The GPU is kept busy by two copies with the whole idle time between them. Every kernel runs within a copy, on
    streams of their own, so that only sums see them::

        copy       ██████████████            ██████████████████████████
        kernels     ████                      ████  ███  █ ...
        ranges   █a  █b  █c                █d                     █aaaa███   a reaches beyond the last GPU work
    """
    trace = TraceBuilder()
    span, busy = ns(reference["gpu_activity_span_s"]), ns(reference["gpu_busy_union_s"])
    end = SPAN_START + span
    tail = ns(8.0)
    trace.memcpy(SPAN_START, SPAN_START + busy - tail).memcpy(end - tail, end)
    streams = count(100)
    others = reference["kernel_count"] - sum(total[0] for _, total in reference["top_kernels"])
    kernels = [(name, calls, ns(total)) for name, (calls, total) in reference["top_kernels"]]
    for name, calls, total in [*kernels, ("other", others, others)]:
        stream = next(streams)
        at = end - tail
        for length in spread(total, calls):
            trace.kernel(at, at + length, name=name, stream=stream)
            at += length
    for name, (calls, total) in reference["api"].items():
        for length in spread(ns(total), calls):
            trace.api(name, SPAN_START, SPAN_START + length)
    for position, (name, ranges) in enumerate(reference["nvtx"].items()):
        draw_ranges(trace, name, ranges, position, end)
    for mark in reference["dispatch_timeline"]:
        trace.mark(mark["name"], mark["start_ns"])
    return trace


def spread(total: int, parts: int) -> list[int]:
    """Return that many lengths that add up to the total: all 1 but the last."""
    return [1] * (parts - 1) + [total - (parts - 1)]


def draw_ranges(trace: TraceBuilder, name: str, ranges: dict[str, Any], position: int, end: int) -> None:
    """Draw ``count`` ranges one behind the other; the last covers the overlap before the end of GPU work.

    The first begins before all GPU work, at a place that keeps the names in order. A name with a single range begins
    in idle time before the first copy, and covers the overlap from its start.
    """
    length, overlap = ns(ranges["union_s"]), ns(ranges["gpu_overlap_s"])
    first = 1_000 + 10 * position
    if ranges["count"] == 1:
        outside = length - overlap
        trace.range(name, SPAN_START - outside, SPAN_START + overlap, thread=position + 1)
        return
    if position > 4:  # behind the name with a single range, which begins within a third of a second of GPU work
        first = SPAN_START - 1_000
    trace.range(name, first, first + 1, thread=position + 1)
    for index in range(ranges["count"] - 2):
        at = end + ns(20) + 2 * index
        trace.range(name, at, at + 1, thread=position + 1)
    rest = length - overlap - (ranges["count"] - 1)
    trace.range(name, end - overlap, end + rest, thread=position + 1)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[str, Any]]:
    reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
    path = draw(reference).write(tmp_path_factory.mktemp("drawn") / reference["file"])
    return reference, json.loads(summarize(path).to_json())


@pytest.mark.slow
def test_the_twelve_keys_come_first_and_in_order(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    reference, digest = pair
    assert len(reference) == FROZEN
    assert list(digest)[:FROZEN] == list(reference)


@pytest.mark.slow
def test_every_value_is_the_same_within_a_nanosecond(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    reference, digest = pair
    for key, value in reference.items():
        compare(key, digest[key], value)


def compare(where: str, got: Any, wanted: Any) -> None:
    if isinstance(wanted, dict):
        assert list(got)[: len(wanted)] == list(wanted), where
        for key, value in wanted.items():
            compare(f"{where}.{key}", got[key], value)
    elif isinstance(wanted, list):
        assert len(got) == len(wanted), where
        for index, value in enumerate(wanted):
            compare(f"{where}[{index}]", got[index], value)
    elif isinstance(wanted, float):
        assert got == pytest.approx(wanted, abs=1e-9, rel=0), where
    else:
        assert type(got) is type(wanted), where
        assert got == wanted, where
