"""Behave as nsys does in the ways that matter to a recorder; FAKE_NSYS says in which way, as words.

``daemon`` leaves one behind that has left its parent, ``stubborn`` one that SIGTERM does not end, ``closes`` passes on
no streams but the usual three, ``raw`` writes raw data only, ``report`` a report only, ``nothing`` no file at all,
``refuses`` does not run the program, ``stuck`` never gets the trace written,
``version=2024.1.1`` is another version. Of ``export`` it takes a copy of FAKE_TRACE for the export of any report;
``fails`` ends it with a line and a half-written file, ``grows`` writes until it is ended, ``waits`` never ends.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

WORDS = os.environ.get("FAKE_NSYS", "").split()
SLEEP = "import time; time.sleep(300)"


def leave_daemon(token: str) -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            folder = Path(os.environ["TMPDIR"]) / "nvidia"
            folder.mkdir()
            (folder / "socket").write_text("x")
            if "stubborn" in WORDS:
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.execv(sys.executable, [sys.executable, "-c", SLEEP, token])
        os._exit(0)
    os.wait()


def export(arguments: list[str]) -> int:
    """Pretend to export a report: ``--type sqlite --quiet true --output FILE REPORT``."""
    out = Path(arguments[arguments.index("--output") + 1])
    print("Processing 10 events: [1%    ]\rProcessing 10 events: [100%  ]")
    if {"fails", "grows", "waits"} & set(WORDS):
        out.write_bytes(b"SQLite format 3\0")
    if "fails" in WORDS:
        print("ERROR: the report cannot be read", file=sys.stderr)
        return 1
    while "grows" in WORDS:
        with out.open("ab") as file:
            file.write(bytes(1 << 20))
        time.sleep(0.01)
    if "waits" in WORDS:
        Path(os.environ["FAKE_NSYS_NOTE"]).write_text(str(os.getpid()))
        time.sleep(300)
    print("WARNING: an event was left out")
    shutil.copy(os.environ["FAKE_TRACE"], out)
    return 0


def main(arguments: list[str]) -> int:
    if arguments == ["--version"]:
        version = next((word.partition("=")[2] for word in WORDS if word.startswith("version=")), "2025.3.2.0")
        print(f"NVIDIA Nsight Systems version {version}-253235563210v0")
        return 0
    if arguments[0] == "export":
        return export(arguments)
    assert arguments[0] == "profile"
    first = next(index for index, word in enumerate(arguments[1:], 1) if not word.startswith("-"))
    options = dict(word.lstrip("-").partition("=")[::2] for word in arguments[1:first])
    if note := os.environ.get("FAKE_NSYS_NOTE"):
        seen = {"options": arguments[1:first], "tmpdir": os.environ["TMPDIR"]}
        seen["register_only"] = os.environ.get("NSYS_NVTX_PROFILER_REGISTER_ONLY")
        Path(note).write_text(json.dumps(seen))
    if "refuses" in WORDS:
        print("ERROR: the profiler may not run here", file=sys.stderr)
        return 1
    if "daemon" in WORDS:
        leave_daemon(os.environ["FAKE_TOKEN"])
    print("Collecting data...")
    # as nsys 2025.3 does: a session of its own for the program, and Ctrl-C passed on
    program = subprocess.Popen(arguments[first:], pass_fds=() if "closes" in WORDS else (8, 9), start_new_session=True)
    signal.signal(signal.SIGINT, lambda *_: program.send_signal(signal.SIGINT))
    status = program.wait()
    if "stuck" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(300)
    stem = options["output"].replace("%%", "%")
    print("Generating report")
    if "raw" in WORDS:
        Path(f"{stem}.qdstrm").write_bytes(b"raw")
    elif "nothing" not in WORDS:
        Path(f"{stem}.nsys-rep").write_bytes(b"report")
        if "report" not in WORDS:
            shutil.copy(os.environ["FAKE_TRACE"], f"{stem}.sqlite")
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
