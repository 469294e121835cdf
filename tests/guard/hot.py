"""Run each hot function once between two marks, for an instruction counter that watches this process.

Usage: ``python -m tests.guard.hot TRACE``, under valgrind, which writes what it has counted at each call of
``getppid``: nothing else here makes one. Prints the names of the functions in order, and the versions that the
counts hang on.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nsys_digest import summarize
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Coverage, Int64s, grouped_union, union
from nsys_digest.algorithms.streaming import StreamingUnion
from nsys_digest.trace.adbc import ArrowBatch
from nsys_digest.trace.source import Tail

ROWS = 50_000
_PACKAGES = ("numpy", "pyarrow", "adbc-driver-sqlite")


def operations(rng: np.random.Generator) -> tuple[Int64s, Int64s, Int64s]:
    """Return starts, ends and groups of rows like those of a trace: nearly in order, some overlapping."""
    start_ns = np.sort(rng.integers(0, ROWS * 4_000, ROWS)) + rng.integers(0, 10_000, ROWS)
    return start_ns, start_ns + rng.integers(500, 9_000, ROWS), rng.integers(0, 12, ROWS)


def streaming(start_ns: Int64s, end_ns: Int64s, group: Int64s) -> None:
    """Feed a union batch by batch, and take it."""
    kept = StreamingUnion()
    for low in range(0, ROWS, 5_000):
        kept.add(start_ns[low : low + 5_000], end_ns[low : low + 5_000], group[low : low + 5_000])
    for _ in kept.windows():
        pass


def texts(rng: np.random.Generator) -> Callable[[], object]:
    """Return a function that folds a batch of PyTorch's range names."""
    import pyarrow

    names = pyarrow.array(
        (f"aten::op{number % 40}, seq = {number}, op_id = {number + 7}" for number in rng.integers(0, 9_000, 16_384)),
        pyarrow.string(),
    )
    batch = ArrowBatch(pyarrow.record_batch([names], names=["text"]))
    tail = Tail(r"(?:, (?:seq = -?[0-9]+|op_id = -?[0-9]+))+")
    return lambda: batch.texts("text", tail)


def hot_functions(trace: Path) -> dict[str, Callable[[], object]]:
    """Return the functions to count, by name, each with its arguments."""
    rng = np.random.default_rng(1)
    start_ns, end_ns, group = operations(rng)
    coverage = Coverage(union(start_ns[::3].copy(), end_ns[::3].copy()))
    small, large = rng.integers(0, 5_000, ROWS), rng.integers(0, 40, ROWS) << 40
    return {
        "intervals.union": lambda: union(start_ns, end_ns),
        "intervals.grouped_union": lambda: grouped_union(start_ns, end_ns, group),
        "Coverage.within": lambda: coverage.within(start_ns, end_ns),
        "Codes.encode, small": lambda: Codes().encode(small),
        "Codes.encode, large": lambda: Codes().encode(large),
        "PairCodes.encode": lambda: PairCodes().encode(group, small // 100),
        "StreamingUnion": lambda: streaming(start_ns, end_ns, group),
        "ArrowBatch.texts": texts(rng),
        "summarize, no sections": lambda: summarize(trace, reader="adbc", threads=1, sections=()).to_json(),
        "summarize": lambda: summarize(trace, reader="adbc", threads=1).to_json(),
    }


def versions() -> dict[str, object]:
    """Return what the counts hang on besides this repository."""
    from numpy._core._multiarray_umath import __cpu_features__ as features

    return {
        "python": sys.version,
        "libc": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
        **{name: version(name) for name in _PACKAGES},
        "cpu": sorted(name for name, present in features.items() if present),
    }


def main() -> None:
    """Call each function once to warm it up, and once between two marks."""
    functions = hot_functions(Path(sys.argv[1]))
    for function in functions.values():
        function()
        os.getppid()
        function()
        os.getppid()
    print(json.dumps({"functions": list(functions), "versions": versions()}))


if __name__ == "__main__":
    main()
