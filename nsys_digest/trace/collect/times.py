"""The time stamps of a batch."""

from __future__ import annotations

from typing import Final

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.nsys.tables import OPEN

STAMP_END: Final = 2**62
"""Stamps are less than this from 0, 146 years in nanoseconds, so that no difference of two leaves int64."""


def last_time(start_ns: Int64s, end_ns: Int64s, *, may_be_open: bool = False) -> int:
    """Return the largest start or end; ``OPEN`` where there is none.

    Raises:
        OverflowError: a stamp is too far from 0; an end that may be open may also be ``OPEN``.

    """
    last_ns = max(int(start_ns.max(initial=OPEN)), int(end_ns.max(initial=OPEN)))
    early = int(start_ns.min(initial=0)) <= -STAMP_END
    if int(end_ns.min(initial=0)) <= -STAMP_END:
        far = end_ns <= -STAMP_END
        early |= not may_be_open or bool(np.any(far & (end_ns != OPEN)))
    if early or last_ns >= STAMP_END:
        raise OverflowError("have a time stamp more than 146 years from the start of the trace, which is damaged")
    return last_ns
