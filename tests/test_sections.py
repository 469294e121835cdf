"""The sections that explain, each on a small trace that is drawn in a comment; one letter is ten nanoseconds."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder import KERNEL, RUNTIME, VERSIONS, TraceBuilder
from nsys_digest import Digest, UsageInvalid, ValueUnreadable, classify, summarize
from nsys_digest.model.cuda_calls import call_class
from nsys_digest.model.digest import ADDED, ON_REQUEST, SECTIONS
from nsys_digest.model.section_types import (
    Bandwidth,
    Bin,
    Category,
    Cause,
    Communication,
    Copies,
    Durations,
    Gap,
    KindTotal,
    LaunchCost,
    Sets,
)
from nsys_digest.model.step_types import DispatchStep
from nsys_digest.sections import registry
from nsys_digest.sections.durations import durations
from support import READERS, call, the_line
from test_fixtures import SHARED, TRACES, named
from valid import validate

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
SEND_RECEIVE = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<(unsigned long)4096>)"
GEMM = "ampere_sgemm_128x64_tn"


def digest_of(trace: TraceBuilder, folder: Path, **options: Any) -> Digest:
    """Digest a drawn trace with both readers; the document is valid and comes back."""
    path = trace.write(folder / "trace.sqlite")
    digest, other = (summarize(path, reader=reader, **options) for reader in READERS)
    assert digest == other
    validate(digest.to_dict())
    assert Digest.from_json(digest.to_json()) == digest
    return digest


def lengths(*values_ns: int) -> Durations:
    """Return the tails of a few lengths, by hand: nearest rank."""
    ordered = sorted(values_ns)
    if not ordered:
        return Durations(0, 0, None, None, None, None, None)
    middle = ordered[(len(ordered) - 1) // 2]
    return Durations(len(ordered), sum(ordered), ordered[0], middle, ordered[-1], ordered[-1], ordered[-1])


# idle and launch

# GPU     .k..................k..k     the first gap is 20 to 200, the second 210 to 230
# launch  l         lllll              the first at 0, the second from 100 to 150; the last kernel has none
# others      m  ssr mmm               allocates 40 to 50, waits 70 to 90, records to 95, loads within the launch
# range    oooooooooooooooooo          outer, 15 to 190
#            iii                       inner, 30 to 60


def every_cause() -> TraceBuilder:
    return (
        TraceBuilder()
        .gpu(0, "NVIDIA H100")
        .process(1, "python3")
        .range("outer", 15, 190)
        .range("inner", 30, 60)
        .api("cudaLaunchKernel_v7000", 0, 5, correlation=1)
        .kernel(10, 20, correlation=1, name="first")
        .api("cudaMalloc_v3020", 40, 50, correlation=2)
        .api("cudaDeviceSynchronize_v3020", 70, 90, correlation=3)
        .api("cudaEventRecord_v3020", 90, 95, correlation=4)
        .api("cudaLaunchKernel_v7000", 100, 150, correlation=5)
        .api("cuLibraryLoadData", 110, 140, correlation=6)
        .kernel(200, 210, correlation=5, name="second")
        .kernel(230, 240, correlation=None, name="third")
        .api("cudaMalloc_v3020", 20, 200, correlation=7, thread=2)  # another thread decides nothing
    )


def test_every_cause_of_idle_time(tmp_path: Path) -> None:
    idle = digest_of(every_cause(), tmp_path).idle
    assert idle is not None
    pieces = {"queued": 50, "launch_call": 20, "sync": 20, "memory_call": 10, "module_call": 30, "other_call": 5}
    first = pieces | {"host": 45}
    assert len(idle.devices) == 1
    device = idle.devices[0]
    assert (device.device, device.idle_ns, device.gap_count) == (0, 200, 2)
    assert device.causes == {name: Cause(ns, 1, ns) for name, ns in (first | {"unattributed": 20}).items()}
    assert device.host_by_nvtx_ns == {"outer": 25, "inner": 20}
    assert device.histogram == (Bin(0, 1000, 2, 200),)
    assert idle.longest == (
        Gap(0, 20, 180, "first", "second", first, ("outer",), 10),
        Gap(0, 210, 20, "second", "third", {"unattributed": 20}, (), 20),
    )


def test_launch_costs(tmp_path: Path) -> None:
    launch = digest_of(every_cause(), tmp_path).launch
    assert launch is not None
    cost = LaunchCost(lengths(5, 50), lengths(10 - 5, 200 - 150), lengths(10, 200 - 100), 0)
    assert launch.by_api == {"cudaLaunchKernel_v7000": cost}
    assert launch.kernels == cost
    assert launch.graphs == LaunchCost(lengths(), lengths(), lengths(), 0)
    assert launch.unmatched_kernel_count == 1


def test_work_that_begins_before_its_call_returns_has_no_queue_delay(tmp_path: Path) -> None:
    """A graph traced node by node is one launch, whose work begins with the first of its kernels."""
    trace = TraceBuilder().api("cudaGraphLaunch_v10000", 0, 50)
    for start in (60, 40, 80):
        trace.kernel(start, start + 10, graph_node=start)
    launch = digest_of(trace, tmp_path).launch
    assert launch is not None
    assert launch.graphs == LaunchCost(lengths(50), lengths(0), lengths(40), 1)


# steps; see test_steps.py

# range   aaaaaaaaaabbbbbbbbbb          cccccc  a, b, c: three times "step"
# calls   L    L    LL      SS          L       L launches, S waits
# GPU      kkk  kkk   kkk                kkk
# NCCL                  nnnn                    beside k until 150, then alone


def three_steps(domain: bool = False) -> TraceBuilder:
    number = 5 if domain else 0
    trace = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3")
    if domain:
        trace.domain(number, "engine")
    return (
        trace.range("step", 0, 100, domain=number)
        .range("step", 100, 200, domain=number)
        .range("step", 300, 360, domain=number)
        .api("cudaLaunchKernel_v7000", 5, 8, correlation=1)
        .kernel(10, 40, correlation=1)
        .api("cudaLaunchKernel_v7000", 50, 55, correlation=2)
        .kernel(60, 90, correlation=2)
        .api("cudaLaunchKernel_v7000", 108, 112, correlation=3)
        .kernel(120, 150, correlation=3)
        .api("cuLaunchKernelEx", 113, 115, correlation=4)
        .kernel(140, 180, stream=8, correlation=4, name="ncclDevKernel_AllReduce", demangled=ALL_REDUCE)
        .api("cudaDeviceSynchronize_v3020", 185, 200, correlation=5)
        .api("cudaLaunchKernel_v7000", 302, 304, correlation=6)
        .kernel(310, 340, correlation=6)
    )


# communication

# device 0  gemm  gggggggggg
#           all        aaaaaaaaaa                       five hidden, five exposed
#           other                    oo
#           send                      ssssss            one hidden, five exposed
#           copy             cccc                       copies hide nothing
# device 1  all   aaaaaaaa
#           all       aaaaaaaa                          both at once count once
#           gemm            ggg                         two hidden


def communicating() -> TraceBuilder:
    return (
        TraceBuilder()
        .gpu(0, "NVIDIA H100")
        .gpu(1, "NVIDIA H100")
        .process(1, "python3")
        .kernel(0, 100, demangled=GEMM)
        .kernel(50, 150, stream=8, demangled=ALL_REDUCE)
        .memcpy(110, 150, stream=9)
        .kernel(190, 210, demangled="solve(int)")
        .kernel(200, 260, stream=8, demangled=SEND_RECEIVE)
        .kernel(0, 80, device=1, demangled=ALL_REDUCE)
        .kernel(40, 120, device=1, stream=8, demangled=ALL_REDUCE)
        .kernel(100, 130, device=1, stream=9, demangled=GEMM)
    )


def test_communication(tmp_path: Path) -> None:
    assert digest_of(communicating(), tmp_path).communication == (
        Communication(0, 160, 60, 100, {"all_reduce": KindTotal(1, 100), "send_receive": KindTotal(1, 60)}),
        Communication(1, 120, 20, 100, {"all_reduce": KindTotal(2, 160)}),
    )


def test_a_device_without_collectives_has_zeros_and_one_without_kernels_no_row(tmp_path: Path) -> None:
    trace = TraceBuilder().gpu(0, "NVIDIA H100").gpu(1, "NVIDIA H100").kernel(0, 10).memcpy(0, 10, device=1)
    assert digest_of(trace, tmp_path).communication == (Communication(0, 0, 0, 0, {}),)


# categories

# here one letter is a nanosecond
# device 0  image  iiiiiiiiii
#           gemm   gggggggggggggggggggggggggggggg
#           solve                                ssssssssss
# device 1  image       iiiiiiiiiiiiiii


def imaging() -> TraceBuilder:
    return (
        TraceBuilder()
        .kernel(0, 10, demangled="GrayscaleKernel(uchar4 *, int)")
        .kernel(5, 20, device=1, demangled="GrayscaleKernel(uchar4 *, int)")
        .kernel(0, 30, stream=8, demangled=GEMM)
        .kernel(30, 40, demangled="solve(int)")
    )


def categories_file(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


IMAGE_RULE = "[[category]]\nname = 'image'\npattern = 'Grayscale'\n"


def test_categories_of_ones_own(tmp_path: Path) -> None:
    shipped = digest_of(imaging(), tmp_path).categories
    # on device 0 image and gemm are at once for 10, so that each has 5 of that
    assert shipped == {"other": Category(3, 35, 30, 5 + 10 + 15), "gemm": Category(1, 30, 30, 5 + 20)}
    mine = digest_of(imaging(), tmp_path, categories=categories_file(tmp_path, IMAGE_RULE)).categories
    # the union is over both devices
    assert mine == {
        "gemm": Category(1, 30, 30, 5 + 20),
        "image": Category(2, 25, 20, 5 + 15),
        "other": Category(1, 10, 10, 10),
    }
    assert list(mine) == ["gemm", "image", "other"]
    alone = digest_of(
        imaging(), tmp_path, categories=categories_file(tmp_path, f"extends = false\n{IMAGE_RULE}")
    ).categories
    assert alone == {"other": Category(2, 40, 40, 5 + 20 + 10), "image": Category(2, 25, 20, 5 + 15)}


def test_categories_decide_what_is_communication(tmp_path: Path) -> None:
    own = categories_file(tmp_path, "[[category]]\nname = 'communication'\npattern = 'Grayscale'\n")
    found = digest_of(imaging(), tmp_path, categories=own).communication
    assert found == (
        Communication(0, 10, 10, 0, {"other": KindTotal(1, 10)}),
        Communication(1, 15, 0, 15, {"other": KindTotal(1, 15)}),
    )


# memory

# device 0  HtoD    cccccccccc      cc
#           DtoH         cccccccccc
#           kernels         kkkk  kk                      beside copies: 80 to 120, 140 to 150
# device 1  DtoD    c
#           kernels kkkkkkkkkk                            of another process


def test_memory(tmp_path: Path) -> None:
    trace = (
        TraceBuilder()
        .gpu(0, "NVIDIA H100")
        .gpu(1, "NVIDIA H100")
        .memcpy(0, 100, kind=1, bytes=1000, source_kind=1, destination_kind=2)
        .memcpy(50, 150, stream=8, kind=2, bytes=200, source_kind=2, destination_kind=0)
        .memcpy(160, 180, kind=1, bytes=100, source_kind=1, destination_kind=2)
        .memcpy(300, 300, kind=1, bytes=5, source_kind=1, destination_kind=2)  # without length: no bandwidth
        .memcpy(0, 10, device=1, kind=8, bytes=10)
        .kernel(80, 120, stream=9)
        .kernel(140, 160, stream=9)
        .kernel(0, 100, device=1, stream=9, process=2)
        .memset(210, 220, bytes=64)
        .memset(215, 225, bytes=64, stream=8)
    )
    memory = digest_of(trace, tmp_path).memory
    assert memory is not None
    assert memory.copies == (
        Copies("HtoD", "pinned", "device", 3, 1105, 120, Bandwidth(5.0, 10.0, 10.0, 5.0)),
        Copies("DtoH", "device", "pageable", 1, 200, 100, Bandwidth(2.0, 2.0, 2.0, 2.0)),
        Copies("DtoD", None, None, 1, 10, 10, Bandwidth(1.0, 1.0, 1.0, 1.0)),
    )
    assert memory.sets == Sets(2, 128, 20)
    assert memory.overlapped_with_kernels_ns == 40 + 10 + 10


def test_copies_without_length_have_no_bandwidth(tmp_path: Path) -> None:
    memory = digest_of(TraceBuilder().memcpy(5, 5, bytes=9), tmp_path).memory
    assert memory is not None
    assert memory.copies == (Copies("HtoD", None, None, 1, 9, 0, Bandwidth(None, None, None)),)


# dispatch steps

# thread 1  marks F         F         F         N       F: mode FULL, N: mode NONE
#           calls  G         G         L                G launches a graph, L a kernel
# thread 2  marks      N                   N
#           calls       L
# GPU                ggg kk      gg     kkkk            kk is of thread 2


def dispatching() -> TraceBuilder:
    trace = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3")
    for at, thread, mode, actual, padded in (
        (0, 1, "FULL", 3, 4),
        (100, 1, "FULL", 1, 4),
        (200, 1, "FULL", 8, 8),
        (300, 1, "NONE", 5, 5),
        (50, 2, "NONE", 2, 2),
        (250, 2, "NONE", 2, 2),
    ):
        trace.mark(f"CG_DISPATCH:actual={actual}:mode={mode}:padded={padded}", at, thread=thread)
    return (
        trace.api("cudaGraphLaunch_v10000", 10, 20, correlation=1)
        .graph(30, 60, correlation=1)
        .api("cudaGraphLaunch_v10000", 110, 115, correlation=2)
        .graph(150, 170, correlation=2)
        .api("cudaLaunchKernel_v7000", 210, 215, correlation=3)
        .kernel(220, 260, correlation=3)
        .api("cudaLaunchKernel_v7000", 60, 65, correlation=4, thread=2)
        .kernel(70, 90, correlation=4, stream=8)
    )


def test_dispatch_steps(tmp_path: Path) -> None:
    digest = digest_of(dispatching(), tmp_path)
    full, none = {"mode": "FULL"}, {"mode": "NONE"}
    assert digest.dispatch_steps == (
        DispatchStep(full, "FULL", None, 3, 12, 0.25, lengths(100, 100, 100), 50 + 20 + 40, 30 + 20 + 40, 2),
        DispatchStep(full | {"padded": 4}, "FULL", 4, 2, 4, 0.5, lengths(100, 100), 50 + 20, 30 + 20, 2),
        DispatchStep(full | {"actual": 8, "padded": 8}, "FULL", 8, 1, 8, 0.0, lengths(100), 40, 40, 0),
        # the last mark of each thread has no next one: it counts as a step, but has no time
        DispatchStep(none, "NONE", None, 3, 9, 0.0, lengths(200), 10 + 20 + 20 + 30, 20, 0),
        DispatchStep(none | {"actual": 2, "padded": 2}, "NONE", 2, 2, 4, 0.0, lengths(200), 80, 20, 0),
        DispatchStep(none | {"actual": 5, "padded": 5}, "NONE", 5, 1, 5, 0.0, lengths(), 0, 0, 0),
    )
    said = [warn.message for warn in digest.warnings if warn.code == "dispatch-disagrees"]
    assert len(said) == 1
    assert said[0].startswith("1 of 3 steps whose mark says mode FULL, a CUDA graph, launched none")


def test_a_graph_launched_in_a_step_without_one_disagrees(tmp_path: Path) -> None:
    trace = (
        TraceBuilder()
        .mark("CG_DISPATCH:mode=NONE", 0)
        .mark("CG_DISPATCH:mode=NONE", 100)
        .api("cudaGraphLaunch_v10000", 10, 20)
        .graph(30, 60)
    )
    said = [warn.message for warn in digest_of(trace, tmp_path).warnings if warn.code == "dispatch-disagrees"]
    assert len(said) == 1
    assert said[0].startswith("1 of 1 steps whose mark says mode NONE, no CUDA graph, launched one")


def test_dispatch_values_that_are_no_whole_numbers_stay_text(tmp_path: Path) -> None:
    trace = TraceBuilder().mark("CG_DISPATCH:actual=many:mode=FULL:padded=8.0", 0).mark("CG_DISPATCH again", 5)
    steps = digest_of(trace, tmp_path).dispatch_steps
    assert steps is not None
    assert [(step.mode, step.padded, step.steps, step.actual, step.padding_ratio) for step in steps] == [
        (None, None, 1, None, None),
        ("FULL", None, 1, None, None),
    ]
    assert steps[0].fields == {}
    assert steps[1].fields == {"actual": "many", "mode": "FULL", "padded": "8.0"}


def test_a_step_of_padded_zero_has_no_padding_ratio(tmp_path: Path) -> None:
    steps = digest_of(TraceBuilder().mark("CG_DISPATCH:actual=0:padded=0", 0), tmp_path).dispatch_steps
    assert steps is not None
    assert [(step.padded, step.actual, step.padding_ratio) for step in steps] == [(None, 0, None), (0, 0, None)]


@pytest.mark.slow
def test_modes_beyond_the_limit_are_one_row(tmp_path: Path) -> None:
    """Of 700 modes, the first 100 of two steps: 500 are kept, each with its size; 200 of one step each are one row."""
    trace = TraceBuilder().kernel(0, 10)
    for number in (*range(700), *range(100)):
        trace.mark(f"CG_DISPATCH:actual=3:mode=m{number:03}:padded=4", 100)
    digest = digest_of(trace, tmp_path)
    assert digest.dispatch_steps is not None
    whole = [step for step in digest.dispatch_steps if step.padded is None]
    assert [step.mode for step in whole] == ["(other)", *(f"m{number:03}" for number in range(500))]
    assert [step.steps for step in whole] == [200, *[2] * 100, *[1] * 400]
    assert (whole[0].actual, whole[0].padding_ratio) == (600, 0.25)
    assert [step.mode for step in digest.dispatch_steps if step.padded == 4] == [step.mode for step in whole[1:]]
    (said,) = [warn.message for warn in digest.warnings if warn.code == "dispatch-capped"]
    assert said.startswith("399 rows of dispatch steps left out")
    disagree = [warn.message for warn in digest.warnings if warn.code == "dispatch-disagrees"]
    assert len(disagree) == 21
    assert disagree[-1].startswith("480 further modes")


def test_another_prefix_and_commas(tmp_path: Path) -> None:
    trace = TraceBuilder().mark("STEP, mode = PIECEWISE, padded=16, actual=12, lora=-1", 0).mark("CG_DISPATCH", 5)
    steps = digest_of(trace, tmp_path, dispatch_prefix="STEP").dispatch_steps
    assert steps is not None
    assert [(step.mode, step.padded) for step in steps] == [("PIECEWISE", None), ("PIECEWISE", 16)]
    assert steps[0].fields == {"mode": "PIECEWISE", "padded": 16, "actual": 12, "lora": -1}
    assert steps[0].padding_ratio == 0.25


# choosing sections


def sections_of(digest: Digest) -> dict[str, Any]:
    """Return the sections that a digest has, by their names; the detail of ranges is that of nvtx."""
    found = {name: part for name in ADDED if (part := getattr(digest, name)) is not None}
    details = {name: ranges.detail for name, ranges in digest.nvtx.items() if ranges.detail is not None}
    return found | ({"nvtx": details} if details else {})


@pytest.fixture(scope="module")
def whole() -> dict[Path, Digest]:
    return {trace: summarize(trace) for trace in TRACES}


@pytest.mark.parametrize("trace", TRACES, ids=named)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_alone_is_that_of_the_whole(name: str, trace: Path, whole: dict[Path, Digest]) -> None:
    digest = summarize(trace, sections=[name])
    assert sections_of(digest) == {name: sections_of(whole[trace])[name]}
    assert digest.capture.sections == (name,)
    assert base_of(digest) == base_of(whole[trace])


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_no_section_is_the_base_of_the_whole(trace: Path, whole: dict[Path, Digest]) -> None:
    digest = summarize(trace, sections=[])
    assert digest.capture.sections == ()
    assert sections_of(digest) == {}
    assert base_of(digest) == base_of(whole[trace])


def base_of(digest: Digest) -> list[Any]:
    kept = ("file", "gpu_busy_union_ns", "api", "dispatch_timeline", "top_kernels", "devices")
    return [getattr(digest, key) for key in kept]


def test_sections_on_the_command_line() -> None:
    trace = TRACES[0]

    def keys(names: str) -> tuple[list[str], list[str]]:
        ran = call("summarize", "-q", "--sections", names, trace)
        assert ran.status == 0, ran
        document = json.loads(ran.out)
        return [key for key in document if key in (*SECTIONS, *ON_REQUEST) and key != "nvtx"], document["capture"][
            "filters"
        ]["sections"]

    made = [name for name in ADDED if name in SECTIONS]
    assert keys("all") == (made, list(SECTIONS))
    assert keys("nvtx_payload,all") == ([*made, "nvtx_payload"], [*SECTIONS, "nvtx_payload"])
    assert keys("base") == ([], [])
    assert keys("api_durations, idle,") == (["idle", "api_durations"], ["idle", "api_durations"])
    assert keys("nvtx") == ([], ["nvtx"])


def test_an_unknown_section_is_one_line() -> None:
    trace = TRACES[0]

    def refused(sections: str) -> str:
        return the_line(call("summarize", "--sections", sections, trace), 2, "usage-invalid")

    assert refused("idle,nope") == f"there is no section nope; choose from {', '.join((*SECTIONS, *ON_REQUEST))}"
    assert refused(" , ") == "--sections names none; give all, base, or names separated by commas"
    assert "all and base stand alone" in refused("idle,base")
    with pytest.raises(UsageInvalid, match="give a list of names"):
        summarize(trace, sections="idle")
    with pytest.raises(UsageInvalid, match="there is no reader 'fast'"):
        summarize(trace, reader="fast")  # type: ignore[arg-type]
    with pytest.raises(UsageInvalid, match="there is no section steps"):
        summarize(TRACES[0], sections=["steps"])


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_gaps(trace: Path, whole: dict[Path, Digest]) -> None:
    idle = whole[trace].idle
    assert idle is not None
    for number in (0, 1):
        found = summarize(trace, gaps=number, sections=["idle"]).idle
        assert found is not None
        assert found.longest == idle.longest[:number]
        assert found.devices == idle.devices
    with pytest.raises(UsageInvalid, match="gaps is -1"):
        summarize(trace, gaps=-1)


# categories


def test_category_use_as_json(tmp_path: Path) -> None:
    path = imaging().write(tmp_path / "trace.sqlite")
    own = categories_file(tmp_path, IMAGE_RULE)
    ran = call("categories", "--categories", own, path)
    assert (ran.status, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert list(document) == ["file", "kernels"]
    assert [(row["name"], row["count"], row["total_s"], row["source"]) for row in document["kernels"]][1:] == [
        ("GrayscaleKernel(uchar4 *, int)", 2, 25e-9, "mine.toml 1"),
        ("solve(int)", 1, 10e-9, None),
    ]
    assert document["kernels"][1]["pattern"] == "Grayscale"
    assert document["kernels"][2]["category"] is document["kernels"][2]["pattern"] is None
    assert classify(path, categories=own, reader="stdlib").to_json() + "\n" == ran.out
    assert call("categories", "--categories", own, "--compact", path).out.count("\n") == 1


@pytest.mark.parametrize("format", ["text", "markdown"])
def test_category_use_for_people_says_first_what_no_pattern_took(format: str, tmp_path: Path) -> None:
    path = imaging().write(tmp_path / "trace.sqlite")
    out = call("categories", "--format", format, path).out
    unknown, known = out.index("Kernels that no pattern took"), out.index("Kernels by pattern")
    assert unknown < out.index("GrayscaleKernel") < out.index("solve(int)") < known < out.index(GEMM)
    assert "2 names" in out
    cut = call("categories", "--format", format, "--top", "1", path).out
    assert "1 more" in cut
    assert "solve(int)" not in cut


def test_category_use_of_a_trace_without_kernels() -> None:
    nogpu = next(trace for trace in TRACES if trace.stem == "nogpu")
    assert json.loads(call("categories", nogpu).out) == {"file": "nogpu.sqlite", "kernels": []}
    for shown in ("text", "markdown"):
        assert "0, of 0 names" in call("categories", "--format", shown, nogpu).out


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_patterns_know_every_kernel_of_the_fixtures(trace: Path, whole: dict[Path, Digest]) -> None:
    uses = classify(trace).kernels
    assert [use.name for use in uses if use.source is None] == []
    assert sum(use.count for use in uses) == whole[trace].kernel_count
    assert sum(use.total_ns for use in uses) == sum(device.sum_ns["kernel"] for device in whole[trace].devices)


# percentiles


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], (None, None, None, None, None)),
        ([7], (7, 7, 7, 7, 7)),
        ([2, 1], (1, 1, 2, 2, 2)),
        ([3, 1, 2], (1, 2, 3, 3, 3)),
        ([4, 3, 2, 1], (1, 2, 4, 4, 4)),
        (range(1, 21), (1, 10, 19, 20, 20)),
        (range(1, 101), (1, 50, 95, 99, 100)),
        (range(1, 102), (1, 51, 96, 100, 101)),
        (range(1, 1001), (1, 500, 950, 990, 1000)),
    ],
)
def test_percentiles_are_nearest_rank(values: Iterable[int], expected: tuple[int | None, ...]) -> None:
    found = durations(np.array(list(values), np.int64))
    assert (found.min_ns, found.p50_ns, found.p95_ns, found.p99_ns, found.max_ns) == expected
    assert (found.count, found.total_ns) == (len(list(values)), sum(values))


# nothing to explain


@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_trace_without_rows_has_every_section(version: str, lazy: bool, tmp_path: Path) -> None:
    digest = digest_of(TraceBuilder(version, lazy=lazy).gpu(0, "NVIDIA H100").session(1000), tmp_path)
    nothing = lengths()
    assert digest.idle is not None
    assert (digest.idle.devices, digest.idle.longest) == ((), ())
    assert digest.launch is not None
    assert digest.launch.by_api == {}
    assert digest.launch.kernels == digest.launch.graphs
    assert digest.launch.kernels.api == digest.launch.kernels.queue_delay == digest.launch.kernels.latency == nothing
    assert digest.launch.unmatched_kernel_count == 0
    assert digest.memory is not None
    assert (digest.memory.copies, digest.memory.sets) == ((), Sets(0, 0, 0))
    assert (digest.communication, digest.dispatch_steps) == ((), ())
    assert (digest.categories, digest.api_durations, digest.kernel_durations) == ({}, {}, {})


@pytest.mark.parametrize(
    ("table", "column"),
    [(KERNEL, "correlationId"), (RUNTIME, "correlationId"), (RUNTIME, "globalTid")],
)
def test_without_the_columns_that_link_work_to_calls_nothing_is_attributed(
    table: str, column: str, tmp_path: Path
) -> None:
    """The export was cut down: idle time keeps its length and loses its cause, and a warning says so."""
    trace = TraceBuilder().api("cudaLaunchKernel_v7000", 5, 8).kernel(10, 40).kernel(60, 70).range("step", 0, 50)
    digest = digest_of(trace.drop_columns(table, column), tmp_path)
    assert [warn.message for warn in digest.warnings if warn.code == "reduced-schema"] == [
        f"Table {table} lacks {column}; figures that need them fall short"
    ]
    assert digest.idle is not None
    assert {name: cause.sum_ns for name, cause in digest.idle.devices[0].causes.items() if cause.sum_ns} == {
        "unattributed": 20
    }
    assert digest.launch is not None
    assert digest.launch.unmatched_kernel_count == 2
    detail = digest.nvtx["step"].detail
    assert detail is not None
    assert (detail.launched_kernel_count, detail.launched_busy_ns) == (0, 0)


@pytest.mark.parametrize(("processes", "launched"), [(1, 30), (2, 0)])
def test_work_of_no_named_process_is_that_of_the_only_one(processes: int, launched: int, tmp_path: Path) -> None:
    """The GPU tables name no process: with one process among the calls it can be no other, with two nobody knows."""
    # tick      0    5  8 10          40          60     70
    # step      ├───────────────────────────┤ 50
    # launch         ███
    # kernels           ███████████████          ██████
    trace = TraceBuilder().range("step", 0, 50)
    trace.kernel(10, 40, correlation=7).kernel(60, 70, correlation=8)
    for process in range(processes):
        trace.api("cudaLaunchKernel_v7000", 5, 8, correlation=7, process=1 + process)
    digest = digest_of(trace.drop_columns(KERNEL, "globalPid"), tmp_path)
    detail = digest.nvtx["step"].detail
    assert digest.launch is not None
    assert digest.launch.unmatched_kernel_count == (1 if processes == 1 else 2)
    assert detail is not None
    assert detail.launched_busy_ns == launched


def test_without_gpu_activity_busy_and_idle_are_unknown_and_not_zero(tmp_path: Path) -> None:
    trace = TraceBuilder().range("step", 0, 50).range("step", 60, 90)
    trace.mark("CG_DISPATCH:mode=NONE", 1).mark("CG_DISPATCH:mode=NONE", 61)
    digest = digest_of(trace, tmp_path, steps="step")
    assert digest.steps is not None
    assert digest.steps.wall.total_ns == 30
    assert (digest.steps.idle, digest.steps.exposed_communication) == (None, None)
    assert (digest.steps.busy_ratio.p50, digest.steps.busy_ratio.min) == (None, None)
    for step in (*digest.steps.warmup, *digest.steps.slowest):
        assert step is not None
        assert (step.gpu_busy_ns, step.gpu_idle_ns, step.busy_ratio) == (None, None, None)
    detail = digest.nvtx["step"].detail
    assert detail is not None
    assert (detail.launched_busy_ns, detail.gpu_idle_ns, detail.p50_ns) == (None, None, 30)
    assert digest.dispatch_steps is not None
    assert [(step.gpu_overlap_ns, step.launched_busy_ns) for step in digest.dispatch_steps] == [(None, None)]
    validate(digest.to_dict())
    assert Digest.from_json(digest.to_json()) == digest


def test_kinds_of_memory_that_nobody_named_are_unknown(tmp_path: Path) -> None:
    """The collector writes 7 (Unknown) for both ends of a page migration; a number says nothing to a reader."""
    digest = digest_of(TraceBuilder().memcpy(0, 5, kind=11, source_kind=7, destination_kind=255), tmp_path)
    assert digest.memory is not None
    (row,) = digest.memory.copies
    assert (row.direction, row.source_kind, row.destination_kind) == ("UVM HtoD", None, None)


def test_padding_is_a_share_or_unknown(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for at, text in enumerate(["padded=8:actual=6", "padded=4:actual=9", "padded=-8:actual=0", "padded=0:actual=0"]):
        trace.mark(f"CG_DISPATCH:mode={at}:{text}", at)
    digest = digest_of(trace, tmp_path)
    assert digest.dispatch_steps is not None
    ratios = [step.padding_ratio for step in digest.dispatch_steps if step.padded is None]
    assert ratios == [0.25, None, None, None]


def test_marks_without_a_mode_come_before_those_of_an_empty_one(tmp_path: Path) -> None:
    trace = TraceBuilder().mark("CG_DISPATCH:mode=:padded=8", 0).mark("CG_DISPATCH:padded=4", 1)
    digest = digest_of(trace.mark("CG_DISPATCH:mode=A:padded=2", 2), tmp_path)
    assert digest.dispatch_steps is not None
    rows = [(step.mode, step.padded) for step in digest.dispatch_steps]
    assert rows == [(None, None), (None, 4), ("", None), ("", 8), ("A", None), ("A", 2)]


def test_bytes_add_up_to_64_bits_and_no_further(tmp_path: Path) -> None:
    trace = TraceBuilder().memcpy(0, 1, bytes=2**62).memcpy(1, 2, bytes=2**62 - 1)
    digest = digest_of(trace, tmp_path)
    assert digest.memory is not None
    assert digest.memory.copies[0].bytes == 2**63 - 1
    with pytest.raises(ValueUnreadable, match="8 EiB together"):
        digest_of(trace.memcpy(2, 3, bytes=1), tmp_path)


def test_kernels_whose_name_is_missing_are_told_from_nameless_ones(tmp_path: Path) -> None:
    path = TraceBuilder().kernel(0, 2, name=777, demangled=778).kernel(3, 4, name="").write(tmp_path / "t.sqlite")
    assert [(use.name, use.count) for use in classify(path).kernels] == [("[string 777]", 1), ("", 1)]


def test_the_list_of_sections_and_that_of_their_names_agree() -> None:
    named = {section.name for section in registry.SECTIONS}
    assert named == {*SECTIONS, *ON_REQUEST, "steps"}
    assert len(named) == len(registry.SECTIONS)
    assert named - {"nvtx"} == set(ADDED)


# the codec


def test_every_section_comes_back(tmp_path: Path, whole: dict[Path, Digest]) -> None:
    digests = [*whole.values(), digest_of(three_steps(), tmp_path, steps="step"), digest_of(dispatching(), tmp_path)]
    digests.append(digest_of(three_steps(), tmp_path, sections=ON_REQUEST))
    seen = set()
    for digest in digests:
        for name in ADDED:
            part = getattr(digest, name)
            if part is not None:
                seen.add(name)
        assert Digest.from_json(digest.to_json()) == digest
    assert seen == set(ADDED)


# kinds of calls

CALLS_OF_FIXTURES = {
    "launch_call": """
        cuLaunchKernel cuLaunchKernelEx cudaGraphLaunch_v10000 cudaLaunchKernelExC_v11060 cudaLaunchKernel_v7000
        cudaMemcpyAsync_v3020 cudaMemsetAsync_v3020
    """,
    "sync": "cudaDeviceSynchronize_v3020 cudaEventSynchronize_v3020 cudaStreamSynchronize_v3020",
    "memory_call": """
        cuMemAddressFree cuMemAddressReserve cuMemCreate cuMemExportToShareableHandle cuMemGetAllocationGranularity
        cuMemImportFromShareableHandle cuMemMap cuMemRelease cuMemRetainAllocationHandle cuMemSetAccess cuMemUnmap
        cudaFreeHost_v3020 cudaFree_v3020 cudaHostAlloc_v3020 cudaMalloc_v3020 cudaMemPoolCreate_v11020
        cudaMemPoolDestroy_v11020 cudaMemPoolSetAttribute_v11020
    """,
    "module_call": """
        cuGetProcAddress_v2 cuKernelGetAttribute cuKernelGetFunction cuKernelGetName cuKernelSetAttribute
        cuLibraryGetKernel cuLibraryLoadData cuModuleGetLoadingMode cuModuleLoadData
        cudaGetDriverEntryPointByVersion_v12050 cudaGetFuncBySymbol_v11000
    """,
    "other_call": """
        cuInit cuOccupancyAvailableDynamicSMemPerBlock cuOccupancyMaxActiveClusters cudaEventCreateWithFlags_v3020
        cudaEventDestroy_v3020 cudaEventQuery_v3020 cudaEventRecordWithFlags_v11010 cudaEventRecord_v3020
        cudaGetDeviceProperties_v12000 cudaGraphAddDependencies_v12030 cudaGraphAddEventRecordNode_v11010
        cudaGraphDestroy_v10000 cudaGraphExecDestroy_v10000 cudaGraphGetNodes_v10000
        cudaGraphInstantiateWithFlags_v11040 cudaGraphRetainUserObject_v11030
        cudaOccupancyAvailableDynamicSMemPerBlock_v10200 cudaOccupancyMaxActiveClusters_v11070
        cudaStreamBeginCapture_v10000 cudaStreamCreateWithFlags_v5000 cudaStreamCreateWithPriority_v5050
        cudaStreamCreate_v3020 cudaStreamDestroy_v5050 cudaStreamEndCapture_v10000 cudaStreamGetCaptureInfo_v12030
        cudaStreamIsCapturing_v10000 cudaStreamUpdateCaptureDependencies_v12030 cudaStreamWaitEvent_v3020
        cudaThreadExchangeStreamCaptureMode_v10010 cudaUserObjectCreate_v11030
    """,
}
CALLS_OF_PUBLISHED_TRACES = {
    "launch_call": "cuMemcpyDtoHAsync_v2 cuMemcpyHtoDAsync_v2 cuMemsetD32Async cudaLaunchKernel",
    # a set may return before it is done, or wait: which of them it did the trace does not say
    "sync": """
        cuCtxSynchronize cuEventSynchronize cuMemcpyDtoH_v2 cuMemcpyHtoD_v2 cuStreamSynchronize cudaMemcpy_v3020
        cudaMemset_v3020
    """,
    "memory_call": """
        cuMemAllocHost_v2 cuMemAllocManaged cuMemAlloc_v2 cuMemFree_v2 cuMemGetInfo_v2 cuMemHostAlloc
        cudaFreeAsync_v11020 cudaGraphicsGLRegisterBuffer_v3020 cudaGraphicsMapResources_v3020
        cudaGraphicsUnmapResources_v3020 cudaMallocAsync_v11020 cudaMallocManaged_v6000 cudaMemGetInfo_v3020
    """,
    "module_call": "cuModuleLoadDataEx cuModuleUnload cudaGetDriverEntryPoint_v11030",
    "other_call": """
        cuCtxSetCurrent cuDeviceGetLuid cuEventCreate cuEventRecord cuProfilerStart cuStreamCreate cuStreamDestroy_v2
        cuStreamIsCapturing cudaEventCreate_v3020 cudaGetDeviceProperties_v2_v12000 cudaStreamGetCaptureInfo_v2_v11030
    """,
}


def class_by_name(*tables: dict[str, str]) -> dict[str, str]:
    return {name: kind for table in tables for kind, names in table.items() for name in names.split()}


@pytest.mark.parametrize("trace", TRACES, ids=named)
def test_every_call_of_the_fixtures_has_its_class(trace: Path, whole: dict[Path, Digest]) -> None:
    expected = class_by_name(CALLS_OF_FIXTURES)
    assert {name: call_class(name).value for name in whole[trace].api} == {
        name: expected[name] for name in whole[trace].api
    }


@pytest.mark.skipif(not SHARED, reason="the collection of published traces is not beside this checkout")
@pytest.mark.slow
def test_every_call_of_published_traces_has_its_class() -> None:
    expected = class_by_name(CALLS_OF_FIXTURES, CALLS_OF_PUBLISHED_TRACES)
    names = {name for trace in SHARED for name in summarize(trace, sections=[]).api}
    assert {name: call_class(name).value for name in names} == {name: expected[name] for name in names}


@pytest.mark.parametrize(
    ("recorded", "kind"),
    [
        *class_by_name(CALLS_OF_FIXTURES, CALLS_OF_PUBLISHED_TRACES).items(),
        ("cudaLaunchKernel_ptsz_v7000", "launch_call"),
        ("cuLaunchKernel_ptsz", "launch_call"),
        ("cuMemcpyHtoDAsync_v2_ptsz", "launch_call"),
        ("cuMemcpyDtoH_v2_ptds", "sync"),
        ("cudaStreamSynchronize_ptsz_v7000", "sync"),
        ("cuMemFree_v2", "memory_call"),
        ("cuGetProcAddress", "module_call"),
        ("cuLinkCreate_v2", "module_call"),
        # known by the whole name, never by how it begins
        ("cudaLaunchKernelOfTomorrow_v15000", "other_call"),
        ("cudaMallocation", "other_call"),
        ("cudaLaunchHostFunc_v10000", "other_call"),
        ("cudaGraphUpload_v11010", "other_call"),
        ("myLaunch", "other_call"),
        ("", "other_call"),
        ("[string 7]", "other_call"),
    ],
)
def test_kinds_of_calls(recorded: str, kind: str) -> None:
    assert call_class(recorded).value == kind
