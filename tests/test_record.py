"""``nsys-digest record`` over a pretended nsys: what it passes on, what it keeps, and what it leaves behind."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nsys_digest.errors import NsysMissing
from nsys_digest.recorder import find, libraries, supervise
from nsys_digest.recorder.find import find_nsys
from nsys_digest.recorder.options import Recording
from nsys_digest.recorder.record import Recorded, record, target_of
from nsys_digest.recorder.supervise import Patience
from support import ROOT, Ran, call, command, environment, snapshot, the_line, untouched

TRACE = ROOT / "fixtures" / "traces" / "nogpu.sqlite"
FAKE = ROOT / "tests" / "fake_nsys.py"
ENDS = {"out.sqlite", "out.nsys-rep"}
pytestmark = pytest.mark.slow


def install(folder: Path, name: str = "nsys", how: str = "") -> Path:
    """Put a pretended nsys into a folder, as it is in NVIDIA's: two levels below its own."""
    path = folder / "target-linux-x64" / name
    path.parent.mkdir(parents=True)
    text = FAKE.read_text()
    path.write_text(
        f"#!{sys.executable}\n" + (text.replace('os.environ.get("FAKE_NSYS", "")', repr(how)) if how else text)
    )
    path.chmod(0o755)
    return path


@dataclass
class Bench:
    """A folder to record in, a pretended nsys on PATH, and an own folder for temporary files."""

    folder: Path
    temporary: Path
    nsys: Path
    token: str

    def words(self, *words: str | Path) -> list[str]:
        """Return the command line that records."""
        return command("record", *words)

    def environment(self, how: str = "", **more: str) -> dict[str, str]:
        """Return the environment of a recording; ``how`` the pretended nsys behaves."""
        return environment(
            PATH=f"{self.nsys.parent}{os.pathsep}{os.environ['PATH']}",
            TMPDIR=str(self.temporary),
            FAKE_NSYS=how,
            FAKE_TRACE=str(TRACE),
            FAKE_TOKEN=self.token,
            **more,
        )

    def start(self, *words: str | Path, how: str = "", **more: str) -> subprocess.Popen[bytes]:
        """Start a recording."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            self.words(*words), cwd=self.folder, env=self.environment(how, **more), stdin=pipe, stdout=pipe, stderr=pipe
        )

    def run(self, *words: str | Path, how: str = "", stdin: bytes = b"", **more: str) -> Ran:
        """Record to the end."""
        with self.start(*words, how=how, **more) as child:
            out, err = child.communicate(stdin, timeout=60)
        return Ran(child.returncode, out.decode(), err.decode())

    def files(self) -> set[str]:
        """Return the names of the files in the folder."""
        return {path.name for path in self.folder.iterdir()}

    def running(self) -> list[str]:
        """Return the command lines of processes that carry the token of this test; ended ones have none."""
        lines = []
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                lines.append(process.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
            except OSError:
                continue
        return [line for line in lines if self.token in line]

    def program(self, text: str, *arguments: str) -> list[str]:
        """Return what to record: a script of Python, marked with the token of this test."""
        return ["--", sys.executable, "-c", text, *arguments, self.token]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    for name in ("here", "temporary"):
        (tmp_path / name).mkdir()
    made = Bench(tmp_path / "here", tmp_path / "temporary", install(tmp_path / "nsys"), f"token-{uuid.uuid4().hex}")
    yield made
    assert made.running() == []
    assert list(made.temporary.iterdir()) == []
    assert not [name for name in made.files() if name.startswith(".")]


def test_the_trace_the_report_and_the_streams(bench: Bench) -> None:
    text = "import sys; print('out'); print('err', file=sys.stderr); print(sys.stdin.read())"
    ran = bench.run("-o", "out", *bench.program(text), stdin=b"asked")
    assert (ran.status, ran.out) == (0, "out\nasked\n")
    assert ran.err == "err\nnsys-digest: trace in out.sqlite (143.4 kB) [trace-recorded]\n"
    assert bench.files() == ENDS
    assert (bench.folder / "out.sqlite").read_bytes() == TRACE.read_bytes()
    assert (bench.folder / "out.nsys-rep").read_bytes() == b"report"


def test_the_streams_where_nsys_closes_what_it_does_not_know(bench: Bench) -> None:
    text = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    ran = bench.run("-q", "-o", "out", *bench.program(text), how="closes")
    assert (ran.status, ran.out, ran.err) == (0, "out\n", "err\n")


def test_output_into_a_file_keeps_what_is_there(bench: Bench) -> None:
    for how in ("", "closes"):
        log = bench.folder / "log.txt"
        log.write_text("before\n")
        with log.open("a") as file:
            words = bench.words("-q", "--force", "-o", "out", *bench.program("print('during')"))
            subprocess.run(words, cwd=bench.folder, env=bench.environment(how), stdout=file, check=True, timeout=60)
        assert log.read_text() == "before\nduring\n"


def test_a_program_on_a_terminal_sees_one(bench: Bench) -> None:
    master, slave = pty.openpty()
    words = bench.words("-q", "-o", "out", *bench.program("import os; print(os.isatty(0), os.isatty(1))"))
    done = subprocess.run(words, cwd=bench.folder, env=bench.environment(), stdin=slave, stdout=slave, timeout=60)
    os.close(slave)
    assert (done.returncode, os.read(master, 100)) == (0, b"True True\r\n")
    os.close(master)


@pytest.mark.parametrize("status", [1, 3, 6, 130, 255])
def test_the_status_of_the_program_is_passed_on_and_the_trace_kept(bench: Bench, status: int) -> None:
    ran = bench.run("-o", "out", *bench.program(f"raise SystemExit({status})"))
    assert ran.status == status
    assert (
        ran.err
        == f"nsys-digest: trace in out.sqlite (143.4 kB); the program ended with status {status} [trace-recorded]\n"
    )
    assert bench.files() == ENDS


def test_a_trace_whose_report_cannot_be_moved_is_named(bench: Bench) -> None:
    (bench.folder / "out.sqlite").write_text("of an earlier recording")
    (bench.folder / "out.nsys-rep" / "folder").mkdir(parents=True)
    ran = bench.run("-q", "--force", "-o", "out", *bench.program("pass"))
    assert the_line(ran, 6, "record-failed") == (
        "out.nsys-rep: the report could not be moved there (Is a directory); choose another place with -o; out.sqlite "
        "was written whole, and nothing else"
    )
    assert (bench.folder / "out.sqlite").read_bytes() == TRACE.read_bytes()


def test_arguments_are_passed_intact(bench: Bench) -> None:
    odd = ["", " ", "a b", "it's", '"', "$HOME", "`id`", "a\nb", "*", "--force", "--", "-o", "\\", "é", "a=b", "%p"]
    ran = bench.run("-o", "out", *bench.program("import sys, json; print(json.dumps(sys.argv[1:-1]))", *odd))
    assert json.loads(ran.out) == odd
    assert bench.files() == ENDS


def test_options_behind_the_program_are_its_own_without_dashes(bench: Bench) -> None:
    ran = bench.run("-q", "-o", "out", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--force", "-o")
    assert ran == Ran(0, "['--force', '-o']\n", "")


def test_what_nsys_is_asked_for(bench: Bench) -> None:
    note = bench.folder / "note"
    see = "import os; print(os.environ.get('TMPDIR'))"
    words = ["--graphs", "graph", "--trace", "cuda", "--wait", "all", "--nsys-option", "--gpu-metrics-devices=0"]
    ran = bench.run("-q", "-o", "50%", *words, *bench.program(see), FAKE_NSYS_NOTE=str(note))
    seen = json.loads(note.read_text())
    output = next(word for word in seen["options"] if word.startswith("--output="))
    assert set(seen["options"]) - {output} == {
        "--trace=cuda",
        "--sample=none",
        "--cpuctxsw=none",
        "--cuda-graph-trace=graph",
        "--wait=all",
        "--export=sqlite",
        "--stats=false",
        "--gpu-metrics-devices=0",
    }
    assert Path(seen["tmpdir"]).parent == bench.temporary
    assert ran.out == f"{bench.temporary}\n"
    assert seen["register_only"] is None
    assert bench.files() == {"note", "50%.sqlite", "50%.nsys-rep"}


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ("cudaProfilerApi", {"--capture-range=cudaProfilerApi", "--capture-range-end=stop"}),
        ("nvtx:step 1", {"--capture-range=nvtx", "--capture-range-end=stop", "--nvtx-capture=step 1"}),
    ],
)
def test_a_range_to_capture(bench: Bench, asked: str, options: set[str]) -> None:
    note = bench.folder / "note"
    bench.run("-o", "out", "--capture-range", asked, *bench.program(""), FAKE_NSYS_NOTE=str(note))
    seen = json.loads(note.read_text())
    assert {word for word in seen["options"] if word.startswith(("--capture", "--nvtx"))} == options
    assert seen["register_only"] == ("0" if asked.startswith("nvtx") else None)


def test_an_earlier_recording_is_replaced_only_by_force(bench: Bench) -> None:
    for there in sorted(ENDS):
        (bench.folder / there).write_text("mine")
        with untouched(bench.folder):
            ran = bench.run("-o", "out", *bench.program("print('ran')"))
        assert "--force" in the_line(ran, 2, "usage-invalid")
        (bench.folder / there).unlink()
    (bench.folder / "out.nsys-rep").write_text("mine")
    assert bench.run("-o", "out.sqlite", "--force", "--drop-report", *bench.program("")).status == 0
    assert bench.files() == {"out.sqlite"}  # an old report beside a new trace would mislead


def test_without_a_name_the_first_free_one_is_taken(bench: Bench) -> None:
    for _ in range(3):
        assert bench.run("-q", "--drop-report", *bench.program("")).status == 0
    assert bench.files() == {"trace.sqlite", "trace-2.sqlite", "trace-3.sqlite"}


def test_a_file_that_came_meanwhile_is_not_replaced(bench: Bench) -> None:
    ran = bench.run("-o", "out", *bench.program("open('out.sqlite', 'w').write('mine')"))
    assert ran.status == 0
    assert (bench.folder / "out.sqlite").read_text() == "mine"
    assert bench.files() == {"out.sqlite", "out-2.sqlite", "out-2.nsys-rep"}
    assert "out-2.sqlite" in ran.err


def test_a_digest_behind_the_output(bench: Bench) -> None:
    ran = bench.run("-o", "out", "--summarize", "--format", "text", *bench.program("print('first')"))
    alone = call("summarize", TRACE, "--format", "text")
    assert ran.out == "first\n" + alone.out.replace("nogpu.sqlite", "out.sqlite", 1)
    warned = alone.err.replace(str(TRACE), "out.sqlite")
    assert ran.err == f"nsys-digest: trace in out.sqlite (143.4 kB) [trace-recorded]\n{warned}"
    ran = bench.run("-o", "out", "--force", "-q", "--digest", "out.json", *bench.program("print(1); exit(4)"))
    assert (ran.status, ran.out, ran.err) == (4, "1\n", "")
    assert json.loads((bench.folder / "out.json").read_text())["file"] == "out.sqlite"


def test_a_digest_over_the_trace_is_refused_before_the_run(bench: Bench) -> None:
    for name in ("out.sqlite", "out.nsys-rep", "no/where.json"):
        ran = bench.run("-o", "out", "--digest", name, *bench.program("print('ran')"))
        the_line(ran, 2, "usage-invalid")
    assert bench.files() == set()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--capture-range", "all"], "--capture-range all"),
        (["--capture-range", "nvtx:"], "nvtx:NAME"),
        (["--timeout", "0"], "--timeout 0"),
        (["--nsys-option", "stats"], "--nsys-option stats"),
        (["--format", "text"], "--summarize"),
        (["-o", "no/where"], "folder"),
        (["-o", "."], "folder"),
        (["--trace", "cuda,"], "--trace"),
    ],
)
def test_bad_usage_is_refused_before_the_run(bench: Bench, words: list[str], part: str) -> None:
    ran = bench.run(*words, *bench.program("print('ran')"))
    assert part in the_line(ran, 2, "usage-invalid")
    assert bench.files() == set()


def test_no_program(bench: Bench) -> None:
    assert "COMMAND" in the_line(bench.run("-o", "out"), 2, "usage-invalid")


def test_a_program_that_cannot_be_run(bench: Bench) -> None:
    (bench.folder / "script.py").write_text("")
    for name, part in (
        ("no-such-program", "no such program"),
        ("./script.py", "executable"),
        ("./", "folder"),
        ("python train.py --lr 1", "sh -c"),
        ("", "no such program"),
    ):
        assert part in the_line(bench.run("-o", "out", "--", name), 127, "command-not-found")
    assert bench.files() == {"script.py"}


def test_a_daemon_and_the_files_of_nsys_do_not_stay(bench: Bench) -> None:
    ran = bench.run("-o", "out", *bench.program("print('done')"), how="daemon")
    assert (ran.status, ran.out) == (0, "done\n")
    assert ran.err == "nsys-digest: trace in out.sqlite (143.4 kB) [trace-recorded]\n"


def test_what_the_program_leaves_running_is_ended_and_named(bench: Bench) -> None:
    leave = (
        "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)', sys.argv[1]], "
    )
    ran = bench.run("-o", "out", *bench.program(leave + "start_new_session=True)"))
    assert ran.status == 0
    assert "ended what the program left running: python" in ran.err


@pytest.mark.parametrize(
    ("how", "kept", "part"),
    [
        (
            "refuses",
            set(),
            "nsys ended with status 1 and wrote no trace; nsys said: ERROR: the profiler may not run here",
        ),
        ("nothing", set(), "nsys ended with status 0 and wrote no trace"),
        ("raw", {"out.qdstrm"}, "QdstrmImporter -i out.qdstrm"),
        ("report", {"out.nsys-rep"}, "nsys export --type sqlite out.nsys-rep"),
    ],
)
def test_a_recorder_that_fails(bench: Bench, how: str, kept: set[str], part: str) -> None:
    assert part in the_line(bench.run("-o", "out", *bench.program(""), how=f"{how} daemon"), 6, "record-failed")
    assert bench.files() == kept


def test_a_range_that_never_began(bench: Bench) -> None:
    ran = bench.run("-o", "out", "--capture-range", "cudaProfilerApi", *bench.program("exit(1)"), how="nothing")
    assert "cudaProfilerApi begin?" in the_line(ran, 6, "record-failed")


def wait_for(child: subprocess.Popen[bytes]) -> None:
    assert child.stdout is not None
    assert child.stdout.readline() == b"ready\n"


# os.write, since a handler that prints fails where it interrupts a print.
WAITS = "import os, time; os.write(1, b'ready\\n'); time.sleep(300)"
CLEANS_UP = f"""
import os, signal, sys
signal.signal(signal.SIGINT, lambda *_: (os.write(1, b'cleaned up\\n'), sys.exit(5)))
{WAITS}
"""


@pytest.mark.parametrize("how", ["", "daemon", "closes daemon"])
def test_ctrl_c_goes_to_the_program_and_the_trace_is_kept(bench: Bench, how: str) -> None:
    with bench.start("-o", "out", *bench.program(CLEANS_UP), how=how) as child:
        wait_for(child)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (5, b"cleaned up\n")
    assert err == b"nsys-digest: trace in out.sqlite (143.4 kB); the program ended with status 5 [trace-recorded]\n"
    assert bench.files() == ENDS


def test_ctrl_c_without_a_trace(bench: Bench) -> None:
    with bench.start("-o", "out", *bench.program(CLEANS_UP), how="nothing daemon") as child:
        wait_for(child)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate(timeout=60)
    assert (child.returncode, err) == (130, b"nsys-digest: interrupted; nothing was written [interrupted]\n")
    assert bench.files() == set()


def test_a_second_ctrl_c_is_harder(bench: Bench) -> None:
    text = f"import os, signal; signal.signal(signal.SIGINT, lambda *_: os.write(1, b'not yet\\n')); {WAITS}"
    with bench.start("-o", "out", *bench.program(text)) as child:
        assert child.stdout is not None
        wait_for(child)
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == b"not yet\n"
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    assert bench.files() == ENDS


def test_ctrl_c_on_a_terminal_reaches_the_program_once(bench: Bench) -> None:
    count = """
import signal, sys, time
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
print('ready', flush=True)
until = time.monotonic() + 1
while time.monotonic() < until: time.sleep(0.05)
print(len(seen), flush=True)
"""
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(bench.folder)
        words = bench.words("-q", "-o", "out", *bench.program(count))
        os.execve(words[0], words, bench.environment())
    shown = b""
    while b"ready" not in shown:
        shown += os.read(master, 100)
    os.write(master, b"\x03")
    while True:
        try:
            shown += os.read(master, 100)
        except OSError:
            break
    _, status = os.waitpid(pid, 0)
    os.close(master)
    assert os.waitstatus_to_exitcode(status) == 0, shown
    assert shown.replace(b"^C", b"") == b"ready\r\n1\r\n"
    assert bench.files() == ENDS


def test_sigterm(bench: Bench) -> None:
    with bench.start("-o", "out", *bench.program(WAITS), how="daemon") as child:
        wait_for(child)
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=60)
    assert child.returncode == 128 + signal.SIGTERM
    assert bench.files() == ENDS


def test_the_time_limit_keeps_what_was_recorded(bench: Bench) -> None:
    ran = bench.run("-o", "out", "--timeout", "1.5", "--summarize", *bench.program(WAITS), how="daemon")
    assert ran.status == 6
    assert ran.out.startswith("ready\n{")
    last = ran.err.splitlines()[-1]
    assert last.endswith(
        "longer than 1.5 s and was ended; what was recorded until then is in out.sqlite [record-timed-out]"
    )
    assert bench.files() == ENDS


def test_the_time_limit_without_a_trace(bench: Bench) -> None:
    text = "import os, signal, time; signal.signal(signal.SIGINT, lambda *_: os._exit(1)); time.sleep(300)"
    ran = bench.run("-o", "out", "--timeout", "1", *bench.program(text), how="nothing daemon")
    assert "there is no trace" in the_line(ran, 6, "record-timed-out")
    assert bench.files() == set()


@pytest.fixture
def inside(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Record in this process, to be impatient."""
    for name, value in bench.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(bench.folder)
    return bench


IMPATIENT = Patience(program_s=0.3, writing_s=0.3, leftover_s=0.3)


def test_a_program_that_will_not_end_is_ended(inside: Bench) -> None:
    text = "import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep(300)"
    recording = Recording(timeout_s=1.0, nsys=inside.nsys)
    words = inside.program(text)[1:]
    found: Recorded = record(words, target_of(Path("out"), recording), recording, patience=IMPATIENT)
    assert found.status == 128 + signal.SIGKILL
    assert found.stopped is not None
    assert found.stopped.code == "record-timed-out"


def test_an_nsys_that_will_not_end_is_ended(inside: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_NSYS", "stuck daemon stubborn")
    recording = Recording(timeout_s=1.0, nsys=inside.nsys)
    words = inside.program("")[1:]
    with pytest.raises(Exception, match="nsys ended with status 137"):
        record(words, target_of(Path("out"), recording), recording, patience=IMPATIENT)
    assert inside.files() == set()


def test_which_nsys_is_taken(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = install(tmp_path / "suite" / "2024.6.1", how="version=2024.6.1.90")
    new = install(tmp_path / "suite" / "2025.10.1", how="version=2025.10.1.2")
    install(tmp_path / "suite" / "2025.9.1", how="version=2025.9.1.2")
    usual = (f"{tmp_path}/suite/*/target-linux-*/nsys",)
    monkeypatch.setenv("PATH", "/nowhere")
    assert find_nsys(None, usual=usual) == find.Nsys(new, (2025, 10, 1, 2))
    assert find_nsys(old, usual=usual).path == old
    assert find_nsys(old.parent, usual=usual).path == old
    monkeypatch.setenv("PATH", str(bench.nsys.parent))
    assert find_nsys(None, usual=usual).path == bench.nsys  # whoever puts one on PATH means it
    (bench.nsys).write_text("#!/bin/sh\nexit 1\n")
    assert find_nsys(None, usual=usual).path == new


def test_no_nsys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NsysMissing, match="no nsys on PATH, nor as /nowhere/nsys; install"):
        find_nsys(None, usual=("/nowhere/nsys",))
    with pytest.raises(NsysMissing, match="there is no nsys; correct --nsys"):
        find_nsys(tmp_path / "nsys")
    (tmp_path / "true").symlink_to("/bin/true")
    with pytest.raises(NsysMissing, match="does not answer to --version"):
        find_nsys(tmp_path / "true")


def pretend_ldd(folder: Path, lacking: str) -> None:
    """Put an ``ldd`` into a folder that finds everything but what is named."""
    lines = [f"\\t{name} => not found" for name in lacking.split()]
    shown = "\\n".join(["\\tlinux-vdso.so.1 (0x7ffd)", "\\tlibc.so.6 => /lib/libc.so.6 (0x7f)", *lines])
    (folder / "ldd").write_text(f"#!/bin/sh\nprintf '{shown}\\n'\n")
    (folder / "ldd").chmod(0o755)


@pytest.mark.parametrize("name", ["host-linux-x64", "linux-desktop-glibc_2_11_3-x64", "target-linux-x64"])
def test_an_importer_without_its_libraries_is_refused_before_the_run(bench: Bench, tmp_path: Path, name: str) -> None:
    host = tmp_path / "nsys" / name
    host.mkdir(exist_ok=True)
    (host / "QdstrmImporter").write_text("")
    pretend_ldd(bench.nsys.parent, "libelf.so.1 libdw.so.1")
    line = the_line(bench.run("-o", "out", *bench.program("print('ran')")), 6, "nsys-missing")
    assert "its importer lacks libdw.so.1, libelf.so.1" in line
    assert line.endswith("install libdw1 libelf1 (Debian, Ubuntu) or elfutils-libs elfutils-libelf (Fedora, RHEL)")
    assert bench.files() == set()
    pretend_ldd(bench.nsys.parent, "")
    assert bench.run("-o", "out", *bench.program("")).status == 0


def test_packages_of_libraries_that_nobody_knows() -> None:
    assert libraries.packages_of(["libodd.so.7"]) == "the package of libodd.so.7"


def test_a_program_that_is_not_on_linux(monkeypatch: pytest.MonkeyPatch, bench: Bench) -> None:
    monkeypatch.setattr(supervise.sys, "platform", "darwin")
    monkeypatch.chdir(bench.folder)
    assert "on Linux only" in the_line(call("record", "--", "true"), 6, "nsys-missing")


@pytest.mark.workloads
def test_a_workload_runs_itself_again_under_the_recorder(bench: Bench) -> None:
    for name in ("torch", "nvtx"):
        pytest.importorskip(name)
    small = ["--device", "cpu", "--rounds", "2", "--processes", "0", "--threads=0", "--json"]
    words = ["workload", "patterns", *small, "--record", "out", "--record-graphs", "graph", "--summarize"]
    note = bench.folder / "note"
    done = subprocess.run(
        command(*words),
        cwd=bench.folder,
        env=bench.environment(FAKE_NSYS_NOTE=str(note)),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    account, end = json.JSONDecoder().raw_decode(done.stdout)
    assert account["plan"] == {"device": "cpu", "rounds": 2, "processes": 0, "threads": 0}
    assert json.loads(done.stdout[end:])["file"] == "out.sqlite"
    assert "--cuda-graph-trace=graph" in json.loads(note.read_text())["options"]
    assert bench.files() == {*ENDS, "note"}


def test_children_that_were_there_before_are_left_alone(inside: Bench) -> None:
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"]) as mine:
        recording = Recording(nsys=inside.nsys)
        record(inside.program("")[1:], target_of(Path("out"), recording), recording, patience=IMPATIENT)
        time.sleep(0.1)
        assert mine.poll() is None
        mine.kill()
    assert snapshot(inside.folder).keys() == ENDS


def test_deep_asks_for_what_the_host_does(bench: Bench) -> None:
    ran = bench.run("--deep", "-o", "out", *bench.program("pass"), FAKE_NSYS_NOTE=str(bench.folder / "note"))
    assert (ran.status, ran.err) == (0, "nsys-digest: trace in out.sqlite (143.4 kB) [trace-recorded]\n")
    options = json.loads((bench.folder / "note").read_text())["options"]
    assert {"--trace=cuda,nvtx,osrt", "--sample=process-tree", "--cpuctxsw=process-tree"} <= {*options}


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (
            "paranoid",
            "here (Linux Kernel Paranoid Level = 4, Linux perf_event_open syscall available: Fail)",
        ),
        ("silent", "nsys does not say whether they can be recorded"),
    ],
)
def test_deep_goes_as_far_as_the_system_allows_and_says_so(how: str, why: str, bench: Bench) -> None:
    trace = ("--trace", "osrt,cuda")
    note = {"FAKE_NSYS_NOTE": str(bench.folder / "note")}
    ran = bench.run("--deep", *trace, "-o", "out", *bench.program("print('ran')"), how=how, **note)
    assert (ran.status, ran.out) == (0, "ran\n")
    said, recorded = ran.err.splitlines()
    assert said.startswith("nsys-digest: the trace will have calls of the operating system, but no scheduling and no ")
    assert f"{why}; allow them with" in said
    assert said.endswith("[deep-partly]")
    assert recorded.endswith("[trace-recorded]")
    options = json.loads((bench.folder / "note").read_text())["options"]
    assert {"--trace=osrt,cuda", "--sample=none", "--cpuctxsw=none"} <= {*options}
    quiet = bench.run("--deep", "--quiet", "-o", "other", *bench.program("pass"), how=how)
    assert (quiet.status, quiet.err) == (0, "")
