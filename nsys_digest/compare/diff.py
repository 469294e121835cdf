"""The result of a comparison, and its JSON document."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePath
from typing import ClassVar, Final, Literal

from nsys_digest.compare.changes import LATER, TABLES, tables
from nsys_digest.compare.comparability import Comparability, comparability
from nsys_digest.compare.runs import RunSet, typical
from nsys_digest.compare.span_breakdown import (
    DeviceSpanBreakdown,
    SpanBreakdown,
    device_breakdowns,
    whole_breakdown,
)
from nsys_digest.compare.stored_tables import read_headlines, read_tables
from nsys_digest.compare.tables import Table
from nsys_digest.compare.whole import KEYS, Headline, headlines
from nsys_digest.model.base_types import Warn
from nsys_digest.model.catalogue import computed, document, figure, label, part, result
from nsys_digest.model.digest import TOOL
from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.model.selection_options import WHOLE_TRACE, SelectionOptions
from nsys_digest.model.stored_document import StoredDocument

DIFF_SCHEMA_VERSION: Final = "1.0"


@result
class ComparedRun:
    """A run of a side; ``source`` is what the user called it, ``file`` the name of its trace."""

    MORE_KEYS: ClassVar = True

    source: str = label("path as given")
    file: str = label("name of the trace")
    tool_version: str = label("version of the package that made its digest")
    span_ns: int | None = figure("s", "span of all GPU activity", label="GPU span", key="gpu_activity_span_s")


@result
class ComparedSide:
    """The runs of a side, the position of the one whose figures stand for it, and the warnings of that one."""

    MORE_KEYS: ClassVar = True

    typical: int = label("position of the run whose figures stand for the side", key="typical_run", least=0)
    runs: tuple[ComparedRun, ...] = part("the runs of the side, as given")
    warnings: tuple[Warn, ...] = part("warnings of the typical run")

    @property
    def name(self) -> str:
        """The name of the run that stands for the side, without its folder."""
        return PurePath(self.runs[self.typical].source).name


@document
class Diff(StoredDocument):
    """What differs between two sides. Figures are those of one typical run of each side; see docs/diff.md."""

    WHAT: ClassVar = "comparison"
    COMMAND: ClassVar = "nsys-digest diff BASE HEAD --format json"
    VERSION: ClassVar = DIFF_SCHEMA_VERSION
    MORE_KEYS: ClassVar = True
    WITHIN: ClassVar = {"tool": "what wrote the document"}
    TITLE: ClassVar = "nsys-digest comparison, version 1"
    ABOUT: ClassVar = (
        "What moved from BASE to HEAD, as nsys-digest diff writes it. Names ending in _s are seconds. null means not "
        "known, never zero; change is head minus base, ratio head over base. Keys may be added within version 1; none "
        "changes its meaning."
    )

    schema_version: str = label(
        "version of this document, `major.minor`", pattern=r"^1\.[0-9]+$", always=True, default=DIFF_SCHEMA_VERSION
    )
    tool_version: str = label("version of the package that wrote it", key="version", within="tool")
    base: ComparedSide = part("the side that is compared with")
    head: ComparedSide = part("the side that is compared")
    comparability: Comparability = part(
        "reasons not to compare that were allowed, and those that the digests cannot rule out",
        key="mismatches",
        former=("unlike",),
    )
    headline: Mapping[str, Headline] = part(
        "figures of whole digests, of the typical runs and of all", names=KEYS, grows=True, read=read_headlines
    )
    span: SpanBreakdown | None = part(
        "the span over all devices in terms that add up to it; null where a side has no GPU activity"
    )
    devices: tuple[DeviceSpanBreakdown, ...] = part("the same of each pair of devices", key="span_by_device")
    tables: Mapping[str, Table | None] = part(
        "figures by name, most moved first; null where a side lacks the section",
        names=TABLES,
        later=LATER,
        grows=True,
        read=read_tables,
    )

    def __repr__(self) -> str:
        """Return the names of the sides, and not all that differs."""
        return f"<Diff {self.base.name!r} to {self.head.name!r}>"

    @property
    @computed("what wrote the document: always nsys-digest", key="name", within="tool", after="schema_version")
    def tool(self) -> Literal["nsys-digest"]:
        """The name of the program."""
        return TOOL


def compare(
    base: RunSet,
    head: RunSet,
    *,
    allow_mismatch: Iterable[str] = (),
    asked: SelectionOptions = WHOLE_TRACE,
    kernel_categories: Callable[[], KernelCategories],
    tool_version: str,
) -> Diff:
    """Compare two sides by one typical run of each; ``kernel_categories`` tell apart kernels of similar name.

    Raises:
        UsageInvalid: ``allow_mismatch`` has a reason that does not exist.
        CapturesMismatch: there is a reason not to compare that is not allowed.

    """
    found = comparability(base, head, allow_mismatch, asked)
    sides = _compared(base), _compared(head)
    ours, theirs = base.runs[sides[0].typical].digest, head.runs[sides[1].typical].digest
    return Diff(
        base=sides[0],
        head=sides[1],
        comparability=found,
        headline=headlines(base.digests, head.digests, sides[0].typical, sides[1].typical),
        span=whole_breakdown(ours, theirs),
        devices=device_breakdowns(ours, theirs),
        tables=tables(ours, theirs, kernel_categories),
        tool_version=tool_version,
    )


def _compared(side: RunSet) -> ComparedSide:
    runs = (
        ComparedRun(run.source, run.digest.file, run.digest.tool_version, run.digest.gpu_activity_span_ns)
        for run in side.runs
    )
    chosen = typical(side)
    return ComparedSide(chosen, tuple(runs), side.runs[chosen].digest.warnings)
