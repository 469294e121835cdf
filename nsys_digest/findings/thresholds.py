"""Every threshold of the rules, in one place; docs/findings.md tells them to users."""

from __future__ import annotations

from typing import Final

LEAST_SHARE: Final = 0.01
"""Less of the steady part of the span at stake is noise, and is not shown."""
LEAST_NS: Final = 50_000
"""So is less time than this."""
HIGH_SHARE: Final = 0.2
MEDIUM_SHARE: Final = 0.05
"""From these shares of the steady part on, severity is high and medium."""

START_UP_SHARE: Final = 0.3
"""A device is idle for at least this much of its span before start-up ends."""
START_UP_WORK: Final = 0.2
"""At most this much of the GPU work lies before its end."""
START_UP_GAP: Final = 0.05
"""Start-up ends with a gap of at least this much of the span."""

START_UP_RANGE: Final = 0.8
"""A range that launched this much of the GPU work selects the steady part."""

SHORT_KERNEL_NS: Final = 20_000
"""Kernels whose mean is shorter are over before the next can be launched."""
SHORT_GAP_NS: Final = 100_000
"""Gaps below it are those between launches."""
MANY_KERNELS: Final = 200
"""Fewer kernels outside of graphs are no loop that a graph could capture."""

NO_RANGE_SHARE: Final = 0.5
"""From this share of the host's idle time outside of every range on, ranges are asked for."""
FEWEST_COPIES: Final = 10
"""Fewer copies make no pipeline that could overlap."""
COPY_SHARE: Final = 0.5
"""From this share of the busy time on, the GPU is bound by copies."""
FEWEST_SMALL_COPIES: Final = 100
FEWEST_SETS: Final = 10
FEWEST_SYNCS: Final = 3
OVERLAP_SHARE: Final = 0.05
"""Copies that run beside kernels for less of their time never overlap."""

WORKING_SHARE: Final = 0.1
"""A device with less compute than this share of the busiest takes no part in the work that could be balanced."""
PADDING_RATIO: Final = 0.1
"""Less padding is the price of having few graphs."""
GRAPH_SHARE: Final = 0.2
"""Graphs traced as a whole matter from this share of the busy time on."""

QUEUE_DEPTH: Final = 512
"""A launch queue with this many launches waiting, half of what it holds, is taken for full at times."""
QUEUE_BLOCKED_SHARE: Final = 0.05
"""Launch calls that take this share of the span longer than their median waited for room in it."""

PROBES: Final = frozenset({500, 801})
"""Errors by which libraries find out what a driver has: symbol not found, not supported."""
