"""Cost of a window of a trace beside that of all of it.

Usage: ``python -m tests.bench.window TRACE.sqlite [--window 50%:51%] [--runs 3] [--threads 2]``
What a trace of next to nothing costs, imports and all, is taken off the CPU time of both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.bench.process import last_error, measure
from tests.bench.rivals import ROOT, find_ours


def main(arguments: list[str] | None = None) -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--window", default="50%:51%")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--threads", default="2")
    asked = parser.parse_args(arguments)
    ours = find_ours(None)
    with tempfile.TemporaryDirectory() as folder:
        printed = Path(folder) / "out.json"

        def cpu_s(*words: str) -> float:
            costs = [measure([*ours, *words], printed, 600, ROOT) for _ in range(asked.runs)]
            if any(cost.status for cost in costs):
                raise SystemExit(f"{' '.join(words)}: {last_error(printed)}")
            return min(cost.cpu_s for cost in costs)

        print("| what | whole trace, CPU s | window, CPU s | window by whole |\n|---|---|---|---|")
        for sections in ("base", "all"):
            words = ("summarize", "-q", "--format", "json", "--threads", asked.threads, "--sections", sections)
            start_up = cpu_s(*words, str(ROOT / "fixtures" / "traces" / "nogpu.sqlite"))
            whole, part = (
                cpu_s(*words, str(asked.trace.absolute()), *more) - start_up
                for more in ((), ("--window", asked.window))
            )
            print(f"| {sections} | {whole:.2f} | {part:.2f} | {part / whole:.2f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
