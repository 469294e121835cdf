"""What limits the numbers: one line for each thing that a reader must know before believing them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nsys_digest.model.base_types import KINDS, OTHER_NAMES, Warn
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, KERNEL_LAUNCH_CALLS, call_name
from nsys_digest.model.warning_codes import CODES
from nsys_digest.sections.capture_warnings import (
    device_warnings,
    diagnostic_warnings,
    nothing_recorded,
    schema_warnings,
)
from nsys_digest.sections.devices import GpuTime
from nsys_digest.trace.collect.api import ApiCollector
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import process_of
from nsys_digest.trace.nsys.traced import why_no_cuda
from nsys_digest.trace.scan import Scanned
from nsys_digest.units import counted


@dataclass(frozen=True, slots=True)
class AccountLimits:
    """What the sections that explain cannot know, as far as they were made."""

    unseen_graphs: int = 0
    """Graph launches whose kernels no section can see."""
    unmatched_kernels: int = 0
    """Kernels without a launch call in the trace."""
    disagreements: tuple[str, ...] = ()
    """Where dispatch marks and graph launches disagree."""


def warnings(
    scanned: Scanned,
    facts: CaptureFacts,
    gpu: GpuTime,
    rows: Mapping[int, Counter[str]],
    strings: Mapping[int, str],
    missing: Mapping[str, list[str]],
    limits: AccountLimits,
) -> tuple[Warn, ...]:
    """Return the warnings, by code in the order of ``CODES``, then as found."""
    warned = [
        *diagnostic_warnings(facts, any_nvtx=any(counter["nvtx"] for counter in rows.values())),
        *_missing_gpu_work(scanned, facts, gpu, rows, strings),
        *_odd_rows(scanned),
        *schema_warnings(facts, missing),
        *device_warnings(gpu, facts),
        *_account(limits),
    ]
    if not any(counter.total() for counter in rows.values()):
        warned.append(nothing_recorded(facts))
    order = list(CODES)
    return tuple(sorted(dict.fromkeys(warned), key=lambda warn: order.index(warn.code)))


def _missing_gpu_work(
    scanned: Scanned,
    facts: CaptureFacts,
    gpu: GpuTime,
    rows: Mapping[int, Counter[str]],
    strings: Mapping[int, str],
) -> Iterator[Warn]:
    any_gpu = sum(counter[kind] for counter in rows.values() for kind in KINDS)
    if not any_gpu and any(counter["api"] for counter in rows.values()):
        hints = [d.text for d in facts.diagnostics if "CUDA profiling might have not been started" in d.text]
        why = f"; the collector says: {hints[0]}" if hints else ""
        yield Warn(
            "no-gpu-activity",
            "CUDA API calls were recorded, but no GPU activity: busy and idle are unknown, not zero. The driver or "
            f"permissions kept it from nsys, or the program ended before its work was flushed{why}",
        )
    if not any_gpu and not any(counter["api"] for counter in rows.values()) and rows:
        yield Warn(
            "no-gpu-activity",
            "NVTX ranges were recorded, but no GPU activity and no CUDA API call: busy and idle are unknown, not zero. "
            + why_no_cuda(facts.traced),
        )
    if scanned.api is None:
        return
    for process, (launches, graphs) in sorted(_launches(scanned.api, strings).items()):
        counter = rows.get(process, Counter())
        who = f"process {process_of(process)}"
        if graphs and not counter["graph"] and not scanned.gpu.graph_nodes[process] and any_gpu:
            yield Warn(
                "graph-work-missing",
                f"GPU work is missing: {who} launched {counted(graphs, 'CUDA graph')}, but the trace has neither graph "
                "rows nor kernels of graphs, so busy time is too low and idle time too high. Profile again with "
                "--cuda-graph-trace=graph or node",
            )
        elif launches and any_gpu and not any(counter[kind] for kind in KINDS):
            yield Warn(
                "process-without-gpu",
                f"{who} made {counted(launches, 'launch call')}, but none of its GPU work is in the trace; a process "
                "that forks before it starts CUDA needs --trace-fork-before-exec=true",
            )


def _launches(api: ApiCollector, strings: Mapping[int, str]) -> dict[int, tuple[int, int]]:
    """Return (launch calls, of these graph launches) by globalPid."""
    launches: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0])
    counts = api.totals.count(len(api.groups)).tolist()
    for (process, name), count in zip(api.groups.pairs, counts, strict=True):
        call = call_name(strings.get(api.names.values[name], ""))
        if call in KERNEL_LAUNCH_CALLS or call in GRAPH_LAUNCH_CALLS:
            launches[api.processes.values[process]][0] += count
        if call in GRAPH_LAUNCH_CALLS:
            launches[api.processes.values[process]][1] += count
    return {process: (both, graphs) for process, (both, graphs) in launches.items()}


def _odd_rows(scanned: Scanned) -> Iterator[Warn]:
    if scanned.nvtx is not None and scanned.nvtx.open_count:
        yield Warn(
            "open-ranges",
            f"{counted(scanned.nvtx.open_count, 'NVTX range')} still open at the end of the capture; taken to end at "
            "the last time stamp of the trace",
        )
    if scanned.nvtx is not None and scanned.nvtx.ended_with_session_count:
        yield Warn(
            "open-ranges",
            f"{counted(scanned.nvtx.ended_with_session_count, 'NVTX range')} ended with the profiling session, to the "
            "nanosecond: nsys ends so what the program leaves open",
        )
    if scanned.name_count is not None:
        yield Warn(
            "names-capped",
            f"The trace has {scanned.name_count:,} NVTX range names; those with least time are one row named "
            f"{OTHER_NAMES}. Keep more with --max-names, or put what differs into the range's payload",
        )
    reversed_calls = scanned.api.reversed_count if scanned.api is not None else 0
    reversed_ranges = scanned.nvtx.reversed_count if scanned.nvtx is not None else 0
    for count, thing, what in (
        (scanned.gpu.skipped_count, "GPU operation", "without length (end at or before start)"),
        (reversed_calls, "CUDA API call", "that ends before it starts"),
        (reversed_ranges, "NVTX range", "that ends before it starts"),
    ):
        if count:
            yield Warn("skipped-intervals", f"{counted(count, thing)} {what}: counted, but without any time")


def _account(limits: AccountLimits) -> Iterator[Warn]:
    if limits.unmatched_kernels:
        yield Warn(
            "unattributed-kernels",
            f"{counted(limits.unmatched_kernels, 'kernel')} without a launch call in the trace: no launch cost, range "
            "or cause of idle time is known for them. The capture began late, or left out the calls",
        )
    if limits.unseen_graphs:
        yield Warn(
            "graph-kernels-unseen",
            f"{counted(limits.unseen_graphs, 'CUDA graph launch')} traced as a whole: "
            "kernel totals, categories, communication and kernel tails do not see what ran inside. Profile with "
            "--cuda-graph-trace=node to see it, at a cost in time",
        )
    for line in limits.disagreements:
        yield Warn("dispatch-disagrees", f"{line}; a step is taken to end at the next mark of the same thread")
