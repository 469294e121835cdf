"""The command line: its words, its options, its statuses, and what it imports."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import nsys_digest
from builder import VERSIONS, TraceBuilder
from support import READERS, call, on_terminal, small_trace, spawn, the_line, untouched
from valid import validate, validator

IMPORTED = """
import sys
from nsys_digest.cli import main
status = main(sys.argv[1:])
print(status, *sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""
WITH_SMALL_THRESHOLD = """
import sys
from nsys_digest.cli import main, progress
progress._SHOWN_FROM_BYTES = int(sys.argv[1])
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "trace.sqlite")


@pytest.fixture
def schema() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(call("schema").out)
    return document


def summary(*arguments: str | Path) -> dict[str, Any]:
    ran = call("summarize", *arguments)
    assert ran.status == 0, ran
    document: dict[str, Any] = json.loads(ran.out)
    return document


def test_version() -> None:
    ran = call("--version")
    assert (ran.status, ran.out, ran.err) == (0, f"nsys-digest {nsys_digest.__version__}\n", "")


@pytest.mark.parametrize("option", ["-h", "--help"])
@pytest.mark.parametrize("word", [(), ("summarize",), ("diff",), ("inspect",), ("schema",)])
def test_help(word: tuple[str, ...], option: str) -> None:
    ran = call(*word, option)
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.startswith(" ".join(["Usage: nsys-digest", *word]))
    assert max(map(len, ran.out.splitlines())) <= 80


BAD_USAGE = [
    (("digest",), "'digest'"),
    (("--colour",), "--colour"),
    (("summarize",), "'TRACE'"),
    (("summarize", "TRACE", "more"), "more"),
    (("summarize", "TRACE", "--colour", "3"), "--colour"),
    (("summarize", "TRACE", "--top"), "--top"),
    (("summarize", "TRACE", "--top", "-1"), "--top"),
    (("summarize", "TRACE", "--top", "many"), "--top"),
    (("summarize", "TRACE", "--threads", "0"), "--threads"),
    (("summarize", "TRACE", "--threads", "65"), "--threads"),
    (("summarize", "TRACE", "--reader", "pandas"), "--reader"),
    (("summarize", "TRACE", "--format", "xml"), "--format"),
    (("summarize", "TRACE", "--format", "a\nb\x1b"), "--format"),
    (("summarize", "TRACE", "--dispatch-prefix", ""), "the dispatch prefix is empty"),
    (("inspect",), "'TRACE'"),
    (("inspect", "TRACE", "--top", "3"), "--top"),
    (("schema", "more"), "more"),
]


@pytest.mark.parametrize(("words", "part"), BAD_USAGE)
def test_bad_usage_is_one_line(trace: Path, words: tuple[str, ...], part: str) -> None:
    with untouched(trace.parent):
        line = the_line(call(*(trace if word == "TRACE" else word for word in words)), 2, "usage-invalid")
    assert part in line
    assert line.isprintable()
    assert "Traceback" not in line
    if "prefix" not in part:
        assert line.endswith((f"; see: nsys-digest {' '.join(words[:1])} --help", "; see: nsys-digest --help"))


def test_adbc_reader_that_is_not_installed(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = call("summarize", trace).out
    monkeypatch.setattr("nsys_digest.trace.adbc.available", lambda: False)
    line = the_line(call("summarize", "--reader", "adbc", trace), 2, "usage-invalid")
    assert line.startswith("the adbc reader is not installed here; use --reader stdlib, or: pip install ")
    assert call("summarize", trace).out == expected


@pytest.mark.slow
def test_runs_as_a_module(trace: Path) -> None:
    ran = spawn("summarize", "-q", trace)
    assert (ran.status, ran.out, ran.err) == (0, call("summarize", "-q", trace).out, "")
    assert "no such file" in the_line(spawn("summarize", "none.sqlite"), 3, "trace-unreadable")


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("lazy", [True, False])
def test_readers_and_threads_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, lazy: bool
) -> None:
    monkeypatch.setattr("nsys_digest.trace.threads.LEAST_JOB_ROWS", 10)
    builder = small_trace(version)
    builder.lazy = lazy
    for index in range(100):
        builder.kernel(1000 + 10 * index, 1005 + 10 * index, name=f"k{index % 7}", stream=index % 3)
        builder.api("cudaLaunchKernel", 990 + 10 * index, 995 + 10 * index, thread=index % 4)
        builder.range(f"range {index % 5}", 900 + 10 * index, 1100 + 10 * index, thread=index % 2)
    trace = builder.write(tmp_path / "trace.sqlite")
    found = {}
    for reader in (*READERS, "auto"):
        for threads in ("1", "2"):
            with untouched(tmp_path):
                ran = call("summarize", trace, "--reader", reader, "--threads", threads)
            assert ran.status == 0
            found[reader, threads] = ran.out, ran.err
    assert len(set(found.values())) == 1
    assert json.loads(found["adbc", "1"][0])["kernel_count"] == 102


def test_adbc_reads_what_it_is_asked_to(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsys_digest.trace.cursor.batches", None)
    assert call("summarize", "--reader", "adbc", trace).status == 0
    assert call("summarize", trace).status == 0
    with pytest.raises(TypeError):
        call("summarize", "--reader", "stdlib", trace)


def test_top(trace: Path) -> None:
    assert [name for name, _ in summary(trace)["top_kernels"]] == ["gemm", "softmax"]
    assert [name for name, _ in summary(trace, "--top", "1")["top_kernels"]] == ["gemm"]
    none = summary(trace, "--top", "0")
    assert (none["top_kernels"], none["kernel_count"]) == ([], 2)
    assert "1 kernel of other names" in call("summarize", trace, "--top", "1", "--full", "-f", "text").out
    assert call("summarize", trace, "--top", "0", "-f", "text").status == 0


def test_top_of_more_than_three(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for index in range(5):
        builder.kernel(100 * index, 100 * index + 10 * (index + 1), name=f"k{index}")
    path = builder.write(tmp_path / "trace.sqlite")
    assert [name for name, _ in summary(path, "--top", "3")["top_kernels"]] == ["k4", "k3", "k2"]


def test_raw_nvtx_names(trace: Path) -> None:
    assert list(summary(trace)["nvtx"]) == ["step", "aten::mm"]
    raw = summary(trace, "--raw-nvtx-names")
    assert list(raw["nvtx"]) == ["step", "aten::mm, seq = 1"]
    assert raw["capture"]["filters"]["raw_nvtx_names"] is True


def test_dispatch_prefix(trace: Path) -> None:
    assert summary(trace)["dispatch"] == {"CG_DISPATCH full": 1}
    other = summary(trace, "--dispatch-prefix", "MY_MARK")
    assert other["dispatch"] == {"MY_MARK one": 1}
    assert other["capture"]["filters"]["dispatch_prefix"] == "MY_MARK"
    assert summary(trace, "--dispatch-prefix", "none")["dispatch"] == {}


def test_warnings_and_quiet(tmp_path: Path) -> None:
    path = small_trace().range("open", 5, None).kernel(500, 500, name="no time").write(tmp_path / "trace.sqlite")
    loud, quiet = call("summarize", path), call("summarize", "--quiet", path)
    warnings = json.loads(loud.out)["warnings"]
    assert [warn["code"] for warn in warnings] == ["open-ranges", "skipped-intervals"]
    assert loud.err.splitlines() == [
        f"nsys-digest: warning: {path}: {warn['message']} [{warn['code']}]" for warn in warnings
    ]
    assert (quiet.status, quiet.err, quiet.out) == (0, "", loud.out)


@pytest.mark.slow
def test_warnings_on_a_terminal_come_once(tmp_path: Path) -> None:
    path = small_trace().range("open", 5, None).write(tmp_path / "trace.sqlite")
    for changes in ({}, {"NO_COLOR": "1"}):
        ran, shown = on_terminal("summarize", path, **changes)
        assert (ran.err, shown.count("open-ranges")) == ("", 1)
    ran, shown = on_terminal("summarize", path, "--format", "json")
    assert ran.err.startswith(f"nsys-digest: warning: {path}: 1 NVTX range still open")
    assert '"open-ranges"' in shown


def test_schema_is_valid(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)
    assert nsys_digest.json_schema() == schema


@pytest.mark.parametrize("version", VERSIONS)
def test_digests_are_valid(tmp_path: Path, version: str) -> None:
    builders = (
        TraceBuilder(version).session(1).process(1, "a").string(1, "x").gpu(0, "H100"),
        TraceBuilder(version, lazy=False),
        small_trace(version),
        small_trace(version).graph(10, 20).range("open", 5, None).diagnostic("CUDA error\n", 3),
    )
    for builder in builders:
        document = summary(builder.write(tmp_path / "trace.sqlite"))
        validate(document)
        assert not validator().is_valid(document | {"kernel_count": "2"})
        assert not validator().is_valid({key: value for key, value in document.items() if key != "devices"})


def test_inspect_in_each_format(trace: Path) -> None:
    document = json.loads(call("inspect", trace).out)
    assert (document["file"], document["size_bytes"]) == ("trace.sqlite", trace.stat().st_size)
    text = call("inspect", "--format", "text", trace)
    assert (text.status, text.err) == (0, "")
    assert text.out.startswith("trace.sqlite\n")
    assert "NVIDIA H100" in text.out
    assert "CUPTI_ACTIVITY_KIND_KERNEL" in text.out
    markdown = call("inspect", "--format", "markdown", trace)
    assert markdown.out.startswith("## trace.sqlite\n")
    assert "| 2 | `CUPTI_ACTIVITY_KIND_KERNEL` |" in markdown.out


def test_summary_in_each_format(trace: Path) -> None:
    text = call("summarize", "-f", "text", trace)
    assert text.out.startswith("trace.sqlite\n")
    assert "Kernels, most GPU time first" in text.out
    markdown = call("summarize", "-f", "markdown", trace)
    assert markdown.out.startswith("## trace.sqlite\n")
    assert "### Kernels, most GPU time first\n" in markdown.out
    assert "| 100 ns |" in markdown.out


@pytest.mark.parametrize(
    ("words", "never"),
    [
        (("--help",), {"numpy", "pandas", "pyarrow", "rich"}),
        (("summarize", "--help"), {"numpy", "pandas", "pyarrow", "rich"}),
        (("schema",), {"numpy", "pandas", "pyarrow", "rich"}),
        (("summarize", "-q", "--reader", "adbc", "TRACE"), {"pandas", "rich"}),
        (("summarize", "-q", "--reader", "stdlib", "TRACE"), {"pandas", "rich", "pyarrow"}),
        (("inspect", "TRACE"), {"pandas", "rich", "pyarrow"}),
        (("summarize", "-q", "-f", "text", "TRACE"), {"pandas"}),
    ],
)
@pytest.mark.slow
def test_what_is_never_imported(trace: Path, words: tuple[str, ...], never: set[str]) -> None:
    ran = spawn(*(trace if word == "TRACE" else word for word in words), script=IMPORTED)
    status, *modules = ran.err.split()
    assert status == "0", ran
    assert "nsys_digest" in modules
    assert never & set(modules) == set()


@pytest.mark.slow
def test_progress_only_on_a_terminal_and_for_large_files(trace: Path) -> None:
    arguments = ("summarize", "-q", trace)
    expected = call(*arguments).out
    ran, shown = on_terminal("0", *arguments, stream="stderr", script=WITH_SMALL_THRESHOLD)
    assert (ran.status, ran.out) == (0, expected)
    assert "trace.sqlite" in shown
    assert "rows" in shown
    ran, shown = on_terminal(str(10**9), *arguments, stream="stderr", script=WITH_SMALL_THRESHOLD)
    assert (ran.status, ran.out, shown) == (0, expected, "")
    piped = spawn("0", *arguments, script=WITH_SMALL_THRESHOLD)
    assert (piped.status, piped.out, piped.err) == (0, expected, "")


@pytest.mark.slow
def test_progress_bar_cannot_be_harmed_by_a_name(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "[red]\x1b]0;title\x07.sqlite")
    ran, shown = on_terminal("0", "summarize", "-q", path, stream="stderr", script=WITH_SMALL_THRESHOLD)
    assert ran.status == 0
    assert "\x1b]0;" not in shown
    assert "[red]" in shown


@pytest.mark.slow
def test_progress_bar_goes_when_reading_fails(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_bytes(b"x" * 1000)
    ran, shown = on_terminal("0", "summarize", path, stream="stderr", script=WITH_SMALL_THRESHOLD)
    assert (ran.status, ran.out) == (3, "")
    assert "this is not an SQLite file" in shown
    assert shown.count("nsys-digest: ") == 1


def test_completion_still_works() -> None:
    ran = spawn(_NSYS_DIGEST_COMPLETE="complete_bash", COMP_WORDS="nsys-digest sum", COMP_CWORD="1")
    assert (ran.status, ran.out.split()) == (0, ["summarize"])


def test_environment_is_kept(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "3")
    assert call("summarize", trace).status == 0
    assert os.environ["OPENBLAS_NUM_THREADS"] == "3"
