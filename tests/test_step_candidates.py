"""What looks like a step where none is named: drawn, and against a plain search on random traces."""

from __future__ import annotations

import random
from pathlib import Path

from builder import TraceBuilder
from nsys_digest import summarize
from nsys_digest.model.step_types import StepCandidate
from oracle_account import _THREAD_BITS, Note, Trace, random_account_trace, read_trace
from support import call
from test_account import class_of
from test_sections import digest_of

# setup   ssssssssss
# step              aaaa aaaa aaaa       each launches 4, and the last 2 more behind it
# inner              bb   bb   bb        within each step
# work    9         4    4    4    2


def training() -> TraceBuilder:
    trace = TraceBuilder().range("setup", 0, 100).kernel(10, 100, correlation=1)
    trace.api("cudaLaunchKernel_v7000", 5, 6, correlation=1)
    for number, at in enumerate((100, 150, 200), 2):
        trace.range("step", at, at + 40).range(f"inner {number}", at + 10, at + 30)
        trace.api("cudaLaunchKernel_v7000", at + 15, at + 16, correlation=number)
        trace.kernel(at + 20, at + 24, correlation=number)
    return trace.api("cudaLaunchKernel_v7000", 245, 246, correlation=9).kernel(246, 248, correlation=9)


def candidate(name: str, kind: str, count: int, processes: int, covered: float) -> StepCandidate:
    assert kind in {"range", "mark"}
    return StepCandidate(name=name, kind=kind, count=count, processes=processes, covered_ratio=covered)  # type: ignore[arg-type]


def test_what_repeats_and_launched_most_work_looks_like_a_step(tmp_path: Path) -> None:
    digest = digest_of(training(), tmp_path)
    # behind the first step (after 140): 4 + 4 in steps of 4 + 4 + 2; what is within them is no candidate
    assert digest.step_candidates == (candidate("step", "range", 3, 1, 0.8),)
    out = call("summarize", "-q", "-f", "text", tmp_path / "trace.sqlite").out
    assert "3 ranges look like steps, 80.0 % of the GPU work: --steps step\n" in out


def test_named_steps_and_a_digest_of_the_base_have_no_candidates(tmp_path: Path) -> None:
    assert digest_of(training(), tmp_path, steps="step").step_candidates is None
    assert digest_of(training(), tmp_path, sections=[]).step_candidates is None
    assert "step_candidates" not in digest_of(training(), tmp_path, sections=[]).to_dict()


def test_a_trace_without_steps_has_an_empty_list(tmp_path: Path) -> None:
    once = TraceBuilder().range("all", 0, 100).api("cudaLaunchKernel_v7000", 5, 6, correlation=1)
    assert digest_of(once.kernel(10, 20, correlation=1), tmp_path).step_candidates == ()
    bare = TraceBuilder().api("cudaLaunchKernel_v7000", 5, 6, correlation=1).kernel(10, 20, correlation=1)
    assert digest_of(bare, tmp_path).step_candidates == ()
    assert digest_of(TraceBuilder().range("step", 0, 1).range("step", 1, 2), tmp_path).step_candidates == ()


def test_numbered_ranges_are_one_candidate_that_can_be_given_as_it_stands(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for number in range(4):
        at = 10 * number
        trace.range(f"a*b {number}", at, at + 10).api("cudaLaunchKernel_v7000", at, at + 1, correlation=number + 1)
        trace.kernel(at + 2, at + 6, correlation=number + 1)
    digest = digest_of(trace, tmp_path)
    assert digest.step_candidates == (candidate("a\\*b #", "range", 4, 1, 1.0),)
    steps = digest_of(trace, tmp_path, steps="a\\*b #").steps
    assert steps is not None
    assert steps.count == 4


def test_marks_that_begin_with_one_word_are_one_candidate(tmp_path: Path) -> None:
    """Five batches of two modes; from the first mark to the last there are four steps, of which three follow the first.

    mark   F    F    N    F    N        at 0, 10, 20, 30, 40
    work   4    4    4    4    4        16 behind the first, 12 of it up to the last mark
    """
    trace = TraceBuilder()
    for number, mode in enumerate("FFNFN"):
        at = 10 * number
        trace.mark(f"BATCH:mode={mode}", at)
        trace.api("cudaLaunchKernel_v7000", at + 1, at + 2, correlation=number + 1)
        trace.kernel(at + 3, at + 7, correlation=number + 1)
    digest = digest_of(trace, tmp_path)
    assert digest.step_candidates == (candidate("BATCH*", "mark", 4, 1, 0.75),)
    assert (
        "4 marks look like steps, 75.0 % of the GPU work: --steps 'BATCH*'"
        in call("summarize", "-q", "-f", "text", tmp_path / "trace.sqlite").out
    )
    steps = digest_of(trace, tmp_path, steps="BATCH*").steps
    assert steps is not None
    assert (steps.kind, steps.count) == ("mark", 4)


def test_work_of_another_thread_counts_where_it_was_launched(tmp_path: Path) -> None:
    """Backward passes are launched by a thread of their own, and run after the step."""
    trace = TraceBuilder()
    for number in range(3):
        at = 10 * number
        trace.range("step", at, at + 10)
        trace.api("cudaLaunchKernel_v7000", at + 5, at + 6, thread=2, correlation=number + 1)
        trace.kernel(100 + at, 109 + at, correlation=number + 1)
    assert digest_of(trace, tmp_path).step_candidates == (candidate("step", "range", 3, 1, 1.0),)


def test_random_traces(tmp_path: Path) -> None:
    """Of range names, by the definition: one by one, with the length of each operation at the start of its call."""
    found = 0
    for seed in range(40):
        rng = random.Random(f"candidates {seed}")
        path = random_account_trace(rng).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        trace = read_trace(path, False, class_of)
        got = summarize(path).step_candidates
        assert got is not None
        wanted = {
            name: covered for name in {note.name for note in trace.ranges} if (covered := covers(trace, name)) > 0.5
        }
        ranges = {one.name: one.covered_ratio for one in got if one.kind == "range"}
        assert ranges.items() <= wanted.items()
        assert bool(ranges) == bool(wanted)  # of those that lie in each other the outermost stays
        found += len(ranges)
    assert found > 10


def covers(trace: Trace, name: str) -> float:
    """Return the share of the work behind the first range of a name in each process that ranges of it launched."""
    work = [one for one in trace.work if one.launch is not None and one.start < one.end]
    with_work = {process_of(one.launch.thread) for one in work if one.launch is not None}
    notes = [note for note in trace.ranges if note.name == name and process_of(note.thread) in with_work]
    by_process: dict[int, list[Note]] = {}
    for note in sorted(notes, key=lambda note: (note.start, note.end, note.thread or 0)):
        own = by_process.setdefault(process_of(note.thread), [])
        if not any(holds(one, note) for one in own):
            own[:] = [one for one in own if not holds(note, one)] + [note]
    if all(len(own) < 2 for own in by_process.values()):
        return 0.0
    first = {
        process: min(own, key=lambda n: (n.start, n.end, n.thread or 0)).end for process, own in by_process.items()
    }
    whole = covered = 0
    for one in work:
        assert one.launch is not None
        process, at = process_of(one.launch.thread), one.launch.start
        if at >= first.get(process, min(first.values())):
            whole += one.end - one.start
            if any(note.start <= at < note.end for note in by_process.get(process, [])):
                covered += one.end - one.start
    return covered / whole if whole else 0.0


def holds(outer: Note, inner: Note) -> bool:
    return outer.thread == inner.thread and outer.start <= inner.start < outer.end and inner.end <= outer.end


def process_of(thread: int | None) -> int:
    return (thread or 0) & ~_THREAD_BITS
