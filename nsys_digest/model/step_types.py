"""The sections of the digest about steps: dispatch steps and steady state; every field says what it means."""

from __future__ import annotations

from collections.abc import Mapping

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
    """One step: an instance of the named range.

    Busy and idle time, exposed communication and causes are those of the devices on which the process of the step
    ran work. ``launched_busy_ns`` is the union of the GPU work whose launch call, of any thread of the process, began
    within the step, whenever it ran.
    """

    process: int | None = label("process id; null where the export does not say", default=None)
    thread: int | None = label("id of the thread on which it began", default=None)
    start_ns: int = label("position on the trace's own clock", counts="ns")
    wall_ns: int = figure("s", "length", bad="up", label="wall")
    gpu_busy_ns: int | None = figure(
        "s",
        "time in it in which a device was busy on which the process ran work; null for a process without GPU work",
        label="GPU busy",
    )
    gpu_idle_ns: int | None = figure("s", "length less that", bad="up", label="GPU idle")
    launched_busy_ns: int | None = figure(
        "s",
        "union of the GPU work that calls of the process in it launched, whenever it ran",
        label="launched",
        default=None,
    )
    exposed_communication_ns: int | None = figure(
        "s", "exposed communication in it", bad="up", label="exposed communication"
    )
    busy_ratio: float | None = figure(
        "ratio", "busy over length; null for a step without length", bad="down", label="busy", most=1
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
    """The steps of one process: all but the first, save ``count``, which has that too.

    ``devices`` are the CUDA ordinals of the devices on which the process ran work.
    """

    process: int | None = label("process id; null where the export does not say")
    devices: tuple[int, ...] = label("CUDA ordinals of the devices on which it ran work")
    count: int = figure("count", "its instances, the first included", label="steps", counts="steps")
    wall: Durations = part("lengths of all but its first")
    busy_ratio: RatioPercentiles = part("busy time of its devices over length")
    idle: Durations | None = part("as in `steps`; null for a process without GPU work")
    launched_busy: Durations | None = part("as in `steps`; null for a process without GPU work")
    exposed_communication: Durations | None = part("as in `steps`; null for a process without GPU work")
    idle_causes_ns: Mapping[str, int] | None = figure(
        "s", "as in `steps`", bad="up", label="idle", key="idle_causes", may_have=CAUSES
    )


@document
class Steps:
    """Steady state: every instance but the first of each process, which is given apart since it warms up.

    ``name`` is what was asked for, ``names`` are the range names that it stands for. Figures are over all processes,
    and in ``processes`` over each. Documents from before there were several have the first of all as the warm-up.
    """

    name: str = label("what was asked for")
    names: tuple[str, ...] = label(
        "the range names that it stands for, in order of first sight", former=("name",), default=()
    )
    count: int = figure("count", "instances, the first of each process included", label="steps", counts="steps")
    wall: Durations = part("lengths of all but the first of each process")
    busy_ratio: RatioPercentiles = part(
        "busy time of the own devices of the process over length, of these; null without a step to measure that has a "
        "length"
    )
    idle: Durations | None = part("length less busy time, of these; null where no process with steps ran work on a GPU")
    launched_busy: Durations | None = part(
        "union of the GPU work that calls of the process in the step launched, whenever it ran", default=None
    )
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
        "the first step of each process, which warms up, in order of start", former=("first",), default=()
    )
    processes: tuple[ProcessSteps, ...] = part("the steps of each process, in order of its id", default=())
    slowest: tuple[Step, ...] = part("the five longest of the others; of equal ones the earlier first")
