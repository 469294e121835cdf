"""Two sets of segments on one line, of which the innermost interval decides, whichever set it is of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.algorithms.nesting import Segments

_EVER = np.iinfo(np.int64)


class Owners(NamedTuple):
    """The intervals that own segments: two int64 arrays, which the owners of the segments are indices into."""

    start_ns: Int64s
    end_ns: Int64s


def overlaid(many: Segments, of_many: Owners, few: Segments, of_few: Owners) -> tuple[Segments, Segments]:
    """Return what is left of each set where the innermost of both decides: the one that began last, then ends first.

    Each set has its own innermost intervals; of equal ones that of ``few`` decides. The cost beside one copy is that
    of ``few`` and of what it touches.
    """
    segment, one, begin_ns, until_ns = _overlaps(many, few.start_ns, few.end_ns)
    ours, theirs = many.owner[segment], few.owner[one]
    later = of_many.start_ns[ours] > of_few.start_ns[theirs]
    tied = of_many.start_ns[ours] == of_few.start_ns[theirs]
    keeps = later | (tied & (of_many.end_ns[ours] < of_few.end_ns[theirs]))
    few = cut(few, begin_ns[keeps], until_ns[keeps])
    touched = np.unique(segment[~keeps])
    if not touched.size:
        return many, few
    rest = np.ones(many.start_ns.size, bool)
    rest[touched] = False
    pieces = cut(Segments(*(column[touched] for column in many)), few.start_ns, few.end_ns)
    joined = [np.concatenate((column[rest], piece)) for column, piece in zip(many, pieces, strict=True)]
    order = np.argsort(joined[0], kind="stable")
    return Segments(*(column[order] for column in joined)), few


def cut(segments: Segments, hole_start_ns: Int64s, hole_end_ns: Int64s) -> Segments:
    """Return what of the segments lies outside of holes, which are in order and disjoint."""
    outside_start_ns = np.concatenate(([_EVER.min], hole_end_ns))
    outside_end_ns = np.concatenate((hole_start_ns, [_EVER.max]))
    outside = Segments(outside_start_ns, outside_end_ns, np.arange(outside_start_ns.size))
    _, segment, begin_ns, until_ns = _overlaps(outside, segments.start_ns, segments.end_ns)
    return Segments(begin_ns, until_ns, segments.owner[segment])


def _overlaps(segments: Segments, start_ns: Int64s, end_ns: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Return every (segment, interval, from, to) in which the two have time in common; intervals are in order."""
    first = np.searchsorted(segments.end_ns, start_ns, side="right")
    behind = np.searchsorted(segments.start_ns, end_ns, side="left")
    counts = np.maximum(behind - first, 0)
    one = np.repeat(np.arange(counts.size), counts)
    segment = np.arange(one.size) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    begin_ns = np.maximum(segments.start_ns[segment], start_ns[one])
    until_ns = np.minimum(segments.end_ns[segment], end_ns[one])
    real = until_ns > begin_ns
    return segment[real], one[real], begin_ns[real], until_ns[real]
