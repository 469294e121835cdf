"""Whether two sides may be compared: facts of the captures that change figures without any change of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import CapturesMismatch, UsageInvalid
from nsys_digest.model.base_types import Device
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, call_name
from nsys_digest.model.digest import Digest

MISMATCH_CODES: Final[Mapping[str, str]] = {
    "gpu-model": "the GPUs that did work are of other models",
    "device-count": "another number of GPUs did work",
    "graph-mode": "CUDA graphs were traced as a whole on one side, and node by node on the other",
    "nsys-version": "the traces are of different major versions of nsys",
    "trace-options": "GPU work, CUDA API calls or NVTX were traced on one side only",
    "window-or-filters": "the digests were made with other sections, or names were read otherwise",
    "truncated": "a capture is incomplete: events are missing",
}
"""Every reason not to compare, and what it means in one line."""

INCOMPLETE: Final = frozenset({"truncated-capture", "graph-work-missing", "process-without-gpu"})
"""Warnings of a digest that say that events are missing from its trace."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A reason not to compare; ``base`` and ``head`` are what each side has.

    Where repeats of one side differ among themselves, they are what its first run has and what another one has.
    """

    code: str
    message: str
    base: str
    head: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A fact that a digest does not tell, so that this reason could not be ruled out."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Comparability:
    """What was found: the differences that were allowed, and the reasons that could not be ruled out."""

    allowed: tuple[Difference, ...]
    unknown: tuple[Unknown, ...]


def mismatches(base: RunSet, head: RunSet) -> tuple[Difference, ...]:
    """Return every reason not to compare the sides, in the order of ``MISMATCH_CODES``; a fact not known is none."""
    found: list[Difference] = []
    for code, (what, fact) in _FACTS.items():
        found += _among(code, what, fact, base, "BASE")
        found += _among(code, what, fact, head, "HEAD")
        first, second = _known(fact, base), _known(fact, head)
        if first is not None and second is not None and first[1] != second[1]:
            message = f"{what}: {first[1]} in BASE ({first[0].source}), {second[1]} in HEAD ({second[0].source})"
            found.append(Difference(code, message, first[1], second[1]))
    found += _incomplete(base, head)
    return tuple(found)


def repeat_mismatches(side: RunSet, name: str) -> tuple[Difference, ...]:
    """Return every reason why the repeats of one side are no repeats; ``name`` is what messages call the side."""
    return tuple(found for code, (what, fact) in _FACTS.items() for found in _among(code, what, fact, side, name))


def unknown_facts(base: RunSet, head: RunSet) -> tuple[Unknown, ...]:
    """Return the reasons that cannot be ruled out because a digest does not tell the fact."""
    found = []
    for code, (what, fact) in _FACTS.items():
        silent = [run.source for run in (*base.runs, *head.runs) if fact(run.digest) is None]
        if code == "graph-mode" and not any(_launches_graphs(run.digest) for run in (*base.runs, *head.runs)):
            continue
        if silent:
            found.append(Unknown(code, f"{what}: unknown for {', '.join(dict.fromkeys(silent))}"))
    return tuple(found)


def comparability(base: RunSet, head: RunSet, allow: Iterable[str] = ()) -> Comparability:
    """Return what was found, once nothing but the reasons in ``allow`` stands against comparing.

    Raises:
        UsageInvalid: ``allow`` has a reason that does not exist.
        CapturesMismatch: there is another reason not to compare.

    """
    allowed = check_reasons(allow)
    found = mismatches(base, head)
    refused = [difference for difference in found if difference.code not in allowed]
    if refused:
        reasons = ",".join(dict.fromkeys(difference.code for difference in found))
        said = "; ".join(f"{difference.message} ({difference.code})" for difference in refused)
        raise CapturesMismatch(
            f"the captures are not alike: {said}; compare all the same with --allow-mismatch {reasons}"
        )
    return Comparability(found, unknown_facts(base, head))


def check_reasons(allow: Iterable[str]) -> frozenset[str]:
    """Return the reasons to allow.

    Raises:
        UsageInvalid: one does not exist.

    """
    allowed = frozenset(allow)
    unheard = sorted(allowed - set(MISMATCH_CODES))
    if unheard:
        raise UsageInvalid(
            f"there is no reason {', '.join(unheard)} not to compare; choose from {', '.join(MISMATCH_CODES)}"
        )
    return allowed


_Fact = Callable[[Digest], str | None]


def _known(fact: _Fact, side: RunSet) -> tuple[Run, str] | None:
    """Return the first run of a side that tells the fact, with what it tells."""
    for run in side.runs:
        value = fact(run.digest)
        if value is not None:
            return run, value
    return None


def _among(code: str, what: str, fact: _Fact, side: RunSet, name: str) -> Iterator[Difference]:
    """Yield one difference for each value that repeats of a side have besides that of the first one."""
    first = _known(fact, side)
    if first is None:
        return
    seen = {first[1]}
    for run in side.runs:
        value = fact(run.digest)
        if value is not None and value not in seen:
            seen.add(value)
            message = f"{what} within {name}: {first[1]} ({first[0].source}), {value} ({run.source})"
            yield Difference(code, message, first[1], value)


def _incomplete(base: RunSet, head: RunSet) -> Iterator[Difference]:
    codes = tuple(sorted({code for run in side.runs for code in _incomplete_codes(run)}) for side in (base, head))
    texts = tuple(", ".join(found) or "complete" for found in codes)
    for name, side in (("BASE", base), ("HEAD", head)):
        for run in side.runs:
            if found := _incomplete_codes(run):
                message = f"incomplete capture in {name} ({run.source}): its digest warns of {', '.join(found)}"
                yield Difference("truncated", message, *texts)


def _incomplete_codes(run: Run) -> list[str]:
    return sorted({warn.code for warn in run.digest.warnings} & INCOMPLETE)


def _active(digest: Digest) -> list[Device]:
    return [device for device in digest.devices if device.span_ns is not None]


def _gpu_model(digest: Digest) -> str | None:
    names = {device.name for device in _active(digest)}
    return None if not names or None in names else ", ".join(sorted(name for name in names if name))


def _device_count(digest: Digest) -> str | None:
    return str(len(_active(digest))) if _active(digest) else None


def _graph_mode(digest: Digest) -> str | None:
    """Return the mode that the trace names, or that its rows show."""
    if digest.capture.graph_trace_mode:
        return digest.capture.graph_trace_mode
    if any(device.count.get("graph") for device in digest.devices):
        return "graph"
    return "node" if digest.graph_node_kernel_count else None


def _launches_graphs(digest: Digest) -> bool:
    return any(call_name(name) in GRAPH_LAUNCH_CALLS for name in digest.api)


def _nsys_version(digest: Digest) -> str | None:
    return (digest.capture.product_version or "").partition(".")[0] or None


def _traced(digest: Digest) -> str | None:
    rows = [process.rows for process in digest.capture.processes]
    kinds = {
        "GPU work": any(device.span_ns is not None for device in digest.devices),
        "CUDA API": any(counts.get("api") for counts in rows),
        "NVTX": any(counts.get("nvtx") for counts in rows),
    }
    return ", ".join(kind for kind, seen in kinds.items() if seen) or "nothing"


def _filters(digest: Digest) -> str | None:
    capture = digest.capture
    names = "raw range names" if capture.raw_nvtx_names else "range names without serial numbers"
    return f"sections {', '.join(capture.sections) or 'base'}; dispatch prefix {capture.dispatch_prefix!r}; {names}"


_FACTS: Final[Mapping[str, tuple[str, _Fact]]] = {
    "gpu-model": ("GPU model", _gpu_model),
    "device-count": ("number of GPUs that did work", _device_count),
    "graph-mode": ("CUDA graph trace mode", _graph_mode),
    "nsys-version": ("major version of nsys", _nsys_version),
    "trace-options": ("events traced", _traced),
    "window-or-filters": ("options of the digest", _filters),
}
"""What a digest tells of each reason, in words; None where it does not."""
