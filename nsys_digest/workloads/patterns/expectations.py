"""A digest of the trace of the patterns against the account that the program gave of itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Document = Mapping[str, Any]
_STATES = {"blocked": "blocked", "asleep": "sleep", "off_cpu": "descheduled"}
"""The state of host code in the ranges of waits."""
_CLOSE = 0.1
"""Both measure a wait from a little further in or out."""


def differences(digest: Document, account: Document) -> list[str]:
    """Return one line for each number of a digest that is not what the account says; none where they agree.

    Both are documents as JSON holds them. The digest must have all sections, and its trace must hold the whole run:
    recorded without a range to capture. What graphs did is expected as operations of its own where graphs were traced
    node by node, and as launches only where they were traced as a whole. Waits of the host are compared where the
    digest has section ``host`` and the trace shows such states; a tenth more or less is the same.
    """
    return [
        f"{what}: the trace has {found}, the program did {expected}"
        for what, found, expected in (
            *_kernels(digest, account),
            *_copies(digest, account),
            *_graphs(digest, account),
            *_ranges(digest, account),
            *_marks(digest, account),
            *_host_waits(digest, account),
        )
        if found != expected
    ]


Checks = Iterator[tuple[str, Any, Any]]


def _by_node(digest: Document) -> bool:
    """Tell whether the trace has the nodes of graphs as operations; by its rows where it does not say so itself."""
    mode = digest["capture"]["graph_trace_mode"]
    return mode == "node" or (mode != "graph" and not any(device["count"]["graph"] for device in digest["devices"]))


def _kernels(digest: Document, account: Document) -> Checks:
    in_graphs = account["graphs"]["kernels"] if _by_node(digest) else 0
    yield "kernels", digest["kernel_count"], account["kernels"] + in_graphs
    yield "kernels of graphs", digest["graph_node_kernel_count"], in_graphs
    yield "kernels without a launch", digest["launch"]["unmatched_kernel_count"], 0
    busy = [process for process in digest["capture"]["processes"] if process["rows"]["kernel"]]
    yield "processes with kernels", len(busy), account["processes"] if account["kernels"] else 0
    working = [device for device in digest["devices"] if device["count"]["kernel"]]
    yield "GPUs with kernels", len(working), account["gpus"]
    if account["overlapping_kernels"]:
        overlap = any(device["union_s"]["kernel"] < device["sum_s"]["kernel"] for device in working)
        yield "kernels overlap", overlap, True


def _copies(digest: Document, account: Document) -> Checks:
    """Expect copies by direction and kinds; those between GPUs by direction, since drivers go different ways."""
    expected: dict[str, list[int]] = {}
    for row in account["copies"]:
        _add(expected, _key(row), row["count"], row["bytes"])
    graphs = account["graphs"]
    if _by_node(digest) and graphs["launches"]:
        _add(expected, "DtoD device device", graphs["copies"]["count"], graphs["copies"]["bytes"])
    found: dict[str, list[int]] = {}
    for row in digest["memory"]["copies"]:
        if not row["direction"].startswith("UVM"):  # moves of unified memory, as options of nsys have it
            _add(found, _key(row), row["count"], row["bytes"])
    for key in sorted({*expected, *found}):
        yield f"copies {key} [count, bytes]", found.get(key, [0, 0]), expected.get(key, [0, 0])
    in_graphs = graphs["sets"] if _by_node(digest) else {"count": 0, "bytes": 0}
    for key in ("count", "bytes"):
        yield f"sets, {key}", digest["memory"]["sets"][key], account["sets"][key] + in_graphs[key]


def _key(row: Document) -> str:
    if row["direction"] == "PtoP":
        return "PtoP"
    return f"{row['direction']} {row['source_kind']} {row['destination_kind']}"


def _add(totals: dict[str, list[int]], key: str, count: int, size: int) -> None:
    row = totals.setdefault(key, [0, 0])
    row[0] += count
    row[1] += size


def _graphs(digest: Document, account: Document) -> Checks:
    launches = account["graphs"]["launches"]
    calls = sum(row[0] for name, row in digest["api"].items() if name.startswith(("cudaGraphLaunch", "cuGraphLaunch")))
    yield "calls that launch graphs", calls, launches
    rows = sum(device["count"]["graph"] for device in digest["devices"])
    yield "graphs run as a whole", rows, 0 if _by_node(digest) else launches


def _ranges(digest: Document, account: Document) -> Checks:
    """Expect all of the program's ranges; PyTorch and others may have some of their own."""
    for name, ranges in account["ranges"].items():
        found = digest["nvtx"].get(name, {})
        yield f"ranges {name!r}", found.get("count", 0), ranges["count"]
        yield f"threads of {name!r}", found.get("threads", 0), ranges["threads"]
        if "kernels" in ranges:
            launched = ranges["kernels"] + (ranges["graph_kernels"] if _by_node(digest) else 0)
            yield f"kernels launched in {name!r}", found.get("launched_kernel_count", 0), launched


def _marks(digest: Document, account: Document) -> Checks:
    prefix = digest["capture"]["filters"]["dispatch_prefix"]
    expected = {text: count for text, count in account["marks"].items() if text.startswith(prefix)}
    yield "dispatch marks", dict(digest["dispatch"]), expected


def _host_waits(digest: Document, account: Document) -> Checks:
    """Expect the waits as idle time of a GPU by what the host did; an account of before these were made has none."""
    devices = [device for device in digest["idle"]["devices"] if "host_states" in device]
    for name, waited in account.get("host_waits", {}).items():
        shown = [device for device in devices if _STATES[name] in device["host_states"]]
        if shown and account["gpus"]:
            found_s = max(device["host_states_by_nvtx"].get(name, {}).get(_STATES[name], 0) for device in shown)
            expected_s = waited["ns"] / 1e9
            close = abs(found_s - expected_s) <= _CLOSE * expected_s
            yield f"seconds {_STATES[name]} in {name!r}", expected_s if close else found_s, expected_s
