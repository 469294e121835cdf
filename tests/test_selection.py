"""What is looked at of a trace: the clipping itself, drawn, and the base figures against single nanoseconds."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oracle
from builder import VERSIONS, TraceBuilder
from nsys_digest import summarize
from nsys_digest.algorithms.intervals import GroupedIntervals, Int64s, Intervals
from nsys_digest.errors import UsageInvalid
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.base import BaseFigures
from nsys_digest.sections.summary import select_figures
from nsys_digest.selection import WHOLE, Selection, select
from oracle import Record, random_trace

BASE = SummarizeOptions(sections=(), reader="stdlib")


def ints(*values: int) -> Int64s:
    return np.array(values, np.int64)


def test_stretches_are_merged() -> None:
    # 0 ██  3 ██ touching 5 ██   6 █ within   12 reversed, 9 empty
    selection = select([(5, 8), (0, 2), (3, 5), (6, 7), (12, 11), (9, 9)])
    assert selection.stretches == ((0, 2), (3, 8))
    assert selection.length_ns == 7
    assert selection == select([(3, 8), (0, 2)])


@pytest.mark.parametrize("stretches", [[], [(4, 4)], [(7, 3)]])
def test_a_window_without_length_is_refused(stretches: list[tuple[int, int]]) -> None:
    with pytest.raises(UsageInvalid, match="the window has no length"):
        select(stretches)


def test_the_whole_trace_asks_nothing_of_rows() -> None:
    assert select() == WHOLE
    assert WHOLE.is_whole
    assert WHOLE.chosen is None
    busy = Intervals(ints(0, 5), ints(3, 9))
    assert WHOLE.clip_merged(busy) is busy


def test_which_events_count_and_how_much_of_them() -> None:
    # window      10 ██████ 20        30 ██████ 40
    # whole          12 ██ 15                           counts, 3
    # over an edge  5 ████ 12                           counts, 2
    # over both     5 ██████████████████████ 35         counts, 10 + 5
    # ends at it   5 █ 10                               no part
    # begins at its end     20 ██ 25                    no part
    # in the hole             22 █ 28                   no part
    # no length: at 10, at 15 count; at 20, at 25, at 9 do not; at 30 counts
    # reversed, 16 to 12: counts as one without length at 16; 25 to 12 does not
    starts = ints(12, 5, 5, 5, 20, 22, 10, 15, 20, 25, 9, 30, 16, 25)
    ends = ints(15, 12, 35, 10, 25, 28, 10, 15, 20, 25, 9, 30, 12, 12)
    counts, within_ns = select([(10, 20), (30, 40)]).clip(starts, ends)
    assert counts.tolist() == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
        True,
        False,
        False,
        False,
        True,
        True,
        False,
    ]
    assert within_ns.tolist() == [3, 2, 15, 0, 0, 0, 0]


def test_grouped_intervals_are_cut_at_every_edge() -> None:
    # window      10 ██ 20   30 ██ 40   50 ██ 60
    # group 0    5 ██████████████████ 45
    # group 1                   38 ██████ 52     and 20 ██ 30, which lies in the hole
    selection = select([(10, 20), (30, 40), (50, 60)])
    pieces = selection.clip_grouped([GroupedIntervals(ints(5, 38, 20), ints(45, 52, 30), ints(0, 1, 1))])
    assert [[column.tolist() for column in piece] for piece in pieces] == [
        [[10, 30, 38, 50], [20, 40, 40, 52], [0, 0, 1, 1]]
    ]


def test_clipping_is_that_of_single_nanoseconds() -> None:
    rng = random.Random(1)
    for _ in range(200):
        stretches = [(start, start + rng.randint(1, 9)) for start in rng.sample(range(60), rng.randint(1, 4))]
        window = {tick for start, end in stretches for tick in range(start, end)}
        rows = [(start, start + rng.randint(-3, 20)) for start in (rng.randint(-5, 65) for _ in range(8))]
        selection = select(stretches)
        starts, ends = ints(*(start for start, _ in rows)), ints(*(end for _, end in rows))
        counts, within_ns = selection.clip(starts, ends)
        parts = [set(range(start, end)) & window for start, end in rows]
        assert counts.tolist() == [
            bool(part) or (s >= e and s in window) for part, (s, e) in zip(parts, rows, strict=True)
        ]
        assert within_ns.tolist() == [len(part) for part, counted in zip(parts, counts, strict=True) if counted]
        real = [(start, end) for start, end in rows if end > start]
        piece = GroupedIntervals(*map(ints, *((s, e, g) for g, (s, e) in enumerate(real)))) if real else None
        got: list[set[int]] = [set() for _ in real]
        for cut in selection.clip_grouped([piece] if piece else []):
            for start, end, group in zip(*(column.tolist() for column in cut), strict=True):
                assert start < end
                got[group] |= set(range(start, end))
        assert got == [set(range(start, end)) & window for start, end in real]
        assert selection.length_ns == len(window)


def counted(start: int, end: int, window: set[int] | None) -> bool:
    if window is None:
        return True
    return start in window if end <= start else not window.isdisjoint(range(start, end))


def within(start: int, end: int, window: set[int] | None) -> set[int]:
    return set(range(start, end)) if window is None else set(range(start, end)) & window


def expected(path: Path, selection: Selection, raw_names: bool) -> dict[str, Any]:
    """Return the base figures of a selection, by sets of nanoseconds."""
    tables = oracle._read_tables(path)
    window = None
    if selection.stretches is not None:
        window = {tick for start, end in selection.stretches for tick in range(start, end)}

    def looked_at(pid: int | None) -> bool:
        return selection.processes is None or pid in selection.processes

    work = [
        one
        for one in oracle._operations(tables)
        if looked_at(one.process)
        and (selection.devices is None or one.device in selection.devices)
        and (selection.streams is None or one.stream in selection.streams)
    ]
    busy = set().union(*(within(one.start, one.end, window) for one in work))
    calls = [row for row in oracle._api_rows(tables, backtrace=False) if looked_at(oracle._pid(row.get("globalTid")))]
    devices = {}
    for device in sorted({one.device for one in work}):
        own = [one for one in work if one.device == device]
        of_device = set().union(*(within(one.start, one.end, window) for one in own))
        counts = [one for one in own if counted(one.start, one.end, window)]
        devices[device] = {
            "span": span_of(of_device, window),
            "busy": len(of_device) if of_device or window is not None else None,
            "count": len(counts),
            "sum": sum(len(within(one.start, one.end, window)) for one in counts),
            "streams": len({(one.process, one.context, one.stream) for one in counts}),
        }
    return {
        "span": span_of(busy, window) if work else None,
        "busy": (len(busy) if busy or window is not None else None) if work else None,
        "kernels": sum(one.kind == "kernel" and counted(one.start, one.end, window) for one in work),
        "api": {
            name: tuple(total)
            for name, total in oracle._totals(
                [
                    (oracle._text(tables, row["nameId"]), len(within(row["start"], row["end"], window)))
                    for row in calls
                    if counted(row["start"], row["end"], window)
                ]
            ).items()
        },
        "nvtx": expected_ranges(tables, raw_names, selection, window, busy),
        "devices": devices,
    }


def span_of(busy: set[int], window: set[int] | None) -> int | None:
    return len(window) if window is not None else oracle._span(busy)


def expected_ranges(
    tables: dict[str, list[Record]], raw_names: bool, selection: Selection, window: set[int] | None, busy: set[int]
) -> list[tuple[Any, ...]]:
    kinds = (*oracle._RANGES, *oracle._MARKS)
    rows = [row for row in tables.get("NVTX_EVENTS", []) if row["eventType"] in kinds]
    found: dict[str, list[tuple[int, int]]] = {}
    for row, note in zip(rows, oracle._annotations(tables, raw_names), strict=True):
        of_process = selection.processes is None or oracle._pid(row.get("globalTid")) in selection.processes
        if note.end is not None and of_process and counted(note.start, note.end, window):
            found.setdefault(note.name, []).append((note.start, note.end))
    figures = []
    for name in sorted(found, key=lambda name: (min(found[name])[0], name)):
        parts = [within(start, end, window) for start, end in found[name]]
        union = set().union(*parts)
        figures.append((name, len(parts), sum(map(len, parts)), len(union), len(union & busy)))
    return figures


def measured(base: BaseFigures) -> dict[str, Any]:
    return {
        "span": base.gpu.span_ns,
        "busy": base.gpu.busy_ns,
        "kernels": base.kernel_count,
        "api": {name: (total.count, total.total_ns) for name, total in base.api.items()},
        "nvtx": [(name, one.count, one.sum_ns, one.union_ns, one.gpu_overlap_ns) for name, one in base.nvtx.items()],
        "devices": {
            one.device: {
                "span": one.span_ns,
                "busy": one.busy_ns,
                "count": sum(one.count.values()),
                "sum": sum(one.sum_ns.values()),
                "streams": len(one.streams),
            }
            for one in base.devices
        },
    }


def drawn_selection(rng: random.Random, ticks: int) -> Selection:
    stretches = None
    if rng.random() < 0.7:
        starts = [rng.randint(-5, ticks) for _ in range(rng.randint(1, 4))]
        stretches = [(start, start + rng.randint(1, ticks // 2)) for start in starts]
    return select(
        stretches,
        devices=rng.sample([0, 1, 2], rng.randint(1, 2)) if rng.random() < 0.3 else None,
        processes=rng.sample([101, 202, 303], rng.randint(1, 2)) if rng.random() < 0.3 else None,
        streams=rng.sample([7, 8, 13], 2) if rng.random() < 0.2 else None,
    )


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.slow
def test_random_selections_of_random_traces(version: str, tmp_path: Path) -> None:
    for seed in range(12):
        rng = random.Random(f"selection {version} {seed}")
        path = random_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        for _ in range(5):
            selection = drawn_selection(rng, 300)
            base = select_figures(path, selection, BASE)
            reference = expected(path, selection, raw_names=False)
            got = measured(base)
            if selection.has_no_filter:  # devices that the trace knows and that have no row are given too
                got["devices"] = {key: row for key, row in got["devices"].items() if key in reference["devices"]}
            assert got == reference, (seed, selection)
            for device in base.devices:
                if selection.length_ns is not None and device.busy_ns is not None:
                    assert device.busy_ns + (device.idle_ns or 0) == selection.length_ns


def test_the_base_of_the_whole_trace_is_that_of_the_digest(tmp_path: Path) -> None:
    path = random_trace(random.Random(7)).write(tmp_path / "t.sqlite")
    base, digest = select_figures(path, WHOLE, BASE), summarize(path, sections=())
    assert (base.gpu.span_ns, base.devices) == (digest.gpu_activity_span_ns, digest.devices)
    assert (base.api, base.nvtx, base.kernels[:20]) == (digest.api, digest.nvtx, digest.top_kernels)


def test_a_window_of_two_stretches(tmp_path: Path) -> None:
    # window        10 ████ 20          30 ████ 40
    # kernel     5 ████████ 18     25 ██████ 35
    # call       0 ██ 12
    # range         8 ████████████████████████████████ 50
    # mark                15                45          only the first counts
    trace = TraceBuilder().kernel(5, 18, name="a").kernel(25, 35, name="b").kernel(45, 50, name="c")
    trace.api("cudaLaunchKernel_v7000", 0, 12).range("r", 8, 50).mark("CG_DISPATCH:a=1", 15).mark("CG_DISPATCH:a=1", 45)
    base = select_figures(trace.write(tmp_path / "t.sqlite"), select([(10, 20), (30, 40)]), BASE)
    assert (base.gpu.span_ns, base.gpu.busy_ns, base.devices[0].idle_ns) == (20, 8 + 5, 7)
    assert {name: (total.count, total.total_ns) for name, total in base.kernels} == {"a": (1, 8), "b": (1, 5)}
    assert {name: (call.count, call.total_ns) for name, call in base.api.items()} == {"cudaLaunchKernel_v7000": (1, 2)}
    ranges = base.nvtx["r"]
    assert (ranges.count, ranges.sum_ns, ranges.union_ns, ranges.gpu_overlap_ns) == (1, 20, 20, 13)
    assert base.range_idle_ns["r"] == 7
    assert [mark.start_ns for mark in base.dispatch_timeline] == [15]


def test_a_device_that_was_idle_in_the_window_has_all_of_it_idle(tmp_path: Path) -> None:
    # device 0   0 ██ 10        device 1            30 ██ 40         window 5 to 25
    path = TraceBuilder().kernel(0, 10).kernel(30, 40, device=1).write(tmp_path / "t.sqlite")
    base = select_figures(path, select([(5, 25)]), BASE)
    assert [(one.device, one.span_ns, one.busy_ns, one.idle_ns) for one in base.devices] == [
        (0, 20, 5, 15),
        (1, 20, 0, 20),
    ]
    assert (base.gpu.span_ns, base.gpu.busy_ns) == (20, 5)


def test_open_ranges_end_at_the_last_time_stamp_of_the_whole_trace(tmp_path: Path) -> None:
    # range   5 ├───────────────────────── open       kernel of another process 80 ██ 90
    trace = TraceBuilder().kernel(0, 10).range("open", 5, None).kernel(80, 90, process=2)
    path = trace.write(tmp_path / "t.sqlite")
    for selection, union_ns in ((select(processes=[1]), 85), (select([(50, 200)]), 40), (select([(0, 4)]), None)):
        ranges = select_figures(path, selection, BASE).nvtx
        assert ({name: one.union_ns for name, one in ranges.items()} or {"open": None}) == {"open": union_ns}


def test_of_too_many_names_those_with_most_time_in_the_window_are_kept(tmp_path: Path) -> None:
    # window         10 ██████████ 20
    # a       0 ████████ 15                             5 in the window, of 15
    # b              10 ███████ 17                      7, of 7
    # c      0 ██ 5                                     none: no name of the window
    trace = TraceBuilder().kernel(0, 10).range("a", 0, 15).range("b", 10, 17).range("c", 0, 5)
    path = trace.write(tmp_path / "t.sqlite")
    few = SummarizeOptions(sections=(), max_nvtx_names=1)
    ranges = select_figures(path, select([(10, 20)]), few).nvtx
    assert {name: (one.count, one.sum_ns) for name, one in ranges.items()} == {"(other)": (1, 5), "b": (1, 7)}
    assert "(other)" in select_figures(path, select(processes=[1]), few).nvtx
    only_two = SummarizeOptions(sections=(), max_nvtx_names=2)
    assert set(select_figures(path, select([(10, 20)]), only_two).nvtx) == {"a", "b"}
