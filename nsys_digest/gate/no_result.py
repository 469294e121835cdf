"""A check that came to no result: the documents of a check still say so, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsys_digest import __version__
from nsys_digest.errors import DigestError
from nsys_digest.gate.policy import Policy
from nsys_digest.gate.verdict import CheckResult, NoiseReport, StoppedBy
from nsys_digest.model.catalogue import Json
from nsys_digest.model.codec import json_text


@dataclass(frozen=True, slots=True)
class NoResult:
    """What there is to say: a result without outcomes, and the error that stood against more, ``code`` and all."""

    result: CheckResult
    code: str
    message: str

    def to_dict(self) -> Json:
        """Return the JSON document of a check, with the error."""
        return replace(self.result, stopped_by=StoppedBy(self.code, self.message)).to_dict()

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text: indented by two, or on one line."""
        return json_text(self.to_dict(), compact=compact)


def no_result(error: DigestError, head: Sequence[str], base: Sequence[str], policy: Policy) -> NoResult:
    """Return what a check says that an error ended; ``head`` and ``base`` are the runs as they were given."""
    noise = NoiseReport(
        known=False,
        confidence=policy.noise.confidence,
        min_effect=policy.noise.min_effect,
        base_runs=len(base),
        head_runs=len(head),
        repeats_needed=None,
        tested=0,
        text="no changes were compared",
    )
    result = CheckResult(
        verdict="missing",
        head=tuple(head),
        base=tuple(base),
        policy=policy.source,
        outcomes=(),
        noise=noise,
        allowed_mismatches=(),
        unknown_mismatches=(),
        notes=(),
        tool_version=__version__,
    )
    return NoResult(result, error.code, str(error))
