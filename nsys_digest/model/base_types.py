"""The base parts of the digest: totals, ranges, marks, capture, devices; frozen, typed, in integer nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from nsys_digest.model.catalogue import computed, document, figure, label, part, result
from nsys_digest.model.section_types import NvtxDetail
from nsys_digest.units import to_seconds

OPERATION_KINDS: Final = ("kernel", "memcpy", "memset", "graph")
"""The kinds of work on a GPU: kernels, copies, sets, and CUDA graph launches traced as a whole."""
ROW_KINDS: Final = (*OPERATION_KINDS, "api", "nvtx")
OTHER_NAMES: Final = "(other)"
"""Stands for all range names beyond the limit."""


@result
class Warn:
    """Something that limits what the numbers can say; ``code`` has an entry in the docs."""

    code: str = label(
        "one of the codes of the documentation",
        pattern="^[a-z]+(-[a-z]+)*$",
        former_values=(("unattributed-kernels", "unattributed-work"),),
    )
    message: str = label("one line for people; its wording may change")


@result
class CountTotal:
    """How often, and for how long in all; written as ``[count, total_s]``."""

    AS_LIST: ClassVar = True

    count: int = figure("count", "how many", label="count")
    total_ns: int = figure("s", "time of all, plain sum", bad="up", label="total")


@result
class NvtxRange:
    """All ranges of one name.

    ``sum_ns`` adds every instance; ``union_ns`` merges them first, so nesting and threads never count twice;
    ``gpu_overlap_ns`` is the part of that union in which any GPU was busy.
    """

    count: int = figure("count", "ranges of that name", label="count", counts="ranges")
    sum_ns: int = figure("s", "sum of their lengths", bad="up", label="sum")
    union_ns: int = figure("s", "length of their union: nesting and threads never count twice", bad="up", label="union")
    gpu_overlap_ns: int = figure(
        "s", "the part of that union in which any GPU was busy; 0 where no GPU activity was recorded", label="GPU busy"
    )
    whole_sum_ns: int | None = figure(
        "s",
        "sum of the whole lengths, of which the window may hold a part; only with a window",
        label="whole sum",
        left_out=True,
        default=None,
    )
    detail: NvtxDetail | None = part("what section nvtx adds", inline=True, default=None)

    @property
    @computed("sum of the whole lengths over count", unit="s", bad="up", label="mean", after="detail.open_count")
    def mean_s(self) -> float | None:
        """Mean length in seconds; None without a range."""
        lengths_ns = self.sum_ns if self.whole_sum_ns is None else self.whole_sum_ns
        return to_seconds(lengths_ns) / self.count if self.count else None


@result
class DispatchMark:
    """A mark or range of the dispatch prefix, at its start."""

    start_ns: int = label("position on the trace's own clock", counts="ns")
    name: str = label("the text, without a domain")


@result
class Gpu:
    """A GPU that the trace names: CUDA ordinal (None when unknown), name and uuid."""

    ordinal: int | None = label("CUDA ordinal")
    name: str | None = label("name of the GPU")
    uuid: str | None = label("uuid; null when all zero")


@result
class Process:
    """A process with at least one row; ``rows`` counts them by kind (the GPU kinds, api, nvtx).

    ``pid`` is None for rows of an export that does not name the process.
    """

    pid: int | None = label("process id; null in an export that does not name the process", least=0)
    name: str | None = label("file name of the program")
    rows: Mapping[str, int] = label(
        "rows of this process by kind: api without backtrace rows, nvtx counts ranges and no marks",
        counts="rows",
        names=ROW_KINDS,
        least=0,
    )


@result
class FailedCalls:
    """Calls of one recorded name that returned one error; ``error`` is None for a number in no table."""

    name: str = label("name as recorded")
    error: str | None = label(
        "name of the error, of the runtime for `cuda…`, else of the driver; null for a number in no table"
    )
    value: int = label("what the calls returned")
    count: int = figure("count", "how many", bad="up", label="count", counts="calls", least=1)


@result
class Traced:
    """Whether CUDA and NVTX were traced, with or without events; None where the trace does not tell."""

    MORE_KEYS: ClassVar = True

    cuda: bool | None = label("whether CUDA was traced; null where the trace does not say", always=True, default=None)
    nvtx: bool | None = label("whether NVTX was traced; null where the trace does not say", always=True, default=None)


@result
class CategoriesFile:
    """The file of kernel categories that a digest was made with: its name without folder, and what was in it."""

    file: str = label("its name, without its folder")
    sha256: str = label("SHA-256 of its content", pattern="^[0-9a-f]{64}$")


@result
class RunFacts:
    """When the trace was recorded (ISO 8601, UTC; None where it does not tell), and what the user says of the run."""

    MORE_KEYS: ClassVar = True

    recorded_at: str | None = label(
        "when the trace's clock began: ISO 8601 in UTC, to the second (`2026-11-30T01:41:29Z`); null where the trace "
        "does not say",
        always=True,
        default=None,
    )
    labels: Mapping[str, str] = label(
        "texts by name, as `--label` and `--label-ci` say", always=True, default_factory=dict
    )


@result
class Stretch:
    """A stretch of time, half-open; written as ``[start_ns, end_ns]``."""

    AS_LIST: ClassVar = True

    start_ns: int = label("position on the trace's own clock", counts="ns")
    end_ns: int = label("position on the trace's own clock, behind the last nanosecond", counts="ns")


@result
class Window:
    """The part of the time that was looked at; see docs/selection.md for what that does to each figure."""

    MORE_KEYS: ClassVar = True

    asked: str = label("what was asked for, in words", key="from")
    what: tuple[Stretch, ...] = part("the stretches, `[start_ns, end_ns]`: in order, neither touching nor overlapping")
    length_ns: int = figure("s", "their length", label="window")


@document
class Capture:
    """What the trace says of itself, and the options of the digest that change its figures.

    ``max_nvtx_names`` is None in a document of before it was kept; then ``categories`` and ``steps`` are not known
    either. Else None stands for the shipped categories, and for no range taken as a step.
    """

    MORE_KEYS: ClassVar = True
    WITHIN: ClassVar = {"filters": "options that change what is counted under which name, and what is in the document"}

    product: str | None = label("name of the product that exported it")
    product_version: str | None = label("its version")
    schema_version: str | None = label("version of the export schema")
    session_ns: int | None = figure(
        "s", "length of the profiling session, start-up and teardown included", label="session"
    )
    graph_trace_mode: str | None = label("`graph`, `node`, or what else the capture settings say, in lower case")
    gpus: tuple[Gpu, ...] = part("CUDA GPUs of the machine, by ordinal, those without one last")
    processes: tuple[Process, ...] = part("processes with at least one row, by pid")
    incomplete: bool = label("whether GPU rows are missing, so that busy is a lower bound", default=False)
    window: Window | None = part("the part of the time that was looked at; null: all of it", default=None)
    dispatch_prefix: str = label("as `--dispatch-prefix` says", within="filters")
    raw_nvtx_names: bool = label("as `--raw-nvtx-names` says", within="filters")
    sections: tuple[str, ...] = label(
        "the sections that were made, `steps` apart",
        within="filters",
        former_values=(("api_tails", "api_durations"), ("kernel_tails", "kernel_durations")),
    )
    max_nvtx_names: int | None = label(
        "as `--max-names` says; null in documents of before it was kept, which do not tell the two below either",
        within="filters",
        least=1,
        default=None,
    )
    categories: CategoriesFile | None = part(
        "the file of kernel categories, as `--categories` says; null: those shipped", within="filters", default=None
    )
    steps: str | None = label("as `--steps` says; null: none", within="filters", default=None)
    folds: tuple[str, ...] = label("as `--fold` says, in order", within="filters", default=())
    warmup: int | None = label(
        "as `--warmup` says; null without steps, and in documents that were written when it was always 1",
        within="filters",
        least=0,
        default=None,
    )
    traced: Traced = part("what was traced, with or without events", default=Traced())
    devices: tuple[int, ...] | None = part(
        "CUDA ordinals, as `--device` says; no key: all", within="filters", left_out=True, default=None
    )
    selected_processes: tuple[str, ...] | None = part(
        "ids or names, as `--process` says; no key: all",
        key="processes",
        within="filters",
        left_out=True,
        default=None,
    )
    streams: tuple[int, ...] | None = part(
        "CUDA streams, as `--stream` says; no key: all", within="filters", left_out=True, default=None
    )


@result
class Stream:
    """One stream of one context of one process: its own busy time and operations."""

    process: int | None = label("process id; null when the export does not say")
    context: int = label("CUDA context")
    stream: int = label("CUDA stream; unique only with process and context")
    busy_ns: int = figure("s", "length of the union of its operations", label="busy")
    count: int = figure("count", "operations of all kinds", label="count", counts="operations")


@result
class OtherStreams:
    """The streams of a device that are not listed, together."""

    streams: int = figure("count", "how many streams these are", label="other streams", counts="streams")
    busy_ns: int = figure("s", "busy times of each of these streams, added up", label="busy")
    count: int = figure("count", "operations of all kinds on them", label="count", counts="operations")


@result
class DeviceProcess:
    """What one process did on a device, as if it had the device alone; times None without operations of any length."""

    process: int | None = label("process id; null when the export does not say", least=0)
    span_ns: int | None = figure(
        "s", "last end minus first start of the process's own operations; null where none has a length", label="span"
    )
    busy_ns: int | None = figure("s", "length of the union of its own operations", label="busy")

    @property
    @computed("span minus busy", unit="s", bad="up", label="idle", after="busy_ns")
    def idle_ns(self) -> int | None:
        """Time of the process's own span in which nothing of it ran."""
        return None if self.span_ns is None or self.busy_ns is None else self.span_ns - self.busy_ns


@result
class Device:
    """One GPU: ``busy_ns + idle_ns == span_ns``; all None for a GPU that did nothing.

    ``union_ns`` merges the operations of a kind, ``sum_ns`` adds them, ``count`` counts their rows. ``by_process`` is
    there where more than one process used the device.
    """

    MORE_KEYS: ClassVar = True

    device: int = label("CUDA ordinal, as the process sees it")
    name: str | None = label("name of the GPU")
    uuid: str | None = label("uuid; tells devices apart that share an ordinal")
    span_ns: int | None = figure("s", "last end minus first start of this device", bad="up", label="span")
    busy_ns: int | None = figure("s", "length of the union of its activity", label="busy")
    union_ns: Mapping[str, int] = figure(
        "s", "busy time by kind of operation; kinds may overlap", label="union", names=OPERATION_KINDS
    )
    sum_ns: Mapping[str, int] = figure("s", "plain sum of lengths by kind", label="sum", names=OPERATION_KINDS)
    count: Mapping[str, int] = figure("count", "rows by kind", label="count", counts="rows", names=OPERATION_KINDS)
    streams: tuple[Stream, ...] = part(
        "streams with at least one operation, by process, context and stream; of more than 1,000 those with most busy "
        "time"
    )
    processes: tuple[int, ...] = label("ids of the processes that used the device, ascending", least=0)
    by_process: tuple[DeviceProcess, ...] = part(
        "where several processes used the device: what each did, as if it had the device alone; by process id; "
        "else empty",
        default=(),
    )
    start_ns: int | None = label(
        "where its span begins, on the trace's own clock; null without one, and in older documents",
        counts="ns",
        default=None,
    )

    other_streams: OtherStreams | None = part(
        "what the streams that are not listed did together; only where a device has more than are listed",
        left_out=True,
        default=None,
    )

    @property
    def stream_count(self) -> int:
        """How many streams had at least one operation, those that are not listed included."""
        return len(self.streams) + (self.other_streams.streams if self.other_streams is not None else 0)

    @property
    def did_work(self) -> bool:
        """Whether anything of any length ran on it: it has a span."""
        return self.span_ns is not None

    @property
    @computed("span minus busy", unit="s", bad="up", label="idle", after="busy_ns")
    def idle_ns(self) -> int | None:
        """Time of the span in which nothing ran."""
        return None if self.span_ns is None or self.busy_ns is None else self.span_ns - self.busy_ns

    @property
    @computed("busy over span", unit="ratio", bad="down", label="busy", most=1, after="idle_ns")
    def busy_ratio(self) -> float | None:
        """Busy time over span."""
        return self.busy_ns / self.span_ns if self.span_ns and self.busy_ns is not None else None

    @property
    @computed(
        "sum of all lengths over busy: how many operations ran at once, on average over the busy time",
        unit="count",
        label="at once",
        counts="operations",
        least=1,
        after="busy_ratio",
    )
    def concurrency_mean(self) -> float | None:
        """How many operations ran at once, on average over the busy time."""
        return sum(self.sum_ns.values()) / self.busy_ns if self.busy_ns else None
