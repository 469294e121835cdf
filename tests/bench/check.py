"""Compare the numbers of two engines.

Usage: ``python -m tests.bench.check EXPECTED.json OTHER.json ...``
 Each file is what an engine printed, or a digest of ``nsys-digest summarize --format json``, whose seconds
are turned into integer nanoseconds first. The first difference is named and the exit status is 1; it is 0
when all agree.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def to_ns(seconds: float | None) -> int:
    """Return integer nanoseconds, exact below ten days; null counts as 0."""
    return round((seconds or 0) * 1e9)


def from_digest(digest: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers that the engines share out of a digest."""
    times = ("gpu_activity_span", "gpu_busy_union", "gpu_idle_within_span")
    kinds = ("sum", "union", "gpu_overlap")
    devices = [d for d in digest["devices"] if d["span_s"] is not None]
    return {
        **{f"{key}_ns": to_ns(digest[f"{key}_s"]) for key in times},
        "kernel_count": digest["kernel_count"],
        "graph_node_kernel_count": digest["graph_node_kernel_count"],
        "api": {name: [calls, to_ns(s)] for name, (calls, s) in digest["api"].items()},
        "kernels": [[name, [count, to_ns(s)]] for name, (count, s) in digest["top_kernels"][:20]],
        "nvtx": {
            name: {"count": entry["count"], **{f"{kind}_ns": to_ns(entry[f"{kind}_s"]) for kind in kinds}}
            for name, entry in digest["nvtx"].items()
        },
        "devices": {str(d["device"]): [to_ns(d["span_s"]), to_ns(d["busy_s"])] for d in devices},
    }


def load(path: Path) -> dict[str, Any]:
    """Read the numbers of one engine."""
    numbers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return from_digest(numbers) if "gpu_busy_union_s" in numbers else numbers


def first_difference(expected: object, other: object, at: str = "") -> str | None:
    """Return where and how two values differ first, or None."""
    if isinstance(expected, dict) and isinstance(other, dict):
        for key in [*expected, *(k for k in other if k not in expected)]:
            place = f"{at}/{key}"
            if key not in other:
                return f"{place} is missing"
            if key not in expected:
                return f"{place} is {other[key]}, and should not be there"
            if found := first_difference(expected[key], other[key], place):
                return found
        return None
    if isinstance(expected, list) and isinstance(other, list) and len(expected) == len(other):
        pairs = enumerate(zip(expected, other, strict=True))
        return next((d for i, (a, b) in pairs if (d := first_difference(a, b, f"{at}/{i}"))), None)
    return None if expected == other else f"{at} is {other}, not {expected}"


def main(argv: list[str] | None = None) -> int:
    """Run the command line."""
    first, *others = (Path(p) for p in (argv or sys.argv[1:]))
    expected = load(first)
    for path in others:
        if found := first_difference(expected, load(path)):
            print(f"{path.stem} and {first.stem} differ: {found}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
