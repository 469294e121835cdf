"""Run the command line in this process or in one of its own, and see what it left behind."""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import pty
import stat
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

from builder import TraceBuilder
from nsys_digest.cli import main

Argument = str | Path
ROOT = Path(__file__).parent.parent
READERS = ("adbc", "stdlib")


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run of the command line gave."""

    status: int
    out: str
    err: str


def call(*arguments: Argument) -> Ran:
    """Run the command line in this process; an exception that it lets through fails the test."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n") for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err):
        status = main([str(argument) for argument in arguments])
    out.flush()
    err.flush()
    texts = (stream.detach().getvalue().decode("utf-8") for stream in (out, err))
    return Ran(status, *texts)


def environment(**changes: str) -> dict[str, str]:
    """Return an environment for a child that finds the package and the tests, whatever its folder."""
    kept = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR", "TERM"}}
    return (
        kept | {"PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'tests'}", "TERM": "xterm-256color", "PAGER": "cat"} | changes
    )


def command(*arguments: Argument, script: str | None = None) -> list[str]:
    """Return a child's command: the command line itself, or a script that ends in calling it."""
    start = ["-m", "nsys_digest"] if script is None else ["-c", script]
    return [sys.executable, "-W", "error", *start, *map(str, arguments)]


def spawn(*arguments: Argument, script: str | None = None, cwd: Path | None = None, **changes: str) -> Ran:
    """Run the command line in a process of its own, without a terminal."""
    done = subprocess.run(
        command(*arguments, script=script),
        cwd=cwd,
        env=environment(**changes),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    return Ran(done.returncode, done.stdout.decode(), done.stderr.decode())


def on_terminal(
    *arguments: Argument, stream: str = "stdout", columns: int = 120, script: str | None = None, **changes: str
) -> tuple[Ran, str]:
    """Run the command line with one stream on a terminal; return the run and what the terminal was sent."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: slave}
    with subprocess.Popen(
        command(*arguments, script=script), env=environment(**changes), stdin=subprocess.DEVNULL, **streams
    ) as child:
        os.close(slave)
        shown = b"".join(iter(lambda: _read_terminal(master), b""))
        out, err = child.communicate(timeout=60)
    os.close(master)
    return Ran(child.returncode, (out or b"").decode(), (err or b"").decode()), shown.decode().replace("\r\n", "\n")


def _read_terminal(master: int) -> bytes:
    try:
        return os.read(master, 65536)
    except OSError:  # the child has closed its end
        return b""


def snapshot(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return what a folder holds: kind, permissions, time and content of everything in it."""
    return {str(path.relative_to(folder)): _state(path) for path in sorted(folder.rglob("*"))}


def _state(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    if stat.S_ISLNK(facts.st_mode):
        return ("link", str(path.readlink()))
    if not stat.S_ISREG(facts.st_mode):
        return (facts.st_mode,)
    return facts.st_mode, facts.st_size, facts.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest()


@contextmanager
def untouched(folder: Path) -> Iterator[None]:
    """Fail when what runs in it changes, adds or removes anything in a folder."""
    before = snapshot(folder)
    yield
    assert snapshot(folder) == before


def the_line(ran: Ran, status: int, code: str) -> str:
    """Return the one line of a run that failed as it should, without its prefix and its code."""
    assert ran.status == status, ran
    assert ran.out == ""
    assert ran.err.count("\n") == 1, ran.err
    assert ran.err.startswith("nsys-digest: "), ran.err
    assert ran.err.endswith(f" [{code}]\n"), ran.err
    return ran.err.removeprefix("nsys-digest: ").removesuffix(f" [{code}]\n")


def refused(trace: Argument, code: str, *, folder: Path, commands: tuple[tuple[str, ...], ...] = ()) -> str:
    """Return the one line with which every command refuses a trace; nothing in the folder may change."""
    lines = set()
    for words in commands or (*(("summarize", "--reader", reader) for reader in READERS), ("inspect",)):
        with untouched(folder):
            lines.add(the_line(call(*words, trace), 3, code))
    assert len(lines) == 1, lines
    return lines.pop()


def digest_json(trace: Argument, *, folder: Path, options: tuple[str, ...] = ()) -> str:
    """Return the JSON that both readers give for a trace, the same bytes; nothing in the folder may change."""
    found = set()
    for reader in READERS:
        with untouched(folder):
            ran = call("summarize", "--quiet", "--reader", reader, *options, trace)
        assert (ran.status, ran.err) == (0, "")
        found.add(ran.out)
    assert len(found) == 1, found
    return found.pop()


def small_trace(version: str = "2025.3") -> TraceBuilder:
    """Return a builder of a trace with something in every part of the digest."""
    return (
        TraceBuilder(version)
        .gpu(0, "NVIDIA H100")
        .process(1, "/usr/bin/python3")
        .session(1_000)
        .kernel(100, 200, name="gemm")
        .kernel(250, 280, name="softmax")
        .memcpy(150, 300, correlation=2)
        .memset(310, 320)
        .api("cudaLaunchKernel", 50, 90)
        .api("cudaMemcpyAsync", 95, 99, correlation=2)
        .range("step", 0, 400)
        .range("aten::mm, seq = 1", 10, 20, registered=True)
        .mark("CG_DISPATCH full", 10)
        .mark("MY_MARK one", 11)
    )
