"""Steady state: every instance of one range as a step."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.intervals import Coverage, Int64s, Intervals
from nsys_digest.model.section_types import CAUSES, RatioPercentiles, Step, Steps
from nsys_digest.sections.durations import sorted_percentile, tails
from nsys_digest.sections.idle import DeviceGaps, causes_of
from nsys_digest.trace.link import Events

SLOWEST = 5


def steps(
    events: Events,
    name: str,
    names: list[str],
    busy: Intervals,
    exposed: Intervals | None,
    gaps: list[DeviceGaps],
) -> Steps:
    """Measure the instances of a range, in order of start; ``names`` are by group, ``gaps`` by device.

    The first instance warms up and is given apart: percentiles are over the others. Without GPU activity in the trace
    nothing is known of busy and idle time.
    """
    ranges = events.ranges
    wanted = np.array([text == name for text in names], bool)
    chosen = np.flatnonzero(wanted[ranges.group]) if ranges.group.size else np.zeros(0, np.int64)
    chosen = chosen[np.lexsort((ranges.end_ns[chosen], ranges.start_ns[chosen]))]
    start_ns, end_ns = ranges.start_ns[chosen], ranges.end_ns[chosen]
    wall_ns = end_ns - start_ns
    busy_ns = Coverage(busy).within(start_ns, end_ns)
    known = bool(busy.start_ns.size)
    exposed_ns = None if exposed is None or not known else Coverage(exposed).within(start_ns, end_ns)
    timed = np.flatnonzero(wall_ns[1:] > 0) + 1 if known else np.zeros(0, np.int64)
    ratio = np.sort(busy_ns[timed] / wall_ns[timed])

    def step(index: int) -> Step:
        low, high = int(start_ns[index]), int(end_ns[index])
        return Step(
            start_ns=low,
            wall_ns=high - low,
            gpu_busy_ns=int(busy_ns[index]) if known else None,
            gpu_idle_ns=int(wall_ns[index] - busy_ns[index]) if known else None,
            exposed_communication_ns=None if exposed_ns is None else int(exposed_ns[index]),
            busy_ratio=float(busy_ns[index] / wall_ns[index]) if known and wall_ns[index] else None,
            idle_causes_ns=_causes(events, gaps, low, high),
        )

    rest: Int64s = np.arange(1, chosen.size)
    slowest = rest[np.lexsort((rest, -wall_ns[1:]))][:SLOWEST]
    return Steps(
        name=name,
        count=chosen.size,
        wall=tails(wall_ns[1:]),
        busy_ratio=RatioPercentiles(sorted_percentile(ratio, 50), sorted_percentile(ratio, 0)),
        idle=tails((wall_ns - busy_ns)[1:]) if known else None,
        exposed_communication=None if exposed_ns is None else tails(exposed_ns[1:]),
        first=step(0) if chosen.size else None,
        slowest=tuple(step(index) for index in slowest.tolist()),
    )


def _causes(events: Events, gaps: list[DeviceGaps], low_ns: int, high_ns: int) -> dict[str, int]:
    """Return why the devices were idle within a window: the causes of their gaps, clipped to it, over all devices."""
    total = np.zeros(len(CAUSES), np.int64)
    for found in gaps:
        inside = slice(
            int(np.searchsorted(found.end_ns, low_ns, side="right")),
            int(np.searchsorted(found.start_ns, high_ns, side="left")),
        )
        clipped = DeviceGaps(
            np.maximum(found.start_ns[inside], low_ns),
            np.minimum(found.end_ns[inside], high_ns),
            found.ended_by[inside],
        )
        total += causes_of(events, clipped).sum(axis=1)
    return {name: ns for name, ns in zip(CAUSES, total.tolist(), strict=True) if ns}
