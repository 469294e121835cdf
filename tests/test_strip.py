"""What is taken out of a trace before it is committed: every secret, and nothing that a digest reads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder, global_pid, global_tid
from nsys_digest import summarize
from strip import NotStripped, strip
from support import ROOT, untouched

SECRETS = (
    "node-17.example",
    "jane.doe",
    "/home/jane.doe/run",
    "TOKEN=hunter2",
    "--password=sesame",
    "said by the program",
    "/var/log/stdout.log",
    "libcupti-of-jane",
    "backup-daemon",
    "kworker/7:1",
    "GPU-c203efed-c05d-142f",
    "0000:5e:00.0",
    "flush of buffers",
    "a string of nobody",
    "payload of jane",
    "_Z4gemmv",
    "2031-05-06",
)


def drawn() -> TraceBuilder:
    """Draw a trace of one process with a GPU, beside another process and all that a machine tells of itself."""
    trace = (
        TraceBuilder("2025.3")
        .gpu(0, "NVIDIA H200", uuid="GPU-c203efed-c05d-142f", busLocation="0000:5e:00.0", smCount=132, processes=(7,))
        .process(7, "/home/jane.doe/run/python3")
        .process(8, "backup-daemon")
        .thread_name("python3", process=7, thread=7)
        .thread_name("kworker/7:1", process=8, thread=8)
        .session(1_000)
        .meta("EXPORT_HOST", "node-17.example")
        .meta("EXPORT_USER", "jane.doe")
        .meta("EXPORT_TIME_LOCAL", "2031-05-06T10:00:00")
        .meta("EXPORT_PARAM_INPUT_PATH_ABS", "/home/jane.doe/run/trace.nsys-rep")
        .meta("PROCESS_0:COMMAND", "/home/jane.doe/run/serve", capture=True)
        .meta("PROCESS_0:ARGUMENT_0", "--password=sesame", capture=True)
        .meta("PROCESS_0:ENVIRONMENT_VARIABLE", "TOKEN=hunter2", capture=True)
        .meta("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node", capture=True)
        .meta("RATE_HZ", "0", capture=True)
        .string(900, "said by the program")
        .string(901, "/var/log/stdout.log")
        .string(902, "a string of nobody")
        .string(903, "flush of buffers")
        .string(904, "_Z4gemmv")
        .row("ProcessStreams", globalPid=global_pid(7), filenameId=901, contentId=900)
        .row("PROFILER_OVERHEAD", start=5, end=9, globalTid=global_tid(7, 7), nameId=903, returnValue=0)
        .diagnostic("Loaded CUPTI library: /opt/libcupti-of-jane.so", 1, process=7)
        .diagnostic("Profiling started due to cudaProfilerStart API invoked in the application.", 1, process=7)
        .diagnostic("Not all NVTX events might have been collected.", process=7)
        .sql("CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INTEGER, name TEXT, value TEXT)")
        .sql("INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (1, 'Hostname', 'node-17.example')")
        .sql("CREATE TABLE OSRT_API (start INTEGER, text TEXT); INSERT INTO OSRT_API VALUES (1, 'jane.doe')")
    )
    return (
        trace.range("step", 0, 400, process=7, thread=7, jsonText="payload of jane")
        .range("étape", 10, 90, registered=True, process=7, thread=7)
        .mark("CG_DISPATCH:actual=1:mode=FULL:padded=1", 12, process=7, thread=7)
        .api("cudaLaunchKernel", 20, 30, correlation=1, process=7, thread=7)
        .kernel(100, 200, name="gemm", correlation=1, process=7, mangledName=904)
        .api("cudaGraphLaunch", 40, 60, correlation=2, process=7, thread=9)
        .kernel(210, 240, name="softmax", correlation=2, graph_node=3, process=7)
        .memcpy(150, 300, process=7)
        .memset(310, 320, process=7)
    )


def facts(trace: Path) -> dict[str, Any]:
    """Return the digest but for what is made up or taken out: name and path of the file, its time, uuids of GPUs."""
    document = summarize(trace).to_dict()
    uuids = [gpu.pop("uuid") for gpu in [*document["capture"]["gpus"], *document["devices"]]]
    assert uuids
    del document["file"], document["path"], document["run"]
    return document


def test_secrets_go_and_the_digest_stays(tmp_path: Path) -> None:
    trace = drawn().write(tmp_path / "trace.sqlite")
    whole = trace.read_bytes()
    missing = [secret for secret in SECRETS if secret.encode() not in whole]
    assert not missing
    stripped = tmp_path / "out" / "stripped.sqlite"
    stripped.parent.mkdir()
    strip(trace, stripped)
    assert trace.read_bytes() == whole
    left = stripped.read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in left] == []
    assert facts(stripped) == facts(trace)
    assert {gpu.uuid for gpu in summarize(stripped).capture.gpus} == {"00000000-0000-4000-8000-000000000001"}
    assert [path.name for path in stripped.parent.iterdir()] == ["stripped.sqlite"]


@pytest.mark.parametrize("version", ["2021", "2022.2", "2023.3", "2026.1"])
def test_exports_of_other_ages(version: str, tmp_path: Path) -> None:
    trace = (
        TraceBuilder(version)
        .gpu(0, "NVIDIA H200", uuid="GPU-c203efed", smCount=132)
        .meta("EXPORT_HOST", "node-17.example")
        .range("step", 0, 400)
        .api("cudaLaunchKernel", 20, 30, correlation=1)
        .kernel(100, 200, name="gemm", correlation=1)
        .write(tmp_path / "trace.sqlite")
    )
    strip(trace, tmp_path / "stripped.sqlite")
    assert facts(tmp_path / "stripped.sqlite") == facts(trace)
    left = (tmp_path / "stripped.sqlite").read_bytes()
    assert b"c203efed" not in left
    assert b"node-17" not in left


def test_a_secret_in_the_name_of_a_range_is_told(tmp_path: Path) -> None:
    trace = drawn().range("on node-17.example", 500, 600, process=7).write(tmp_path / "trace.sqlite")
    with untouched(tmp_path), pytest.raises(NotStripped, match=r"'node-17\.example' is in the name of an event"):
        strip(trace, tmp_path / "stripped.sqlite")


def test_one_line_where_it_cannot_be_done(tmp_path: Path) -> None:
    trace = drawn().write(tmp_path / "trace.sqlite")
    (tmp_path / "text").write_text("no database", encoding="utf-8")
    for arguments, told in (
        ((trace, trace), "is there already"),
        ((tmp_path / "none.sqlite", tmp_path / "new"), "unable to open"),
        ((tmp_path / "text", tmp_path / "new"), "not a database"),
    ):
        with untouched(tmp_path):
            command = [sys.executable, "-m", "tests.strip", *map(str, arguments)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 1
        assert done.stderr.count("\n") == 1
        assert told in done.stderr
