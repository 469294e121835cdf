"""The base parts of the digest: totals, ranges, marks, capture, devices; frozen, typed, in integer nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from nsys_digest.model.codec import decode, encode
from nsys_digest.model.section_types import NvtxDetail
from nsys_digest.units import to_ns, to_seconds

Json: TypeAlias = dict[str, Any]

KINDS: Final = ("kernel", "memcpy", "memset", "graph")
OTHER_NAMES: Final = "(other)"
"""Stands for all range names beyond the limit."""


@dataclass(frozen=True, slots=True)
class Warn:
    """Something that limits what the numbers can say; ``code`` has an entry in the docs."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class CountTotal:
    """How often, and for how long in all."""

    count: int
    total_ns: int

    def to_list(self) -> list[int | float]:
        """Return ``[count, total_s]``."""
        return [self.count, to_seconds(self.total_ns)]

    @classmethod
    def from_list(cls, pair: list[Any]) -> CountTotal:
        """Read ``[count, total_s]``."""
        return cls(pair[0], to_ns(pair[1]))


@dataclass(frozen=True, slots=True)
class NvtxRange:
    """All ranges of one name.

    ``sum_ns`` adds every instance; ``union_ns`` merges them first, so nesting and threads never count twice;
    ``gpu_overlap_ns`` is the part of that union in which any GPU was busy.
    """

    count: int
    sum_ns: int
    union_ns: int
    gpu_overlap_ns: int
    detail: NvtxDetail | None = None

    def to_dict(self) -> Json:
        """Return the fields in seconds, and behind them those of the detail and the mean length."""
        totals: Json = {
            "count": self.count,
            "sum_s": to_seconds(self.sum_ns),
            "union_s": to_seconds(self.union_ns),
            "gpu_overlap_s": to_seconds(self.gpu_overlap_ns),
        }
        if self.detail is None:
            return totals
        mean = {"mean_s": to_seconds(self.sum_ns) / self.count if self.count else None}
        detail: Json = encode(self.detail)
        return totals | {key: detail[key] for key in ("threads", "open_count")} | mean | detail

    @classmethod
    def from_dict(cls, data: Json) -> NvtxRange:
        """Undo :meth:`to_dict`."""
        return cls(
            data["count"],
            to_ns(data["sum_s"]),
            to_ns(data["union_s"]),
            to_ns(data["gpu_overlap_s"]),
            decode(NvtxDetail, data) if "threads" in data else None,
        )


@dataclass(frozen=True, slots=True)
class DispatchMark:
    """A mark or range of the dispatch prefix, at its start."""

    start_ns: int
    name: str

    def to_dict(self) -> Json:
        """Return the fields; the start stays in nanoseconds of the trace's own clock."""
        return {"start_ns": self.start_ns, "name": self.name}


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU that the trace names: CUDA ordinal (None when unknown), name and uuid."""

    ordinal: int | None
    name: str | None
    uuid: str | None

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"ordinal": self.ordinal, "name": self.name, "uuid": self.uuid}


@dataclass(frozen=True, slots=True)
class Process:
    """A process with at least one row; ``rows`` counts them by kind (the GPU kinds, api, nvtx).

    ``pid`` is None for rows of an export that does not name the process.
    """

    pid: int | None
    name: str | None
    rows: Mapping[str, int]

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"pid": self.pid, "name": self.name, "rows": dict(self.rows)}


@dataclass(frozen=True, slots=True)
class FailedCalls:
    """Calls of one recorded name that returned one error; ``error`` is None for a number in no table."""

    name: str
    error: str | None
    value: int
    count: int

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"name": self.name, "error": self.error, "value": self.value, "count": self.count}


@dataclass(frozen=True, slots=True)
class Traced:
    """Whether CUDA and NVTX were traced; None where the trace does not tell."""

    cuda: bool | None = None
    nvtx: bool | None = None

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"cuda": self.cuda, "nvtx": self.nvtx}

    @classmethod
    def from_dict(cls, data: Json) -> Traced:
        """Undo :meth:`to_dict`."""
        return cls(data.get("cuda"), data.get("nvtx"))


@dataclass(frozen=True, slots=True)
class CategoriesFile:
    """The file of kernel categories that a digest was made with: its name without folder, and what was in it."""

    file: str
    sha256: str

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"file": self.file, "sha256": self.sha256}


@dataclass(frozen=True, slots=True)
class RunFacts:
    """When the trace was recorded (ISO 8601, UTC; None where it does not tell), and what the user says of the run."""

    recorded_at: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> Json:
        """Return the fields."""
        return {"recorded_at": self.recorded_at, "labels": dict(self.labels)}

    @classmethod
    def from_dict(cls, data: Json) -> RunFacts:
        """Undo :meth:`to_dict`."""
        return cls(data.get("recorded_at"), data.get("labels", {}))


@dataclass(frozen=True, slots=True)
class Capture:
    """What the trace says of itself, and the options of the digest that change its figures.

    ``max_nvtx_names`` is None in a document of before it was kept; then ``categories`` and ``steps`` are not known
    either. Else None stands for the shipped categories, and for no range taken as a step.
    """

    product: str | None
    product_version: str | None
    schema_version: str | None
    session_ns: int | None
    graph_trace_mode: str | None
    gpus: tuple[Gpu, ...]
    processes: tuple[Process, ...]
    dispatch_prefix: str
    raw_nvtx_names: bool
    sections: tuple[str, ...] = ()
    traced: Traced = Traced()
    max_nvtx_names: int | None = None
    categories: CategoriesFile | None = None
    steps: str | None = None
    incomplete: bool = False
    """Whether the trace shows that GPU rows are missing, so that busy is a lower bound."""

    def to_dict(self) -> Json:
        """Return the fields, times in seconds; ``window`` is null: the whole trace."""
        return {
            "product": self.product,
            "product_version": self.product_version,
            "schema_version": self.schema_version,
            "session_s": to_seconds(self.session_ns),
            "graph_trace_mode": self.graph_trace_mode,
            "gpus": [gpu.to_dict() for gpu in self.gpus],
            "processes": [process.to_dict() for process in self.processes],
            "incomplete": self.incomplete,
            "window": None,
            "filters": {
                "dispatch_prefix": self.dispatch_prefix,
                "raw_nvtx_names": self.raw_nvtx_names,
                "sections": list(self.sections),
                "max_nvtx_names": self.max_nvtx_names,
                "categories": None if self.categories is None else self.categories.to_dict(),
                "steps": self.steps,
            },
            "traced": self.traced.to_dict(),
        }

    @classmethod
    def from_dict(cls, data: Json) -> Capture:
        """Undo :meth:`to_dict`."""
        filters = data["filters"]
        categories = filters.get("categories")
        return cls(
            product=data["product"],
            product_version=data["product_version"],
            schema_version=data["schema_version"],
            session_ns=to_ns(data["session_s"]),
            graph_trace_mode=data["graph_trace_mode"],
            gpus=tuple(Gpu(**gpu) for gpu in data["gpus"]),
            processes=tuple(Process(**process) for process in data["processes"]),
            dispatch_prefix=filters["dispatch_prefix"],
            raw_nvtx_names=filters["raw_nvtx_names"],
            sections=tuple(filters["sections"]),
            traced=Traced.from_dict(data.get("traced", {})),
            max_nvtx_names=filters.get("max_nvtx_names"),
            categories=None if categories is None else CategoriesFile(categories["file"], categories["sha256"]),
            steps=filters.get("steps"),
            incomplete=data.get("incomplete", False),
        )


@dataclass(frozen=True, slots=True)
class Stream:
    """One stream of one context of one process: its own busy time and operations."""

    process: int | None
    context: int
    stream: int
    busy_ns: int
    count: int

    def to_dict(self) -> Json:
        """Return the fields, times in seconds."""
        return {
            "process": self.process,
            "context": self.context,
            "stream": self.stream,
            "busy_s": to_seconds(self.busy_ns),
            "count": self.count,
        }

    @classmethod
    def from_dict(cls, data: Json) -> Stream:
        """Undo :meth:`to_dict`."""
        return cls(data["process"], data["context"], data["stream"], to_ns(data["busy_s"]), data["count"])


@dataclass(frozen=True, slots=True)
class DeviceProcess:
    """What one process did on a device, as if it had the device alone; times None without operations of any length."""

    process: int | None
    span_ns: int | None
    busy_ns: int | None

    @property
    def idle_ns(self) -> int | None:
        """Time of the process's own span in which nothing of it ran."""
        return None if self.span_ns is None or self.busy_ns is None else self.span_ns - self.busy_ns

    def to_dict(self) -> Json:
        """Return the fields, times in seconds."""
        return {
            "process": self.process,
            "span_s": to_seconds(self.span_ns),
            "busy_s": to_seconds(self.busy_ns),
            "idle_s": to_seconds(self.idle_ns),
        }

    @classmethod
    def from_dict(cls, data: Json) -> DeviceProcess:
        """Undo :meth:`to_dict`."""
        return cls(data["process"], to_ns(data["span_s"]), to_ns(data["busy_s"]))


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU: ``busy_ns + idle_ns == span_ns``; all None for a GPU that did nothing.

    ``union_ns`` merges the operations of a kind, ``sum_ns`` adds them, ``count`` counts their rows. ``by_process`` is
    there where more than one process used the device.
    """

    device: int
    name: str | None
    uuid: str | None
    span_ns: int | None
    busy_ns: int | None
    union_ns: Mapping[str, int]
    sum_ns: Mapping[str, int]
    count: Mapping[str, int]
    streams: tuple[Stream, ...]
    processes: tuple[int, ...]
    by_process: tuple[DeviceProcess, ...] = ()

    @property
    def did_work(self) -> bool:
        """Whether anything of any length ran on it: it has a span."""
        return self.span_ns is not None

    @property
    def idle_ns(self) -> int | None:
        """Time of the span in which nothing ran."""
        return None if self.span_ns is None or self.busy_ns is None else self.span_ns - self.busy_ns

    @property
    def busy_ratio(self) -> float | None:
        """Busy time over span."""
        return self.busy_ns / self.span_ns if self.span_ns and self.busy_ns is not None else None

    @property
    def concurrency_mean(self) -> float | None:
        """How many operations ran at once, on average over the busy time."""
        return sum(self.sum_ns.values()) / self.busy_ns if self.busy_ns else None

    def to_dict(self) -> Json:
        """Return the fields, times in seconds."""
        return {
            "device": self.device,
            "name": self.name,
            "uuid": self.uuid,
            "span_s": to_seconds(self.span_ns),
            "busy_s": to_seconds(self.busy_ns),
            "idle_s": to_seconds(self.idle_ns),
            "busy_ratio": self.busy_ratio,
            "concurrency_mean": self.concurrency_mean,
            "union_s": {kind: to_seconds(ns) for kind, ns in self.union_ns.items()},
            "sum_s": {kind: to_seconds(ns) for kind, ns in self.sum_ns.items()},
            "count": dict(self.count),
            "streams": [stream.to_dict() for stream in self.streams],
            "processes": list(self.processes),
            "by_process": [own.to_dict() for own in self.by_process],
        }

    @classmethod
    def from_dict(cls, data: Json) -> Device:
        """Undo :meth:`to_dict`."""
        return cls(
            device=data["device"],
            name=data["name"],
            uuid=data["uuid"],
            span_ns=to_ns(data["span_s"]),
            busy_ns=to_ns(data["busy_s"]),
            union_ns={kind: to_ns(data["union_s"][kind]) for kind in KINDS},
            sum_ns={kind: to_ns(data["sum_s"][kind]) for kind in KINDS},
            count={kind: data["count"][kind] for kind in KINDS},
            streams=tuple(Stream.from_dict(stream) for stream in data["streams"]),
            processes=tuple(data["processes"]),
            by_process=tuple(DeviceProcess.from_dict(own) for own in data.get("by_process", ())),
        )
