"""A window against `nsys stats --filter-time` on the same traces: `fixtures/nsys-stats/filter-time`.

Both take what overlaps the time. nsys counts it whole, we count the part in the window; so counts agree, whole lengths
agree with its sums, and sums of parts are less by what lies outside of the two edges. The windows cut a kernel and a
call each, and ranges at both sides.
"""

from __future__ import annotations

import csv
import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from nsys_digest import Digest, summarize
from nsys_digest.model.cuda_calls import call_name
from test_fixtures import FIXTURES

WINDOWS = {
    "mixed": (6741657337, 7469401583),
    "rank_0": (13855826048, 13889367967),
    "serve": (6236254751, 6326213794),
}
DIGESTS: dict[str, Digest] = {}


@pytest.fixture(params=WINDOWS)
def trace(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def digest_of(trace: str) -> Digest:
    if trace not in DIGESTS:
        low_ns, high_ns = WINDOWS[trace]
        DIGESTS[trace] = summarize(FIXTURES / "traces" / f"{trace}.sqlite", window=f"{low_ns}ns:{high_ns}ns")
    return DIGESTS[trace]


def theirs(trace: str, report: str, name: str, count: str) -> tuple[Counter[str], Counter[str]]:
    """Return counts and sums in nanoseconds by name."""
    counts, sums = Counter[str](), Counter[str]()
    with (FIXTURES / "nsys-stats" / "filter-time" / trace / f"{report}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            counts[row[name]] += int(row[count])
            sums[row[name]] += int(row["Total Time (ns)"])
    return counts, sums


def outside_ns(trace: str, table: str) -> int:
    """Return the time that events which reach into the window have outside of it, row by row."""
    low_ns, high_ns = WINDOWS[trace]
    with closing(sqlite3.connect(FIXTURES / "traces" / f"{trace}.sqlite")) as database:
        rows = database.execute(f'SELECT start, "end" FROM {table} WHERE "end" IS NOT NULL').fetchall()
    reaching = [(start, end) for start, end in rows if start < high_ns and end > low_ns]
    return sum(max(low_ns - start, 0) + max(end - high_ns, 0) for start, end in reaching)


def by_call(named: Counter[str]) -> Counter[str]:
    found = Counter[str]()
    for name, value in named.items():
        found[call_name(name)] += value
    return found


def test_calls(trace: str) -> None:
    counts, sums = theirs(trace, "cuda_api_sum", "Name", "Num Calls")
    digest = digest_of(trace)
    assert by_call(Counter({name: call.count for name, call in digest.api.items()})) == by_call(counts)
    assert digest.api_durations is not None
    assert by_call(Counter({name: one.total_ns for name, one in digest.api_durations.items()})) == by_call(sums)
    cut_ns = outside_ns(trace, "CUPTI_ACTIVITY_KIND_RUNTIME")
    assert cut_ns > 0
    assert sum(call.total_ns for call in digest.api.values()) == sums.total() - cut_ns


def test_kernels(trace: str) -> None:
    counts, sums = theirs(trace, "cuda_gpu_kern_sum", "Name", "Instances")
    digest = digest_of(trace)
    assert digest.kernel_count == counts.total()
    assert digest.kernel_durations is not None
    assert sum(one.total_ns for one in digest.kernel_durations.values()) == sums.total()
    cut_ns = outside_ns(trace, "CUPTI_ACTIVITY_KIND_KERNEL")
    assert cut_ns > 0
    assert sum(device.sum_ns.get("kernel", 0) for device in digest.devices) == sums.total() - cut_ns


def test_copies_and_sets(trace: str) -> None:
    counts, sums = theirs(trace, "cuda_gpu_mem_time_sum", "Operation", "Count")
    memory = digest_of(trace).memory
    assert memory is not None
    assert sum(row.count for row in memory.copies) + memory.sets.count == counts.total()
    tables = ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET")
    with closing(sqlite3.connect(FIXTURES / "traces" / f"{trace}.sqlite")) as database:
        there = {name for (name,) in database.execute("SELECT name FROM sqlite_master")}
    cut_ns = sum(outside_ns(trace, table) for table in tables if table in there)
    assert sum(row.sum_ns for row in memory.copies) + memory.sets.sum_ns == sums.total() - cut_ns


def test_ranges(trace: str) -> None:
    """What names a domain lies before the window, where nsys does not look: it prints the name alone."""
    counts, sums = theirs(trace, "nvtx_sum", "Range", "Instances")
    ours = {name.removeprefix("NCCL:"): ranges for name, ranges in digest_of(trace).nvtx.items()}
    assert {name: ranges.count for name, ranges in ours.items()} == named(counts)
    assert {name: ranges.whole_sum_ns for name, ranges in ours.items()} == named(sums)


def named(printed: Counter[str]) -> Counter[str]:
    """Return our names: nsys writes the default domain as an empty one."""
    found = Counter[str]()
    for name, value in printed.items():
        found[name.removeprefix(":")] += value
    return found
