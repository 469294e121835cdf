"""Copies, sets and moves of unified memory: the types of section ``memory``."""

from __future__ import annotations

from nsys_digest.model.catalogue import figure, label, part, result


@result
class Bandwidth:
    """Percentiles (nearest rank) of bytes over time, in 1e9 bytes a second, over copies that took time."""

    p50: float | None = figure("gbps", "percentile 50, nearest rank", bad="down", label="p50")
    p95: float | None = figure("gbps", "percentile 95, nearest rank", label="p95")
    max: float | None = figure("gbps", "the fastest", label="max")
    p5: float | None = figure("gbps", "percentile 5, nearest rank: the slow end", bad="down", label="p5", default=None)


@result
class Copies:
    """Copies of one direction between two kinds of memory."""

    direction: str = label("`HtoD`, `DtoH`, `DtoD`, `PtoP`, `HtoH`, `UVM HtoD` and so on, or `unknown`")
    source_kind: str | None = label(
        "`pageable`, `pinned`, `device`, `array`, `managed`, `device static`, `managed static`; null where the "
        "export does not say"
    )
    destination_kind: str | None = label("the same of where they go")
    count: int = figure("count", "copies", label="count", counts="rows")
    bytes: int = figure("bytes", "sum of their sizes", label="bytes")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time", former=("s",))
    gbps: Bandwidth = part("bytes over time of single copies, nearest rank; null where none has a length")


@result
class Sets:
    """All memory sets."""

    count: int = figure("count", "sets", label="count", counts="rows")
    bytes: int = figure("bytes", "sum of their sizes", label="bytes")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time", former=("s",))


@result
class Migration:
    """Moves of unified memory in one direction for one reason; they are among the copies too."""

    direction: str = label("`to device`, `to host`, `between devices`")
    cause: str | None = label(
        "`page fault`, `prefetch` (the program asked for it), `speculative prefetch`, `eviction`, `access counters`; "
        "null where the trace does not say"
    )
    count: int = figure("count", "moves", label="count", counts="rows")
    bytes: int = figure("bytes", "sum of their sizes", label="bytes")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time")


@result
class MoveCost:
    """Copies or sets of one sort: how many, how long on the GPU, and how long the calls took."""

    count: int = figure("count", "copies or sets", bad="up", label="count", counts="rows")
    sum_ns: int = figure("s", "plain sum of their lengths", bad="up", label="time")
    call_sum_ns: int = figure(
        "s", "plain sum of the lengths of the calls that made them; graph launches are none", bad="up", label="in calls"
    )


@result
class MoveCosts:
    """Copies and sets that cost more than they need to; one copy may be of several sorts. Page migrations are none."""

    pageable_async: MoveCost = part("copies from or to pageable memory by calls named Async, which cannot be so")
    pageable_blocking: MoveCost = part("copies from or to pageable memory by calls that block")
    pinned_blocking: MoveCost = part("copies between other kinds of memory by calls that block")
    small: MoveCost = part("copies of less than 64 KiB between host and device")
    sets: MoveCost = part("all sets")
    blocking_sets: MoveCost = part("sets by calls that block")


@result
class Memory:
    """Copies and sets, and how much of the copies' time kernels ran on the same device."""

    copies: tuple[Copies, ...] = part(
        "by direction and kinds of memory; most time first, then by direction and kinds",
        by=("direction", "source_kind", "destination_kind"),
    )
    sets: Sets = part("memory sets")
    overlapped_with_kernels_ns: int = figure(
        "s", "the part of the union of the copies in which a kernel ran on the same device", label="beside kernels"
    )
    migrations: tuple[Migration, ...] = part(
        "moves of unified memory, which no call launches, by direction and cause; most time first, then by both; empty "
        "in older documents",
        by=("direction", "?cause"),
        default=(),
    )
    cpu_page_fault_count: int | None = figure(
        "count",
        "page faults of the CPU on unified memory; null where the trace has no table of them, and in older documents",
        bad="up",
        label="CPU page faults",
        counts="faults",
        default=None,
    )
    gpu_page_fault_count: int | None = figure(
        "count",
        "page faults of GPUs on unified memory; null where the trace has no table of them, and in older documents",
        bad="up",
        label="GPU page faults",
        counts="faults",
        default=None,
    )
    costs: MoveCosts | None = part("those that cost more than they need to; null in older documents", default=None)
