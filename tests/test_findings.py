"""Findings: for each rule a drawn trace where it is due, what is at stake worked out by hand, and one where not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from builder import TraceBuilder
from digests import TRACES, document
from nsys_digest import Digest, Finding, load, summarize
from nsys_digest.findings.rules import RULES
from nsys_digest.findings.thresholds import FEWEST_SETS, FEWEST_SMALL_COPIES
from nsys_digest.model.figures import select
from nsys_digest.model.paths import parse_path
from support import ROOT, call

US, MS = 1_000, 1_000_000
LAUNCH, COPY, ASYNC_COPY = "cudaLaunchKernel_v7000", "cudaMemcpy_v3020", "cudaMemcpyAsync_v3020"


def digest_of(trace: TraceBuilder, tmp_path: Path, steps: str | None = None) -> Digest:
    return summarize(trace.write(tmp_path / "trace.sqlite"), steps=steps)


def checked(digest: Digest) -> dict[str, Finding]:
    """Return the findings by code, each checked for what holds of all."""
    assert digest.findings is not None
    whole, span_ns = digest.to_dict(), digest.gpu_activity_span_ns
    stakes = [-1 if one.at_stake_ns is None else one.at_stake_ns for one in digest.findings]
    assert stakes == sorted(stakes, reverse=True)
    for one in digest.findings:
        assert one.code in {rule.code for rule in RULES}
        assert one.at_stake_ns is None or span_ns is None or 0 <= one.at_stake_ns <= span_ns, one
        assert one.share_of_span == (None if one.at_stake_ns is None or not span_ns else one.at_stake_ns / span_ns)
        for evidence in one.evidence:
            assert list(select(parse_path(evidence.figure), whole).values()) == [evidence.value], evidence
    return {one.code: one for one in digest.findings}


def launched(
    trace: TraceBuilder,
    start: int,
    end: int,
    asked: int,
    returned: int,
    number: int,
    *,
    name: str = "gemm",
    device: int = 0,
    stream: int = 7,
) -> TraceBuilder:
    """Draw a kernel, and the call that launched it."""
    trace.kernel(start, end, name=name, device=device, stream=stream, correlation=number)
    return trace.api(LAUNCH, asked, returned, correlation=number)


def host_bound() -> TraceBuilder:
    """Milliseconds: the gap from 1 to 9 is host code up to the call at 8, 5 of it in the range; 7 at stake.

    kernel  0-1                      9-10
    calls                      8--9
    load        2---------7
    """
    trace = launched(TraceBuilder(), 0, MS, 0, 0, 1)
    return launched(trace, 9 * MS, 10 * MS, 8 * MS, 9 * MS, 2).range("load", 2 * MS, 7 * MS)


def queued() -> TraceBuilder:
    """Draw the same gap, but its end was launched long before: the host had nothing to do with it."""
    trace = launched(TraceBuilder(), 0, MS, 0, 0, 1)
    return launched(trace, 9 * MS, 10 * MS, 0, 500 * US, 2)


def launch_bound(length: int = 5 * US) -> TraceBuilder:
    """300 kernels, one every 30 µs, each call the 10 µs before its kernel: 299 gaps of 25 µs of launch and host."""
    trace = TraceBuilder()
    for number in range(300):
        at = (number + 1) * 30 * US
        launched(trace, at, at + length, at - 10 * US, at, number + 1)
    return trace


def in_a_call(name: str, start: int = 10 * MS) -> TraceBuilder:
    """Draw a wait of the GPU from 10 to 14 ms, 3 of these in the call, 1 in the launch; or a call while it works."""
    trace = launched(TraceBuilder(), 0, 10 * MS, 0, 0, 1).api(name, start, start + 3 * MS, correlation=9)
    return launched(trace, 14 * MS, 24 * MS, 13 * MS, 14 * MS, 2)


def synchronised(until: int = 15) -> TraceBuilder:
    """Milliseconds, every 20: a kernel of 10, a wait up to 15, a launch from 18 on: three gaps of 10, half a wait.

    kernel  0---10              20---30
    wait     1------15
    launch               18--20
    """
    trace = launched(TraceBuilder(), 0, 10 * MS, 0, 0, 1)
    for number in range(3):
        at = 20 * MS * number
        trace.api("cudaStreamSynchronize_v3020", at + MS, at + until * MS, correlation=100 + number)
        launched(trace, at + 20 * MS, at + 30 * MS, at + 18 * MS, at + 20 * MS, number + 2)
    return trace


def communicating(compute_until: int) -> TraceBuilder:
    """Compute from 0 to 10 ms or longer, a collective from 10 to 15, compute from 15 to 25."""
    trace = launched(TraceBuilder(), 0, compute_until * MS, 0, 0, 1)
    launched(trace, 10 * MS, 15 * MS, 1, 2, 2, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL", stream=8)
    return launched(trace, 15 * MS, 25 * MS, 3, 4, 3)


def balanced(second: int) -> TraceBuilder:
    """GPU 0 computes for 20 ms, GPU 1 for as long as said; evenly shared, each has the mean."""
    trace = launched(TraceBuilder(), 0, 20 * MS, 0, 0, 1)
    return launched(trace, 0, second * MS, 0, 0, 2, device=1)


def copied(source: int, name: str = ASYNC_COPY) -> TraceBuilder:
    """Draw a copy from 10 to 14 ms between kernels, from pageable (0) or pinned (1) memory."""
    trace = launched(TraceBuilder(), 0, 10 * MS, 0, 0, 1)
    trace.memcpy(10 * MS, 14 * MS, bytes=1 << 24, source_kind=source, destination_kind=2, correlation=2)
    trace.api(name, 9 * MS, 14 * MS, correlation=2)
    return launched(trace, 14 * MS, 24 * MS, 13 * MS, 13 * MS + 1, 3)


def small(size: int, count: int = FEWEST_SMALL_COPIES) -> TraceBuilder:
    """Draw copies of 10 µs, one every 100 µs, each call 20 µs: for 100 of them 1 ms on the GPU and 2 ms of calls."""
    trace = TraceBuilder()
    for number in range(count):
        at = (number + 1) * 100 * US
        trace.memcpy(at, at + 10 * US, bytes=size, source_kind=1, destination_kind=2, correlation=number + 1)
        trace.api(ASYNC_COPY, at - 20 * US, at, correlation=number + 1)
    return trace


def sets(count: int) -> TraceBuilder:
    """Draw sets of 100 µs, one every ms, each call 200 µs: for 10 of them 1 ms on the GPU and 2 ms of calls."""
    trace = TraceBuilder()
    for number in range(count):
        at = (number + 1) * MS
        trace.memset(at, at + 100 * US, correlation=number + 1)
        trace.api("cudaMemset_v3020", at - 200 * US, at, correlation=number + 1)
    return trace


def in_turn(copy: int, kernel: int, *, beside: int = 0) -> TraceBuilder:
    """Ten times a pinned copy, then a kernel, of so many milliseconds; or both at once, ``beside`` that many."""
    trace = TraceBuilder()
    for number in range(10):
        at = (copy + kernel) * MS * number
        trace.memcpy(
            at, at + copy * MS, bytes=1 << 24, source_kind=1, destination_kind=2, correlation=2 * number + 1, stream=8
        )
        trace.api(ASYNC_COPY, at, at, correlation=2 * number + 1)
        launched(trace, at + (copy - beside) * MS, at + (copy + kernel) * MS, at, at, 2 * number + 2)
    return trace


def migrated(kind: int) -> TraceBuilder:
    """Draw a kernel from 0 to 20 ms, and 5 ms of moves beside it: pages (11), or an ordinary pinned copy (1)."""
    trace = launched(TraceBuilder(), 0, 20 * MS, 0, 0, 1)
    return trace.memcpy(5 * MS, 10 * MS, kind=kind, bytes=1 << 24, stream=8, correlation=0, source_kind=1)


def dispatched(launch: str = LAUNCH, actual: int = 4, mode: str = "NONE") -> TraceBuilder:
    """Draw marks at 0, 10 and 20 ms, each with 1 ms of call and 3 of work: two steps of 10 ms with 7 ms idle each."""
    trace = TraceBuilder()
    for number in range(3):
        at = 10 * MS * number
        trace.mark(f"CG_DISPATCH:actual={actual}:mode={mode}:padded=4", at)
        trace.api(launch, at, at + MS, correlation=number + 1)
        if launch == LAUNCH:
            trace.kernel(at + MS, at + 4 * MS, correlation=number + 1)
        else:
            trace.graph(at + MS, at + 4 * MS, correlation=number + 1)
    return trace


def full_queue(last: int) -> TraceBuilder:
    """600 kernels of 100 µs without a gap; all were launched in 600 µs, but the last call took so many µs."""
    trace = TraceBuilder()
    for number in range(600):
        end = number + 1 if number < 599 else number + last
        launched(trace, 100 * US * (number + 6), 100 * US * (number + 7), number * US, end * US, number + 1)
    return trace


def started(before: int = 1) -> TraceBuilder:
    """Work of so many milliseconds, 60 without any, then a step of 20: at stake is the idle time up to 60 + before."""
    trace = launched(TraceBuilder(), 0, before * MS, 0, 0, 1)
    at = (60 + before) * MS
    return launched(trace, at, at + 20 * MS, at - MS, at, 2)


def whole_graph(length: int) -> TraceBuilder:
    """Draw a kernel of 10 ms, then a graph of so many that was traced as a whole."""
    trace = launched(TraceBuilder(), 0, 10 * MS, 0, 0, 1).graph(10 * MS, (10 + length) * MS, correlation=2)
    return trace.api("cudaGraphLaunch_v10000", 1, 2, correlation=2)


def failed(value: int) -> TraceBuilder:
    return launched(TraceBuilder(), 0, MS, 0, 0, 1).api("cudaMalloc_v3020", 5, 9, correlation=7, returnValue=value)


def lost(rows: bool) -> TraceBuilder:
    """Draw a graph that was launched and left no row, between kernels with a gap of 4 ms; or one that has its row."""
    trace = launched(TraceBuilder(), 0, MS, 0, 0, 1).api("cudaGraphLaunch_v10000", 2 * MS, 3 * MS, correlation=2)
    if rows:
        trace.graph(3 * MS, 4 * MS, correlation=2)
    return launched(trace, 5 * MS, 6 * MS, 0, 1, 3)


CASES: dict[str, tuple[Callable[[], TraceBuilder], int | None, Callable[[], TraceBuilder]]] = {
    "host-bound": (host_bound, 7 * MS, queued),
    "launch-bound": (launch_bound, 299 * 25 * US, lambda: launch_bound(25 * US)),
    "lazy-loading": (lambda: in_a_call("cuLibraryLoadData"), 3 * MS, lambda: in_a_call("cuLibraryLoadData", MS)),
    "allocation": (lambda: in_a_call("cudaMalloc_v3020"), 3 * MS, lambda: in_a_call("cudaMalloc_v3020", MS)),
    "synchronise": (synchronised, 30 * MS, lambda: synchronised(11)),
    "exposed-communication": (lambda: communicating(10), 5 * MS, lambda: communicating(15)),
    "imbalance": (lambda: balanced(10), 5 * MS, lambda: balanced(20)),
    "pageable-copies": (lambda: copied(0), 4 * MS, lambda: copied(1)),
    "blocking-copies": (lambda: copied(1, COPY), 4 * MS, lambda: copied(1)),
    "small-copies": (lambda: small(65_535), 3 * MS, lambda: small(65_536)),
    "memory-sets": (lambda: sets(FEWEST_SETS), 3 * MS, lambda: sets(FEWEST_SETS - 1)),
    "no-overlap": (lambda: in_turn(1, 2), 10 * MS, lambda: in_turn(1, 2, beside=1)),
    "copy-bound": (lambda: in_turn(3, 2), 30 * MS, lambda: in_turn(1, 2)),
    "page-migration": (lambda: migrated(11), 5 * MS, lambda: migrated(1)),
    "no-cuda-graph": (dispatched, 14 * MS, lambda: dispatched("cudaGraphLaunch_v10000")),
    # three quarters of the 6 ms that two steps launched; the last mark has no end
    "padding": (lambda: dispatched(actual=1), 4_500 * US, dispatched),
    "start-up": (started, 60 * MS, lambda: started(20)),
    "lost-rows": (lambda: lost(rows=False), 4 * MS, lambda: lost(rows=True)),
    "failed-calls": (lambda: failed(2), None, lambda: failed(801)),
    "whole-graphs": (lambda: whole_graph(10), None, lambda: whole_graph(2)),
    "launch-queue-full": (lambda: full_queue(6_000), None, lambda: full_queue(1)),
    # of the 5 ms of the profiler's own work 4 are in the gap
    "profiler-overhead": (
        lambda: host_bound().overhead("CUPTI: Buffer flush", 0, 5 * MS),
        4 * MS,
        lambda: host_bound().overhead("CUPTI: Buffer flush", 0, MS),
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_a_finding_is_due_with_what_is_at_stake(code: str, tmp_path: Path) -> None:
    due, at_stake_ns, not_due = CASES[code]
    found = checked(digest_of(due(), tmp_path))
    assert code in found
    assert found[code].at_stake_ns == at_stake_ns
    assert found[code].evidence
    (tmp_path / "trace.sqlite").unlink()
    assert code not in checked(digest_of(not_due(), tmp_path))


def test_every_rule_has_its_drawn_traces() -> None:
    assert CASES.keys() == {rule.code for rule in RULES}
    assert len({rule.code for rule in RULES}) == len(RULES)


def overhead(name: str, start: int, end: int) -> TraceBuilder:
    """Draw the gap of 8 ms that host code and a launch call end, with a row of overhead in it."""
    return host_bound().overhead(name, start * MS, end * MS)


def test_code_that_a_launch_loads_is_told_apart(tmp_path: Path) -> None:
    """The launch call is from 8 to 9 ms, and the driver loads code for all of it."""
    found = checked(digest_of(overhead("Lazy Function Loading", 8, 9), tmp_path))["lazy-loading"]
    assert found.at_stake_ns == MS
    assert [(one.figure, one.value) for one in found.evidence] == [
        ("idle.devices.0.causes.module_call.sum_s", 0.001),
        ("launch.driver_overhead.loading.count", 1),
        ("launch.driver_overhead.loading.sum_s", 0.001),
    ]


def test_a_full_queue_is_told_by_the_trace_itself(tmp_path: Path) -> None:
    """Of the span of 10 ms the queue is full for 0.9 ms, in two rows, or for 0.4 ms, which is less than 5 %."""
    trace = host_bound().overhead("Command Buffer Full", 8 * MS, 8 * MS + 500 * US)
    trace.overhead("Command Buffer Full", 8 * MS + 500 * US, 8 * MS + 900 * US)
    found = checked(digest_of(trace, tmp_path))["launch-queue-full"]
    assert found.at_stake_ns is None
    assert "full 2 times" in found.message
    assert "900.0 µs for room (9.0 % of the span)" in found.message
    (tmp_path / "trace.sqlite").unlink()
    little = host_bound().overhead("Command Buffer Full", 8 * MS, 8 * MS + 400 * US)
    assert "launch-queue-full" not in checked(digest_of(little, tmp_path))


def test_waits_for_unified_memory_are_at_stake_with_the_moves(tmp_path: Path) -> None:
    """Milliseconds: a move of 2 ends a gap of 4, and no call says what the host did.

    kernel  0---10              16---20
    move             14---16
    """
    trace = launched(TraceBuilder(), 0, 10 * MS, 0, 0, 1).memcpy(14 * MS, 16 * MS, kind=11, bytes=1, correlation=0)
    trace.row("CUDA_UM_GPU_PAGE_FAULT_EVENTS", start=14 * MS, end=15 * MS, numberOfPageFaults=7)
    found = checked(digest_of(launched(trace, 16 * MS, 20 * MS, 0, 1, 2), tmp_path))["page-migration"]
    assert found.at_stake_ns == (2 + 4) * MS
    assert "a GPU waited 4.000 ms for them; 7 page faults of GPUs" in found.message
    assert [one.figure for one in found.evidence][1:] == [
        "idle.devices.0.causes.migration.sum_s",
        "memory.gpu_page_fault_count",
    ]


def test_a_wait_is_told_with_what_it_was_for(tmp_path: Path) -> None:
    """Each of three waits keeps the GPU idle for 5 ms; the rows say that they were for stream 13."""
    trace = synchronised()
    for number in range(3):
        trace.sync(20 * MS * number + MS, 20 * MS * number + 15 * MS, stream=13, correlation=100 + number)
    found = checked(digest_of(trace, tmp_path))["synchronise"]
    assert "ran dry meanwhile, most of that for stream 13, and" in found.message
    assert ('idle.devices.0.sync_by_target."stream 13"', 0.015) in [(one.figure, one.value) for one in found.evidence]


def test_ranges_of_the_host_are_named(tmp_path: Path) -> None:
    found = checked(digest_of(host_bound(), tmp_path))["host-bound"]
    assert "5.000 ms in load, 2.000 ms in no range" in found.message
    bare = launched(launched(TraceBuilder(), 0, MS, 0, 0, 1), 9 * MS, 10 * MS, 8 * MS, 9 * MS, 2)
    (tmp_path / "trace.sqlite").unlink()
    assert checked(digest_of(bare, tmp_path))["host-bound"].advice.startswith("No range covers most of it: add some")


def test_a_wait_is_told_with_its_range(tmp_path: Path) -> None:
    found = checked(digest_of(synchronised().range("log", 0, 16 * MS), tmp_path))["synchronise"]
    assert "3 synchronise calls, most in log" in found.message
    assert [one.value for one in found.evidence if "sync_by_nvtx" in one.figure] == [0.005]


@pytest.mark.parametrize(
    ("drawn", "steps", "options"),
    [
        (started(), None, "--window 0.061000s:"),
        (started().mark("CG_DISPATCH mode=FULL", 60 * MS), None, "--skip-warmup"),
        (started().mark("CG_DISPATCH mode=FULL", 0), None, "--window 0.061000s:"),
        (started().range("a step", 60 * MS, 70 * MS).range("a step", 70 * MS, 80 * MS), None, "--in 'a step'"),
        (started().range("step", 0, MS).range("step", 60 * MS, 81 * MS), "step", "--steps step --skip-warmup"),
    ],
)
def test_start_up_names_the_selection(drawn: TraceBuilder, steps: str | None, options: str, tmp_path: Path) -> None:
    found = checked(digest_of(drawn, tmp_path, steps))["start-up"]
    assert found.advice.endswith(f"digest the trace with {options}")
    assert found.severity == "high"


def test_what_start_up_explains_is_in_no_other_finding(tmp_path: Path) -> None:
    """All host code, 59 ms, is in the gap of start-up."""
    assert "host-bound" not in checked(digest_of(started(), tmp_path))


def test_steps_are_judged_by_their_own_idle_time(tmp_path: Path) -> None:
    """The first step warms up; in the second the GPU waits 3 ms for code, from 110 to 113."""
    trace = in_a_call("cuLibraryLoadData").range("step", 0, 25 * MS).range("step", 100 * MS, 125 * MS)
    launched(trace, 100 * MS, 110 * MS, 99 * MS, 100 * MS, 3).api(
        "cuLibraryLoadData", 110 * MS, 113 * MS, correlation=8
    )
    launched(trace, 114 * MS, 124 * MS, 113 * MS, 114 * MS, 4)
    found = checked(digest_of(trace, tmp_path, "step"))["lazy-loading"]
    assert (found.at_stake_ns, found.evidence[0].figure) == (3 * MS, "steps.idle_causes.module_call")
    assert found.message.startswith("In the steps the GPU waited 3.000 ms")


def test_little_is_noise(tmp_path: Path) -> None:
    """A gap of 40 µs in 100 ms is neither a hundredth nor 50 µs."""
    trace = launched(TraceBuilder(), 0, 50 * MS, 0, 0, 1)
    launched(trace, 50 * MS + 40 * US, 100 * MS, 50 * MS + 20 * US, 50 * MS + 40 * US, 2)
    digest = digest_of(trace, tmp_path)
    assert digest.findings == ()
    assert (
        "Nothing to gain: no finding is worth a hundredth of the span."
        in call("findings", tmp_path / "trace.sqlite", "--format", "text").out
    )


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.sqlite")), ids=lambda path: path.stem)
def test_findings_of_real_traces_hold_what_all_must(trace: Path) -> None:
    checked(summarize(trace))


def test_a_trace_without_work_says_so() -> None:
    shown = call("findings", TRACES / "nogpu.sqlite", "--format", "text").out
    assert "No findings: the trace has no GPU activity that could be judged." in shown


def test_a_base_digest_says_what_was_not_looked_at() -> None:
    ran = call("summarize", "--quiet", "--full", "--sections", "base", "--format", "text", TRACES / "serve.sqlite")
    assert "Findings are not complete: the digest was made without the sections idle, launch" in ran.out
    assert "Nothing to gain" not in ran.out


def test_an_older_document_gets_its_findings(tmp_path: Path) -> None:
    whole = document("serve")
    wanted = whole.pop("findings")
    stored = tmp_path / "old.json"
    stored.write_text(json.dumps(whole), encoding="utf-8")
    assert Digest.from_dict(whole).findings is None
    assert load(stored).to_dict()["findings"] == wanted
    assert json.loads(call("findings", stored).out)["findings"] == wanted


def test_a_document_of_1_0_has_findings_of_what_it_tells() -> None:
    digest = load(ROOT / "fixtures" / "documents_1_0" / "digest.json")
    assert digest.findings
    assert {one.code for one in digest.findings} & {"host-bound", "no-cuda-graph"}


def test_a_digest_shows_the_first_three_and_says_where_the_rest_is() -> None:
    for form in ("text", "markdown"):
        shown = call("summarize", "--quiet", "--format", form, TRACES / "serve.sqlite").out
        assert shown.index("no-cuda-graph" if form == "text" else "no\\-cuda\\-graph") < shown.index("any GPU at work")
        assert f"nsys-digest findings {TRACES / 'serve.sqlite'}" in shown.replace("\n", " ")
    shown = call("findings", "--format", "text", TRACES / "serve.sqlite").out
    assert all(f"[{code}]" in shown for code in checked(summarize(TRACES / "serve.sqlite")))


POLICIES = {
    'forbid = ["no-cuda-*"]': (5, "not to be there"),
    'severity = "high"': (5, "less severe than high"),
    'max_at_stake = "100ms"': (5, "at most 100"),
    'max_at_stake = "10%"': (5, "at most 10.0 % of the span at stake"),
    'forbid = "failed-calls"': (0, "none that is forbidden"),
    'max_at_stake = "2s"': (0, "none that is forbidden"),
    'severity = "high"\nallow = ["*"]': (0, "none that is forbidden"),
}


@pytest.mark.parametrize("text", POLICIES)
def test_a_policy_can_forbid_findings(text: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f"[findings]\n{text}\nwhy = 'keep it fast'\n", encoding="utf-8")
    status, allowed = POLICIES[text]
    ran = call("check", TRACES / "serve.sqlite", "--policy", policy, "--format", "json")
    assert ran.status == status, ran.err
    outcomes = json.loads(ran.out)["outcomes"]
    assert {one["kind"] for one in outcomes} == {"finding"}
    assert any(one["allowed"].startswith(allowed) for one in outcomes), outcomes
    assert all(one["why"] == "keep it fast" and one["line"] == 1 for one in outcomes)
    if status:
        assert "findings.no-cuda-graph.at_stake_s" in {one["figure"] for one in outcomes}


def test_forbidden_findings_are_in_every_output_of_a_check(tmp_path: Path) -> None:
    policy, junit, sarif, markdown = (tmp_path / name for name in ("p.toml", "j.xml", "s.sarif", "m.md"))
    policy.write_text('[findings]\nforbid = ["no-cuda-graph"]\n', encoding="utf-8")
    files = ("--junit", junit, "--sarif", sarif, "--markdown", markdown)
    ran = call("check", TRACES / "serve.sqlite", "--policy", policy, "--format", "text", *files)
    assert ran.status == 5
    reason = "81 of 81 dispatched steps ran without a CUDA graph"
    assert reason in ran.out.replace("\n", " ")
    for path in (junit, sarif, markdown):
        assert reason in path.read_text(encoding="utf-8"), path


def test_a_digest_without_sections_is_no_pass(tmp_path: Path) -> None:
    policy, stored = tmp_path / "policy.toml", tmp_path / "base.json"
    policy.write_text('[findings]\nforbid = ["host-bound"]\n', encoding="utf-8")
    stored.write_text(summarize(TRACES / "serve.sqlite", sections=[]).to_json(), encoding="utf-8")
    ran = call("check", stored, "--policy", policy)
    assert ran.status == 4
    assert "findings need the sections idle" in ran.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('forbid = ["host-bond"]', "no finding has a code like host-bond; did you mean host-bound?"),
        ('severity = "bad"', "severity is 'bad'; choose from high, medium, low"),
        ("max_at_stake = 5", "has no unit"),
        ("why = 'nothing'", "it forbids nothing"),
        ("forbid = [5]", "give a list of codes"),
        ("forbids = ['x']", "did you mean forbid?"),
    ],
)
def test_mistakes_about_findings_are_told(text: str, said: str, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f"version = 1\n[findings]\n{text}\n", encoding="utf-8")
    ran = call("check", TRACES / "serve.sqlite", "--policy", policy)
    assert ran.status == 2
    assert f"{policy}, findings (line 2): " in ran.err
    assert said in ran.err


def test_long_names_do_not_fill_a_message(tmp_path: Path) -> None:
    name = "x" * 5_000
    found = checked(digest_of(host_bound().range(name, 7 * MS, 8 * MS), tmp_path))["host-bound"]
    assert "x" * 100 + "…" in found.message
    assert len(found.message) < 400


def test_devices_that_share_an_ordinal_are_told_apart(tmp_path: Path) -> None:
    """Process 2 means another GPU by ordinal 0: its gap of 7 ms of host code is at `0#2`."""
    trace = host_bound().gpu(0, "H100", uuid="a", id=0, processes=(1,)).gpu(0, "H100", uuid="b", id=1, processes=(2,))
    trace.kernel(0, MS, process=2, correlation=1).api(LAUNCH, 0, 0, process=2, correlation=1)
    trace.kernel(19 * MS, 20 * MS, process=2, correlation=2)
    trace.api(LAUNCH, 18 * MS, 19 * MS, process=2, correlation=2)
    found = checked(digest_of(trace, tmp_path))["host-bound"]
    assert found.at_stake_ns == 17 * MS
    assert found.evidence[0].figure == "idle.devices.0#2.causes.host.sum_s"


def test_marks_without_a_mode_say_nothing_of_graphs(tmp_path: Path) -> None:
    trace = launched(TraceBuilder(), MS, 2 * MS, 0, MS, 1).mark("CG_DISPATCH", 0).mark("CG_DISPATCH", 10 * MS)
    assert "no-cuda-graph" not in checked(digest_of(launched(trace, 11 * MS, 12 * MS, 10 * MS, 11 * MS, 2), tmp_path))


def test_forbidden_findings_annotate_a_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('[findings]\nforbid = ["no-cuda-graph"]\n', encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    ran = call("check", TRACES / "serve.sqlite", "--policy", policy, "--github", "--format", "text")
    assert ran.status == 5
    assert any(line.startswith("::error") and "no-cuda-graph" in line for line in f"{ran.out}{ran.err}".split("\n"))


@pytest.mark.parametrize("trace", ["graph_graph", "graph_node", "rank_0", "serve"])
def test_what_start_up_proposes_runs_and_looks_at_a_busier_part(trace: str) -> None:
    path = TRACES / f"{trace}.sqlite"
    whole = summarize(path)
    assert "--skip-warmup" in checked(whole)["start-up"].advice
    part = summarize(path, skip_warmup=True)
    assert "start-up" not in checked(part)
    assert part.devices[0].busy_ratio is not None
    assert whole.devices[0].busy_ratio is not None
    assert part.devices[0].busy_ratio > 2 * whole.devices[0].busy_ratio
