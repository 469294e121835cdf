"""The sections of the digest about steps: dispatch steps and steady state; every field says what it means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from nsys_digest.model.catalogue import document, figure, label, part, result
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.model.section_types import Durations


@result
class DispatchStep:
    """Dispatch marks of one mode, and of one (mode, padded); a step ends at the next mark of the same thread."""

    fields: Mapping[str, int | str] = label("the fields that all marks of the group share, integers or text")
    mode: str | None = label("field `mode`; null for marks without one")
    padded: int | None = label("field `padded`; null for the row of all marks of a mode")
    steps: int = figure("count", "marks of the group", label="steps", counts="marks")
    actual: int | None = figure(
        "count",
        "sum of field `actual`; null unless every mark of the group has it as a whole number",
        label="actual",
        counts="tokens",
        least=None,
    )
    padding_ratio: float | None = figure(
        "ratio",
        "(sum of padded - sum of actual) / sum of padded; null where either is unknown, padded is 0 or less, or "
        "actual is more",
        bad="up",
        label="padding",
        least=None,
    )
    wall: Durations = part("from each mark to the next of its thread; the last mark of a thread has none")
    gpu_overlap_ns: int | None = figure(
        "s", "for each stretch the busy time of any GPU within it, added up", label="GPU busy", former=("gpu_busy_s",)
    )
    launched_busy_ns: int | None = figure(
        "s",
        "for each stretch the union of the GPU work launched in it by its thread, added up",
        label="launched",
        former=("gpu_launched_s",),
    )
    graph_launch_count: int = figure("count", "CUDA graph launches in it by its thread", label="graphs", counts="calls")


@document
class Step:
    """One step: an instance of a range that was asked for, or from a mark to the next of its thread.

    Busy and idle time, exposed communication and causes are those of the devices on which the process of the step
    ran work. ``launched_busy_ns`` is the union of the GPU work whose launch call, of any thread of the process, began
    within the step, whenever it ran. All but the length is cut to the window.
    """

    name: str = label("name of the range or mark", default="")
    process: int | None = label("process id; null where the export does not say", default=None)
    thread: int | None = label("id of the thread on which it began", default=None)
    start_ns: int = label("position on the trace's own clock", counts="ns")
    wall_ns: int = figure("s", "length, whole even where a window cuts it", bad="up", label="wall")
    gpu_busy_ns: int | None = figure(
        "s",
        "time in it in which a device was busy on which the process ran work; null for a process without GPU work",
        label="GPU busy",
    )
    gpu_idle_ns: int | None = figure("s", "length, cut to the window, less that", bad="up", label="GPU idle")
    launched_busy_ns: int | None = figure(
        "s",
        "union of the GPU work that calls of the process in it launched, whenever it ran",
        label="launched",
        default=None,
    )
    launched_span_ns: int | None = figure(
        "s", "from the first start to the last end of that work; 0 without any", label="launched span", default=None
    )
    exposed_communication_ns: int | None = figure(
        "s", "exposed communication in it", bad="up", label="exposed communication"
    )
    busy_ratio: float | None = figure(
        "ratio", "busy over busy and idle; null for a step without length", bad="down", label="busy", most=1
    )
    idle_causes_ns: Mapping[str, int] = figure(
        "s",
        "idle time in it by cause, over the devices on which the process ran work; causes without any are left out",
        bad="up",
        label="idle",
        key="idle_causes",
        may_have=CAUSES,
    )


@result
class RatioPercentiles:
    """Percentiles (nearest rank) of a ratio."""

    p50: float | None = figure("ratio", "percentile 50, nearest rank", bad="down", label="p50", most=1)
    min: float | None = figure("ratio", "the least", bad="down", label="min", most=1)


@document
class ProcessSteps:
    """The steps of one process: those that are measured, save ``count``, which has the warm-up and cut ones too.

    ``devices`` are the CUDA ordinals of the devices on which the process ran work.
    """

    process: int | None = label("process id; null where the export does not say")
    devices: tuple[int, ...] = label("CUDA ordinals of the devices on which it ran work")
    count: int = figure("count", "its steps, warm-up included", label="steps", counts="steps")
    wall: Durations = part("lengths of those that are measured")
    busy_ratio: RatioPercentiles = part("busy time of its devices over length")
    idle: Durations | None = part("as in `steps`; null for a process without GPU work")
    launched_busy: Durations | None = part("as in `steps`; null for a process without GPU work")
    launched_span: Durations | None = part("as in `steps`; null for a process without GPU work", default=None)
    exposed_communication: Durations | None = part("as in `steps`; null for a process without GPU work")
    idle_causes_ns: Mapping[str, int] | None = figure(
        "s", "as in `steps`", bad="up", label="idle", key="idle_causes", may_have=CAUSES
    )


@result
class TimeSpread:
    """How far the medians of the processes lie apart."""

    min_ns: int = figure("s", "the least median of a process", label="least")
    p50_ns: int = figure("s", "the median of these, nearest rank", label="p50")
    max_ns: int = figure("s", "the largest", label="most")
    at_min: int | None = label("the process that has the least; of equal ones that of the lowest id")
    at_max: int | None = label("the process that has the largest; of equal ones that of the lowest id")


@result
class RatioSpread:
    """How far the medians of the processes lie apart."""

    min: float = figure("ratio", "the least median of a process", label="least", most=1)
    p50: float = figure("ratio", "the median of these, nearest rank", label="p50", most=1)
    max: float = figure("ratio", "the largest", label="most", most=1)
    at_min: int | None = label("the process that has the least; of equal ones that of the lowest id")
    at_max: int | None = label("the process that has the largest; of equal ones that of the lowest id")


@document
class StepSpread:
    """The medians of the processes against each other; None where fewer than two processes have the figure."""

    wall: TimeSpread | None = part("of the lengths")
    busy_ratio: RatioSpread | None = part("of busy over length")
    launched_busy: TimeSpread | None = part("of the work launched in a step")
    exposed_communication: TimeSpread | None = part("of exposed communication")
    idle: TimeSpread | None = part("of idle time")


@document
class Steps:
    """Steady state: the steps of each process but those that warm up, which are given apart.

    ``name`` is what was asked for, ``names`` are the names that it stands for. Figures are over all processes,
    and in ``processes`` over each. Documents from before there were several have the first of all as the warm-up.
    """

    name: str = label("what was asked for")
    names: tuple[str, ...] = label(
        "the names that it stands for, in order of first sight; of more than 1,000 the first",
        former=("name",),
        default=(),
    )
    kind: Literal["range", "mark"] = label(
        "`range`: instances of ranges; `mark`: from each mark to the next of its thread", default="range"
    )
    count: int = figure("count", "steps of all processes, warm-up included", label="steps", counts="steps")
    warmup_count: int = figure(
        "count",
        "steps that warm up: as many first ones of each process as `--warmup` says; in no figure below",
        label="warm-up",
        counts="steps",
        default=0,
    )
    cut_count: int = figure(
        "count",
        "other steps that were open when the capture ended, whose length is not their own; in no figure below",
        label="cut",
        counts="steps",
        default=0,
    )
    wall: Durations = part("lengths of those that are measured: all others")
    busy_ratio: RatioPercentiles = part(
        "busy time of the own devices of the process over length, of these; null without a step to measure that has a "
        "length"
    )
    idle: Durations | None = part("length less busy time, of these; null where no process with steps ran work on a GPU")
    launched_busy: Durations | None = part(
        "union of the GPU work that calls of the process in the step launched, whenever it ran", default=None
    )
    launched_span: Durations | None = part("from the first start to the last end of that work", default=None)
    exposed_communication: Durations | None = part("exposed communication in them")
    idle_causes_ns: Mapping[str, int] | None = figure(
        "s",
        "their idle time by cause, over the own devices of each process; null where no process with steps ran work on "
        "a GPU, and in documents that were written before there was one",
        bad="up",
        label="idle",
        key="idle_causes",
        may_have=CAUSES,
        default=None,
    )
    warmup: tuple[Step, ...] = part(
        "the steps that warm up, in order of start; of more than 100 the first", former=("first",), default=()
    )
    processes: tuple[ProcessSteps, ...] = part("the steps of each process, in order of its id", default=())
    spread: StepSpread | None = part(
        "how far the medians of the processes lie apart; null where fewer than two have steps to measure", default=None
    )
    slowest: tuple[Step, ...] = part("the five longest of those that are measured; of equal ones the earlier first")
    most_launched: tuple[Step, ...] = part(
        "the five of these that launched most GPU work, which differ where the host runs ahead", default=()
    )


@document
class StepCandidate:
    """A range or mark that looks like a step, and would do for ``--steps``.

    It repeats, its instances launched most of the GPU work after the first of them, and it lies in no other such.
    """

    name: str = label("what to give `--steps`; `#` stands for a number")
    kind: Literal["range", "mark"] = label("what it is")
    count: int = figure("count", "its steps", label="steps", counts="steps")
    processes: int = figure("count", "processes with such steps", label="processes of it", counts="processes")
    covered_ratio: float = figure(
        "ratio", "share of the GPU work after the first of them that was launched in them", label="covered", most=1
    )
