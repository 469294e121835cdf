"""The result of a comparison, and its JSON document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final

from nsys_digest.compare.changes import pairs, tables
from nsys_digest.compare.comparability import Comparability, comparability
from nsys_digest.compare.named import headline
from nsys_digest.compare.runs import RunSet, typical
from nsys_digest.compare.span_breakdown import Account, DeviceAccount, device_accounts, whole_account
from nsys_digest.compare.tables import Json, Number, Pair, Table, key_of, value_of
from nsys_digest.model.base_types import Warn
from nsys_digest.model.digest import Digest
from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.units import to_seconds

DIFF_SCHEMA_VERSION: Final = "1.0"


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """A run of a side; ``source`` is what the user called it, ``file`` the name of its trace."""

    source: str
    file: str
    tool_version: str
    span_ns: int | None


@dataclass(frozen=True, slots=True)
class ComparedSide:
    """The runs of a side, the position of the one whose figures stand for it, and the warnings of that one."""

    runs: tuple[ComparedRun, ...]
    typical: int
    warnings: tuple[Warn, ...]

    @property
    def name(self) -> str:
        """The name of the run that stands for the side, without its folder."""
        return PurePath(self.runs[self.typical].source).name

    def to_dict(self) -> Json:
        """Return the side, times in seconds."""
        runs = [
            {
                "source": run.source,
                "file": run.file,
                "tool_version": run.tool_version,
                "gpu_activity_span_s": to_seconds(run.span_ns),
            }
            for run in self.runs
        ]
        warnings = [{"code": warn.code, "message": warn.message} for warn in self.warnings]
        return {"typical_run": self.typical, "runs": runs, "warnings": warnings}


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure of whole digests: of the runs that stand for their sides, and of every run."""

    pair: Pair
    base_runs: tuple[Number | None, ...]
    head_runs: tuple[Number | None, ...]

    def to_dict(self, name: str) -> Json:
        """Return the figure of that name."""
        return self.pair.to_dict(name) | {
            "base_runs": [value_of(name, value) for value in self.base_runs],
            "head_runs": [value_of(name, value) for value in self.head_runs],
        }


@dataclass(frozen=True, slots=True)
class Diff:
    """What differs between two sides. Figures are those of one typical run of each side; see docs/diff.md."""

    base: ComparedSide
    head: ComparedSide
    comparability: Comparability
    headline: Mapping[str, Headline]
    span: Account | None
    devices: tuple[DeviceAccount, ...]
    tables: Mapping[str, Table | None]
    tool_version: str

    def to_dict(self) -> Json:
        """Return the JSON document, times in seconds."""
        return {
            "schema_version": DIFF_SCHEMA_VERSION,
            "tool": {"name": "nsys-digest", "version": self.tool_version},
            "base": self.base.to_dict(),
            "head": self.head.to_dict(),
            "mismatches": {
                "allowed": [
                    {"code": one.code, "message": one.message, "base": one.base, "head": one.head}
                    for one in self.comparability.allowed
                ],
                "unknown": [{"code": one.code, "message": one.message} for one in self.comparability.unknown],
            },
            "headline": {key_of(name): figure.to_dict(name) for name, figure in self.headline.items()},
            "span": None if self.span is None else self.span.to_dict(),
            "span_by_device": [account.to_dict() for account in self.devices],
            "tables": {name: None if table is None else table.to_dict() for name, table in self.tables.items()},
        }

    def to_json(self, *, compact: bool = False) -> str:
        """Return the document as JSON text: indented by two, or on one line; never NaN or Infinity."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, **layout)


def compare(
    base: RunSet,
    head: RunSet,
    *,
    allow_mismatch: Iterable[str] = (),
    kernel_categories: Callable[[], KernelCategories],
    tool_version: str,
) -> Diff:
    """Compare two sides by one typical run of each; ``kernel_categories`` tell apart kernels of similar name.

    Raises:
        UsageInvalid: ``allow_mismatch`` has a reason that does not exist.
        CapturesMismatch: there is a reason not to compare that is not allowed.

    """
    found = comparability(base, head, allow_mismatch)
    sides = _compared(base), _compared(head)
    ours, theirs = base.runs[sides[0].typical].digest, head.runs[sides[1].typical].digest
    return Diff(
        base=sides[0],
        head=sides[1],
        comparability=found,
        headline=_headline(base, head, ours, theirs),
        span=whole_account(ours, theirs),
        devices=device_accounts(ours, theirs),
        tables=tables(ours, theirs, kernel_categories),
        tool_version=tool_version,
    )


def _compared(side: RunSet) -> ComparedSide:
    runs = (
        ComparedRun(run.source, run.digest.file, run.digest.tool_version, run.digest.gpu_activity_span_ns)
        for run in side.runs
    )
    chosen = typical(side)
    return ComparedSide(tuple(runs), chosen, side.runs[chosen].digest.warnings)


def _headline(base: RunSet, head: RunSet, ours: Digest, theirs: Digest) -> dict[str, Headline]:
    runs = [[headline(digest) for digest in side.digests] for side in (base, head)]
    return {
        name: Headline(pair, *(tuple(figures[name] for figures in side) for side in runs))
        for name, pair in pairs(headline(ours), headline(theirs)).items()
    }
