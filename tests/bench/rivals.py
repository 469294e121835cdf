"""What is timed: nsys-digest itself, the engines in this folder, and other tools where they are installed."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ("ours-1", "ours-2", "ours-all")
SLOW = ("pandas_star", "sql_only")
"""Run at most once at size L."""
LARGEST = (*OURS, "step_loop")
"""The only ones run at size XL."""


@dataclass(frozen=True)
class Engine:
    """One row of the table.

    ``command`` gives the command line for a trace and the file for the numbers, ``numbers`` says whether they
    can be compared, ``writes`` whether the command writes that file itself (else its standard output is kept
    there), and ``before`` is done before each run, outside the measured time.
    """

    name: str
    command: Callable[[Path, Path], list[str]]
    numbers: bool = True
    writes: bool = False
    before: Callable[[Path], None] | None = None


def find_ours(given: str | None) -> list[str] | None:
    """Return the command of nsys-digest: the given one, else the one of this Python, else the module."""
    if given:
        return given.split()
    script = Path(sys.executable).parent / "nsys-digest"
    if script.exists():
        return [str(script)]
    if (ROOT / "nsys_digest" / "__main__.py").exists() or importlib.util.find_spec("nsys_digest.__main__"):
        return [sys.executable, "-m", "nsys_digest"]
    return None


def build_step_loop(folder: Path) -> tuple[Path | None, str]:
    """Compile the C loop into a folder, once for each version of its source; without it, return why."""
    source = Path(__file__).parent / "engines" / "step_loop.c"
    program = folder / f"step_loop-{hashlib.sha256(source.read_bytes()).hexdigest()[:12]}"
    if program.exists():
        return program, ""
    compiler = shutil.which(os.environ.get("CC", "cc"))
    if compiler is None:
        return None, "no C compiler"
    done = subprocess.run(
        [compiler, "-O2", str(source), "-lsqlite3", "-o", str(program)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None, next((line for line in done.stderr.splitlines() if "error" in line), "it does not compile").strip()
    return program, ""


def forget_cache(trace: Path) -> None:
    """Remove what nsys-ai keeps beside a trace."""
    shutil.rmtree(trace.with_suffix(".nsys-cache"), ignore_errors=True)
    trace.with_suffix(".nsys-cache.build.lock").unlink(missing_ok=True)


def nsys_ai_command(program: str, trace: Path, out: Path) -> list[str]:
    """Return the nearest command of nsys-ai: a summary of one GPU in a window around everything."""
    db = sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)
    low, high = db.execute('SELECT min(start), max("end") FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()
    db.close()
    window = [f"{low / 1e9 - 1:.3f}", f"{high / 1e9 + 1:.3f}"]
    return [program, "export-json", str(trace), "--gpu", "0", "--trim", *window, "--summary", "-o", str(out)]


def nsys_command(program: str, trace: Path, out: Path) -> list[str]:
    """Return the command of nsys for the API, kernel and NVTX summaries."""
    reports = "cuda_api_sum,cuda_gpu_kern_sum,nvtx_sum"
    prefix = str(out.with_suffix(""))
    return [
        program,
        "stats",
        "-r",
        reports,
        "--format",
        "json",
        "--force-overwrite=true",
        "--output",
        prefix,
        str(trace),
    ]


def our_engines(ours: list[str]) -> Iterator[Engine]:
    """Yield nsys-digest for the base of the document with one thread and with two, and for all sections with two."""
    for name, sections, threads in zip(OURS, ("base", "base", "all"), "122", strict=True):

        def command(trace: Path, out: Path, sections: str = sections, threads: str = threads) -> list[str]:
            how = ["--sections", sections, "--threads", threads, "--format", "json"]
            return [*ours, "summarize", *how, "-o", str(out), str(trace)]

        yield Engine(name, command, writes=True)


def find_engines(
    folder: Path, ours: str | None = None, nsys_ai: str | None = None, nsys: str | None = None
) -> tuple[list[Engine], list[str]]:
    """Return the engines that can run here, and a line about each that cannot."""
    engines: list[Engine] = []
    skipped: list[str] = []
    program = find_ours(ours)
    if program:
        engines += our_engines(program)
    else:
        skipped.append("ours-1, ours-2, ours-all: skipped, nsys-digest is not installed")
    step_loop, why = build_step_loop(folder)
    if step_loop:
        engines.append(Engine("step_loop", lambda trace, out: [str(step_loop), str(trace)], numbers=False))
    else:
        skipped.append(f"step_loop: skipped, {why}")
    for name in ("cursor_loop", "sql_only", "pandas_columns", "pandas_star"):
        if name.startswith("pandas") and importlib.util.find_spec("pandas") is None:
            skipped.append(f"{name}: skipped, pandas is not installed")
            continue

        def command(trace: Path, out: Path, name: str = name) -> list[str]:
            return [sys.executable, "-m", f"tests.bench.engines.{name}", str(trace)]

        engines.append(Engine(name, command))
    if other := nsys_ai or shutil.which("nsys-ai"):
        for kind, before in (("cold", forget_cache), ("warm", None)):
            engines.append(Engine(f"nsys-ai-{kind}", lambda t, o: nsys_ai_command(other, t, o), False, True, before))
    else:
        skipped.append("nsys-ai: skipped, not installed")
    if recorder := nsys or shutil.which("nsys"):
        engines.append(Engine("nsys-stats", lambda t, o: nsys_command(recorder, t, o), numbers=False))
    else:
        skipped.append("nsys stats: skipped, not installed")
    return engines, skipped


def runs_at(name: str, size: str, runs: int) -> int:
    """Return how often an engine runs at a size: slow ones once at L, few at XL."""
    if size == "XL":
        return runs if name in LARGEST else 0
    return 1 if size == "L" and name in SLOW else runs
