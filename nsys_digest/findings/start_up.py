"""Start-up that dominates the span, and the selection that leaves it out."""

from __future__ import annotations

import shlex

from nsys_digest.findings.thresholds import START_UP_RANGE
from nsys_digest.findings.view import LONGEST_NAME, Found, Rule, StartUp, View
from nsys_digest.model.base_types import OTHER_NAMES
from nsys_digest.units import duration

_LIBRARIES = ("NCCL:", "CCCL:", "cuBLAS:", "cuDNN:", "TensorRT:")
"""Domains of ranges that libraries make, which are no steps of the program."""
_SPECIAL = frozenset("*?[]#\\")


def _start_up(view: View) -> Found | None:
    started = view.start_up
    if started is None:
        return None
    device = dict(view.devices)[started.device]
    return Found(
        started.idle_ns,
        f"GPU {started.device} was idle for {duration(started.idle_ns)} of its span of {duration(device.span_ns)} "
        "before most of its work began: that is start-up, and busy and idle of the whole span say little of the rest",
        f"Look at the steady part alone: digest the trace with {selection(view, started)}",
        (
            f"devices.{started.device}.span_s",
            f"devices.{started.device}.busy_s",
            f"devices.{started.device}.idle_s",
            f"idle.devices.{started.device}.causes.host.longest_s",
        ),
    )


def selection(view: View, started: StartUp) -> str:
    """Return the options that select the steady part: steps, dispatch marks, a range, or the time behind start-up."""
    digest = view.digest
    if digest.steps is not None:
        return f"--steps {shlex.quote(digest.steps.name)} --skip-warmup"
    marks, until_ns = digest.dispatch_timeline, max(one.until_ns for one in view.start_ups.values())
    if marks and marks[0].start_ns >= started.until_ns - view.steady_ns // 10:
        return "--skip-warmup"
    if (name := _range(view)) is not None:
        return f"--in {shlex.quote(name)}"
    return f"--window {until_ns // 1000 / 1e6:.6f}s:"


def _range(view: View) -> str | None:
    """Return the shortest range name that launched most of the work and can hold no start-up."""
    busy_ns = view.digest.gpu_busy_union_ns or 0
    fitting = [
        (ranges.union_ns, name)
        for name, ranges in view.digest.nvtx.items()
        if name != OTHER_NAMES
        and len(name) <= LONGEST_NAME
        and not _SPECIAL & set(name)
        and ".." not in name
        and not name.startswith(_LIBRARIES)
        and ranges.count > 1
        and ranges.detail is not None
        and (ranges.detail.launched_busy_ns or 0) >= START_UP_RANGE * busy_ns
        and ranges.union_ns <= view.steady_ns
    ]
    return min(fitting)[1] if fitting else None


RULES = (Rule("start-up", "gaps before most of the work began take a great part of the span", _start_up),)
