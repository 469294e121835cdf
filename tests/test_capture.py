"""What a trace says of itself: what was traced, when, by whom; and what a digest says made it."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, UsageInvalid, inspect, summarize
from nsys_digest.model.base_types import Traced
from support import call

NOT_STARTED = "CUDA profiling might have not been started correctly."
NO_CUDA = "No CUDA events collected. Does the process use CUDA?"


def asked(*kinds: str, version: str = "2025.3") -> TraceBuilder:
    """Draw a trace without any event, whose settings ask for these kinds of event."""
    trace = TraceBuilder(version).process(1, "server").thread_name("main")
    for kind in kinds:
        trace.meta("CAPTURE_EVENT_TYPE", kind, capture=True)
    return trace


def digest(trace: TraceBuilder, folder: Path) -> Digest:
    return summarize(trace.write(folder / "t.sqlite"))


def overhead(trace: TraceBuilder, name: str) -> TraceBuilder:
    """Add a row of nsys' own work of that name."""
    return trace.string(77, name).row("PROFILER_OVERHEAD", start=0, end=1, globalTid=1, nameId=77, returnValue=0)


def collects(trace: TraceBuilder, **kinds: bool) -> TraceBuilder:
    """Add the settings of a process that say which kinds of event it collects."""
    for kind, value in kinds.items():
        trace.meta(f"PROCESS_0:COLLECT_{kind.upper()}_TRACE", str(value).lower(), capture=True)
    return trace


def context(trace: TraceBuilder) -> TraceBuilder:
    """Say that a process made a CUDA context."""
    return trace.sql(
        "CREATE TABLE TARGET_INFO_CUDA_CONTEXT_INFO (nullStreamId INTEGER, processId INTEGER, deviceId INTEGER);"
        "INSERT INTO TARGET_INFO_CUDA_CONTEXT_INFO VALUES (7, 1, 0);"
    )


@pytest.mark.parametrize(
    ("trace", "cuda", "nvtx", "advice"),
    [
        pytest.param(
            asked("NvtxEvents"), False, True, "CUDA was not traced: profile with -t cuda,nvtx", id="not asked"
        ),
        pytest.param(
            asked("Cuda", "NvtxEvents"), True, True, "nothing shows that a traced process started it", id="asked"
        ),
        pytest.param(asked(), None, None, "The export does not say whether CUDA was traced", id="not told"),
        pytest.param(
            asked("Cuda").diagnostic("CUDA injection initialized successfully.", severity=1),
            *(True, False, "CUDA was traced and a process started it"),
            id="started, by the log",
        ),
        pytest.param(
            context(asked("Cuda", "NvtxEvents")), True, True, "CUDA was traced and a process started it", id="a context"
        ),
        pytest.param(
            overhead(asked(), "CUDA profiling initialization"),
            *(True, None, "CUDA was traced and a process started it"),
            id="started, by nsys' own work",
        ),
        pytest.param(
            collects(asked(), cuda=True, nvtx=True),
            *(True, True, "nothing shows that a traced process started it"),
            id="collected",
        ),
        pytest.param(
            collects(asked("Cuda"), cuda=False, nvtx=True),
            *(True, True, "nothing shows that a traced process started it"),
            id="listed, or collected",
        ),
        pytest.param(
            collects(asked("NvtxEvents"), cuda=False),
            *(False, True, "CUDA was not traced: profile with -t cuda,nvtx"),
            id="neither listed nor collected",
        ),
        pytest.param(
            collects(asked(), cuda=False), None, None, "The export does not say whether CUDA was traced", id="collects"
        ),
        pytest.param(
            overhead(collects(asked(), cuda=True), "NVTX early profiling initialization"),
            *(True, True, "nothing shows that a traced process started it"),
            id="NVTX, by nsys' own work",
        ),
        pytest.param(
            asked().diagnostic(NO_CUDA), True, None, "nothing shows that a traced process started it", id="by the log"
        ),
    ],
)
def test_what_was_traced_and_the_advice(
    trace: TraceBuilder, cuda: bool | None, nvtx: bool | None, advice: str, tmp_path: Path
) -> None:
    found = digest(trace, tmp_path)
    assert (found.capture.traced.cuda, found.capture.traced.nvtx) == (cuda, nvtx)
    (warn,) = [warn for warn in found.warnings if warn.code == "nothing-recorded"]
    assert advice in warn.message
    assert ("profile with -t cuda" in warn.message) == (cuda is not True or nvtx is False)
    (line,) = [line for line in inspect(tmp_path / "t.sqlite").missing if line.startswith("no kernels, copies")]
    assert advice in line


def test_nvtx_that_was_traced_is_not_advised_to_be_traced(tmp_path: Path) -> None:
    """Calls were recorded, ranges were not, and the only word of NVTX is what nsys itself did."""
    trace = overhead(TraceBuilder().api("cudaMalloc_v3020", 0, 5), "NVTX profiling initialization")
    trace.write(tmp_path / "t.sqlite")
    (line,) = [line for line in inspect(tmp_path / "t.sqlite").missing if line.startswith("no NVTX")]
    assert "profile with" not in line
    assert "the program made no range or mark" in line


def test_rows_show_what_was_traced(tmp_path: Path) -> None:
    found = digest(TraceBuilder().kernel(0, 5).range("r", 0, 1), tmp_path)
    assert found.capture.traced == Traced(cuda=True, nvtx=True)


@pytest.mark.parametrize(
    ("trace", "words"),
    [
        (asked("Cuda", "NvtxEvents"), "NVTX was traced, but the program made no range or mark"),
        (asked("Cuda"), "NVTX was not traced; profile with -t cuda,nvtx"),
        (asked(), "the export does not say whether NVTX was traced"),
    ],
    ids=["asked", "not asked", "not told"],
)
def test_inspect_advises_nvtx_where_it_was_not_traced(trace: TraceBuilder, words: str, tmp_path: Path) -> None:
    missing = inspect(trace.kernel(0, 5).write(tmp_path / "t.sqlite")).missing
    assert [line for line in missing if words in line]
    assert [
        line
        for line in missing
        if line == "no CUDA API calls, though GPU work was traced: launches cannot be explained"
    ]


def test_ranges_alone_of_a_trace_of_cuda_are_not_advised_to_trace_cuda(tmp_path: Path) -> None:
    (warn,) = digest(asked("Cuda", "NvtxEvents").range("r", 0, 5), tmp_path).warnings
    assert (warn.code, "-t cuda" in warn.message) == ("no-gpu-activity", False)


def test_the_collector_is_heard_once_and_counted(tmp_path: Path) -> None:
    trace = asked("Cuda", "NvtxEvents")
    for _ in range(14):
        trace.diagnostic(NOT_STARTED).diagnostic("CUPTI: ActivityFlushAll failed", severity=3)
    warnings = digest(trace.diagnostic(NO_CUDA), tmp_path).warnings
    assert [warn.code for warn in warnings] == ["collector-report", "nothing-recorded"]
    assert warnings[0].message == "The collector reports: CUPTI: ActivityFlushAll failed (14 times)"
    assert warnings[1].message.count("might have not been started") == 1
    assert "started correctly (14 times); No CUDA events collected" in warnings[1].message
    lines = [(line.severity, line.count) for line in inspect(tmp_path / "t.sqlite").diagnostics]
    assert lines == [("warning", 14), ("error", 14), ("warning", 1)]


def test_a_short_session_is_told(tmp_path: Path) -> None:
    (warn,) = digest(asked("Cuda", "NvtxEvents").session(165_000_000), tmp_path).warnings
    assert warn.message.endswith("The session lasted 165.0 ms")


def test_when_the_trace_was_recorded(tmp_path: Path) -> None:
    # 1_796_002_904 s after 1970 is 2026-11-30 01:41:44 UTC
    found = digest(TraceBuilder().kernel(0, 5).session(9, utc_epoch=1_796_002_904_227_155_981), tmp_path)
    assert found.run.recorded_at == "2026-11-30T01:41:44Z"
    assert inspect(tmp_path / "t.sqlite").recorded_at == "2026-11-30T01:41:44Z"


@pytest.mark.parametrize("epoch", [0, -5])
def test_a_time_of_no_era_is_none(epoch: int, tmp_path: Path) -> None:
    assert digest(TraceBuilder().kernel(0, 5).session(9, utc_epoch=epoch), tmp_path).run.recorded_at is None


def test_labels_and_the_path_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "deep").mkdir()
    TraceBuilder().kernel(0, 5).write(tmp_path / "deep" / "t.sqlite")
    monkeypatch.chdir(tmp_path)
    ran = call("summarize", "deep/t.sqlite", "--label", "model=a=b", "--label", "note=", "-f", "json")
    document = json.loads(ran.out)
    assert (document["file"], document["path"]) == ("t.sqlite", "deep/t.sqlite")
    assert document["run"] == {"recorded_at": None, "labels": {"model": "a=b", "note": ""}}
    assert Digest.from_json(ran.out).to_dict() == document
    head = call("summarize", "deep/t.sqlite", "--label", "model=llama", "-f", "text").out
    assert "labels    model=llama" in head


CI = ("GITHUB_SHA", "GITHUB_HEAD_REF", "GITHUB_REF_NAME", "GITHUB_RUN_ID")
CI += ("CI_COMMIT_SHA", "CI_COMMIT_REF_NAME", "CI_PIPELINE_ID")


@pytest.mark.parametrize(
    ("variables", "labels"),
    [
        (
            {"GITHUB_SHA": "abc", "GITHUB_HEAD_REF": "", "GITHUB_REF_NAME": "main", "GITHUB_RUN_ID": "7"},
            {"commit": "abc", "branch": "main", "run": "7"},
        ),
        (
            {"GITHUB_SHA": "abc", "GITHUB_HEAD_REF": "fix", "GITHUB_REF_NAME": "3/merge"},
            {"commit": "abc", "branch": "fix"},
        ),
        (
            {"CI_COMMIT_SHA": "abc", "CI_COMMIT_REF_NAME": "main", "CI_PIPELINE_ID": "9"},
            {"commit": "abc", "branch": "main", "run": "9"},
        ),
        ({}, {}),
    ],
    ids=["GitHub", "GitHub pull request", "GitLab", "elsewhere"],
)
def test_labels_of_ci(
    variables: dict[str, str], labels: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = TraceBuilder().kernel(0, 5).write(tmp_path / "t.sqlite")
    for name in CI:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    ran = call("summarize", path, "--label-ci", "--label", "run=mine", "-q", "-f", "json")
    assert json.loads(ran.out)["run"]["labels"] == labels | {"run": "mine"}
    assert ("--label-ci finds no variable" in ran.err) == (not variables)


@pytest.mark.parametrize("labels", [["model"], ["=x"], ["a b=x"], ["a=1", "a=2"], ["a=x\ny"]])
def test_labels_that_are_none(labels: list[str], tmp_path: Path) -> None:
    path = TraceBuilder().kernel(0, 5).write(tmp_path / "t.sqlite")
    ran = call("summarize", path, *(word for label in labels for word in ("--label", label)))
    assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.endswith("[usage-invalid]\n")


def test_labels_of_the_library_are_texts(tmp_path: Path) -> None:
    path = TraceBuilder().kernel(0, 5).write(tmp_path / "t.sqlite")
    with pytest.raises(UsageInvalid, match="the label run is 7; give a text"):
        summarize(path, labels={"run": 7})  # type: ignore[dict-item]


def test_the_options_that_made_a_digest(tmp_path: Path) -> None:
    path = TraceBuilder().kernel(0, 5).range("step", 0, 9).write(tmp_path / "t.sqlite")
    rules = tmp_path / "mine.toml"
    rules.write_text("[[category]]\nname = 'gemm'\npattern = 'k'\n", encoding="utf-8")
    found = summarize(path, categories=rules, steps="step", max_nvtx_names=5)
    filters = found.to_dict()["capture"]["filters"]
    assert (filters["max_nvtx_names"], filters["steps"]) == (5, "step")
    assert filters["categories"] == {"file": "mine.toml", "sha256": hashlib.sha256(rules.read_bytes()).hexdigest()}
    assert Digest.from_json(found.to_json()) == found
    plain = summarize(path).to_dict()["capture"]["filters"]
    assert (plain["max_nvtx_names"], plain["categories"], plain["steps"]) == (100_000, None, None)
