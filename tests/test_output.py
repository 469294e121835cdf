"""Where the output goes, whole or not at all, and what names from a trace cannot do to it."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import signal
import subprocess
import threading
import time
import unicodedata
from pathlib import Path

import pytest

from builder import TraceBuilder
from support import call, command, environment, on_terminal, small_trace, spawn, the_line, untouched

# Reads as ever, but tells a pipe when reading has begun, and then never goes on.
STUCK = """
import os, sys, time
from nsys_digest.cli import main
from nsys_digest.trace.sqlite import SqliteSource
real = SqliteSource.batches
def batches(self, query, part=None):
    for batch in real(self, query, part):
        os.write(int(sys.argv[1]), b"x")
        time.sleep(60)
        yield batch
SqliteSource.batches = batches
sys.exit(main(sys.argv[2:]))
"""
FULL = """
import resource, sys
from nsys_digest.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
sys.exit(main(sys.argv[1:]))
"""

HOSTILE = [
    "\x1b[31mred\x1b[0m\x1b]0;title\x07",
    "two\nlines\r\nand\ttab",
    "a|b|c",
    "`code` ``more``",
    "<script>alert(1)</script>",
    "[link](https://example.com) ![image](x)",
    "::error::not true",
    "\u202eesrever\u2066\u200b",
    "# heading - *bold* _it_ ~~no~~ @someone #1",
    "back\\slash \\| end\\",
    "\x00\x7f\x85\x9b31m\u2028\u2029",
    "long " * 2000,
    " ",
    "",
    "数 🚀 é",
]


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "trace.sqlite")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    builder = TraceBuilder("2025.3").diagnostic("Not all CUDA events might have been collected\n\x1b[1m::error::x", 2)
    for index, name in enumerate(HOSTILE):
        at = 100 * index
        builder.gpu(index, f"GPU {name}").process(index + 1, f"/bin/{name.replace('/', '')}")
        builder.kernel(at, at + 50, name=f"{name}", device=index, process=index + 1)
        builder.api(f"{name}", at, at + 10, process=index + 1).range(f"{name}", at, at + 90, process=index + 1)
        builder.mark(f"CG_DISPATCH{name}", at)
    builder.meta("EXPORT_PRODUCT_NAME", HOSTILE[0] + HOSTILE[1])
    return builder.write(tmp_path / "::error::|`<b>\x1b[31m\n.sqlite")


def test_file_holds_what_standard_output_would(trace: Path, tmp_path: Path) -> None:
    expected = call("summarize", "-q", trace).out
    ran = call("summarize", "-q", trace, "-o", tmp_path / "digest.json")
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert (tmp_path / "digest.json").read_text() == expected
    assert expected.endswith("}\n")
    assert not expected.endswith("\n\n")


def test_new_file_gets_the_usual_permissions(trace: Path, tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        assert call("summarize", trace, "-o", tmp_path / "digest.json").status == 0
    finally:
        os.umask(before)
    assert (tmp_path / "digest.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o200])
def test_existing_file_keeps_its_permissions(trace: Path, tmp_path: Path, mode: int) -> None:
    output = tmp_path / "digest.json"
    output.write_text("old")
    output.chmod(mode)
    assert call("summarize", trace, "-o", output).status == 0
    assert output.stat().st_mode & 0o777 == mode
    output.chmod(0o600)
    assert json.loads(output.read_text())["file"] == "trace.sqlite"


def test_read_only_file_is_left_alone(trace: Path, tmp_path: Path) -> None:
    output = tmp_path / "digest.json"
    output.write_text("old")
    output.chmod(0o444)
    line = the_line(call("summarize", trace, "-o", output), 2, "usage-invalid")
    assert line == f"{output}: this file may not be written; choose another file, or: chmod u+w"
    assert output.read_text() == "old"


def test_a_dash_is_standard_output(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert json.loads(call("summarize", trace, "-o", "-").out)["file"] == "trace.sqlite"
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("existing", [True, False])
def test_symbolic_link_is_followed(trace: Path, tmp_path: Path, existing: bool) -> None:
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "digest.json"
    if existing:
        target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to("real/digest.json")
    assert call("summarize", trace, "-o", link).status == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["file"] == "trace.sqlite"


def test_longest_name(trace: Path, tmp_path: Path) -> None:
    output = tmp_path / ("数" * 83 + ".json")
    assert call("summarize", trace, "-o", output).status == 0
    assert json.loads(output.read_text())["file"] == "trace.sqlite"


def refused_output(trace: Path, output: Path | str, folder: Path) -> str:
    lines = set()
    for word in ("summarize", "inspect"):
        with untouched(folder):
            lines.add(the_line(call(word, trace, "-o", output), 2, "usage-invalid"))
    assert len(lines) == 1
    return lines.pop()


def test_trace_is_never_the_output(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "link").symlink_to("trace.sqlite")
    os.link(trace, tmp_path / "hard")
    monkeypatch.chdir(tmp_path)
    for output in (trace, tmp_path / "link", tmp_path / "hard", "trace.sqlite", "./link"):
        line = refused_output(trace, output, tmp_path)
        assert line == f"{Path(output)}: this is the trace itself; choose another file for the output"


@pytest.mark.parametrize(
    ("name", "content"),
    [("other.db", b"SQLite format 3\0" + bytes(100)), ("run.nsys-rep", b"x"), ("run.qdrep", b"x"), ("b.sqlite", b"")],
)
def test_other_traces_are_never_the_output(trace: Path, tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    line = refused_output(trace, tmp_path / name, tmp_path)
    assert line == f"{tmp_path / name}: this is a trace or a database; choose another file for the output"


def test_output_that_cannot_be(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "dangling").symlink_to("none/digest.json")
    expected = {
        tmp_path / "folder": "this is a folder; name a file in it",
        tmp_path / "none" / "digest.json": f"the folder {tmp_path / 'none'} is not there; make it first",
        tmp_path / "dangling": f"the folder {tmp_path / 'none'} is not there; make it first",
        trace / "digest.json": f"the folder {trace} is not there; make it first",
        tmp_path / "loop": "this symbolic link leads back to itself; choose another file for the output",
        tmp_path / ("x" * 300): "cannot be written (File name too long); choose another file for the output",
    }
    for output, message in expected.items():
        assert refused_output(trace, output, tmp_path) == f"{output}: {message}"


def test_output_is_refused_before_the_trace_is_read(tmp_path: Path) -> None:
    line = the_line(call("summarize", tmp_path / "none.sqlite", "-o", tmp_path), 2, "usage-invalid")
    assert line.startswith(f"{tmp_path}: this is a folder")


@pytest.mark.slow
def test_devices_are_written_to(trace: Path) -> None:
    expected = call("summarize", "-q", trace).out
    ran = spawn("summarize", "-q", trace, "-o", "/dev/stdout")
    assert (ran.status, ran.out, ran.err) == (0, expected, "")
    ran = spawn("summarize", "-q", trace, "-o", os.devnull)
    assert (ran.status, ran.out, ran.err) == (0, "", "")
    assert Path(os.devnull).is_char_device()


def test_named_pipe_is_written_to(trace: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()))
    reader.start()
    assert call("summarize", "-q", trace, "-o", tmp_path / "pipe").status == 0
    reader.join(10)
    assert read == [call("summarize", "-q", trace).out]
    assert (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize("fault", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EIO, "I/O error")])
@pytest.mark.parametrize("existing", [True, False])
def test_failure_in_the_middle(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: OSError, existing: bool
) -> None:
    output = tmp_path / "digest.json"
    if existing:
        output.write_text("old")

    def fail(_: int) -> None:
        assert [path.suffix for path in tmp_path.iterdir()].count(".part") == 1
        raise fault

    monkeypatch.setattr(os, "fsync", fail)
    with untouched(tmp_path):
        line = the_line(call("summarize", "-q", trace, "-o", output), 1, "output-failed")
    assert line.startswith(f"{output}: cannot be written ({fault.strerror}); nothing there was changed, make room")


def test_interrupt_in_the_middle(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "digest.json").write_text("old")

    def fail(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", fail)
    with untouched(tmp_path):
        line = the_line(call("summarize", "-q", trace, "-o", tmp_path / "digest.json"), 130, "interrupted")
    assert line == "interrupted; nothing was written"


@pytest.mark.slow
def test_file_size_limit(trace: Path, tmp_path: Path) -> None:
    (tmp_path / "digest.json").write_text("old")
    with untouched(tmp_path):
        ran = spawn("summarize", "-q", trace, "-o", tmp_path / "digest.json", script=FULL)
    assert f"cannot be written ({os.strerror(errno.EFBIG)})" in the_line(ran, 1, "output-failed")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize("words", [("summarize", "-q"), ("inspect",), ("schema",), ("--version",), ("--help",)])
@pytest.mark.slow
def test_full_disk_behind_standard_output(trace: Path, words: tuple[str, ...]) -> None:
    arguments = (*words, str(trace)) if words[0] in {"summarize", "inspect"} else words
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            command(*arguments), env=environment(), stdout=full, stderr=subprocess.PIPE, check=False, timeout=60
        )
    assert done.returncode == 1
    line = done.stderr.decode()
    assert line.count("\n") == 1
    assert line.startswith("nsys-digest: standard output: ")
    assert "No space left on device" in line
    assert line.endswith(" [output-failed]\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_full_device_as_output(trace: Path) -> None:
    line = the_line(call("summarize", "-q", trace, "-o", "/dev/full"), 1, "output-failed")
    assert line.startswith("/dev/full: cannot be written (No space left on device)")


@pytest.mark.parametrize("words", [("summarize", "-q"), ("schema",), ("--help",)])
@pytest.mark.slow
def test_closed_pipe_is_silent(trace: Path, words: tuple[str, ...]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    arguments = (*words, str(trace)) if words[0] == "summarize" else words
    done = subprocess.run(
        command(*arguments), env=environment(), stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.slow
def test_reader_that_takes_one_line(tmp_path: Path) -> None:
    builder = TraceBuilder()
    for index in range(3000):  # far more than a pipe holds
        builder.range(f"range number {index}", index, index + 1)
    trace = builder.write(tmp_path / "trace.sqlite")
    with subprocess.Popen(
        command("summarize", "-q", trace), env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        assert child.stderr is not None
        assert child.stdout.readline() == b"{\n"
        child.stdout.close()
        assert child.stderr.read() == b""
    assert child.returncode == 0


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.parametrize("to_file", [True, False])
@pytest.mark.slow
def test_interrupt_while_reading(trace: Path, tmp_path: Path, threads: str, reader: str, to_file: bool) -> None:
    (tmp_path / "digest.json").write_text("old")
    begun, begin = os.pipe()
    options = ["-o", str(tmp_path / "digest.json")] if to_file else []
    with (
        untouched(tmp_path),
        subprocess.Popen(
            command(begin, "summarize", trace, "--threads", threads, "--reader", reader, *options, script=STUCK),
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[begin],
        ) as child,
    ):
        os.close(begin)
        assert select.select([begun], [], [], 30)[0]
        assert os.read(begun, 1) == b"x"
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=10)
        took = time.monotonic() - sent
    os.close(begun)
    assert (child.returncode, out) == (130, b"")
    assert err == b"nsys-digest: interrupted; nothing was written [interrupted]\n"
    assert took < 2


def run_closed(redirection: str, *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    """Run the command line from a shell that closes one of its streams."""
    return subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *command(*arguments)],
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.slow
def test_standard_output_that_is_closed(trace: Path, tmp_path: Path) -> None:
    done = run_closed(">&-", "summarize", "-q", trace)
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.decode() == (
        "nsys-digest: standard output: cannot be written (it is closed); make room, or send it somewhere else "
        "[output-failed]\n"
    )
    done = run_closed(">&-", "summarize", "-q", trace, "-o", tmp_path / "digest.json")
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads((tmp_path / "digest.json").read_text())["file"] == "trace.sqlite"


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
@pytest.mark.slow
def test_standard_error_that_is_gone(trace: Path, tmp_path: Path, redirection: str) -> None:
    done = run_closed(redirection, "summarize", tmp_path / "none.sqlite")
    assert (done.returncode, done.stdout, done.stderr) == (3, b"", b"")
    done = run_closed(redirection, "summarize", trace)
    assert (done.returncode, done.stdout.decode()) == (0, call("summarize", trace).out)


@pytest.mark.slow
def test_standard_input_that_is_closed(trace: Path) -> None:
    done = run_closed("<&-", "summarize", "-q", trace)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == call("summarize", "-q", trace).out


@pytest.mark.slow
def test_format_follows_where_it_goes(trace: Path, tmp_path: Path) -> None:
    piped = spawn("summarize", "-q", trace)
    assert json.loads(piped.out)["kernel_count"] == 2
    ran, shown = on_terminal("summarize", "-q", trace)
    assert (ran.status, ran.err) == (0, "")
    assert "\x1b[" in shown
    assert "Kernels, most GPU time first" in shown
    ran, shown = on_terminal("summarize", "-q", trace, "--format", "json", NO_COLOR="1")
    assert (ran.status, shown) == (0, piped.out)
    ran, shown = on_terminal("summarize", "-q", trace, "-o", str(tmp_path / "digest.json"))
    assert (ran.status, shown) == (0, "")
    assert (tmp_path / "digest.json").read_text() == piped.out


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
@pytest.mark.slow
def test_terminal_without_colour(trace: Path, changes: dict[str, str]) -> None:
    ran, shown = on_terminal("summarize", "-q", trace, columns=120, **changes)
    assert ran.status == 0
    assert shown == call("summarize", "-q", "-f", "text", trace).out
    assert "\x1b" not in shown


@pytest.mark.slow
def test_text_in_a_file_has_no_colour(trace: Path) -> None:
    plain = spawn("summarize", "-q", "-f", "text", trace)
    assert plain.status == 0
    assert "\x1b" not in plain.out
    assert max(map(len, plain.out.splitlines())) <= 120


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["40", "80", "200", "1", "0", "many", "9" * 4000, "9" * 5000, "-1"])
def test_width_is_that_of_the_terminal(trace: Path, columns: str) -> None:
    ran = spawn("summarize", "-q", "-f", "text", trace, COLUMNS=columns)
    assert (ran.status, ran.err) == (0, "")
    assert "trace.sqlite" in ran.out.replace("\n", "")


def test_compact_is_the_same_document_on_one_line(hostile: Path) -> None:
    for word in ("summarize", "inspect"):
        whole, compact = call(word, hostile, "-f", "json"), call(word, hostile, "--compact", "-f", "json")
        assert compact.out.count("\n") == 1
        assert json.loads(compact.out) == json.loads(whole.out)
        assert whole.out.count("\n") > 20


def harmful(text: str) -> list[str]:
    """Return the characters other than line ends that move a cursor, turn text around or cannot be seen."""
    return [char for char in text if char != "\n" and unicodedata.category(char) in {"Cc", "Cf", "Zl", "Zp", "Cs"}]


def test_hostile_names_in_json(hostile: Path) -> None:
    ran = call("summarize", "-q", "--top", "99", hostile)
    document = json.loads(ran.out)
    assert document["file"] == hostile.name
    assert {name for name, _ in document["top_kernels"]} == set(HOSTILE)
    assert set(document["api"]) == set(HOSTILE)
    assert set(document["nvtx"]) == set(HOSTILE)
    assert set(document["dispatch"]) == {f"CG_DISPATCH{name}" for name in HOSTILE}
    assert {device["name"] for device in document["devices"]} == {f"GPU {name}" for name in HOSTILE}
    assert "\x1b" not in ran.out


@pytest.mark.parametrize("word", ["summarize", "inspect"])
@pytest.mark.parametrize("columns", [None, "60"])
def test_hostile_names_in_text(hostile: Path, monkeypatch: pytest.MonkeyPatch, word: str, columns: str | None) -> None:
    monkeypatch.setenv("COLUMNS", columns) if columns else monkeypatch.delenv("COLUMNS", raising=False)
    ran = call(word, "-f", "text", hostile)
    assert ran.status == 0
    assert harmful(ran.out) == []
    assert "\\x1b[31mred" in ran.out
    assert not [line for line in ran.out.splitlines() if line.lstrip().startswith("::")]
    assert harmful(ran.err) == []
    assert all(line.startswith("nsys-digest: warning: ") for line in ran.err.splitlines())


@pytest.mark.parametrize("word", ["summarize", "inspect"])
def test_hostile_names_in_markdown(hostile: Path, word: str) -> None:
    ran = (
        call(word, "-f", "markdown", "--top", "99", hostile)
        if word == "summarize"
        else call(word, "-f", "markdown", hostile)
    )
    assert ran.status == 0
    assert harmful(ran.out) == []
    lines = ran.out.splitlines()
    assert not [line for line in lines if line and line[0] not in "|#-*" and not line[0].isdigit()]
    assert table_widths(lines) > 5
    bare = re.sub(r"`[^`]*`", "", re.sub(r"\\.", "", ran.out))  # without escaped characters and code
    assert "`" not in bare
    assert "<" not in bare
    assert "](" not in bare
    assert "@" not in bare


def table_widths(lines: list[str]) -> int:
    """Check that each row of each table has as many cells as its head; return the number of rows."""
    rows, width = 0, 0
    for above, line in zip(["", *lines], lines, strict=False):
        if not line.startswith("|"):
            continue
        cells = len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) - 1
        if not above.startswith("|"):
            width = cells
        assert cells == width, line
        rows += 1
    return rows
