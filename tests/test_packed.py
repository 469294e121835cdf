"""Packed traces: the digest of what is in them, a limit on size, one line where they are damaged, and nothing left."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from builder import TraceBuilder
from folders import write_folder
from nsys_digest import NotATrace, TraceUnreadable, classify, inspect, load, summarize
from nsys_digest.trace import open as open_module
from nsys_digest.trace.packings import room as room_module
from nsys_digest.trace.packings.input_path import input_path
from support import call, command, environment


def arrow(codec: str) -> Callable[[bytes], bytes]:
    """Return what compresses with a codec of Arrow's."""

    def compress(data: bytes) -> bytes:
        path = Path(os.environ["TMPDIR"]) / "compressed"
        with pa.CompressedOutputStream(str(path), codec) as stream:
            stream.write(data)
        found = path.read_bytes()
        path.unlink()
        return found

    return compress


COMPRESSED = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zst": arrow("zstd"),
    ".lz4": arrow("lz4"),
}


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
def trace(tmp_path: Path) -> Path:
    """Return a trace with one kernel, from 10 to 30, in a range from 0 to 50."""
    return TraceBuilder().kernel(10, 30, name="gemm").range("step", 0, 50).write(tmp_path / "t.sqlite")


def same(found: Any, trace: Path) -> bool:
    """Tell whether a digest is that of a trace, but for its name and path."""
    expected = summarize(trace).to_dict()
    document = found.to_dict()
    return json.dumps(document | {key: expected[key] for key in ("file", "path")}) == json.dumps(expected)


def refused(path: Path, code: str, status: int = 3, *options: str) -> str:
    """Return the one line that is said of a file."""
    ran = call("summarize", path, *options)
    assert (ran.status, ran.out) == (status, "")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith(f" [{code}]\n"), ran.err
    return ran.err


def tar(path: Path, *members: tuple[str, bytes], mode: str = "w") -> Path:
    """Write a tar archive."""
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def zipped(path: Path, *members: tuple[str, bytes]) -> Path:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


@pytest.mark.parametrize("suffix", COMPRESSED)
@pytest.mark.parametrize("named", [True, False])
def test_compressed(trace: Path, tmp_path: Path, suffix: str, named: bool) -> None:
    path = tmp_path / (f"t.sqlite{suffix}" if named else "trace")  # known by its bytes, not by its name
    path.write_bytes(COMPRESSED[suffix](trace.read_bytes()))
    found = summarize(path)
    assert (found.file, found.path) == (path.name, str(path))
    assert same(found, trace)
    assert inspect(path).tables == inspect(trace).tables
    assert classify(path).kernels == classify(trace).kernels


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz", "zip"])
def test_archives(trace: Path, tmp_path: Path, mode: str) -> None:
    data = trace.read_bytes()
    members = ("run/notes.txt", b"x"), ("run/._t.sqlite", b"AppleDouble"), ("run/deep/t.sqlite", data)
    path = tmp_path / "run"
    assert same(summarize(zipped(path, *members) if mode == "zip" else tar(path, *members, mode=mode)), trace)


@pytest.mark.parametrize("kind", ["parquetdir", "arrowdir"])
def test_a_folder_in_an_archive(trace: Path, tmp_path: Path, kind: str) -> None:
    folder = write_folder(trace, tmp_path / f"t.{kind}")
    members = [(f"t.{kind}/{path.name}", path.read_bytes()) for path in sorted(folder.iterdir())]
    assert same(summarize(tar(tmp_path / "t.tar.gz", *members, mode="w:gz")), trace)
    assert same(summarize(zipped(tmp_path / "t.zip", *members)), trace)


def test_an_archive_within_an_archive(trace: Path, tmp_path: Path) -> None:
    inner = gzip.compress(trace.read_bytes())
    assert same(summarize(zipped(tmp_path / "t.zip", ("t.sqlite.gz", inner))), trace)
    path = tmp_path / "deep"
    data = trace.read_bytes()
    for _ in range(8):
        data = gzip.compress(data)
    path.write_bytes(data)
    assert "packed more than 6 times over" in refused(path, "not-a-trace")


def test_an_export_counts_for_its_report(trace: Path, tmp_path: Path) -> None:
    members = ("a/t.nsys-rep", b"NVIDIA Tegra Profiler Report 36398880.\n"), ("a/t.sqlite", trace.read_bytes())
    assert same(summarize(tar(tmp_path / "both.tar", *members)), trace)


def test_a_stored_digest_in_a_file_that_is_compressed(trace: Path, tmp_path: Path) -> None:
    digest = summarize(trace)
    path = tmp_path / "digest.json.gz"
    path.write_bytes(gzip.compress(digest.to_json().encode()))
    assert load(path) == summarize(path) == digest


def test_several_traces_in_an_archive(trace: Path, tmp_path: Path) -> None:
    data = trace.read_bytes()
    members = [(f"rank_{rank}.sqlite", data) for rank in range(6)]
    for path in (tar(tmp_path / "all.tar.gz", *members, mode="w:gz"), zipped(tmp_path / "all.zip", *members)):
        line = refused(path, "not-a-trace")
        assert f"{path}: this archive holds " in line
        assert "(rank_0.sqlite, rank_1.sqlite, " in line
        assert "; unpack it, and name one" in line


def test_no_trace_in_an_archive(tmp_path: Path) -> None:
    line = refused(tar(tmp_path / "x.tar", ("a.txt", b"a"), ("b.txt", b"b")), "not-a-trace")
    assert line.endswith("x.tar: this archive holds no trace (in it: a.txt, b.txt) [not-a-trace]\n")
    assert "(in it: no file)" in refused(zipped(tmp_path / "x.zip"), "not-a-trace")


def test_names_in_an_archive_lead_nowhere(trace: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside.sqlite"
    path = tar(tmp_path / "x.tar", (f"../../{outside.name}", trace.read_bytes()))
    assert same(summarize(path), trace)
    assert same(summarize(tar(tmp_path / "y.tar", (str(outside), trace.read_bytes()))), trace)
    assert not outside.exists()
    with tarfile.open(tmp_path / "links.tar", "w") as archive:
        link = tarfile.TarInfo("t.sqlite")
        link.type, link.linkname = tarfile.SYMTYPE, str(trace)
        archive.addfile(link)
    assert "holds no trace" in refused(tmp_path / "links.tar", "not-a-trace")


def test_an_encrypted_archive(trace: Path, tmp_path: Path) -> None:
    path = zipped(tmp_path / "t.zip", ("t.sqlite", trace.read_bytes()))
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of the local header, and that of the central directory
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "t.sqlite in it is encrypted; unpack it first" in refused(path, "trace-unreadable")


@pytest.mark.parametrize("suffix", [*COMPRESSED, ".tar", ".tar.gz", ".zip"])
def test_cut_short(trace: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    if suffix.startswith(".tar"):
        tar(path, ("t.sqlite", trace.read_bytes()), mode="w:gz" if suffix == ".tar.gz" else "w")
    elif suffix == ".zip":
        zipped(path, ("t.sqlite", trace.read_bytes()))
    else:
        path.write_bytes(COMPRESSED[suffix](trace.read_bytes()))
    whole = path.read_bytes()
    for length in (len(whole) // 2, len(whole) - 9 if suffix != ".tar" else 2000):
        path.write_bytes(whole[:length])
        line = refused(path, "trace-unreadable")
        assert line.startswith(f"nsys-digest: {path}: the ")
        assert "cut short" in line


@pytest.mark.parametrize("suffix", COMPRESSED)
def test_damaged(trace: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    data = bytearray(COMPRESSED[suffix](trace.read_bytes()))
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(255 - byte for byte in data[middle : middle + 40])
    path.write_bytes(data)
    line = refused(path, "trace-unreadable")
    assert str(path) in line
    assert str(os.environ["TMPDIR"]) not in line


def test_a_damaged_trace_in_a_file_that_is_whole(trace: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite.gz"
    path.write_bytes(gzip.compress(trace.read_bytes()[:5000]))
    line = refused(path, "trace-unreadable")
    assert line.startswith(f"nsys-digest: {path}: the file is cut short")
    assert line.endswith("nsys export --type sqlite --force-overwrite true REPORT.nsys-rep [trace-unreadable]\n")


@pytest.mark.parametrize("kind", [*COMPRESSED, ".tar.gz", ".zip", "junk.tar.gz"])
def test_a_bomb(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # 8 MB of zeros in a few kilobytes; the limit is 1 MB, or 20 times the packed size
    monkeypatch.setattr(room_module, "_LEAST_LIMIT_BYTES", 1_000_000)
    monkeypatch.setattr(room_module, "_RATIO", 20)
    data = b"SQLite format 3\0" + bytes(8_000_000)
    path = tmp_path / f"bomb{kind}"
    if kind.endswith(".tar.gz"):
        tar(
            path,
            ("junk" if "junk" in kind else "t.sqlite", data if "junk" not in kind else bytes(8_000_000)),
            mode="w:gz",
        )
    elif kind == ".zip":
        zipped(path, ("t.sqlite", data))
    else:
        path.write_bytes(COMPRESSED[kind](data))
    assert path.stat().st_size < 400_000
    line = refused(path, "trace-unreadable")
    assert f"{path}: it unpacks to more than " in line
    assert "raise the limit, as with: --max-unpacked 100GB" in line
    raised = call("summarize", path, "--max-unpacked", "50MB")
    assert "unpacks to more" not in raised.err


def test_the_limit_is_what_the_user_says(trace: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.sqlite.gz"
    path.write_bytes(gzip.compress(trace.read_bytes()))
    size = trace.stat().st_size
    assert same(summarize(path, max_unpacked=size), trace)
    with pytest.raises(TraceUnreadable, match="it unpacks to more than"):
        summarize(path, max_unpacked=size - 1)
    for verb in ("summarize", "inspect", "categories"):
        assert call(verb, path, "--max-unpacked", "2kB").status == 3
        assert call(verb, path, "--max-unpacked", "1.5 GiB").status == 0
        bad = call(verb, path, "--max-unpacked", "lots")
        assert (bad.status, bad.err) == (
            2,
            "nsys-digest: --max-unpacked lots is no size; give one such as 500MB or 50GB [usage-invalid]\n",
        )


def test_no_room(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.sqlite.gz"
    path.write_bytes(gzip.compress(trace.read_bytes()))
    monkeypatch.setattr("shutil.disk_usage", lambda _: shutil._ntuple_diskusage(10**6, 10**6, 1000))
    assert "it unpacks to more than 900 B" in refused(path, "trace-unreadable")
    monkeypatch.setattr("tempfile.mkdtemp", lambda **_: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    assert "no temporary folder can be made (No space left on device)" in refused(path, "out-of-resources", 1)


def piped(data: bytes, *arguments: str, **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run the command line with data on standard input."""
    return subprocess.run(
        command(*arguments), input=data, env=environment(**changes), capture_output=True, timeout=60, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize("pack", [bytes, gzip.compress, "tar", "digest"])
def test_standard_input(trace: Path, tmp_path: Path, pack: Any) -> None:
    data = trace.read_bytes()
    if pack == "tar":
        data = tar(tmp_path / "x", ("t.sqlite", data), mode="w:gz").read_bytes()
    elif pack == "digest":
        data = summarize(trace).to_json().encode()
    else:
        data = pack(data)
    ran = piped(data, "summarize", "-", "-q")
    assert (ran.returncode, ran.stderr) == (0, b"")
    expected = summarize(trace).to_dict()
    if pack != "digest":
        expected |= {"file": "-", "path": "-"}
    assert json.loads(ran.stdout) == expected


@pytest.mark.slow
def test_standard_input_that_is_nothing() -> None:
    ran = piped(b"", "summarize", "-")
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert b"standard input: it is empty" in ran.stderr


def test_a_file_that_is_called_a_dash(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace.rename(tmp_path / "-")
    monkeypatch.chdir(tmp_path)
    assert same(summarize("./-"), tmp_path / "-")
    assert str(input_path("./-")) == "-"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_it_is_unpacked(tmp_path: Path, temporary: Path, number: signal.Signals) -> None:
    """The trace comes through a pipe that stays open: the program waits in the middle of unpacking it."""
    running = subprocess.Popen(
        command("summarize", "-"), env=environment(), stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert running.stdin is not None
    running.stdin.write(gzip.compress(os.urandom(3 << 20)))
    running.stdin.flush()
    until = time.monotonic() + 30
    while not [*temporary.rglob("trace")] and time.monotonic() < until:
        time.sleep(0.02)
    assert [*temporary.rglob("trace")]
    running.send_signal(number)
    _, said = running.communicate(timeout=30)
    assert running.returncode == 128 + number
    assert said.count(b"\n") == 1


def test_what_the_digest_raises_leaves_nothing(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.sqlite.gz"
    path.write_bytes(gzip.compress(trace.read_bytes()))

    def fails(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("nsys_digest.sections.summary.scan", fails)
    with pytest.raises(KeyboardInterrupt):
        summarize(path)


def test_a_further_packing_is_a_line_of_the_list(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.mirrored"
    path.write_bytes(b"MIRROR" + trace.read_bytes()[::-1])

    def unpack(packed: Path, room: Any) -> Path:
        data = packed.read_bytes().removeprefix(b"MIRROR")[::-1]
        found: Path = room.write(io.BytesIO(data), room.new_folder() / "t", packed.stat().st_size)
        return found

    packing = open_module.Packing("mirror", lambda path: path.suffix == ".mirrored", unpack)
    with pytest.raises(NotATrace):
        summarize(path)
    monkeypatch.setattr(open_module, "PACKINGS", (packing, *open_module.PACKINGS))
    assert same(summarize(path), trace)


def test_nothing_that_unpacks_is_imported_for_a_plain_trace(trace: Path) -> None:
    script = (
        "import sys; from nsys_digest.cli import main; status = main(); "
        "print(sorted({'tarfile', 'fsspec', 'nsys_digest.recorder.find'} & set(sys.modules)), file=sys.stderr)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, "summarize", str(trace), "-q"],
        env=environment(),
        capture_output=True,
        check=True,
    )
    assert ran.stderr == b"[]\n"
