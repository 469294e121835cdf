"""The tables of a comparison: every part of two digests side by side, with names that were only renamed matched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from nsys_digest.compare.named import PARTS, Named, api, device_labels, kernels
from nsys_digest.compare.renames import Names, renamed_calls, renamed_kernels
from nsys_digest.compare.tables import NO_NAMES, Figures, Pair, Table, table
from nsys_digest.model.digest import Digest
from nsys_digest.model.kernel_categories import OTHER, KernelCategories

TABLES: Final = tuple(PARTS)
"""The tables of a comparison, in the order of the document."""
TAILS: Final = ("api_durations", "kernel_durations", "nvtx_tails", "dispatch_tails")
_CAPPED: Final = {
    "nvtx": "names-capped",
    "nvtx_tails": "names-capped",
    "dispatch_steps": "dispatch-capped",
    "dispatch_tails": "dispatch-capped",
}
"""The warning that says that a table lacks rows."""
_ADDS_UP: Final = frozenset({"idle", "idle_host", "api", "kernels", "categories", "memory", "communication_kinds"})
_NAMES_OF: Final = {"kernel_durations": "kernels", "api_durations": "api", "launch": "api"}
"""The table whose renamed names another one shares."""


def tables(base: Digest, head: Digest, kernel_categories: Callable[[], KernelCategories]) -> dict[str, Table | None]:
    """Return every table; None where a side lacks the section. ``kernel_categories`` tell names apart, if need be."""
    labels = device_labels(base, head)
    names = {"kernels": _kernel_names(base, head, kernel_categories), "api": _api_names(base, head)}
    found: dict[str, Table | None] = {}
    for name, (by, part) in PARTS.items():
        ours, theirs = (part(digest, of) for digest, of in zip((base, head), labels, strict=True))
        if ours is None or theirs is None:
            found[name] = None
            continue
        renames = names.get(name) or _present(names.get(_NAMES_OF.get(name, ""), NO_NAMES), ours, theirs)
        whole = _complete(name, base, head)
        found[name] = table(ours, theirs, by, adds_up=name in _ADDS_UP, complete=whole, names=renames)
    return found


def _complete(name: str, base: Digest, head: Digest) -> bool:
    if name in _CAPPED:
        return not any(warn.code == _CAPPED[name] for digest in (base, head) for warn in digest.warnings)
    if name == "kernels":
        return all(
            digest.kernel_durations is not None
            or sum(total.count for _, total in digest.top_kernels) == digest.kernel_count
            for digest in (base, head)
        )
    return True


def _kernel_names(base: Digest, head: Digest, kernel_categories: Callable[[], KernelCategories]) -> Names:
    known: list[KernelCategories] = []

    def category(name: str) -> str:
        if not known:
            known.append(kernel_categories())
        pattern = known[0].classify(name)
        return pattern.category if pattern else OTHER

    if not _complete("kernels", base, head):
        return NO_NAMES
    return renamed_kernels(*_counts_apart(kernels(base, ()), kernels(head, ())), category)


def _api_names(base: Digest, head: Digest) -> Names:
    return renamed_calls(*_counts_apart(api(base, ()), api(head, ())))


def _counts_apart(base: Named, head: Named) -> tuple[dict[str, int], dict[str, int]]:
    """Return the counts of the names that only BASE has, and of those that only HEAD has."""
    return (
        {name: int(figures["count"] or 0) for name, figures in base.items() if name not in head},
        {name: int(figures["count"] or 0) for name, figures in head.items() if name not in base},
    )


def _present(names: Names, base: Named, head: Named) -> Names:
    """Return the matches whose names a table has: not every call is a launch."""
    return Names(tuple(pair for pair in names.renamed if pair.base in base and pair.head in head), ())


def pairs(base: Figures, head: Figures) -> dict[str, Pair]:
    """Put the figures of two whole digests side by side."""
    return {name: Pair(value, head[name]) for name, value in base.items()}
