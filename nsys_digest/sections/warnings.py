"""What limits the numbers: one line for each thing that a reader must know before believing them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from nsys_digest.model.base_types import OPERATION_KINDS, OTHER_NAMES, FailedCalls, Warn
from nsys_digest.model.cuda_calls import (
    CAPTURE_BEGIN_CALLS,
    COPY_CALLS,
    GRAPH_LAUNCH_CALLS,
    KERNEL_LAUNCH_CALLS,
    SET_CALLS,
    is_one_of,
)
from nsys_digest.model.warning_codes import CODES
from nsys_digest.sections.capture_warnings import (
    device_warnings,
    diagnostic_warnings,
    loses_gpu_rows,
    nothing_recorded,
    schema_warnings,
)
from nsys_digest.sections.devices import GpuTime
from nsys_digest.sections.failed_calls import failure_warning
from nsys_digest.sections.impossible_times import outside_session
from nsys_digest.trace.collect.api import ApiTotals
from nsys_digest.trace.collect.whole import Scanned
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import process_of
from nsys_digest.trace.nsys.traced import why_no_cuda
from nsys_digest.units import counted


def warnings(
    scanned: Scanned,
    facts: CaptureFacts,
    gpu: GpuTime,
    rows: Mapping[int, Counter[str]],
    strings: Mapping[int, str],
    missing: Mapping[str, list[str]],
    failed: tuple[FailedCalls, ...],
    of_sections: tuple[Warn, ...] | None,
    *,
    whole: bool,
) -> tuple[Warn, ...]:
    """Return the warnings, by code in the order of ``CODES``, then as found.

    ``of_sections`` are those of the sections, None where events were not looked at one by one. Counts of launches and
    of their work are compared only where the ``whole`` trace is looked at: a part may hold one and not the other.
    """
    any_nvtx = any(counter["nvtx"] for counter in rows.values()) or (not whole and facts.traced.nvtx is True)
    lacks_gpu_work = _missing_gpu_work(scanned, facts, rows, strings, by_count=of_sections is None)
    warned = [
        *diagnostic_warnings(facts, any_nvtx=any_nvtx),
        *(lacks_gpu_work if whole or gpu.span_ns is None else ()),
        *_odd_rows(scanned),
        *schema_warnings(facts, missing),
        *device_warnings(gpu, facts),
        *(of_sections or ()),
    ]
    if failure := failure_warning(failed):
        warned.append(failure)
    if of_sections is None and (outside := outside_session(gpu.busy, facts.session_ns)):
        warned.append(outside)
    if whole and not any(counter.total() for counter in rows.values()):
        warned.append(nothing_recorded(facts))
    order = list(CODES)
    return tuple(sorted(dict.fromkeys(warned), key=lambda warn: order.index(warn.code)))


def is_incomplete(
    scanned: Scanned, facts: CaptureFacts, strings: Mapping[int, str], warned: tuple[Warn, ...], gpu: GpuTime
) -> bool:
    """Tell whether GPU rows are missing: launches succeeded without work, or the collector says that it lost some."""
    if {warn.code for warn in warned} & {"graph-work-missing", "gpu-rows-missing", "process-without-gpu"}:
        return True
    if gpu.span_ns is None:
        calls = _work_calls(scanned.api, strings)
        if any(made.launches for made in calls.values()):
            return True
    return loses_gpu_rows(facts)


def _missing_gpu_work(
    scanned: Scanned,
    facts: CaptureFacts,
    rows: Mapping[int, Counter[str]],
    strings: Mapping[int, str],
    *,
    by_count: bool,
) -> Iterator[Warn]:
    any_gpu = sum(counter[kind] for counter in rows.values() for kind in OPERATION_KINDS)
    if not any(counter["api"] for counter in rows.values()):
        if rows and not any_gpu:
            yield Warn(
                "no-gpu-activity",
                "NVTX ranges were recorded, but no GPU activity and no CUDA API call: busy and idle are unknown, not "
                f"zero. {why_no_cuda(facts.traced)}",
            )
        return
    work = _work_calls(scanned.api, strings)
    if not any_gpu:
        yield _no_gpu_activity(facts, sum(work.values(), _WorkCalls()))
        return
    if any(rows.get(0, Counter())[kind] for kind in OPERATION_KINDS):
        return  # a cut-down export, whose GPU rows name no process
    for process, made in sorted(work.items()):
        counter = rows.get(process, Counter())
        who = f"process {process_of(process)}"
        if made.graphs and not counter["graph"] and not scanned.gpu.graph_nodes.get(process, 0):
            yield Warn(
                "graph-work-missing",
                f"GPU work is missing: {who} launched {counted(made.graphs, 'CUDA graph')}, but the trace has neither "
                "graph rows nor kernels of graphs, so busy time is too low and idle time too high. Profile again with "
                "--cuda-graph-trace=graph or node",
            )
        elif made.launches and not any(counter[kind] for kind in OPERATION_KINDS):
            yield Warn(
                "process-without-gpu",
                f"{who} made {counted(made.launches, 'launch call')}, but none of its GPU work is in the trace; a "
                "process that forks before it starts CUDA needs --trace-fork-before-exec=true",
            )
        elif by_count:
            yield from _fewer_rows(who, made, counter, scanned.gpu.graph_nodes.get(process, 0))


def _fewer_rows(who: str, made: _WorkCalls, counter: Counter[str], graph_nodes: int) -> Iterator[Warn]:
    """Compare counts alone, for a digest without sections: warn where over half of the launches lack a row."""
    graphs = counter["graph"] or made.graphs  # node by node the rows of a graph launch have no fixed number
    kernels = made.launches - made.graphs
    kernel_rows = kernels if made.captures or graph_nodes else counter["kernel"]
    for code, launched, found, thing in (
        ("graph-work-missing", made.graphs, graphs, "CUDA graph launch"),
        ("gpu-rows-missing", kernels, kernel_rows, "kernel launch"),
    ):
        if 2 * (launched - found) > launched:
            yield Warn(
                code,
                f"{counted(launched, thing)} of {who}, and {found:,} GPU rows of such: busy is a lower bound, idle an "
                "upper bound. Capture a shorter stretch, and let the program end on its own",
            )


@dataclass(frozen=True, slots=True)
class _WorkCalls:
    """Calls that put work on a GPU: launches that succeeded, graph launches among them, copies and sets, failures.

    ``captures`` counts stream captures, whose launches put no work on it themselves.
    """

    launches: int = 0
    graphs: int = 0
    moves: int = 0
    failed: int = 0
    captures: int = 0

    def __add__(self, other: _WorkCalls) -> _WorkCalls:
        """Add each count."""
        return _WorkCalls(
            self.launches + other.launches,
            self.graphs + other.graphs,
            self.moves + other.moves,
            self.failed + other.failed,
            self.captures + other.captures,
        )


def _no_gpu_activity(facts: CaptureFacts, made: _WorkCalls) -> Warn:
    """Say why there is none, as far as the calls tell."""
    hints = [d.text for d in facts.diagnostics if "CUDA profiling might have not been started" in d.text]
    said = f"; the collector says: {hints[0]}" if hints else ""
    if made.launches + made.moves:
        why = "The driver or permissions kept it from nsys, or the program ended before its work was flushed"
    elif made.failed:
        why = f"{counted(made.failed, 'call')} that should put work on it returned an error, and no other was made"
    else:
        why = "No kernel, CUDA graph, copy or set was launched while the trace was recorded"
    return Warn(
        "no-gpu-activity",
        f"CUDA API calls were recorded, but no GPU activity: busy and idle are unknown, not zero. {why}{said}",
    )


def _work_calls(api: ApiTotals, strings: Mapping[int, str]) -> dict[int, _WorkCalls]:
    """Return the calls that put work on a GPU by globalPid."""
    made: defaultdict[int, _WorkCalls] = defaultdict(_WorkCalls)
    failed: Counter[int] = Counter()
    for (group, _), count in api.failures.items():
        failed[group] += count
    for group, ((process, name), count) in enumerate(zip(api.groups, api.counts.tolist(), strict=True)):
        recorded = strings.get(name, "")
        if is_one_of(recorded, CAPTURE_BEGIN_CALLS):
            made[process] += _WorkCalls(captures=count)
        is_graph, is_kernel = (is_one_of(recorded, names) for names in (GRAPH_LAUNCH_CALLS, KERNEL_LAUNCH_CALLS))
        if not is_graph and not is_kernel and not is_one_of(recorded, COPY_CALLS | SET_CALLS):
            continue
        done = count - failed[group]
        made[process] += _WorkCalls(
            done if is_graph or is_kernel else 0,
            done if is_graph else 0,
            0 if is_graph or is_kernel else done,
            failed[group],
        )
    return made


def _odd_rows(scanned: Scanned) -> Iterator[Warn]:
    if scanned.nvtx.open_count:
        yield Warn(
            "open-ranges",
            f"{counted(scanned.nvtx.open_count, 'NVTX range')} still open at the end of the capture; taken to end at "
            "the last time stamp of the trace",
        )
    if scanned.nvtx.ended_with_session_count:
        yield Warn(
            "open-ranges",
            f"{counted(scanned.nvtx.ended_with_session_count, 'NVTX range')} ended with the profiling session, to the "
            "nanosecond: this is how nsys ends a range that the program left open",
        )
    if scanned.name_count is not None:
        yield Warn(
            "names-capped",
            f"The trace has {scanned.name_count:,} NVTX range names; those with least time are one row named "
            f"{OTHER_NAMES}. Keep more with --max-names, or put what differs into the range's payload",
        )
    for count, thing, what in (
        (scanned.gpu.skipped_count, "GPU operation", "without length (end at or before start)"),
        (scanned.api.reversed_count, "CUDA API call", "that ends before it starts"),
        (scanned.nvtx.reversed_count, "NVTX range", "that ends before it starts"),
    ):
        if count:
            yield Warn("skipped-intervals", f"{counted(count, thing)} {what}: counted, but without any time")
