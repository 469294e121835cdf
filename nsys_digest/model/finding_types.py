"""Findings: what would gain most, how much is at stake at most, and what to do about it."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from nsys_digest.model.catalogue import figure, label, part, result

Severity: TypeAlias = Literal["high", "medium", "low"]
SEVERITIES: Final[tuple[Severity, ...]] = ("high", "medium", "low")
"""Worst first."""


@result
class Evidence:
    """One figure of the digest that a finding rests on: its path, and its value as the document has it."""

    figure: str = label("path of the figure, as a policy writes it")
    value: float = label("its value, in the unit of the document")


@result
class Finding:
    """One thing to look at.

    ``at_stake_ns`` is an upper bound worked out from the trace, never a promise: the time that would be gained if the
    cause were gone altogether. Those of several findings overlap and must not be added. It is None where the finding
    is about what the trace can say and not about time.
    """

    code: str = label("which one; docs/findings.md has all", pattern="^[a-z]+(-[a-z]+)*$")
    severity: Severity = label("by how much of the span is at stake; low where no time is")
    at_stake_ns: int | None = figure(
        "s",
        "what is at stake at most, worked out from the trace; null where it is not about time",
        bad="up",
        label="at stake",
    )
    share_of_span: float | None = figure("ratio", "that over the GPU span", bad="up", label="share of the span", most=1)
    message: str = label("what was found, in one line for people; its wording may change")
    advice: str = label("what to do about it, in one sentence")
    evidence: tuple[Evidence, ...] = part("the figures that it rests on")
    docs: str = label("its place in the documentation")
