"""The report of a log beside a trace."""

from __future__ import annotations

from nsys_digest.report.blocks import NAME, Block, Column, Report, more, named
from nsys_digest.report.figure_columns import of, table, told
from nsys_digest.units import MISSING, duration
from nsys_digest.workloads.phases.comparison import Comparison, PhaseTimes

_RELATIVE = of(PhaseTimes, "difference_ratio")
_COLUMNS = (
    of(PhaseTimes, "log_ns"),
    of(PhaseTimes, "range_ns"),
    of(PhaseTimes, "difference_ns"),
    told(_RELATIVE.head, lambda row: _signed(_RELATIVE.value(row))),
    of(PhaseTimes, "range_count"),
    of(PhaseTimes, "gpu_busy_ns"),
    of(PhaseTimes, "gpu_launched_ns"),
    of(PhaseTimes, "gpu_idle_ns"),
    of(PhaseTimes, "verdict"),
    told(Column("phase", "name"), lambda row: named(row[0].phase)),
)
_TIMING = {
    "events": "the log timed its phases with events: its times are those of the stream, the ranges those of the host",
    "none": "the log did not wait at the end of a phase: its times are those of the host, as the ranges are",
}

_IDLE = "GPU busy and idle are within the GPU span: before its first and after its last work a GPU is neither"


def phases_report(comparison: Comparison, top: int) -> Report:
    """Arrange a comparison; of the other ranges, ``top`` names are listed."""
    tolerance = comparison.tolerance
    others = comparison.other_ranges
    blocks = (
        table("Phases, as the log ranks them", _COLUMNS, ((times,) for times in (comparison.step, *comparison.phases))),
        Block(
            "Ranges of the trace that the log does not name",
            (NAME,),
            tuple((named(name),) for name in others[:top]),
            more(len(others) - top),
        ),
    )
    return Report(
        title=f"{comparison.log} and {comparison.trace}",
        facts=(
            ("verdict", verdict(comparison)),
            ("tolerance", f"{100 * tolerance.ratio:g} % of the log's time, or {duration(tolerance.floor_ns)} if more"),
        ),
        bars=(),
        blocks=tuple(block for block in blocks if block.rows),
        warnings=(),
        notes="; ".join(filter(None, (_TIMING.get(comparison.phase_timing or ""), _IDLE))),
    )


def verdict(comparison: Comparison) -> str:
    """Say whether a log and a trace agree, and how many of their times do."""
    count = len(comparison.judged)
    agreeing = count - len(comparison.disagreeing)
    return f"{'agree' if comparison.agrees else 'do not agree'}: {agreeing} of {count} times"


def _signed(ratio: float | None) -> str:
    return MISSING if ratio is None else f"{100 * ratio:+.2f} %"
