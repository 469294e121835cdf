"""A policy to start from: rules for what a digest has most of, each with its present value in a comment."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from nsys_digest.compare.runs import Run
from nsys_digest.gate.policy import Noise
from nsys_digest.gate.significance import advised_runs
from nsys_digest.model.catalogue import Json
from nsys_digest.model.figures import select
from nsys_digest.model.paths import Path, parse_path, path_text
from nsys_digest.model.quantity import shown

_MOST: Final = 5
_SHARE: Final = 0.01
"""Names with less than this part of the largest of their kind get no rule."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Rules of one kind: which figures, of what most, what is allowed."""

    title: str
    pattern: str
    change: str
    unit: str
    floor: str = ""
    bad: str = "up"


_TOTALS: Final = (
    _Kind("From the first start to the last end of all GPU work", "gpu_activity_span_s", '["5%", "1ms"]', "s"),
    _Kind("Time in which any GPU was at work", "gpu_busy_union_s", '["5%", "1ms"]', "s"),
    _Kind("Time of the span in which none was", "gpu_idle_within_span_s", '["10%", "1ms"]', "s"),
    _Kind("Share of its span that a GPU was busy", "devices.*.busy_ratio", '["5%", 0.01]', "ratio", bad="down"),
    _Kind("Kernels; by a few more nothing is lost", "kernel_count", '"2%"', "count"),
)
_NAMED: Final = (
    _Kind("Why a GPU was idle", "idle.devices.*.causes.*.sum_s", '["20%", "1ms"]', "s"),
    _Kind("Kernels by kind of work", "categories.*.sum_s", '["10%", "500us"]', "s"),
    _Kind("Communication that no compute hides", "communication.*.exposed_s", '["10%", "500us"]', "s"),
    _Kind("NVTX ranges", "nvtx.*.union_s", '["10%", "1ms"]', "s"),
    _Kind("Dispatch steps by mode and padded size", "dispatch_steps.*.wall.p50_s", '["10%", "20us"]', "s"),
    _Kind("Steps", "steps.wall.p50_s", '["5%", "20us"]', "s"),
    _Kind("The slow end of kernels", "kernel_durations.*.p95_s", '["15%", "5us"]', "s", floor="5us"),
)
_CALLS: Final = (
    ("Calls in which the host waits for the GPU", "*Synchronize*", '["5%", 2]', "up"),
    ("Launches of CUDA graphs; with fewer, more kernels are launched one by one", "*GraphLaunch*", '"10%"', "down"),
)
_WARNINGS: Final = (
    "truncated-capture",
    "graph-work-missing",
    "gpu-rows-missing",
    "process-without-gpu",
    "no-gpu-activity",
)


def starter_policy(run: Run) -> str:
    """Return the text of a policy that the run itself passes; its figures are from the digest."""
    document = run.digest.to_dict()
    parts = [_HEAD.format(file=_comment(document["file"]), runs=advised_runs(Noise().confidence))]
    for kind in (*_TOTALS, *_NAMED):
        rules = list(_rules(kind, document))
        if rules:
            parts.append(f"# {kind.title}\n" + "\n".join(rules))
    parts += _calls(document)
    parts += _presences(document)
    return "\n".join(parts)


_HEAD: Final = """\
# A policy for nsys-digest check, written from {file}.
# A change fails only when it is bad and more than each of its allowances. Commented limits are budgets: they need no
# baseline. Every key is explained in docs/policy.md.
version = 1

[noise]
confidence = 0.95   # a false alarm in at most 5 % of checks, with {runs} runs a side
min_effect = "2%"   # smaller changes never fail
min_repeats = 1     # fewest runs a side; with fewer than {runs} noise is not excluded
"""


def _rules(kind: _Kind, document: Json) -> Iterator[str]:
    found = [(path, value) for path, value in select(parse_path(kind.pattern), document).items() if value]
    if kind in _NAMED:
        found.sort(key=lambda item: -_weight(item[0], item[1], document))
        least = _SHARE * _weight(*found[0], document) if found else 0.0
        found = [item for item in found[:_MOST] if _weight(*item, document) >= least]
    for path, value in found:
        limit = "min" if kind.bad == "down" else "max"
        room = value * (0.9 if kind.bad == "down" else 1.1)
        lines = [
            "[[rule]]",
            f"figure = {_toml(path_text(path))}   # now {shown(value, kind.unit)}",
            f"max_change = {kind.change}",
            f'bad = "{kind.bad}"',
            *([f'floor = "{kind.floor}"'] if kind.floor else []),
            f"# {limit} = {_limit(room, kind.unit)}",
        ]
        yield "\n".join(lines) + "\n"


def _calls(document: Json) -> Iterator[str]:
    """Yield rules over counts of calls, which vary little; a call that is new, or gone, counts too."""
    for title, name, change, bad in _CALLS:
        pattern = f'api."{name}".count'
        count = sum(value or 0 for value in select(parse_path(pattern), document).values())
        if count:
            rule = (
                f"[[rule]]\nfigure = '{pattern}'   # now {shown(count, 'count')} in all\nmax_change = {change}\n"
                f'bad = "{bad}"\nabsent = "zero"\n'
            )
        elif bad == "up" and document["api"]:
            rule = f'[[forbid]]\napi = "{name}"\n'
        else:
            continue
        yield f"# {title}\n{rule}"


def _weight(path: Path, value: float, document: Json) -> float:
    """Return by how much a name matters: its total time, where the figure is of its tail."""
    if path[0] == "kernel_durations":
        return float(document["kernel_durations"][path[1]]["total_s"])
    return value


def _limit(value: float, unit: str) -> str:
    if unit == "s":
        return f'"{value * 1e3:.4g}ms"' if value >= 1e-3 else f'"{value * 1e6:.4g}us"'
    return f"{round(value)}" if unit == "count" else f"{value:.3g}"


def _presences(document: Json) -> Iterator[str]:
    ranges = sorted(filter(None, document["nvtx"]), key=lambda name: -document["nvtx"][name]["union_s"])[:_MOST]
    if ranges:
        yield "# Ranges that a run without them would not be the same program\n" + "\n".join(
            f"[[require]]\nnvtx = {_toml(_glob_free(name))}\n" for name in ranges
        )
    there = {warn["code"] for warn in document["warnings"]}
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
