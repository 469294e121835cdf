"""Signals, and what standard error is told: one line, the status that shells know, and no half of a file."""

from __future__ import annotations

import ast
import os
import re
import signal
from pathlib import Path

import pytest

from support import ROOT, Ran, call, small_trace, spawn, the_line, untouched

# Sends itself a signal when a module is about to be imported, with what the signal does before given as a number.
AT_IMPORT = """
import os, signal, sys
number, before, module = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
sys.argv[1:] = sys.argv[4:]
class Hook:
    def find_spec(self, name, *_):
        if name == module:
            os.kill(os.getpid(), number)
if before == signal.SIG_IGN:
    signal.signal(number, signal.SIG_IGN)
sys.meta_path.insert(0, Hook())
from nsys_digest.__main__ import main
sys.exit(main())
"""
# Sends itself a signal in place of a call: os.fsync of a file, or Path.open of a device.
AT_CALL = """
import os, pathlib, signal, sys
number, place = int(sys.argv[1]), sys.argv[2]
sys.argv[1:] = sys.argv[3:]
opened = pathlib.Path.open
def then_open(path, *how, **more):
    return os.kill(os.getpid(), number) if str(path) == os.devnull else opened(path, *how, **more)
if place == "fsync":
    os.fsync = lambda _: os.kill(os.getpid(), number)
else:
    pathlib.Path.open = then_open
from nsys_digest.__main__ import main
sys.exit(main())
"""
# Sends itself a signal right after a method of Path has done its work, and a second one when a file is taken away.
AFTER_CALL = """
import atexit, os, pathlib, signal, sys
number, place = int(sys.argv[1]), sys.argv[2]
sys.argv[1:] = sys.argv[3:]
atexit.register(print, "Python ended")
done = getattr(pathlib.Path, place)
def then_signal(*arguments, **options):
    done(*arguments, **options)
    os.kill(os.getpid(), number)
setattr(pathlib.Path, place, then_signal)
os.fsync = lambda _: os.kill(os.getpid(), number) if place == "unlink" else None
from nsys_digest.__main__ import main
sys.exit(main())
"""
# Is sent a signal in a destructor, or in a step of which no half must be seen, and says what came of it.
RAISED = """
import os, signal, sys, time
from nsys_digest import signals

def send():
    os.kill(os.getpid(), int(sys.argv[1]))
class Gone:
    def __del__(self):
        send()
try:
    with signals.raised():
        if sys.argv[2] == "destructor":
            gone = Gone()
            del gone
        else:
            with signals.held():
                send()
                print("whole")
        time.sleep(30)
except signals.SignalReceived as error:
    signals.leave(print("received", error.number) or 7)
"""
SIGNALS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated"), (signal.SIGHUP, 129, "terminated")]
GATE = ROOT / "fixtures" / "gate"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "trace.sqlite")


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
@pytest.mark.parametrize("module", ["typer", "nsys_digest.cli.summarize", "nsys_digest.api", "numpy"])
def test_a_signal_while_modules_are_imported(trace: Path, number: int, status: int, code: str, module: str) -> None:
    with untouched(trace.parent):
        ran = spawn(str(int(number)), "0", module, "summarize", trace, script=AT_IMPORT)
    assert the_line(ran, status, code) == f"{code}; nothing was written"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.slow
def test_a_signal_that_is_ignored_stays_ignored(trace: Path, number: int) -> None:
    ran = spawn(str(int(number)), str(int(signal.SIG_IGN)), "numpy", "summarize", "-q", trace, script=AT_IMPORT)
    assert (ran.status, ran.out, ran.err) == (0, call("summarize", "-q", trace).out, "")


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
@pytest.mark.slow
def test_a_signal_while_a_file_is_written_leaves_nothing(trace: Path, number: int, status: int, code: str) -> None:
    (trace.parent / "digest.json").write_text("old")
    with untouched(trace.parent):
        ran = spawn(
            str(int(number)), "fsync", "summarize", "-q", trace, "-o", trace.parent / "digest.json", script=AT_CALL
        )
    assert the_line(ran, status, code) == f"{code}; nothing was written"


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
@pytest.mark.slow
def test_a_signal_between_outputs_says_which_were_written(tmp_path: Path, number: int, status: int, code: str) -> None:
    """Of four outputs two are files, one is a device at which the signal comes, and one is behind it."""
    check = ("check", GATE / "base_1.json", "-b", GATE / "base_2.json", "-f", "text", "-o", tmp_path / "o.txt")
    ran = spawn(
        *(str(int(number)), "open", *check, "--json", tmp_path / "o.json"),
        *("--junit", os.devnull, "--sarif", tmp_path / "o.sarif"),
        script=AT_CALL,
    )
    assert the_line(ran, status, code) == (
        f"{code}; {tmp_path / 'o.txt'}, {tmp_path / 'o.json'} were written whole, and nothing else; {os.devnull} may "
        "have a part"
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["o.json", "o.txt"]


@pytest.mark.parametrize(("number", "status", "code"), SIGNALS)
@pytest.mark.slow
def test_a_signal_right_behind_the_step_that_puts_a_file_in_place(
    trace: Path, number: int, status: int, code: str
) -> None:
    """The line says that the file is there, and Python does not end around threads that may still read."""
    output = trace.parent / "o.json"
    ran = spawn(str(int(number)), "replace", "summarize", "-q", trace, "-o", output, script=AFTER_CALL)
    assert the_line(ran, status, code) == f"{code}; {output} was written whole, and nothing else"
    assert output.exists()
    assert "Python ended" not in ran.out


@pytest.mark.slow
def test_a_second_signal_while_the_first_is_obeyed(trace: Path) -> None:
    words = ("summarize", "-q", trace, "-o", trace.parent / "o.json")
    with untouched(trace.parent):
        ran = spawn(str(int(signal.SIGTERM)), "unlink", *words, script=AFTER_CALL)
    assert the_line(ran, 143, "terminated") == "terminated; nothing was written"


@pytest.mark.parametrize(("where", "said"), [("destructor", ""), ("held", "whole\n")])
def test_a_signal_is_raised_where_it_is_not_lost(where: str, said: str) -> None:
    ran = spawn(str(int(signal.SIGTERM)), where, script=RAISED)
    assert (ran.status, ran.out, ran.err) == (7, f"{said}received {int(signal.SIGTERM)}\n", "")


def test_a_workload_is_ended_by_an_exception(tmp_path: Path) -> None:
    """A workload ends other processes before it ends, so that the signal must pass through it."""
    script = """
import os, signal, sys
from nsys_digest.workloads.phases import reader
def read_log(*_):
    try:
        os.kill(os.getpid(), signal.SIGTERM)
    finally:
        print("ended the others", flush=True)
reader.read_log = read_log
from nsys_digest.__main__ import main
sys.exit(main())
"""
    log = ROOT / "fixtures" / "workloads" / "opd.log"
    ran = spawn("workload", "phases", log, log, script=script, cwd=tmp_path)
    assert ran.out == "ended the others\n"
    assert the_line(Ran(ran.status, "", ran.err), 143, "terminated") == "terminated; nothing was written"


def test_a_shortage_names_the_trace_in_every_command(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MemoryError

    for name in ("scan", "scan_kernels", "inspect_source"):
        monkeypatch.setattr(f"nsys_digest.sections.summary.{name}", refuse)
    for words in (("summarize",), ("categories",), ("inspect",), ("diff", GATE / "base_1.json"), ("check",)):
        with untouched(trace.parent):
            line = the_line(call(*words, trace), 1, "out-of-resources")
        assert line.startswith(f"{trace}: there is not enough memory")


@pytest.mark.parametrize(
    "environment",
    [
        {"_NSYS_DIGEST_COMPLETE": "complete_bash"},
        {"_NSYS_DIGEST_COMPLETE": "complete_bash", "COMP_WORDS": "nsys-digest sum"},
        {"_NSYS_DIGEST_COMPLETE": "complete_bash", "COMP_WORDS": "nsys-digest sum", "COMP_CWORD": "many"},
        {"_NSYS_DIGEST_COMPLETE": "complete_"},
        {"_NSYS_DIGEST_COMPLETE": "\x1b::x"},
    ],
)
def test_completion_that_no_shell_asks_for(environment: dict[str, str]) -> None:
    assert the_line(spawn(**environment), 2, "usage-invalid").startswith("_NSYS_DIGEST_COMPLETE is set, and ")


def literals(node: ast.expr) -> set[str]:
    """Return the texts that an expression may be; nothing for ``error.code`` and its like, which are codes."""
    return {part.value for part in ast.walk(node) if isinstance(part, ast.Constant) and isinstance(part.value, str)}


@pytest.mark.slow
def test_every_line_on_standard_error_has_a_code_that_is_told() -> None:
    """Only ``note`` writes there, but for annotations and the help; each call of it and of ``warn`` ends in a code."""
    told = set(re.findall(r"^(?:### |\| )`([a-z-]+)`", (ROOT / "docs" / "messages.md").read_text(), re.MULTILINE))
    codes: set[str] = set()
    printing = []
    for path in sorted((ROOT / "nsys_digest").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in {"note", "warn"} and "cli" in path.parts:
                assert len(node.args) == (2 if name == "note" else 3), (path, node.lineno)
                code = node.args[-1]
                assert isinstance(code, ast.Constant | ast.Attribute | ast.Name), (path, node.lineno)
                codes |= literals(code)
            if "stderr" in ast.unparse(node) and name in {"print", "echo", "write"}:
                printing.append(path.name)
    assert codes <= told
    assert {"baseline-dropped", "baseline-short", "trace-recorded", "phases-compared"} <= codes
    assert sorted(printing) == ["__init__.py", "ci.py", "output.py"]


def test_a_string_that_is_missing_has_one_name() -> None:
    """The words for it stand in one place of the package."""
    sources = ((path.name, path.read_text()) for path in (ROOT / "nsys_digest").rglob("*.py"))
    assert [name for name, source in sources if "[string {" in source] == ["tables.py"]
