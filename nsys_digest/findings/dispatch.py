"""Dispatch marks: steps that run without a CUDA graph, and steps that are padded up to one."""

from __future__ import annotations

from nsys_digest.findings.thresholds import PADDING_RATIO
from nsys_digest.findings.view import Found, Rule, View, path, short
from nsys_digest.model.step_types import DispatchStep
from nsys_digest.units import counted, duration, percent


def _modes(view: View) -> list[tuple[str, DispatchStep]]:
    """Return the rows of all marks of a mode that launched work, by mode; marks without one say nothing of graphs."""
    return [
        (row.mode, row)
        for row in view.digest.dispatch_steps or ()
        if row.mode is not None and row.padded is None and row.launched_busy_ns
    ]


def _without_graph(view: View) -> Found | None:
    modes = _modes(view)
    plain = [(name, row) for name, row in modes if not row.graph_launch_count]
    if not plain:
        return None
    wall_ns = sum(row.wall.total_ns for _, row in plain)
    stake_ns = sum(max(row.wall.total_ns - (row.gpu_overlap_ns or 0), 0) for _, row in plain)
    steps, of = sum(row.steps for _, row in plain), sum(row.steps for _, row in modes)
    cure = (
        "no step has one: leave eager mode (no --enforce-eager in vLLM, no --disable-cuda-graph in SGLang)"
        if steps == of
        else "capture graphs for these sizes too (compilation_config cudagraph_capture_sizes or "
        "max_cudagraph_capture_size in vLLM, --cuda-graph-max-bs in SGLang), or keep prefill out of decode batches"
    )
    modes_named = ", ".join(short(name) for name, _ in plain[:3])
    return Found(
        min(stake_ns, view.steady_ns),
        f"{steps:,} of {counted(of, 'dispatched step')} ran without a CUDA graph (mode {modes_named}); "
        f"of their {duration(wall_ns)} the GPU was idle for {duration(stake_ns)}",
        cure[0].upper() + cure[1:],
        tuple(
            path("dispatch_steps", name, *keys)
            for name, _ in plain[:3]
            for keys in (("steps",), ("wall", "total_s"), ("gpu_overlap_s",), ("graph_launch_count",))
        ),
    )


def _padding(view: View) -> Found | None:
    padded = [(name, row) for name, row in _modes(view) if (row.padding_ratio or 0) >= PADDING_RATIO]
    if not padded:
        return None
    wasted = {name: round((row.launched_busy_ns or 0) * (row.padding_ratio or 0)) for name, row in padded}
    most, row = max(padded, key=lambda item: wasted[item[0]])
    wasted_ns = sum(wasted.values())
    return Found(
        min(wasted_ns, view.steady_ns),
        f"{percent(row.padding_ratio)} of the tokens of mode {short(most)} are padding: at most {duration(wasted_ns)} "
        "of GPU work for nothing",
        "Capture graphs of sizes nearer to the batches that occur (cudagraph_capture_sizes in vLLM, --cuda-graph-bs in "
        "SGLang), or fill the batches",
        tuple(
            path("dispatch_steps", name, key)
            for name, _ in padded[:3]
            for key in ("padding_ratio", "launched_busy_s", "steps")
        ),
    )


RULES = (
    Rule("no-cuda-graph", "dispatched steps that run without a CUDA graph", _without_graph),
    Rule("padding", "dispatched steps that are padded up to the size of a graph", _padding),
)
