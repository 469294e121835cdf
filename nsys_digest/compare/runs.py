"""A side of a comparison: the digests of one or more runs of the same thing."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.errors import UsageInvalid
from nsys_digest.model.digest import Digest


@dataclass(frozen=True, slots=True)
class Run:
    """One trace or one stored digest; ``source`` is what the user called it."""

    source: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class RunSet:
    """The repeats of one side, in the order given; at least one."""

    runs: tuple[Run, ...]

    def __repr__(self) -> str:
        """Return what the runs are called."""
        return f"<RunSet {[run.source for run in self.runs]!r}>"

    def __post_init__(self) -> None:
        if not self.runs:
            raise UsageInvalid("a side of a comparison has no run; give at least one trace or digest")

    @property
    def digests(self) -> tuple[Digest, ...]:
        """The digests of the runs."""
        return tuple(run.digest for run in self.runs)


def typical(side: RunSet) -> int:
    """Return the position of the run whose GPU span is the median of its side: the lower of two, the first of equals.

    One real run stands for its side, and not the median of each figure, so that its figures still add up. Where a span
    is unknown it is the first run.
    """
    spans = [digest.gpu_activity_span_ns for digest in side.digests]
    known = [span for span in spans if span is not None]
    if len(known) < len(spans):
        return 0
    return spans.index(sorted(known)[(len(known) - 1) // 2])
