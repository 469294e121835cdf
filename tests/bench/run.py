"""Time nsys-digest against other ways to get the same numbers, and check that they are the same.

Usage: ``python -m tests.bench.run [--sizes S,M,L] [--runs N] [--engines NAME,...] [--json FILE]
[--check-only]``
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.bench import GENERATOR_VERSION, SIZES, VARIANTS
from tests.bench.process import Cost, last_error, measure
from tests.bench.rivals import OURS, ROOT, Engine, find_engines, find_ours, runs_at

RUNS = {"tiny": 3, "S": 7, "M": 5, "L": 3, "XL": 3}
EVENT_TABLES = ("KERNEL", "MEMCPY", "MEMSET", "RUNTIME")
Costs = dict[str, list[Cost]]


class BenchmarkFailed(Exception):
    """An engine failed, or two engines disagree."""


def trace_for(folder: Path, size: str, variant: str) -> Path:
    """Return the trace of a size from the folder; make it if it is missing."""
    trace = folder / f"{variant}-{size}-v{GENERATOR_VERSION}.sqlite"
    if not trace.exists():
        command = [sys.executable, "-m", "tests.bench.generate", str(trace), size, "--variant", variant]
        subprocess.run(command, check=True, cwd=ROOT)
    return trace


def count_rows(trace: Path) -> int:
    """Return the number of event rows; none is ever deleted, so the last row id of a table is its length."""
    db = sqlite3.connect(f"{trace.as_uri()}?mode=ro", uri=True)
    tables = [*(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in EVENT_TABLES), "NVTX_EVENTS"]
    rows = sum(db.execute(f"SELECT max(rowid) FROM {table}").fetchone()[0] or 0 for table in tables)
    db.close()
    return rows


def warm(trace: Path) -> None:
    """Bring the pages of a trace into the page cache."""
    with trace.open("rb") as file:
        while file.read(1 << 20):
            pass


def run_once(engine: Engine, trace: Path, folder: Path, timeout_s: float) -> Cost:
    """Run an engine on a trace; its numbers are left in ``folder/NAME.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = folder / f"{engine.name}.json"
    numbers.unlink(missing_ok=True)
    if engine.before:
        engine.before(trace)
    printed = folder / f"{engine.name}.out" if engine.writes else numbers
    cost = measure(engine.command(trace, numbers), printed, timeout_s, ROOT)
    if cost.status and not cost.timed_out:
        raise BenchmarkFailed(f"{engine.name} on {trace.name}: exit status {cost.status}: {last_error(printed)}")
    return cost


def check(engines: list[Engine], folder: Path) -> None:
    """Compare the numbers of all engines that left some with those of the first that is not ours.

    The comparison is a process of its own, to keep the runner small: see ``Cost.peak_mb``.
    """
    names = [e.name for e in engines if e.numbers and (folder / f"{e.name}.json").exists()]
    names.sort(key=lambda name: name in OURS)
    if len(names) < 2:
        print("nothing to compare: fewer than two engines gave numbers")
        return
    command = [sys.executable, "-m", "tests.bench.check", *(str(folder / f"{name}.json") for name in names)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    if done.returncode:
        raise BenchmarkFailed((done.stdout.strip() or done.stderr.strip()).splitlines()[-1])
    print(f"equal: {', '.join(names)}", flush=True)


def time_size(engines: list[Engine], trace: Path, folder: Path, size: str, runs: int, timeout_s: float) -> Costs:
    """Run the engines in turn, round after round, every other one backwards, and check after the first."""
    costs: Costs = {e.name: [] for e in engines}
    warm(trace)
    for turn in range(runs):
        for engine in engines if turn % 2 == 0 else reversed(engines):
            done = costs[engine.name]
            if turn < runs_at(engine.name, size, runs) and not (done and done[-1].timed_out):
                done.append(run_once(engine, trace, folder, timeout_s))
                if done[-1].timed_out:
                    (folder / f"{engine.name}.json").unlink(missing_ok=True)
        if turn == 0:
            check(engines, folder)
    return costs


def median(costs: list[Cost], what: str) -> float:
    """Return the median of one of the measures."""
    values: list[float] = [getattr(c, what) for c in costs]
    return statistics.median(values)


def measures(costs: list[Cost]) -> str:
    """Return three cells of a table: wall time with its range, CPU time, peak memory."""
    walls = [c.wall_s for c in costs]
    peak = f"{median(costs, 'peak_mb'):.0f}"
    floor = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    if median(costs, "peak_mb") < floor * 1.05:
        peak = f"under {floor:.0f}"
    wall = f"{statistics.median(walls):.3f} ({min(walls):.3f} to {max(walls):.3f})"
    return f"{wall} | {median(costs, 'cpu_s'):.3f} | {peak}"


def ratio(ours: list[Cost], other: list[Cost]) -> str:
    """Return the median, over the rounds that both ran, of our wall time by the other's."""
    if not ours:
        return ""
    return f"{statistics.median(a.wall_s / b.wall_s for a, b in zip(ours, other, strict=False)):.2f}"


def print_table(costs: Costs) -> None:
    """Print a row for each engine."""
    ours = [costs.get(name, []) for name in OURS]
    print(f"| engine | wall s (min to max) | CPU s | peak MB | runs | {' | '.join(f'{name} by it' for name in OURS)} |")
    print("|---" * (5 + len(OURS)) + "|")
    for name, done in costs.items():
        if not done:
            continue
        if done[-1].timed_out:
            print(f"| {name} | timed out after {done[-1].wall_s:.0f} | | | {len(done)} |{' |' * len(OURS)}")
            continue
        ratios = " | ".join(ratio(o, done) for o in ours)
        print(f"| {name} | {measures(done)} | {len(done)} | {ratios} |")
    print(flush=True)


def print_growth(results: dict[str, Costs], rows: dict[str, int]) -> None:
    """Print the wall time a row of a trace, and what each further row costs from a size to the next."""
    sizes = sorted(results, key=rows.__getitem__)
    if len(sizes) < 2:
        return
    steps = list(pairwise(sizes))
    print("microseconds of wall time a row: whole, and for each further row between two sizes")
    print(f"| engine | {' | '.join(sizes)} | {' | '.join(f'{a} to {b}' for a, b in steps)} |")
    print("|---" * (1 + len(sizes) + len(steps)) + "|")
    for name in results[sizes[0]]:
        wall = {s: median(c, "wall_s") for s in sizes if (c := results[s].get(name)) and not c[-1].timed_out}
        whole = [f"{wall[s] / rows[s] * 1e6:.3f}" if s in wall else "" for s in sizes]
        further = [f"{(wall[b] - wall[a]) / (rows[b] - rows[a]) * 1e6:.3f}" if a in wall and b in wall else ""
                   for a, b in steps]  # fmt: skip
        print(f"| {name} | {' | '.join(whole + further)} |")
    print(flush=True)


def time_start_up(folder: Path, ours: str | None, runs: int) -> Costs:
    """Time ``nsys-digest --help`` beside the imports that it must not make."""
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import typer, rich, pandas, pyarrow": [sys.executable, "-c", "import typer, rich, pandas, pyarrow"],
    }
    if program := find_ours(ours):
        commands = {"nsys-digest --help": [*program, "--help"], **commands}
    costs: Costs = {name: [] for name in commands}
    folder.mkdir(parents=True, exist_ok=True)
    for turn in range(runs + 1):
        for name, command in commands.items():
            cost = measure(command, folder / "start-up.out", 60, ROOT)
            if cost.status:
                print(f"{name}: skipped, {last_error(folder / 'start-up.out')}")
            elif turn:
                costs[name].append(cost)
    return {name: done for name, done in costs.items() if done}


def print_start_up(costs: Costs) -> None:
    """Print the start-up times, and how ``--help`` compares."""
    helps = costs.get("nsys-digest --help", [])
    print("| start-up | wall s (min to max) | CPU s | peak MB | --help by it |")
    print("|---|---|---|---|---|")
    for name, done in costs.items():
        print(f"| {name} | {measures(done)} | {ratio(helps, done)} |")
    print(flush=True)


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.run", description=(__doc__ or "").split("\n")[0])
    names = lambda text: [part for part in text.split(",") if part]  # noqa: E731
    parser.add_argument("--sizes", type=names, help="tiny, S, M, L, XL; default S,M,L, with --check-only S")
    parser.add_argument("--variant", choices=VARIANTS, default="plain")
    parser.add_argument("--runs", type=int, help=f"rounds of each size; default {RUNS}")
    parser.add_argument("--engines", type=names, help="only these rows; default all that can run here")
    parser.add_argument("--check-only", action="store_true", help="run each engine once and compare, without times")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every single measurement to a file")
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "nsys-digest-bench",
                        help="where traces are kept; default %(default)s")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=900, help="seconds after which an engine is stopped")
    parser.add_argument("--ours", metavar="COMMAND", help="the nsys-digest to time")
    parser.add_argument("--nsys-ai", metavar="PATH", help="an nsys-ai program to time")
    parser.add_argument("--nsys", metavar="PATH", help="an nsys program to time")
    options = parser.parse_args(argv)
    options.sizes = options.sizes or (["S"] if options.check_only else ["S", "M", "L"])
    if unknown := [s for s in options.sizes if s not in SIZES]:
        parser.error(f"unknown size {unknown[0]}")
    return options


def choose(engines: list[Engine], wanted: list[str] | None) -> list[Engine]:
    """Return the wanted engines."""
    known = [e.name for e in engines]
    if unknown := [name for name in wanted or [] if name not in known]:
        raise BenchmarkFailed(f"no engine {unknown[0]} here: {', '.join(known)}")
    return [e for e in engines if not wanted or e.name in wanted]


def run(options: argparse.Namespace) -> None:
    """Do what the command line asks for."""
    options.dir.mkdir(parents=True, exist_ok=True)
    engines, skipped = find_engines(options.dir, options.ours, options.nsys_ai, options.nsys)
    engines = choose(engines, options.engines)
    for line in skipped:
        print(line)
    if options.check_only and not options.engines and not any(e.name in OURS for e in engines):
        raise BenchmarkFailed("nsys-digest is not installed, so there is nothing to check")
    machine = {"cpus": os.cpu_count(), "python": platform.python_version(), "sqlite": sqlite3.sqlite_version,
               "system": platform.platform(), "load": os.getloadavg()[0]}  # fmt: skip
    print(", ".join(f"{key} {value}" for key, value in machine.items()), flush=True)
    report: dict[str, Any] = {"machine": machine, "variant": options.variant, "sizes": {}}
    results: dict[str, Costs] = {}
    rows: dict[str, int] = {}
    if not options.check_only:
        tiny = trace_for(options.dir, "tiny", options.variant)
        for engine in engines:
            run_once(engine, tiny, options.dir / "out" / tiny.stem, options.timeout)
    for size in options.sizes:
        trace = trace_for(options.dir, size, options.variant)
        rows[size] = count_rows(trace)
        print(f"\n{trace.name}: {rows[size]} rows, {trace.stat().st_size / 1e6:.0f} MB")
        runs = 1 if options.check_only else options.runs or RUNS[size]
        chosen = [e for e in engines if e.numbers or not options.check_only]
        results[size] = time_size(chosen, trace, options.dir / "out" / trace.stem, size, runs, options.timeout)
        report["sizes"][size] = {
            "rows": rows[size], "bytes": trace.stat().st_size,
            "engines": {name: [asdict(c) for c in done] for name, done in results[size].items()},
        }  # fmt: skip
        if not options.check_only:
            print_table(results[size])
    if not options.check_only:
        print_growth(results, rows)
        start_up = time_start_up(options.dir / "out", options.ours, 7)
        report["start_up"] = {name: [asdict(c) for c in done] for name, done in start_up.items()}
        print_start_up(start_up)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    try:
        run(parse(argv))
    except BenchmarkFailed as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
