"""What keeps the trace from telling more: rows that are missing, calls that failed, graphs seen from outside."""

from __future__ import annotations

from nsys_digest.findings.thresholds import GRAPH_SHARE, PROBES
from nsys_digest.findings.view import Found, Rule, View, path, short
from nsys_digest.units import counted, duration, percent

_LOST = frozenset({"graph-work-missing", "gpu-rows-missing", "process-without-gpu", "no-gpu-activity"})


def _lost_rows(view: View) -> Found | None:
    digest = view.digest
    if not digest.capture.incomplete:
        return None
    codes = list(dict.fromkeys(warn.code for warn in digest.warnings if warn.code in _LOST)) or ["truncated-capture"]
    idle_ns = digest.gpu_idle_within_span_ns
    what = "busy and idle are unknown" if idle_ns is None else f"up to {duration(idle_ns)} of idle may have been busy"
    figures = ("gpu_busy_union_s", "gpu_idle_within_span_s", "launch.without_work_count")
    return Found(
        idle_ns,
        f"GPU rows are missing from the trace, so that {what}; see the warning {', '.join(codes)}",
        "Trace again before you believe the other findings: a shorter stretch, --trace-fork-before-exec=true where "
        "processes fork, and a program that ends on its own",
        figures,
        severe=True,
    )


def _failed_calls(view: View) -> Found | None:
    failed = [one for one in view.digest.failed_calls or () if one.value not in PROBES]
    if not failed:
        return None
    count = sum(one.count for one in failed)
    most = failed[0]
    rest = f" and {counted(len(failed) - 1, 'other kind')}" if len(failed) > 1 else ""
    return Found(
        None,
        f"{counted(count, 'CUDA call')} failed, most by {short(most.name)} with {most.error or most.value}{rest}: what "
        "they were to do did not happen",
        "Check the status of every call (torch.cuda raises, C code must ask), and mend the first one that fails",
        tuple(path("failed_calls", f"{one.name}/{one.error or '-'}/{one.value}", "count") for one in failed[:3]),
    )


def _whole_graphs(view: View) -> Found | None:
    graphs = [(name, device) for name, device in view.devices if device.count["graph"]]
    hidden = [(device.union_ns["graph"], name) for name, device in graphs]
    if not hidden:
        return None
    hidden_ns, name = max(hidden)
    busy_ns = dict(graphs)[name].busy_ns or 0
    if hidden_ns < GRAPH_SHARE * busy_ns:
        return None
    return Found(
        None,
        f"{percent(hidden_ns, busy_ns)} of the busy time of GPU {name} is in CUDA graphs that were traced as a whole: "
        "no finding about kernels, categories or communication sees inside them",
        "Trace a few steps with --cuda-graph-trace=node, which costs time itself, and read the kernels there",
        (f"devices.{name}.union_s.graph", f"devices.{name}.count.graph", f"devices.{name}.busy_s"),
    )


RULES = (
    Rule("lost-rows", "launches whose GPU rows are missing: busy is a lower bound", _lost_rows),
    Rule("failed-calls", "CUDA calls that returned an error", _failed_calls),
    Rule("whole-graphs", "CUDA graphs that were traced as a whole", _whole_graphs),
)
