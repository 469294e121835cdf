"""A log of phases beside the NVTX ranges of a trace: what each says of the same time, and whether they agree."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from nsys_digest.errors import MissingData
from nsys_digest.model.base_types import NvtxRange
from nsys_digest.model.catalogue import Json, computed, figure, label, result
from nsys_digest.model.codec import encode
from nsys_digest.model.digest import Digest
from nsys_digest.units import to_seconds
from nsys_digest.workloads.errors import PhasesDisagree
from nsys_digest.workloads.phases.records import UNATTRIBUTED, PhaseLog

Verdict: TypeAlias = Literal["agrees", "differs", "no range", "not judged"]

STEP: Final = "opd_step"
DEFAULT_RATIO: Final = 0.02
DEFAULT_FLOOR_NS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Tolerance:
    """How far two times may lie apart: a share of the log's time, or ``floor_ns`` where that is more."""

    ratio: float = DEFAULT_RATIO
    floor_ns: int = DEFAULT_FLOOR_NS

    def allows(self, log_ns: int, trace_ns: int) -> bool:
        """Tell whether two times agree."""
        return abs(trace_ns - log_ns) <= max(self.ratio * abs(log_ns), self.floor_ns)


@result
class PhaseTimes:
    """A phase in both; what comes from ranges is None where the trace has none of that name.

    ``range_ns`` adds all its ranges. ``gpu_busy_ns`` and ``gpu_idle_ns`` are the parts of them in which a GPU was busy
    and, within the GPU span, in which none was; ``gpu_launched_ns`` is the work launched from within, whenever it ran.
    These are None where the trace has no GPU activity.
    """

    phase: str = label("name of the phase")
    log_ns: int = figure("s", "its time in the log", label="log")
    range_count: int | None = figure("count", "its ranges in the trace", label="count")
    range_ns: int | None = figure("s", "plain sum of its ranges", label="ranges")
    gpu_busy_ns: int | None = figure("s", "time within its ranges in which a GPU was busy", label="GPU busy")
    gpu_launched_ns: int | None = figure("s", "GPU busy time of the work launched from within", label="launched")
    gpu_idle_ns: int | None = figure("s", "time within its ranges in which no GPU was busy", label="GPU idle")
    verdict: Verdict = label("whether the two times agree")

    @property
    @computed("the trace's time less the log's", unit="s", label="difference", least=None, after="range_ns")
    def difference_ns(self) -> int | None:
        """The trace's time less the log's."""
        return None if self.range_ns is None else self.range_ns - self.log_ns

    @property
    @computed("difference over the log's time", unit="ratio", label="relative", least=None, after="difference_ns")
    def difference_ratio(self) -> float | None:
        """The difference over the log's time; None where that is nothing."""
        return None if self.difference_ns is None or not self.log_ns else self.difference_ns / self.log_ns

    def to_dict(self) -> Json:
        """Return the fields, times in seconds."""
        written: Json = encode(self)
        return written


@dataclass(frozen=True, slots=True)
class Comparison:
    """A log and a trace: the whole step, its phases by rank, and the names of ranges that the log does not have."""

    log: str
    trace: str
    phase_timing: str | None
    tolerance: Tolerance
    step: PhaseTimes
    phases: tuple[PhaseTimes, ...]
    other_ranges: tuple[str, ...]

    @property
    def judged(self) -> tuple[PhaseTimes, ...]:
        """The step and the phases, without the rest, whose error is the sum of all their errors."""
        return tuple(times for times in (self.step, *self.phases) if times.verdict != "not judged")

    @property
    def disagreeing(self) -> tuple[PhaseTimes, ...]:
        """The step and the phases that differ or have no range."""
        return tuple(times for times in self.judged if times.verdict != "agrees")

    @property
    def agrees(self) -> bool:
        """Whether the step and every phase agree."""
        return not self.disagreeing

    def require_agreement(self) -> None:
        """Pass when everything agrees.

        Raises:
            PhasesDisagree: something differs, or has no range; names the one with the largest difference.

        """
        if self.agrees:
            return
        worst = max(self.disagreeing, key=lambda times: (times.difference_ns is None, abs(times.difference_ns or 0)))
        what = (
            "no range of the trace has its name"
            if worst.difference_ns is None
            else f"the log has {to_seconds(worst.log_ns):.6f} s, the trace {to_seconds(worst.range_ns or 0):.6f} s"
        )
        raise PhasesDisagree(
            f"{self.log}: {len(self.disagreeing)} of {len(self.judged)} times do not agree with {self.trace}; "
            f"{worst.phase}: {what}; see the table for the others"
        )

    def to_dict(self) -> Json:
        """Return the document, times in seconds."""
        return {
            "log": self.log,
            "trace": self.trace,
            "phase_timing": self.phase_timing,
            "tolerance": {"ratio": self.tolerance.ratio, "floor_s": to_seconds(self.tolerance.floor_ns)},
            "agrees": self.agrees,
            "step": self.step.to_dict(),
            "phases": [times.to_dict() for times in self.phases],
            "other_ranges": list(self.other_ranges),
        }

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text."""
        return json.dumps(self.to_dict(), indent=None if compact else 2, ensure_ascii=False, allow_nan=False)


def compare_phases(log: PhaseLog, digest: Digest, *, name: str, tolerance: Tolerance | None = None) -> Comparison:
    """Set a log beside the digest of a trace that was made with section ``nvtx``; ``name`` is the log's own.

    What the log calls unattributed is, in the trace, the time of the step's ranges less that of the phases' ranges. It
    is shown and not judged: the differences of all phases add up in it, so it can be far off where each of them agrees.

    Raises:
        MissingData: the trace has no range of any of the log's phases.

    """
    tolerance = tolerance or Tolerance()
    names = [phase.phase for phase in log.phases if phase.phase != UNATTRIBUTED]
    found = {phase: digest.nvtx[phase] for phase in names if phase in digest.nvtx}
    if not found:
        raise MissingData(
            f"{digest.file}: no NVTX range has the name of a phase of {name}, such as {names[0] if names else STEP}; "
            "give the trace that was recorded with this log"
        )
    has_gpu = digest.gpu_activity_span_ns is not None
    step = digest.nvtx.get(STEP)
    rest_ns = None if step is None else step.sum_ns - sum(ranges.sum_ns for ranges in found.values())
    phases = [
        PhaseTimes(UNATTRIBUTED, phase.ns, None, rest_ns, None, None, None, "not judged")
        if phase.phase == UNATTRIBUTED
        else _times(phase.phase, phase.ns, found.get(phase.phase), tolerance, has_gpu)
        for phase in log.phases
    ]
    return Comparison(
        log=name,
        trace=digest.file,
        phase_timing=None if log.timing is None else log.timing.phase_timing,
        tolerance=tolerance,
        step=_times(STEP, log.total_ns, step, tolerance, has_gpu),
        phases=tuple(phases),
        other_ranges=tuple(sorted(digest.nvtx.keys() - found.keys() - {STEP})),
    )


def _verdict(log_ns: int, range_ns: int | None, tolerance: Tolerance) -> Verdict:
    if range_ns is None:
        return "no range"
    return "agrees" if tolerance.allows(log_ns, range_ns) else "differs"


def _times(phase: str, log_ns: int, ranges: NvtxRange | None, tolerance: Tolerance, has_gpu: bool) -> PhaseTimes:
    if ranges is None:
        return PhaseTimes(phase, log_ns, None, None, None, None, None, "no range")
    detail = ranges.detail if has_gpu else None
    return PhaseTimes(
        phase=phase,
        log_ns=log_ns,
        range_count=ranges.count,
        range_ns=ranges.sum_ns,
        gpu_busy_ns=ranges.gpu_overlap_ns if has_gpu else None,
        gpu_launched_ns=None if detail is None else detail.launched_busy_ns,
        gpu_idle_ns=None if detail is None else detail.gpu_idle_ns,
        verdict=_verdict(log_ns, ranges.sum_ns, tolerance),
    )
