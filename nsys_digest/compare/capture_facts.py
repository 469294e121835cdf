"""What a digest tells of its capture and its own options that changes figures without any change of the program."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from nsys_digest.model.base_types import OTHER_NAMES, Device
from nsys_digest.model.digest import Digest
from nsys_digest.model.section_types import NEED_CATEGORIES, NEEDED_ALIKE
from nsys_digest.model.selection_options import WHOLE_TRACE_WORDS, SelectionOptions


def _whole(base: str, head: str) -> tuple[str, str]:
    return base, head


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a digest, as text; a difference in it is a reason not to compare.

    ``of`` returns None where the digest does not tell; ``apart`` cuts two values down to what differs.
    """

    code: str
    what: str
    of: Callable[[Digest], str | None]
    apart: Callable[[str, str], tuple[str, str]] = _whole


def _active(digest: Digest) -> list[Device]:
    return [device for device in digest.devices if device.did_work]


def _gpu_model(digest: Digest) -> str | None:
    names = {device.name for device in _active(digest)}
    return None if not names or None in names else ", ".join(sorted(name for name in names if name))


def _device_count(digest: Digest) -> str | None:
    """Return the number of GPUs; None where processes may have had one each under one ordinal."""
    if any(warn.code == "device-ambiguous" for warn in digest.warnings):
        return None
    return str(len(_active(digest))) if _active(digest) else None


def _graph_mode(digest: Digest) -> str | None:
    """Return the mode that the trace names, or that its rows show."""
    if digest.capture.graph_trace_mode:
        return digest.capture.graph_trace_mode
    if any(device.count.get("graph") for device in digest.devices):
        return "graph"
    return "node" if digest.graph_node_kernel_count else None


def _nsys_version(digest: Digest) -> str | None:
    return (digest.capture.product_version or "").partition(".")[0] or None


def _traced(digest: Digest) -> str | None:
    rows = [process.rows for process in digest.capture.processes]
    kinds = {
        "GPU work": any(device.did_work for device in digest.devices),
        "CUDA API": any(counts.get("api") for counts in rows),
        "NVTX": any(counts.get("nvtx") for counts in rows),
    }
    return ", ".join(kind for kind, seen in kinds.items() if seen) or "nothing"


_NONE: Final = "none"


def _apart(base: str, head: str) -> tuple[str, str]:
    """Leave out of two lists what both have."""
    ours, theirs = base.split(", "), head.split(", ")
    return _only(ours, theirs), _only(theirs, ours)


def _only(names: list[str], others: list[str]) -> str:
    return ", ".join(name for name in names if name not in others and name != _NONE) or "none of these"


def _sections(digest: Digest) -> str:
    return ", ".join(sorted(name for name in digest.capture.sections if name in NEEDED_ALIKE)) or _NONE


def _names(digest: Digest) -> str:
    return "with serial numbers" if digest.capture.raw_nvtx_names else "without serial numbers"


def _folds(digest: Digest) -> str:
    return ", ".join(map(repr, digest.capture.folds)) or _NONE


def _kept_names(digest: Digest) -> str | None:
    """Return how many range names are kept apart: all, unless there were more than that."""
    if OTHER_NAMES not in digest.nvtx:
        return "all"
    limit = digest.capture.max_nvtx_names
    return None if limit is None else f"the first {limit:,}"


def _categories(digest: Digest) -> str | None:
    """Return which rules sorted the kernels, by what is in the file; those shipped where nothing was made of them."""
    capture = digest.capture
    if capture.max_nvtx_names is None:
        return None
    used = capture.steps is not None or NEED_CATEGORIES & set(capture.sections)
    if capture.categories is None or not used:
        return "those shipped"
    return f"a file with sha256 {capture.categories.sha256[:16]}"


def _steps(digest: Digest) -> str | None:
    capture = digest.capture
    if capture.max_nvtx_names is None:
        return None
    if not capture.steps:
        return _NONE
    apart = "" if capture.warmup in (None, 1) else f", the first {capture.warmup:,} set apart"
    return f"{capture.steps!r}{apart}"


def selection_words(digest: Digest) -> str:
    """Return what was looked at, in the words in which it was asked for."""
    capture = digest.capture
    words = [] if capture.window is None else [_SAID.sub("", capture.window.asked)]
    asked = SelectionOptions(
        devices=capture.devices or (), processes=capture.selected_processes or (), streams=capture.streams or ()
    )
    return "; ".join((*words, *asked.filter_words)) or WHOLE_TRACE_WORDS


_SAID: Final = re.compile(r"(?<=skip-warmup) \(from .*\)\Z", re.DOTALL)
"""What skip-warmup chose."""


def _failed_calls(digest: Digest) -> str | None:
    if digest.failed_calls is None:
        return None
    return ", ".join(sorted(f"{one.name} {one.error or one.value}" for one in digest.failed_calls)) or _NONE


_OPTIONS: Final = "window-or-filters"
FACTS: Final = (
    Fact("gpu-model", "GPU model", _gpu_model),
    Fact("device-count", "number of GPUs that did work", _device_count),
    Fact("graph-mode", "CUDA graph trace mode", _graph_mode),
    Fact("nsys-version", "major version of nsys", _nsys_version),
    Fact("trace-options", "events traced", _traced),
    Fact(_OPTIONS, "what is looked at", selection_words),
    Fact(_OPTIONS, "sections of the digest", _sections, _apart),
    Fact(_OPTIONS, "dispatch prefix", lambda digest: repr(digest.capture.dispatch_prefix)),
    Fact(_OPTIONS, "range names", _names),
    Fact(_OPTIONS, "folds of range names", _folds),
    Fact(_OPTIONS, "range names kept apart", _kept_names),
    Fact(_OPTIONS, "kernel categories", _categories),
    Fact(_OPTIONS, "what is a step", _steps),
    Fact("failed-calls", "CUDA API calls that returned an error", _failed_calls, _apart),
)
"""Every fact, in the order in which differences are told."""
