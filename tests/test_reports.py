"""Reports of nsys as inputs, with a pretended nsys: exported into a temporary file, which is gone afterwards."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import ExportFailed, NsysMissing, TraceUnreadable, inspect, summarize
from nsys_digest.trace.packings.magic import build_of_report
from support import call, command, environment
from test_record import install

HEAD = b"NVIDIA Tegra Profiler Report 36398880.\n"
"""How a report of nsys 2025.3.2.0-253236398880v0 begins."""


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Have temporary files made in a folder of their own, and see that none is left after each test."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    yield folder
    assert [*folder.iterdir()] == []


@pytest.fixture
def trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a trace with one kernel, which the pretended nsys takes for the export of any report."""
    path = TraceBuilder().kernel(10, 30, name="gemm").write(tmp_path / "export.sqlite")
    monkeypatch.setenv("FAKE_TRACE", str(path))
    return path


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """Return a report."""
    path = tmp_path / "my run.nsys-rep"
    path.write_bytes(HEAD + bytes(100))
    return path


@pytest.fixture
def nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a pretended nsys on PATH, of the build that wrote the report."""
    path = install(tmp_path / "suite", how="version=2025.3.2.0-253236398880v0")
    monkeypatch.setenv("PATH", f"{path.parent}{os.pathsep}{os.environ['PATH']}")
    return path


def told(report: Path, *options: str | Path) -> str:
    """Return the one line that is said of a report, with its code."""
    ran = call("summarize", report, *options)
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    return f"{ran.status}: {ran.err.rstrip()}"


def without_names(document: dict[str, object]) -> str:
    return json.dumps({key: value for key, value in document.items() if key not in {"file", "path"}})


@pytest.mark.parametrize("name", ["run.nsys-rep", "run.qdrep", "run"])
def test_a_report_gives_the_digest_of_its_export(trace: Path, nsys: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(HEAD)
    said: list[str] = []
    found = summarize(path, tell=said.append)
    assert (found.file, found.path) == (name, str(path))
    assert without_names(found.to_dict()) == without_names(summarize(trace).to_dict())
    assert said == [f"{path}: exported by nsys 2025.3.2.0 ({nsys}): WARNING: an event was left out"]
    assert inspect(path).tables == inspect(trace).tables
    assert [*path.parent.glob("*.sqlite")] == [trace]


def test_what_nsys_says_is_shown(trace: Path, nsys: Path, report: Path) -> None:
    ran = call("summarize", report)
    assert ran.status == 0
    assert ran.err.splitlines()[0] == (
        f"nsys-digest: {report}: exported by nsys 2025.3.2.0 ({nsys}): WARNING: an event was left out [report-exported]"
    )
    assert call("summarize", report, "-q").err == ""


@pytest.mark.usefixtures("nsys")
def test_the_export_is_kept(trace: Path, report: Path, tmp_path: Path) -> None:
    kept = tmp_path / "kept.sqlite"
    assert call("summarize", report, "--keep-export", kept).status == 0
    assert kept.read_bytes() == trace.read_bytes()
    assert f"2: nsys-digest: {kept}: this is there already; " in told(report, "--keep-export", kept)
    assert "is not there; make it first" in told(report, "--keep-export", tmp_path / "no" / "where.sqlite")
    line = told(trace, "--keep-export", tmp_path / "other.sqlite")
    assert line.startswith(f"2: nsys-digest: {trace}: --keep-export keeps the export of a report, and this is none")


def test_the_nsys_that_is_asked_for(trace: Path, report: Path, tmp_path: Path) -> None:
    other = install(tmp_path / "other", how="version=2024.1.1")
    said: list[str] = []
    summarize(report, nsys=other, tell=said.append)
    assert f"exported by nsys 2024.1.1 ({other})" in said[0]


def test_no_nsys(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("nsys_digest.recorder.find._installed", lambda _: iter(()))
    line = told(report)
    assert line.startswith(f"6: nsys-digest: {report}: this is an nsys report, and no nsys on PATH, nor as ")
    assert line.endswith(f"or export it where nsys is: nsys export --type sqlite '{report}' [nsys-missing]")
    with pytest.raises(NsysMissing, match="this is an nsys report, and /no/nsys: there is no nsys; correct --nsys"):
        summarize(report, nsys="/no/nsys")


@pytest.mark.usefixtures("trace")
def test_nsys_fails(report: Path, tmp_path: Path) -> None:
    bad = install(tmp_path / "bad", how="fails version=2025.3.2.0-253236398880v0")
    line = told(report, "--nsys", bad)
    assert line.startswith(
        f"6: nsys-digest: {report}: nsys 2025.3.2.0 ({bad}) could not export it: it ended with status 1 (the report "
        "was written by build 36398880 of nsys): ERROR: the report cannot be read; see what it says of: "
    )
    assert line.endswith("[export-failed]")


@pytest.mark.usefixtures("trace")
def test_an_nsys_that_is_older_than_the_report(report: Path, tmp_path: Path) -> None:
    old = install(tmp_path / "old", how="fails version=2024.6.1.90-246135540620v0")
    with pytest.raises(ExportFailed) as raised:
        summarize(report, nsys=old)
    assert (
        "the report was written by a newer nsys, of build 36398880, and this one is of build 35540620: ERROR: the "
        "report cannot be read; take that version or a newer one with --nsys PATH"
    ) in str(raised.value)


def test_the_build_in_a_report() -> None:
    assert build_of_report(HEAD) == 36398880
    assert build_of_report(b"NVIDIA Tegra Profiler Report .") is None
    assert build_of_report(b"SQLite format 3\0") is None


@pytest.mark.usefixtures("trace")
def test_an_export_beyond_the_limit(report: Path, tmp_path: Path) -> None:
    endless = install(tmp_path / "endless", how="grows")
    with pytest.raises(TraceUnreadable, match="it unpacks to more than"):
        summarize(report, nsys=endless, max_unpacked=5_000_000)


@pytest.mark.slow
@pytest.mark.usefixtures("trace")
def test_a_signal_while_nsys_works(report: Path, tmp_path: Path) -> None:
    slow, note = install(tmp_path / "slow", how="waits"), tmp_path / "note"
    running = subprocess.Popen(
        command("summarize", report, "--nsys", slow),
        env=environment(FAKE_NSYS_NOTE=str(note)),
        stderr=subprocess.PIPE,
    )
    until = time.monotonic() + 30
    while not (note.exists() and note.read_text()) and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(signal.SIGTERM)
    running.communicate(timeout=30)
    assert running.returncode == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


@pytest.mark.slow
def test_a_signal_while_a_trace_is_unpacked(temporary: Path, tmp_path: Path) -> None:
    """Standard input that never ends is written into a temporary folder, which goes with the program."""
    running = subprocess.Popen(
        command("summarize", "-"), env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert running.stdin is not None
    running.stdin.write("SQLite format 3\0" + "x" * 2_000_000)
    running.stdin.flush()
    until = time.monotonic() + 30
    while not [*temporary.glob("*/*")] and time.monotonic() < until:
        time.sleep(0.02)
    assert [*temporary.glob("*/*")]
    running.send_signal(signal.SIGTERM)
    _, said = running.communicate(timeout=30)
    assert (running.returncode, said) == (143, "nsys-digest: terminated; nothing was written [terminated]\n")


@pytest.mark.usefixtures("trace", "nsys")
def test_exporting_needs_no_importer(report: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsys_digest.recorder.find.missing_libraries", lambda _: ["libdw.so.1"])
    assert summarize(report).kernel_count == 1


@pytest.mark.usefixtures("trace", "nsys")
def test_a_report_that_begins_in_an_unknown_way(tmp_path: Path) -> None:
    path = tmp_path / "run.nsys-rep"
    path.write_bytes(b"QDREP\0\1\2" * 100)
    assert summarize(path).kernel_count == 1
