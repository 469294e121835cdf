"""The digest: one trace in one object, frozen, typed, in integer nanoseconds; the codec makes its document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from nsys_digest.model.base_types import (
    Capture,
    CountTotal,
    Device,
    DispatchMark,
    FailedCalls,
    NvtxRange,
    RunFacts,
    Warn,
)
from nsys_digest.model.catalogue import computed, document, figure, keys_of, label, part
from nsys_digest.model.finding_types import Finding
from nsys_digest.model.memory_types import Memory
from nsys_digest.model.section_types import Category, Communication, Durations, Idle, Launch
from nsys_digest.model.split_types import BusyShares, DeviceUse, GraphUse, PayloadNumbers, RangeCommunication
from nsys_digest.model.step_types import DispatchStep, StepCandidate, Steps
from nsys_digest.model.stored_document import StoredDocument
from nsys_digest.model.views import SCREEN, Shown, views
from nsys_digest.units import counted, duration

if TYPE_CHECKING:
    import pandas

SCHEMA_VERSION: Final = "1.0"
TOOL: Final[Literal["nsys-digest"]] = "nsys-digest"
NOTES: Final = (
    "GPU busy is interval union, not utilization counter. CPU/API/NVTX times overlap GPU work and each other; "
    "do not sum them as exclusive costs."
)


@document
class Digest(StoredDocument):
    """The digest of one trace. The order of every collection is part of the contract; see docs/json.md."""

    WHAT: ClassVar = "digest"
    COMMAND: ClassVar = "nsys-digest summarize TRACE.sqlite --format json"
    VERSION: ClassVar = SCHEMA_VERSION
    MORE_KEYS: ClassVar = True
    WITHIN: ClassVar = {"tool": "what wrote the document"}
    TITLE: ClassVar = "nsys-digest digest, version 1"
    ABOUT: ClassVar = (
        "One NVIDIA Nsight Systems trace in one object. Names ending in _s are seconds, in _ns nanoseconds on the "
        "trace's own clock. null means not measured, never zero. Keys may be added within version 1; none changes its "
        "meaning."
    )

    file: str = label("name of the trace, without its folder")
    gpu_activity_span_ns: int | None = figure(
        "s",
        "last end minus first start over all GPU activity of all devices; null without any that has a length",
        bad="up",
        label="GPU span",
    )
    gpu_busy_union_ns: int | None = figure(
        "s",
        "length of the union of the half-open intervals of all GPU activity of all devices; null as the span",
        bad="up",
        label="GPU busy",
    )
    kernel_count: int = figure("count", "rows of the kernel table", bad="up", label="kernels", counts="rows")
    graph_node_kernel_count: int = figure(
        "count", "kernels with a CUDA graph node id", label="graph node kernels", counts="rows"
    )
    api: Mapping[str, CountTotal] = part(
        "CUDA runtime and driver calls by recorded name, `[calls, total_s]`; most total time first, then by name"
    )
    nvtx: Mapping[str, NvtxRange] = part(
        "NVTX ranges by `domain:name`, those of the default domain by name alone; in order of first start, then by "
        "name",
        section=True,
    )
    dispatch: Mapping[str, int] = figure(
        "count",
        "how often each dispatch text occurs; in order of first appearance, then by name",
        label="count",
        counts="marks",
    )
    dispatch_timeline: tuple[DispatchMark, ...] = part("dispatch marks and ranges, by start, then by name")
    top_kernels: tuple[tuple[str, CountTotal], ...] = part(
        "`[short name, [count, total_s]]`, most total time first, then by name; 20 of them, or as `--top N` says"
    )
    notes: str = label("what busy means and what must not be added up", always=True, default=NOTES)
    schema_version: str = label(
        "version of this document, `major.minor`; the minor number grows with added keys",
        pattern=r"^1\.[0-9]+$",
        always=True,
        default=SCHEMA_VERSION,
    )
    tool_version: str = label("version of the package that wrote it", key="version", within="tool")
    path: str | None = label(
        "path of the trace as it was given; tells files of one name apart; null in a document of before it was kept",
        default=None,
    )
    run: RunFacts = part("the run that was traced", default_factory=RunFacts)
    capture: Capture = part("facts about the trace, and what the digest was asked for")
    warnings: tuple[Warn, ...] = part(
        "what limits the numbers, by code in the order of docs/messages.md, then as found"
    )
    findings: tuple[Finding, ...] | None = part(
        "what would gain most, most at stake first, those without an amount last; null in a document of before there "
        "were findings",
        by=("code",),
        default=None,
    )
    devices: tuple[Device, ...] = part("GPUs, in order of the CUDA ordinal", by=("device",))
    api_backtrace_rows: int = figure(
        "count", "API rows of other event classes, left out of `api`", label="backtrace rows", counts="rows"
    )
    failed_calls: tuple[FailedCalls, ...] | None = part(
        "calls that returned an error, by name and error, most first, then by name; null where the export does not "
        "say what calls returned",
        by=("name", "error", "value"),
        default=None,
    )
    idle: Idle | None = part("why each device was idle within its span", section=True, left_out=True, default=None)
    launch: Launch | None = part("what launches of kernels and graphs cost", section=True, left_out=True, default=None)
    memory: Memory | None = part("copies and sets, over all devices", section=True, left_out=True, default=None)
    communication: tuple[Communication, ...] | None = part(
        "collectives against compute: devices with kernels, in the order of `devices`",
        by=("device",),
        section=True,
        left_out=True,
        default=None,
    )
    categories: Mapping[str, Category] | None = part(
        "kernels by category over all devices; most time first, then by name", section=True, left_out=True, default=None
    )
    api_durations: Mapping[str, Durations] | None = part(
        "lengths of the calls of `api` by name as recorded; most time first, then by name",
        former=("api_tails",),
        section=True,
        left_out=True,
        default=None,
    )
    kernel_durations: Mapping[str, Durations] | None = part(
        "lengths of all kernels by short name; most time first, then by name",
        former=("kernel_tails",),
        section=True,
        left_out=True,
        default=None,
    )
    dispatch_steps: tuple[DispatchStep, ...] | None = part(
        "dispatch marks by mode, and by mode and padded size; by mode (marks without one first), then all of the "
        "mode, then by size",
        by=("mode", "?padded"),
        section=True,
        left_out=True,
        default=None,
    )
    busy_shares: tuple[BusyShares, ...] | None = part(
        "busy time shared out among kinds of work so that it adds up: devices with GPU activity that has a length, in "
        "the order of `devices`",
        by=("device",),
        section=True,
        left_out=True,
        default=None,
    )
    graphs: tuple[GraphUse, ...] | None = part(
        "CUDA graphs, by process id, then by graph id", by=("graph",), section=True, left_out=True, default=None
    )
    communication_by_range: Mapping[str, RangeCommunication] | None = part(
        "collectives by the ranges that launched them, each in every range around its launch; most time first, then by "
        "name",
        section=True,
        left_out=True,
        default=None,
    )
    step_candidates: tuple[StepCandidate, ...] | None = part(
        "ranges and marks that look like steps, five at most, most work covered first; where no step is named",
        by=("name",),
        section=True,
        left_out=True,
        default=None,
    )
    by_device: tuple[DeviceUse, ...] | None = part(
        "kernels, API calls and categories of each device, in the order of `devices`; only as `--by-device` asks",
        by=("device",),
        section=True,
        left_out=True,
        default=None,
    )
    nvtx_payload: Mapping[str, PayloadNumbers] | None = part(
        "numbers that ranges carry as payload, by name; most ranges first, then by name; only where it is asked for",
        section=True,
        left_out=True,
        default=None,
    )
    steps: Steps | None = part(
        "the steps that `--steps` names: instances of a range, or from mark to mark", left_out=True, default=None
    )

    def __repr__(self) -> str:
        """Return the file, span and busy time, and not the whole document."""
        span, busy = (duration(ns) for ns in (self.gpu_activity_span_ns, self.gpu_busy_union_ns))
        return f"<Digest {self.file!r}: span {span}, busy {busy}, {counted(self.kernel_count, 'kernel')}>"

    @property
    @computed("span minus busy; null as the span", unit="s", bad="up", label="GPU idle", after="gpu_busy_union_ns")
    def gpu_idle_within_span_ns(self) -> int | None:
        """Span minus busy."""
        if self.gpu_activity_span_ns is None or self.gpu_busy_union_ns is None:
            return None
        return self.gpu_activity_span_ns - self.gpu_busy_union_ns

    @property
    @computed("what wrote the document: always nsys-digest", key="name", within="tool", after="schema_version")
    def tool(self) -> Literal["nsys-digest"]:
        """The name of the program."""
        return TOOL

    def to_text(
        self,
        *,
        top: int | None = None,
        full: bool = False,
        sections: Iterable[str] | None = None,
        width: int = 120,
        color: bool = False,
    ) -> str:
        """Return the report for people, as ``--format text`` prints it: one screen of it.

        ``full`` is all of it, and ``sections`` are the whole tables of these; each list shows its first ``top`` rows.
        """
        return views().text(self, _shown(top, full, sections), width=width, color=color)

    def to_markdown(self, *, top: int | None = None, full: bool = False, sections: Iterable[str] | None = None) -> str:
        """Return the report as GitHub-flavoured Markdown; the rest as :meth:`to_text`."""
        return views().markdown(self, _shown(top, full, sections))

    def _repr_html_(self) -> str:
        """Return one screen of the report as HTML, which a notebook shows."""
        return views().html(self, SCREEN)

    def __getitem__(self, figure: str) -> float | dict[str, float | None] | None:
        """Return a figure by its path, as ``digest["nvtx.step.union_s"]``; see docs/library.md.

        Raises:
            KeyError: there is no such figure.

        """
        from nsys_digest.model.figure_access import figure_by_path

        return figure_by_path(self, figure)

    def __contains__(self, figure: object) -> bool:
        """Tell whether there is a figure of that path."""
        if not isinstance(figure, str):
            return False
        try:
            self[figure]
        except KeyError:
            return False
        return True

    __iter__: ClassVar[None] = None
    """Figures have no numbers, by which Python would else go through them."""

    def _ipython_key_completions_(self) -> list[str]:
        """Return the paths of all figures, which a notebook completes."""
        from nsys_digest.model.figure_access import paths_of

        return paths_of(self)

    def to_pandas(self) -> dict[str, pandas.DataFrame]:
        """Return everything in the document as tables, named by the keys that lead to them; times in seconds.

        Every list and every mapping from names is a table, within others too; ``whole`` is what stands alone. The order
        is that of the document.
        """
        from nsys_digest.model.dataframes import frames

        return frames(self)


def _shown(top: int | None, full: bool, sections: Iterable[str] | None) -> Shown:
    return Shown(top, full, None if sections is None else tuple(sections))


ADDED: Final = tuple(key.attribute for key in keys_of(Digest) if key.declared.left_out)
"""The sections with a key of their own, in the order of the document."""
ON_REQUEST: Final = ("by_device", "nvtx_payload", "host")
"""The sections that are made where they are named; ``host`` adds to ``idle``, which is made with it."""
SECTIONS: Final = tuple(
    key.attribute for key in keys_of(Digest) if key.declared.section and key.attribute not in ON_REQUEST
)
"""The sections that can be chosen: ``nvtx`` adds to a field of the base; ``steps`` is there when a step is named."""
