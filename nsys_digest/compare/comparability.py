"""Whether two sides may be compared: facts of the captures that change figures without any change of the program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from nsys_digest.compare.capture_facts import FACTS, Fact, selection_words
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import CapturesMismatch, UsageInvalid
from nsys_digest.model.catalogue import label, part, result
from nsys_digest.model.cuda_calls import GRAPH_LAUNCH_CALLS, call_name
from nsys_digest.model.digest import Digest
from nsys_digest.model.selection_options import WHOLE_TRACE, SelectionOptions

MISMATCH_CODES: Final[Mapping[str, str]] = {
    "gpu-model": "the GPUs that did work are of other models",
    "device-count": "another number of GPUs did work",
    "graph-mode": "CUDA graphs were traced as a whole on one side, and node by node on the other",
    "nsys-version": "the traces are of different major versions of nsys",
    "trace-options": "GPU work, CUDA API calls or NVTX were traced on one side only",
    "window-or-filters": "the digests look at other parts of their traces, or were made with other options: sections, "
    "names, kernel categories or steps",
    "failed-calls": "other CUDA API calls returned an error",
    "truncated": "a capture is incomplete: events are missing",
}
"""Every reason not to compare, and what it means in one line."""

_CODE: Final = f"^({'|'.join(MISMATCH_CODES)})$"

INCOMPLETE: Final = frozenset({"truncated-capture", "graph-work-missing", "gpu-rows-missing", "process-without-gpu"})
"""Warnings of a digest that say that events are missing from its trace."""


@result
class Difference:
    """A reason not to compare; ``base`` and ``head`` are what each side has.

    Where repeats of one side differ among themselves, they are what its first run has and what another one has.
    """

    code: str = label("the reason", pattern=_CODE)
    message: str = label("the reason in one line for people")
    base: str = label("what BASE has")
    head: str = label("what HEAD has")


@result
class Unknown:
    """A fact that a digest does not tell, so that this reason could not be ruled out."""

    code: str = label("the reason", pattern=_CODE)
    message: str = label("the reason in one line for people")


@result
class Comparability:
    """What was found: the differences that were allowed, and the reasons that could not be ruled out."""

    allowed: tuple[Difference, ...] = part("reasons not to compare that were allowed")
    unknown: tuple[Unknown, ...] = part("reasons that the digests cannot rule out")


def mismatches(base: RunSet, head: RunSet) -> tuple[Difference, ...]:
    """Return every reason not to compare the sides, in the order of ``MISMATCH_CODES``; a fact not known is none."""
    found: list[Difference] = []
    for fact in FACTS:
        found += _among(fact, base, "BASE")
        found += _among(fact, head, "HEAD")
        first, second = _known(fact, base), _known(fact, head)
        if first is not None and second is not None and first[1] != second[1]:
            own, other = fact.apart(first[1], second[1])
            message = f"{fact.what}: {own} in BASE ({first[0].source}), {other} in HEAD ({second[0].source})"
            found.append(Difference(fact.code, message, own, other))
    found += _incomplete(base, head)
    return tuple(found)


def repeat_mismatches(side: RunSet, name: str) -> tuple[Difference, ...]:
    """Return every reason why the repeats of one side are no repeats; ``name`` is what messages call the side."""
    return tuple(found for fact in FACTS for found in _among(fact, side, name))


def unknown_facts(base: RunSet, head: RunSet) -> tuple[Unknown, ...]:
    """Return the reasons that cannot be ruled out because a digest does not tell the fact."""
    runs = (*base.runs, *head.runs)
    silent: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for fact in FACTS:
        sources = tuple(dict.fromkeys(run.source for run in runs if fact.of(run.digest) is None))
        if fact.code == "graph-mode" and not any(_launches_graphs(run.digest) for run in runs):
            continue
        if fact.code == "failed-calls" and all(fact.of(run.digest) is None for run in runs):
            continue  # documents from before it was told, all of them
        if sources:
            silent.setdefault((fact.code, sources), []).append(fact.what)
    return tuple(
        Unknown(code, f"{', '.join(whats)}: unknown for {', '.join(sources)}")
        for (code, sources), whats in silent.items()
    )


def not_as_asked(side: RunSet, name: str, asked: SelectionOptions) -> Iterator[Difference]:
    """Yield a difference for each run that looks at something else than is asked for, where anything is."""
    for run in side.runs:
        own = selection_words(run.digest)
        if not asked.is_whole and own != asked.words:
            message = f"what is looked at: {own} in {name} ({run.source}), and {asked.words} is asked for"
            yield Difference(
                "window-or-filters", message, *((own, asked.words) if name == "BASE" else (asked.words, own))
            )


def comparability(
    base: RunSet, head: RunSet, allow: Iterable[str] = (), asked: SelectionOptions = WHOLE_TRACE
) -> Comparability:
    """Return what was found, once nothing but the reasons in ``allow`` stands against comparing.

    ``asked`` is what both sides are to look at; the whole trace is nothing to ask for.

    Raises:
        UsageInvalid: ``allow`` has a reason that does not exist.
        CapturesMismatch: there is another reason not to compare.

    """
    allowed = check_reasons(allow)
    found = mismatches(base, head)
    found += (*not_as_asked(base, "BASE", asked), *not_as_asked(head, "HEAD", asked))
    refused = [difference for difference in found if difference.code not in allowed]
    if refused:
        reasons = ",".join(dict.fromkeys(difference.code for difference in found))
        said = "; ".join(f"{difference.message} ({difference.code})" for difference in refused)
        raise CapturesMismatch(f"the captures are not alike: {said}; compare anyway with --allow-mismatch {reasons}")
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


def _known(fact: Fact, side: RunSet) -> tuple[Run, str] | None:
    """Return the first run of a side that tells the fact, with what it tells."""
    for run in side.runs:
        value = fact.of(run.digest)
        if value is not None:
            return run, value
    return None


def _among(fact: Fact, side: RunSet, name: str) -> Iterator[Difference]:
    """Yield one difference for each value that repeats of a side have besides that of the first one."""
    first = _known(fact, side)
    if first is None:
        return
    seen = {first[1]}
    for run in side.runs:
        value = fact.of(run.digest)
        if value is not None and value not in seen:
            seen.add(value)
            own, other = fact.apart(first[1], value)
            message = f"{fact.what} within {name}: {own} ({first[0].source}), {other} ({run.source})"
            yield Difference(fact.code, message, own, other)


def _incomplete(base: RunSet, head: RunSet) -> Iterator[Difference]:
    codes = tuple(sorted({code for run in side.runs for code in _incomplete_codes(run)}) for side in (base, head))
    texts = tuple(", ".join(found) or "complete" for found in codes)
    for name, side in (("BASE", base), ("HEAD", head)):
        for run in side.runs:
            if found := _incomplete_codes(run):
                message = f"incomplete capture in {name} ({run.source}): its digest says {', '.join(found)}"
                yield Difference("truncated", message, *texts)


def _incomplete_codes(run: Run) -> list[str]:
    """Return the warnings that tell of missing events; of a digest that has none, that its capture is incomplete."""
    codes = sorted({warn.code for warn in run.digest.warnings} & INCOMPLETE)
    return codes or (["capture.incomplete"] if run.digest.capture.incomplete else [])


def _launches_graphs(digest: Digest) -> bool:
    return any(call_name(name) in GRAPH_LAUNCH_CALLS for name in digest.api)
