"""Compare the instructions that the hot functions take with those that are on record.

Usage: ``python -m tests.guard.run [--record] [--allow SHARE]``

The exit status is 1 when a function takes more than the allowed share above its record, and Python, numpy, pyarrow,
the driver and the processor's features are those of the record. Where they differ, differences are only reported.
Where valgrind is missing, nothing is counted, and a line says so.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("record.json")
ALLOWED = 0.10
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "ARROW_NUM_THREADS": "1"}


class GuardFailed(Exception):
    """A function got slower, or could not be counted."""


def make_trace(folder: Path) -> Path:
    """Generate the benchmark's smallest trace but one."""
    trace = folder / "S.sqlite"
    command = [sys.executable, "-m", "tests.bench.generate", str(trace), "S", "--variant", "plain"]
    subprocess.run(command, check=True, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return trace


def count(valgrind: str, folder: Path) -> dict[str, Any] | None:
    """Return the instructions by function, and the versions; None where valgrind cannot run this Python."""
    counted = folder / "counted"
    command = [
        valgrind, "--tool=callgrind", "--dump-before=getppid", "--combine-dumps=yes", "--dump-line=no",
        f"--callgrind-out-file={counted}", sys.executable, "-m", "tests.guard.hot", str(make_trace(folder)),
    ]  # fmt: skip
    done = subprocess.run(command, cwd=ROOT, env=os.environ | _ENVIRONMENT, capture_output=True, text=True, check=False)
    if done.returncode < 0 or done.returncode >= 128:
        return None
    if done.returncode:
        raise GuardFailed(f"the functions do not run: {done.stderr.strip().splitlines()[-1]}")
    told = json.loads(done.stdout)
    parts = [int(total) for total in re.findall(r"^totals: (\d+)$", counted.read_text(encoding="utf-8"), re.MULTILINE)]
    if len(parts) != 2 * len(told["functions"]) + 1:
        raise GuardFailed(f"{len(parts)} counts for {len(told['functions'])} functions: getppid has other callers")
    return {"versions": told["versions"], "instructions": dict(zip(told["functions"], parts[1::2], strict=True))}


def compare(found: dict[str, Any], record: dict[str, Any], allowed: float) -> list[str]:
    """Print a line for each function; return those that fail."""
    slower = []
    for name, instructions in found["instructions"].items():
        had = record["instructions"].get(name)
        change = f"{instructions / had - 1:+.1%}" if had else "not on record"
        print(f"{instructions / 1e6:10.2f} M  {change:>13}  {name}")
        if had and instructions > had * (1 + allowed):
            slower.append(f"{name} takes {change} instructions")
    return slower


def run(*, record: bool, allowed: float) -> None:
    """Count, and write the record or compare with it."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        print("guard: skipped, valgrind is not installed")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = count(valgrind, Path(folder))
    if found is None:
        print("guard: skipped, valgrind cannot run this Python on this machine")
        return
    if record:
        RECORD.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    recorded = json.loads(RECORD.read_text(encoding="utf-8"))
    slower = compare(found, recorded, allowed)
    differ = [name for name, value in recorded["versions"].items() if found["versions"].get(name) != value]
    if differ:
        print(f"guard: only reported, since the record was made with another {', '.join(differ)}")
    elif slower:
        raise GuardFailed("; ".join(slower))


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.guard.run", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", action="store_true", help="write the counts into record.json")
    parser.add_argument("--allow", type=float, default=ALLOWED, metavar="SHARE", help="default %(default)s")
    options = parser.parse_args(argv)
    try:
        run(record=options.record, allowed=options.allow)
    except GuardFailed as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
