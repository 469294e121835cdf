"""Many lines of time in one array, as the threads of a trace are: one sweep or search serves all of them.

Values of line ``l`` are at ``edges[l]:edges[l + 1]``. To look at several lines at once, each is moved to a stretch of
one number line that is as wide as all times; the cost is that of the rows, however many lines share them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from nsys_digest.algorithms.intervals import Int64s

_ROWS = 1 << 18
_KEY_LIMIT = 2**62


class Lines(NamedTuple):
    """Lines ``low … high - 1`` on one number line; times lie in ``[origin, origin + width)``."""

    low: int
    high: int
    origin_ns: int
    width_ns: int

    def put(self, time_ns: Int64s, line: Int64s) -> Int64s:
        """Return the place of each time, of the line at the same position; of a single line the times themselves."""
        if self.high - self.low == 1:
            return time_ns
        places: Int64s = (line - self.low) * np.int64(self.width_ns)
        places += time_ns
        places -= self.origin_ns
        return places

    def time_of(self, place: Int64s, line: Int64s) -> Int64s:
        """Undo :meth:`put`."""
        return place if self.high - self.low == 1 else place - (line - self.low) * self.width_ns + self.origin_ns


def batches(edges: Int64s, first_ns: int, last_ns: int) -> Iterator[Lines]:
    """Cut lines into batches of a quarter of a million rows at most, or of one line that has more; none is empty.

    All times of the lines, ends included, lie in ``[first, last]``.
    """
    width_ns = last_ns - first_ns + 2
    most = max(_KEY_LIMIT // width_ns, 1)
    low, count = 0, edges.size - 1
    while low < count:
        low = int(np.searchsorted(edges, edges[low], side="right")) - 1
        if low >= count:
            return
        high = int(np.searchsorted(edges, edges[low] + _ROWS, side="right")) - 1
        high = min(max(high, low + 1), low + most)
        yield Lines(low, high, first_ns, width_ns)
        low = high


def by_line(time_ns: Int64s, line: npt.NDArray[np.signedinteger]) -> Int64s:
    """Return the order by line, then by time; values that are nearly in order of time take little time."""
    small = line.astype(np.uint16) if line.max(initial=0) < 1 << 16 else line
    if np.all(time_ns[1:] >= time_ns[:-1]):
        return np.argsort(small, kind="stable")
    by_time = np.argsort(time_ns, kind="stable")
    return by_time[np.argsort(small[by_time], kind="stable")]


def lines_of(edges: Int64s, low: int, high: int) -> Int64s:
    """Return the line of each value of lines ``low … high - 1``."""
    return np.repeat(np.arange(low, high), np.diff(edges[low : high + 1]))


def positions(
    values: Int64s, edges: Int64s, line: Int64s, wanted: Int64s, side: Literal["left", "right"] = "left"
) -> Int64s:
    """Return where in the array each wanted value would go on its line, as ``np.searchsorted`` does.

    Values are in order on each line; ``line`` and ``wanted`` have shape (n,), and so has the result.
    """
    if not values.size or not wanted.size:
        return edges[line]
    if not np.all(line[1:] >= line[:-1]):
        order = np.argsort(line, kind="stable")
        found = np.empty(line.size, np.int64)
        found[order] = positions(values, edges, line[order], wanted[order], side)
        return found
    found = edges[line].astype(np.int64)
    first_ns = min(int(values.min()), int(wanted.min()))
    last_ns = max(int(values.max()), int(wanted.max()))
    for batch in batches(edges, first_ns, last_ns):
        asked = slice(*np.searchsorted(line, (batch.low, batch.high)).tolist())
        if asked.start == asked.stop:
            continue
        part = slice(int(edges[batch.low]), int(edges[batch.high]))
        own = values[part]
        if batch.high - batch.low > 1:
            own = batch.put(own, lines_of(edges, batch.low, batch.high))
        found[asked] = part.start + np.searchsorted(own, batch.put(wanted[asked], line[asked]), side=side)
    return found
