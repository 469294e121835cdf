"""Time of a digest of one trace as SQLite, Parquet and Arrow, and whether all three are the same.

Usage: ``python -m tests.bench.folders TRACE.sqlite [--dir DIR] [--runs 3] [--sections base] [--threads 2]``
The folders are made by ``tests/folders.py``, beside nothing, and kept in DIR for the next run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.bench.process import last_error, measure
from tests.bench.rivals import ROOT, find_ours

sys.path.insert(0, str(ROOT / "tests"))
from folders import write_folder

KINDS = ("parquetdir", "arrowdir")


def inputs_of(trace: Path, folder: Path) -> list[Path]:
    """Return the trace and its folders, which are made where they are not there."""
    found = [trace]
    for kind in KINDS:
        path = folder / f"{trace.stem}.{kind}"
        found.append(path if path.exists() else write_folder(trace, path))
    return found


def main(arguments: list[str] | None = None) -> int:
    """Print a table; the status is 1 where the digests differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--dir", type=Path, default=Path(tempfile.gettempdir()) / "nsys-digest-bench")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--sections", default="base")
    parser.add_argument("--threads", default="2")
    asked = parser.parse_args(arguments)
    asked.dir.mkdir(parents=True, exist_ok=True)
    ours = find_ours(None)
    options = ["summarize", "-q", "--format", "json", "--sections", asked.sections, "--threads", asked.threads]
    printed = asked.dir / "out.json"
    documents, first = [], None
    print("| input | wall s | of SQLite | CPU s | of SQLite | peak MB |\n|---|---|---|---|---|---|")
    for path in inputs_of(asked.trace, asked.dir):
        costs = [measure([*ours, *options, str(path.absolute())], printed, 600, ROOT) for _ in range(asked.runs)]
        if any(cost.status for cost in costs):
            raise SystemExit(f"{path}: {last_error(printed)}")
        best = min(costs, key=lambda cost: cost.wall_s)
        cpu_s = min(cost.cpu_s for cost in costs)
        first = first or (best.wall_s, cpu_s)
        print(
            f"| {path.name} | {best.wall_s:.2f} | {best.wall_s / first[0]:.2f} | {cpu_s:.2f} | "
            f"{cpu_s / first[1]:.2f} | {best.peak_mb:.0f} |"
        )
        document = json.loads(printed.read_text())
        documents.append(json.dumps(document | {"file": "", "path": ""}))
    if len(set(documents)) > 1:
        print("the digests differ", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
