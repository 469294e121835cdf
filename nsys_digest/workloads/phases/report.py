"""The report of a log beside a trace."""

from __future__ import annotations

from nsys_digest.report.blocks import Block, Column, Report, more, numbers
from nsys_digest.units import duration
from nsys_digest.workloads.phases.comparison import Comparison, PhaseTimes

_COLUMNS = (
    *numbers("log", "ranges", "difference", "relative", "count", "GPU busy", "launched", "GPU idle"),
    Column("verdict", "name"),
    Column("phase", "name"),
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
        Block("Phases, as the log ranks them", _COLUMNS, tuple(map(_row, (comparison.step, *comparison.phases)))),
        Block(
            "Ranges of the trace that the log does not name",
            (Column("name", "name"),),
            tuple((name,) for name in others[:top]),
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


def _row(times: PhaseTimes) -> tuple[str, ...]:
    ratio = times.difference_ratio
    return (
        duration(times.log_ns),
        duration(times.range_ns),
        duration(times.difference_ns),
        "-" if ratio is None else f"{100 * ratio:+.2f} %",
        "-" if times.range_count is None else f"{times.range_count:,}",
        duration(times.gpu_busy_ns),
        duration(times.gpu_launched_ns),
        duration(times.gpu_idle_ns),
        times.verdict,
        times.phase,
    )
