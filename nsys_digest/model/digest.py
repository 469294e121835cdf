"""The digest and its parts: frozen, typed, in integer nanoseconds.

``to_dict`` is the only place where nanoseconds become seconds, and ``from_dict`` undoes it exactly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from nsys_digest.errors import DigestInvalid
from nsys_digest.model.base_types import (
    Capture,
    CountTotal,
    Device,
    DispatchMark,
    FailedCalls,
    Json,
    NvtxRange,
    RunFacts,
    Warn,
)
from nsys_digest.model.codec import check, decode, encode
from nsys_digest.model.former_names import with_present_names
from nsys_digest.model.section_types import (
    Category,
    Communication,
    DispatchStep,
    Durations,
    Idle,
    Launch,
    Memory,
    Steps,
)
from nsys_digest.units import to_ns, to_seconds

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION: Final = "1.0"
NOTES: Final = (
    "GPU busy is interval union, not utilization counter. CPU/API/NVTX times overlap GPU work and each other; "
    "do not sum them as exclusive costs."
)


ADDED: Final[Mapping[str, Any]] = {
    "idle": Idle,
    "launch": Launch,
    "memory": Memory,
    "communication": tuple[Communication, ...],
    "categories": Mapping[str, Category],
    "api_durations": Mapping[str, Durations],
    "kernel_durations": Mapping[str, Durations],
    "dispatch_steps": tuple[DispatchStep, ...],
    "steps": Steps,
}
"""The sections that may be left out, in the order of the document, each with its type."""


@dataclass(frozen=True, slots=True)
class Digest:
    """The digest of one trace. The order of every collection is part of the contract; see docs/json.md."""

    file: str
    gpu_activity_span_ns: int | None
    gpu_busy_union_ns: int | None
    kernel_count: int
    graph_node_kernel_count: int
    api: Mapping[str, CountTotal]
    nvtx: Mapping[str, NvtxRange]
    dispatch: Mapping[str, int]
    dispatch_timeline: tuple[DispatchMark, ...]
    top_kernels: tuple[tuple[str, CountTotal], ...]
    capture: Capture
    warnings: tuple[Warn, ...]
    devices: tuple[Device, ...]
    api_backtrace_rows: int
    tool_version: str
    failed_calls: tuple[FailedCalls, ...] | None = None
    """None where the export, or an older document, does not say what calls returned."""
    idle: Idle | None = None
    launch: Launch | None = None
    memory: Memory | None = None
    communication: tuple[Communication, ...] | None = None
    categories: Mapping[str, Category] | None = None
    api_durations: Mapping[str, Durations] | None = None
    kernel_durations: Mapping[str, Durations] | None = None
    dispatch_steps: tuple[DispatchStep, ...] | None = None
    steps: Steps | None = None
    notes: str = NOTES
    schema_version: str = field(default=SCHEMA_VERSION)
    path: str | None = None
    """The path of the trace as it was given; None in a document of before it was kept."""
    run: RunFacts = field(default_factory=RunFacts)

    @property
    def gpu_idle_within_span_ns(self) -> int | None:
        """Span minus busy."""
        if self.gpu_activity_span_ns is None or self.gpu_busy_union_ns is None:
            return None
        return self.gpu_activity_span_ns - self.gpu_busy_union_ns

    def to_dict(self) -> Json:
        """Return the JSON document, version 1 of the contract; times in seconds."""
        return {
            "file": self.file,
            "gpu_activity_span_s": to_seconds(self.gpu_activity_span_ns),
            "gpu_busy_union_s": to_seconds(self.gpu_busy_union_ns),
            "gpu_idle_within_span_s": to_seconds(self.gpu_idle_within_span_ns),
            "kernel_count": self.kernel_count,
            "graph_node_kernel_count": self.graph_node_kernel_count,
            "api": {name: call.to_list() for name, call in self.api.items()},
            "nvtx": {name: ranges.to_dict() for name, ranges in self.nvtx.items()},
            "dispatch": dict(self.dispatch),
            "dispatch_timeline": [mark.to_dict() for mark in self.dispatch_timeline],
            "top_kernels": [[name, total.to_list()] for name, total in self.top_kernels],
            "notes": self.notes,
            "schema_version": self.schema_version,
            "tool": {"name": "nsys-digest", "version": self.tool_version},
            "path": self.path,
            "run": self.run.to_dict(),
            "capture": self.capture.to_dict(),
            "warnings": [{"code": warn.code, "message": warn.message} for warn in self.warnings],
            "devices": [device.to_dict() for device in self.devices],
            "api_backtrace_rows": self.api_backtrace_rows,
            "failed_calls": None if self.failed_calls is None else [calls.to_dict() for calls in self.failed_calls],
            **{name: encode(part) for name in ADDED if (part := getattr(self, name)) is not None},
        }

    @classmethod
    def from_dict(cls, data: Json) -> Digest:
        """Read a JSON document of version 1; keys that this version does not know are left out.

        Raises:
            DigestInvalid: it is not a digest, or of another major version.

        """
        version = data.get("schema_version") if isinstance(data, dict) else None
        if not isinstance(version, str) or version.partition(".")[0] != SCHEMA_VERSION.partition(".")[0]:
            raise DigestInvalid(
                f"this is no digest of schema version {SCHEMA_VERSION.partition('.')[0]} (schema_version is "
                f"{version!r}); write one with: nsys-digest summarize TRACE.sqlite --format json"
            )
        try:
            data = with_present_names(data)
            digest = cls(
                file=data["file"],
                gpu_activity_span_ns=to_ns(data["gpu_activity_span_s"]),
                gpu_busy_union_ns=to_ns(data["gpu_busy_union_s"]),
                kernel_count=data["kernel_count"],
                graph_node_kernel_count=data["graph_node_kernel_count"],
                api={name: CountTotal.from_list(pair) for name, pair in data["api"].items()},
                nvtx={name: NvtxRange.from_dict(ranges) for name, ranges in data["nvtx"].items()},
                dispatch=data["dispatch"],
                dispatch_timeline=tuple(DispatchMark(**mark) for mark in data["dispatch_timeline"]),
                top_kernels=tuple((name, CountTotal.from_list(pair)) for name, pair in data["top_kernels"]),
                capture=Capture.from_dict(data["capture"]),
                warnings=tuple(Warn(warn["code"], warn["message"]) for warn in data["warnings"]),
                devices=tuple(Device.from_dict(device) for device in data["devices"]),
                api_backtrace_rows=data["api_backtrace_rows"],
                tool_version=data["tool"]["version"],
                failed_calls=_failed_calls(data.get("failed_calls")),
                **{name: decode(hint, data[name]) for name, hint in ADDED.items() if name in data},
                notes=data["notes"],
                path=data.get("path"),
                run=RunFacts.from_dict(data.get("run", {})),
                schema_version=version,
            )
            check(cls, digest, "digest")
        except (KeyError, TypeError, AttributeError, IndexError, ValueError, OverflowError) as error:
            raise DigestInvalid(
                f"this digest is incomplete or damaged ({type(error).__name__}: {error}); write it again with: "
                "nsys-digest summarize TRACE.sqlite --format json"
            ) from None
        return digest

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text: indented by two, or on one line; never NaN or Infinity."""
        layout: Json = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **layout)

    @classmethod
    def from_json(cls, text: str) -> Digest:
        """Read JSON text; ``Digest.from_json(d.to_json()) == d``.

        Raises:
            DigestInvalid: the text is no JSON, or no digest of a known version.

        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DigestInvalid(
                f"this is not JSON ({error}); write a digest with: nsys-digest summarize TRACE.sqlite --format json"
            ) from None
        return cls.from_dict(data)

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """Return one tidy DataFrame a table: kernels, api, nvtx, dispatch, devices; times in seconds.

        ``dispatch`` has one row a mark, ``devices`` one row a device; the order is that of the document.
        """
        from nsys_digest.model.dataframes import frames

        return frames(self)


def _failed_calls(rows: list[Json] | None) -> tuple[FailedCalls, ...] | None:
    if rows is None:
        return None
    return tuple(FailedCalls(row["name"], row["error"], row["value"], row["count"]) for row in rows)
