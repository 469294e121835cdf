"""How time, memory and output grow with the number of one thing: each shape at n and at 2n.

Usage: ``python -m tests.bench.growth [--shapes threads,names] [--count N] [--steps] [--ours COMMAND]``
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench.process import Cost, last_error, measure
from tests.bench.rivals import ROOT, find_ours
from tests.bench.shapes import SHAPES, write


def costs_of(command: list[str], shape: str, count: int, folder: Path, timeout_s: float) -> tuple[Cost, float]:
    """Return what a digest of a shape cost, and the size of its output in 1e6 bytes."""
    trace, printed = folder / f"{shape}-{count}.sqlite", folder / "out.json"
    write(trace, shape, count)
    cost = measure([*command, str(trace)], printed, timeout_s, ROOT)
    trace.unlink()
    if cost.status and not cost.timed_out:
        raise SystemExit(f"{shape} of {count}: exit status {cost.status}: {last_error(printed)}")
    return cost, printed.stat().st_size / 1e6


def row(name: str, once: tuple[Cost, float], twice: tuple[Cost, float], idle: Cost) -> str:
    """Return a line of the table; factors are of what is beyond an empty trace."""
    (small, small_mb), (large, large_mb) = once, twice
    factor = (large.cpu_s - idle.cpu_s) / max(small.cpu_s - idle.cpu_s, 0.01)
    memory = (large.peak_mb - idle.peak_mb) / max(small.peak_mb - idle.peak_mb, 1)
    if large.timed_out:
        return f"| {name} | {small.wall_s:.2f} | timed out | | | | | {small_mb:.1f} | |"
    return (
        f"| {name} | {small.wall_s:.2f} | {large.wall_s:.2f} | {factor:.2f} | {small.peak_mb:.0f} | "
        f"{large.peak_mb:.0f} | {memory:.2f} | {small_mb:.1f} | {large_mb:.1f} |"
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.growth", description=(__doc__ or "").split("\n")[0])
    names = lambda text: [part for part in text.split(",") if part]  # noqa: E731
    parser.add_argument("--shapes", type=names, default=list(SHAPES), help=f"of {', '.join(SHAPES)}; default all")
    parser.add_argument("--count", type=int, default=100_000, help="n; default %(default)s")
    parser.add_argument("--steps", action="store_true", help="take the ranges named step as steps, where there are any")
    parser.add_argument("--timeout", type=float, default=300, help="seconds after which a run is stopped")
    parser.add_argument("--ours", metavar="COMMAND", help="the nsys-digest to measure")
    options = parser.parse_args(argv)
    if unknown := [shape for shape in options.shapes if shape not in SHAPES]:
        parser.error(f"unknown shape {unknown[0]}; choose from {', '.join(SHAPES)}")
    if (program := find_ours(options.ours)) is None:
        raise SystemExit("nsys-digest is not installed")
    command = [*program, "summarize", "-q", "--compact", "--format", "json"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        idle, _ = costs_of(command, "threads", 1, folder, options.timeout)
        print(f"n is {options.count:,}; factors are from n to 2n, of CPU time and memory beyond those of a single row")
        print("| shape | s at n | s at 2n | factor | MB at n | MB at 2n | factor | output MB at n | at 2n |")
        print("|---" * 9 + "|")
        for shape in options.shapes:
            named = "text" not in SHAPES[shape](0)
            words = [*command, "--steps", "step"] if options.steps and named else command
            once, twice = (
                costs_of(words, shape, count, folder, options.timeout) for count in (options.count, 2 * options.count)
            )
            print(row(shape, once, twice, idle), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
