"""Steps of random traces against single nanoseconds: ranges and marks, warm-up, windows."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from builder import VERSIONS
from nsys_digest.model.step_types import Step, Steps
from nsys_digest.options import options_of
from nsys_digest.sections.summary import summarize_selection
from nsys_digest.selection import Selection, select
from oracle_account import random_account_trace
from oracle_steps import expected_steps
from test_account import class_of

CASES: list[tuple[str, Callable[[str], bool], int]] = [
    ("forward", lambda name: name == "forward", 1),
    ("*step*", lambda name: "step" in name, 0),
    ("CG_DISPATCH actual=# mode=*", lambda name: name.startswith("CG_DISPATCH actual="), 2),
    ("*batch #", lambda name: "batch" in name, 1),
]


def row_of(step: Step) -> dict[str, Any]:
    return {
        "name": step.name,
        "process": step.process,
        "thread": step.thread,
        "start_ns": step.start_ns,
        "end_ns": step.start_ns + step.wall_ns,
        "gpu_busy_ns": step.gpu_busy_ns,
        "gpu_idle_ns": step.gpu_idle_ns,
        "launched_busy_ns": step.launched_busy_ns,
        "launched_span_ns": step.launched_span_ns,
        "exposed_ns": step.exposed_communication_ns,
        "idle_causes": dict(step.idle_causes_ns),
    }


def drawn_windows(rng: random.Random) -> Selection:
    edges = sorted(rng.randint(-100, 3000) for _ in range(rng.choice((2, 4, 6))))
    return select([(start, end + 1) for start, end in zip(edges[::2], edges[1::2], strict=True)])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("windowed", [False, True], ids=["whole", "windows"])
@pytest.mark.slow
def test_random_traces(version: str, windowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsys_digest.sections.steps.SLOWEST", 10_000)
    monkeypatch.setattr("nsys_digest.sections.steps.MOST_LISTED", 10_000)
    monkeypatch.setattr("nsys_digest.sections.step_work._SLICE", 2)
    measured = {asked: 0 for asked, _, _ in CASES}
    for seed in range(4):
        rng = random.Random(f"steps {version} {windowed} {seed}")
        trace = random_account_trace(rng, version)
        for number in range(10):
            where = {"process": rng.choice((101, 202)), "thread": rng.choice((1, 2)), "domain": rng.choice((0, 1))}
            trace.mark(f"batch {number}", 150 * rng.randint(0, 20), **where)  # at times several at once
        path = trace.write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        selection = drawn_windows(rng) if windowed else select()
        looked_at = [at for start, end in selection.stretches or () for at in range(start, end)] if windowed else None

        for asked, is_step, warmup in CASES:
            wanted = expected_steps(path, is_step, classify=class_of, warmup=warmup, window=looked_at)
            if not expected_steps(path, is_step, classify=class_of):
                continue
            options = options_of({"sections": [], "steps": asked, "warmup": warmup})
            steps = summarize_selection(path, selection, options).steps
            assert steps is not None
            check(steps, wanted)
            measured[asked] += len(wanted)
    assert sum(measured.values()) > 10


def check(steps: Steps, wanted: list[dict[str, Any]]) -> None:
    for one in wanted:
        one["process"], one["thread"] = (one["process"] >> 24) & 0xFFFFFF, one["thread"] & 0xFFFFFF
    early = [one for one in wanted if one["warms_up"]]
    cut = [one for one in wanted if one["cut"] and not one["warms_up"]]
    rest = [one for one in wanted if not one["cut"] and not one["warms_up"]]
    assert (steps.count, steps.warmup_count, steps.cut_count) == (len(wanted), len(early), len(cut))
    assert steps.wall.count == len(rest) == len(steps.slowest)
    for one in wanted:
        del one["warms_up"], one["cut"]
    assert [row_of(step) for step in steps.warmup] == early
    by_wall = sorted(rest, key=lambda one: one["start_ns"] - one["end_ns"])  # a stable sort: the earlier first
    assert [row_of(step) for step in steps.slowest] == by_wall
    known = [one for one in rest if one["gpu_busy_ns"] is not None]
    by_launched = sorted(known, key=lambda one: -one["launched_busy_ns"])
    assert [row_of(step) for step in steps.most_launched] == by_launched
    totals = [
        (steps.idle, "gpu_idle_ns"),
        (steps.launched_busy, "launched_busy_ns"),
        (steps.launched_span, "launched_span_ns"),
        (steps.exposed_communication, "exposed_ns"),
    ]
    for found, key in totals:
        if found is not None:
            assert found.total_ns == sum(one[key] for one in known)
            assert found.max_ns == max((one[key] for one in known), default=None)
    assert [of.process for of in steps.processes] == sorted({one["process"] for one in wanted})
    for of in steps.processes:
        own = [one for one in rest if one["process"] == of.process]
        assert of.count == sum(one["process"] == of.process for one in wanted)
        assert of.wall.total_ns == sum(one["end_ns"] - one["start_ns"] for one in own)
        assert of.wall.count == len(own)
        if of.launched_busy is not None:
            assert of.launched_busy.total_ns == sum(one["launched_busy_ns"] for one in own)
        for cause, total in (of.idle_causes_ns or {}).items():
            assert total == sum(one["idle_causes"].get(cause, 0) for one in own)
    for cause, total in (steps.idle_causes_ns or {}).items():
        assert total == sum(one["idle_causes"].get(cause, 0) for one in rest)
