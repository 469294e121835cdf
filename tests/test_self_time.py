"""Self time of ranges: when a range is the innermost of its domain on some thread; one letter is ten nanoseconds."""

from __future__ import annotations

from pathlib import Path

from builder import TraceBuilder
from test_sections import digest_of


def self_times(trace: TraceBuilder, folder: Path) -> dict[str, tuple[int | None, int]]:
    """Return (self time, union) by name."""
    nvtx = digest_of(trace, folder).nvtx
    return {name: (ranges.detail.self_ns, ranges.union_ns) for name, ranges in nvtx.items() if ranges.detail}


def test_self_time_of_one_thread_is_what_the_ranges_inside_leave(tmp_path: Path) -> None:
    # outer  oooooooooo     0 to 100, without 20 to 50 and 60 to 70: 60
    # inner    iii i        40, of which deep takes 10
    # deep      d
    trace = TraceBuilder().range("outer", 0, 100).range("inner", 20, 50).range("inner", 60, 70).range("deep", 30, 40)
    assert self_times(trace, tmp_path) == {"outer": (60, 100), "inner": (30, 40), "deep": (10, 10)}


def test_processes_that_run_at_once_count_once(tmp_path: Path) -> None:
    # process 1  oooooooooo     0 to 100
    #              iii          20 to 50
    # process 2     oooooooooo  30 to 130
    #                  ii       60 to 80
    # outer is innermost somewhere from 0 to 20, 30 to 60 (process 2), 50 to 100 (process 1), 80 to 130 (process 2)
    trace = TraceBuilder()
    for process, at, inner in ((1, 0, (20, 50)), (2, 30, (60, 80))):
        columns = {"process": process, "thread": process}
        trace.range("outer", at, at + 100, **columns).range("inner", *inner, **columns)
    assert self_times(trace, tmp_path) == {"outer": (20 + 100, 130), "inner": (50, 50)}


def test_domains_of_a_thread_are_apart(tmp_path: Path) -> None:
    # default  oooooooooo       0 to 100; the other domain is not inside it, though it crosses its end
    # other       aaaaaaaaaa    30 to 130
    trace = TraceBuilder().domain(3, "lib").range("outer", 0, 100).range("a", 30, 130, domain=3)
    assert self_times(trace, tmp_path) == {"outer": (100, 100), "lib:a": (100, 100)}


def test_domains_without_a_name_share_the_names_of_their_ranges(tmp_path: Path) -> None:
    """Both are called step, on one thread and at once: 0 to 100, and 50 to 120."""
    trace = TraceBuilder().range("step", 0, 100).range("step", 50, 120, domain=7)
    assert self_times(trace, tmp_path) == {"step": (120, 120)}


def test_a_name_without_push_pop_ranges_has_none(tmp_path: Path) -> None:
    trace = TraceBuilder().range("loose", 0, 100, kind="startend").range("nested", 10, 30)
    assert self_times(trace, tmp_path) == {"loose": (None, 100), "nested": (20, 20)}
