"""What a stored digest can still give of what a digest is asked for, and what only its trace can."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from nsys_digest.errors import UsageInvalid
from nsys_digest.model.digest import SECTIONS, Digest

_HOW: Final = frozenset(
    {"threads", "reader", "progress", "when_read", "labels", "max_unpacked", "nsys", "keep_export", "tell"}
)
"""Options that say how a trace is read, and labels, which any document can take."""
_SPELLING: Final[Mapping[str, str]] = {"max_nvtx_names": "max-names", "folds": "fold"}
"""Options that the command line spells otherwise."""


def as_asked(
    digest: Digest,
    name: str,
    given: Mapping[str, Any],
    *,
    sections: Collection[str],
    labels: Mapping[str, str],
) -> Digest:
    """Return a stored digest with fewer kernels or sections, or more labels, as the options that were given say.

    An option that says what the document has anyway is granted. ``name`` is that of the document, for messages;
    ``sections`` are those that are asked for.

    Raises:
        UsageInvalid: an option needs the trace.

    """
    needed = [option for option in given if option not in _HOW and not _granted(digest, option, given[option])]
    if needed:
        options = " and ".join(f"--{_SPELLING.get(option, option).replace('_', '-')}" for option in needed)
        raise UsageInvalid(
            f"{name}: this is a stored digest, and only the trace can answer {options}{_there(digest, needed)}; give "
            f"the trace{_of(digest)}, or leave that out"
        )
    asked: dict[str, Any] = {}
    if "top" in given:
        asked["top_kernels"] = digest.top_kernels[: given["top"]]
    if given.get("sections") is not None:
        asked |= _without(digest, sections)
    if asked:
        asked["findings"] = None  # they are of what is there
    if labels:
        asked["run"] = replace(digest.run, labels={**digest.run.labels, **labels})
    return replace(digest, **asked) if asked else digest


def _granted(digest: Digest, option: str, value: Any) -> bool:
    """Tell whether the document has what an option asks for."""
    capture = digest.capture
    if option == "top":
        return value <= len(digest.top_kernels) or _lists_every_kernel(digest)
    if option == "sections":
        return set(SECTIONS if value is None else value) <= set(capture.sections)
    if option == "by_device":
        return not value or option in capture.sections
    if option == "folds":
        return tuple(value or ()) == capture.folds
    if option in {"dispatch_prefix", "raw_nvtx_names", "max_nvtx_names", "steps", "warmup"}:
        return bool(getattr(capture, option) == value)
    return value is None


def _lists_every_kernel(digest: Digest) -> bool:
    return sum(total.count for _, total in digest.top_kernels) == digest.kernel_count


def _there(digest: Digest, needed: Collection[str]) -> str:
    """Say what is there of what was asked for too much of."""
    told = []
    if "top" in needed:
        told.append(f"{len(digest.top_kernels)} kernels")
    if "sections" in needed:
        told.append(f"the sections {', '.join(digest.capture.sections) or 'base'}")
    return f" (it has {' and '.join(told)})" if told else ""


def _of(digest: Digest) -> str:
    return f" ({digest.path or digest.file})"


def _without(digest: Digest, sections: Collection[str]) -> dict[str, Any]:
    """Return what becomes of the fields of sections that are not asked for."""
    dropped = set(digest.capture.sections) - set(sections)
    fields: dict[str, Any] = dict.fromkeys(dropped - {"nvtx"})
    if "nvtx" in dropped:
        fields["nvtx"] = {name: replace(one, detail=None) for name, one in digest.nvtx.items()}
    if not sections:
        fields["step_candidates"] = None
    kept = tuple(name for name in digest.capture.sections if name not in dropped)
    return fields | {"capture": replace(digest.capture, sections=kept)}
