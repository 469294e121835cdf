"""How far the processes lie apart in their steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from nsys_digest.model.section_types import Durations
from nsys_digest.model.step_types import ProcessSteps, RatioSpread, StepSpread, TimeSpread
from nsys_digest.sections.durations import rank

_Number = TypeVar("_Number", int, float)
_Ends: TypeAlias = tuple[_Number, _Number, _Number, int | None, int | None]


def spread(processes: Sequence[ProcessSteps]) -> StepSpread | None:
    """Return the spread of the medians; None where fewer than two processes have steps to measure."""
    if sum(one.wall.count > 0 for one in processes) < 2:
        return None
    return StepSpread(
        wall=_of_times(processes, lambda one: one.wall),
        busy_ratio=_of_ratios(processes),
        launched_busy=_of_times(processes, lambda one: one.launched_busy),
        exposed_communication=_of_times(processes, lambda one: one.exposed_communication),
        idle=_of_times(processes, lambda one: one.idle),
    )


def _of_times(processes: Sequence[ProcessSteps], of: Callable[[ProcessSteps], Durations | None]) -> TimeSpread | None:
    found = [(own.p50_ns, one.process) for one in processes if (own := of(one)) is not None and own.p50_ns is not None]
    ends = _ends(found)
    return None if ends is None else TimeSpread(*ends)


def _of_ratios(processes: Sequence[ProcessSteps]) -> RatioSpread | None:
    ends = _ends([(one.busy_ratio.p50, one.process) for one in processes if one.busy_ratio.p50 is not None])
    return None if ends is None else RatioSpread(*ends)


def _ends(found: Sequence[tuple[_Number, int | None]]) -> _Ends[_Number] | None:
    """Return the least, the median and the largest, and whose the first and the last are; processes are in order."""
    if len(found) < 2:
        return None
    values = sorted(value for value, _ in found)
    least, most = values[0], values[-1]
    at = dict(reversed(found))  # of equal ones the first stays
    return least, values[rank(50, len(values))], most, at[least], at[most]
