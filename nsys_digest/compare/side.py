"""A side of a comparison: the digests of one or more runs of the same thing."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.errors import UsageInvalid
from nsys_digest.model import Digest


@dataclass(frozen=True, slots=True)
class Run:
    """One trace or one stored digest; ``source`` is what the user called it."""

    source: str
    digest: Digest


@dataclass(frozen=True, slots=True)
class Side:
    """The repeats of one side, in the order given; at least one."""

    runs: tuple[Run, ...]

    def __post_init__(self) -> None:
        if not self.runs:
            raise UsageInvalid("a side of a comparison has no run; give at least one trace or digest")

    @property
    def digests(self) -> tuple[Digest, ...]:
        """The digests of the runs."""
        return tuple(run.digest for run in self.runs)
