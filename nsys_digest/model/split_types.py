"""The sections of the digest that split figures further: by kind of work, device, CUDA graph, range and payload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from nsys_digest.model.base_types import CountTotal
from nsys_digest.model.catalogue import figure, label, part, result
from nsys_digest.model.section_types import Category, Durations

COPY, SET, GRAPH = "memcpy", "memset", "graph"
WORK_WITHOUT_CATEGORY: Final = (COPY, SET, GRAPH)
"""What stands beside the categories of kernels where busy time is shared out; no category has such a name."""


@result
class BusyShares:
    """The busy time of one device, shared out among kinds of work: the shares add up to it exactly.

    Where k operations run at once, each has 1/k of that stretch of time; the nanoseconds that are left over go to the
    first by name.
    """

    device: int = label("CUDA ordinal")
    busy_ns: int = figure("s", "busy time, that of the device in `devices`", label="busy")
    shares_ns: Mapping[str, int] = figure(
        "s",
        "its part by category of kernels, and for `memcpy`, `memset` and `graph`, graph launches traced as a whole; "
        "where k operations run at once each has 1/k; they add up to it; most first, then by name",
        bad="up",
        label="busy share",
        key="shares",
    )


@result
class GraphUse:
    """The launches of one CUDA graph of one process."""

    process: int | None = label("process id; null where the export does not say")
    graph: int | None = label(
        "id of the executable graph; null for kernels with a graph node whose export does not say of which graph"
    )
    launch_count: int = figure("count", "launches with work in the trace", label="launches", counts="launches")
    durations: Durations = part(
        "from the first start to the last end of the work of each launch, of those with a known time"
    )
    node_kernel_count: int | None = figure(
        "count",
        "kernels of its nodes; null where it was traced as a whole",
        label="node kernels",
        counts="kernels",
    )
    node_kernel_sum_ns: int | None = figure(
        "s", "plain sum of their lengths; null where it was traced as a whole", bad="up", label="kernel time"
    )


@result
class DeviceUse:
    """Kernels, API calls and categories of one device."""

    device: int | None = label("CUDA ordinal; null for calls of which the trace does not tell the device")
    kernels: Mapping[str, CountTotal] = part(
        "`[count, total_s]` by short name; most total time first, then by name; every name"
    )
    api: Mapping[str, CountTotal] = part(
        "`[calls, total_s]` by recorded name; a call is of the device that ran what it launched, one that launched "
        "nothing is of the only device of its thread, or of its process where its thread has none; most total time "
        "first, then by name"
    )
    categories: Mapping[str, Category] = part("as `categories`, of this device alone")


@result
class RangeCommunication:
    """Collectives that calls within the ranges of one name launched, on the thread of the range; over all devices."""

    kernel_count: int = figure("count", "communication kernels", label="count", counts="kernels")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="sum")
    union_ns: int = figure("s", "length of their union on each device, added up", bad="up", label="union")
    hidden_ns: int = figure("s", "the part of it in which another kernel ran on the same device", label="hidden")
    exposed_ns: int = figure("s", "the rest", bad="up", label="exposed")


@result
class PayloadNumbers:
    """Numbers that ranges of one name carry as their payload; what they measure only the program knows."""

    count: int = figure("count", "ranges that carry a number", label="count", counts="ranges")
    sum: float | None = figure(
        "count",
        "sum of the numbers; null where no double holds it",
        label="sum",
        counts="as the program says",
        least=None,
    )
    min: float = figure("count", "the least", label="min", counts="as the program says", least=None)
    p50: float = figure("count", "percentile 50, nearest rank", label="p50", counts="as the program says", least=None)
    p95: float = figure("count", "percentile 95, nearest rank", label="p95", counts="as the program says", least=None)
    p99: float = figure("count", "percentile 99, nearest rank", label="p99", counts="as the program says", least=None)
    max: float = figure("count", "the greatest", label="max", counts="as the program says", least=None)
