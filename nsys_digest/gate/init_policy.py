"""A policy to start from: rules for what runs have most of, each with its present value in a comment.

From several runs, what is allowed is at least twice what they spread by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from nsys_digest.compare.runs import RunSet
from nsys_digest.gate.policy import Noise
from nsys_digest.gate.significance import advised_runs
from nsys_digest.model.catalogue import Json
from nsys_digest.model.figures import select
from nsys_digest.model.paths import Path, parse_path, path_text
from nsys_digest.model.quantity import shown, shown_share

_MOST: Final = 5
_SHARE: Final = 0.01
"""Names with less than this part of the largest of their kind get no rule."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rules of one kind: which figures, of what most, what is allowed."""

    title: str
    pattern: str
    share: float
    amount: str
    unit: str
    floor: str = ""
    bad: str = "up"


_TOTALS: Final = (
    _Kind("From the first start to the last end of all GPU work", "gpu_activity_span_s", 0.05, "1ms", "s"),
    _Kind("Time in which any GPU was at work", "gpu_busy_union_s", 0.05, "1ms", "s"),
    _Kind("Time of the span in which none was", "gpu_idle_within_span_s", 0.1, "1ms", "s"),
    _Kind("Share of its span that a GPU was busy", "devices.*.busy_ratio", 0.05, "0.01", "ratio", bad="down"),
    _Kind("Kernels; by a few more nothing is lost", "kernel_count", 0.02, "", "count"),
)
_NAMED: Final = (
    _Kind("Why a GPU was idle", "idle.devices.*.causes.*.sum_s", 0.2, "1ms", "s"),
    _Kind("Kernels by kind of work", "categories.*.sum_s", 0.1, "500us", "s"),
    _Kind("Communication that no compute hides", "communication.*.exposed_s", 0.1, "500us", "s"),
    _Kind("NVTX ranges", "nvtx.*.union_s", 0.1, "1ms", "s"),
    _Kind("Dispatch steps by mode and padded size", "dispatch_steps.*.wall.p50_s", 0.1, "20us", "s"),
    _Kind("Steps", "steps.wall.p50_s", 0.05, "20us", "s"),
    _Kind("The slow end of kernels", "kernel_durations.*.p95_s", 0.15, "5us", "s", floor="5us"),
)
_KERNELS: Final = "kernel_durations.*.p95_s"
"""Rules of kernels by name are for traces without ranges: autotuning and a new compiler rename kernels."""
_CALLS: Final = (
    _Kind("Calls in which the host waits for the GPU", "*Synchronize*", 0.05, "2", "count"),
    _Kind(
        "Launches of CUDA graphs; with fewer, more kernels are launched one by one",
        "*GraphLaunch*",
        0.1,
        "",
        "count",
        bad="down",
    ),
)
_LEAST_SHARE: Final = 0.02
_SPREADS: Final = 2
"""What is allowed, as a multiple of what the runs spread by themselves."""
_WARNINGS: Final = (
    "truncated-capture",
    "graph-work-missing",
    "gpu-rows-missing",
    "process-without-gpu",
    "no-gpu-activity",
)


def starter_policy(side: RunSet) -> str:
    """Return the text of a policy that the runs themselves pass; its figures are from their digests.

    From several runs a rule allows twice their spread, which is the distance from the least to the most over the
    median, and 2 % at the least; from one run what is usual. Names that some of the runs lack get no rule.
    """
    documents = [run.digest.to_dict() for run in side.runs]
    files = ", ".join(dict.fromkeys(_comment(document["file"]) for document in documents))
    allowed = f"twice what the {len(documents)} runs spread" if len(documents) > 1 else "what is usual"
    parts = [_HEAD.format(files=files, allowed=allowed, runs=advised_runs(Noise().confidence))]
    has_ranges = any(filter(None, documents[0]["nvtx"]))
    for kind in (*_TOTALS, *_NAMED):
        rules = [] if kind.pattern == _KERNELS and has_ranges else list(_rules(kind, documents))
        if rules:
            parts.append(f"# {kind.title}\n" + "\n".join(rules))
    parts += _calls(documents)
    parts += _presences(documents)
    return "\n".join(parts)


_HEAD: Final = """\
# A policy for nsys-digest check, written from {files}.
# It allows {allowed}. A change fails only when it is bad and more than each of its
# allowances. Commented limits are budgets: they need no baseline. Every key is explained in docs/policy.md.
version = 1

[noise]
confidence = 0.95   # a false alarm in at most 5 % of checks, with {runs} runs a side
min_effect = "2%"   # smaller changes never fail
min_repeats = 1     # fewest runs a side; with fewer than {runs} noise is not excluded
"""


def _rules(kind: _Kind, documents: Sequence[Json]) -> Iterator[str]:
    found = {path: values for path, values in _in_all(kind.pattern, documents).items() if median(values)}
    paths = list(found)
    if kind in _NAMED:
        weights = {path: _weight(path, median(values), documents[0]) for path, values in found.items()}
        paths = sorted(found, key=lambda path: -weights[path])[:_MOST]
        paths = [path for path in paths if weights[path] >= _SHARE * weights[paths[0]]]
    for path in paths:
        values = found[path]
        limit, room = ("min", 0.9 * min(values)) if kind.bad == "down" else ("max", 1.1 * max(values))
        lines = [
            "[[rule]]",
            f"figure = {_toml(path_text(path))}   # {_present(values, kind.unit)}",
            f"max_change = {_allowance(kind, values)}",
            f'bad = "{kind.bad}"',
            *([f'floor = "{kind.floor}"'] if kind.floor else []),
            f"# {limit} = {_limit(room, kind.unit)}",
        ]
        yield "\n".join(lines) + "\n"


def _in_all(pattern: str, documents: Sequence[Json]) -> dict[Path, tuple[float, ...]]:
    """Return the values of the figures that every run has, in the order of the first."""
    found = [select(parse_path(pattern), document) for document in documents]
    values = {path: tuple(each.get(path) for each in found) for path in found[0]}
    return {path: tuple(value for value in own if value is not None) for path, own in values.items() if None not in own}


def _present(values: Sequence[float], unit: str) -> str:
    """Say what a figure is now: of several runs their median, and how far they are apart."""
    now = f"now {shown(median(values), unit)}"
    if len(values) == 1:
        return now
    apart = _spread(values)
    return f"{now}, up to {shown_share(apart).lstrip('+')} apart" if apart else f"{now} in each run"


def _spread(values: Sequence[float]) -> float:
    middle = median(values)
    return (max(values) - min(values)) / abs(middle) if middle else 0.0


def _allowance(kind: _Kind, values: Sequence[float]) -> str:
    share = kind.share if len(values) == 1 else max(_LEAST_SHARE, _SPREADS * _spread(values))
    percent = f'"{math.ceil(round(100 * share, 6))}%"'
    if not kind.amount:
        return percent
    amount = kind.amount if kind.unit in {"ratio", "count"} else f'"{kind.amount}"'
    return f"[{percent}, {amount}]"


def _calls(documents: Sequence[Json]) -> Iterator[str]:
    """Yield rules over counts of calls, which vary little; a call that is new, or gone, counts too."""
    for kind in _CALLS:
        pattern = f'api."{kind.pattern}".count'
        counts = [sum(value or 0 for value in select(parse_path(pattern), each).values()) for each in documents]
        if any(counts):
            rule = (
                f"[[rule]]\nfigure = '{pattern}'   # {_present(counts, 'count')}\n"
                f'max_change = {_allowance(kind, counts)}\nbad = "{kind.bad}"\nabsent = "zero"\n'
            )
        elif kind.bad == "up" and all(each["api"] for each in documents):
            rule = f'[[forbid]]\napi = "{kind.pattern}"\n'
        else:
            continue
        yield f"# {kind.title}\n{rule}"


def _weight(path: Path, value: float, document: Json) -> float:
    """Return by how much a name matters: its total time, where the figure is of its tail."""
    if path[0] == "kernel_durations":
        return float(document["kernel_durations"][path[1]]["total_s"])
    return value


def _limit(value: float, unit: str) -> str:
    if unit == "s":
        return f'"{value * 1e3:.4g}ms"' if value >= 1e-3 else f'"{value * 1e6:.4g}us"'
    return f"{round(value)}" if unit == "count" else f"{value:.3g}"


def _presences(documents: Sequence[Json]) -> Iterator[str]:
    first = documents[0]["nvtx"]
    in_all = [name for name in first if name and all(name in each["nvtx"] for each in documents)]
    ranges = sorted(in_all, key=lambda name: -first[name]["union_s"])[:_MOST]
    if ranges:
        yield "# Ranges that a run without them would not be the same program\n" + "\n".join(
            f"[[require]]\nnvtx = {_toml(_glob_free(name))}\n" for name in ranges
        )
    there = {warn["code"] for each in documents for warn in each["warnings"]}
    forbidden = [code for code in _WARNINGS if code not in there]
    if forbidden:
        yield "# Warnings of captures that cannot be trusted\n" + "\n".join(
            f'[[forbid]]\nwarnings = "{code}"\n' for code in forbidden
        )


def _glob_free(name: str) -> str:
    """Return a name as a glob that means it; half a surrogate pair, which no TOML can hold, as any character."""
    spelled = (f"\\{char}" if char in "*?\\" else "?" if "\ud800" <= char <= "\udfff" else char for char in name)
    return "".join(spelled)


def _comment(text: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in text)


def _toml(text: str) -> str:
    """Return text as a string of TOML."""
    if text.isprintable() and "'" not in text:
        return f"'{text}'"
    spelled = []
    for char in text:
        if char in '"\\':
            spelled.append(f"\\{char}")
        elif char.isprintable():
            spelled.append(char)
        else:
            spelled.append(f"\\u{ord(char):04X}" if ord(char) < 0x10000 else f"\\U{ord(char):08X}")
    return f'"{"".join(spelled)}"'
