"""The report of kernel categories: which pattern took which kernel, and what none took."""

from __future__ import annotations

from typing import Final

from nsys_digest.model.category_use import CategoryUse, KernelUse
from nsys_digest.report.blocks import Block, Column, Report, filled, more
from nsys_digest.report.figure_columns import NAME_OF_ROW, of, ratio, share, table, told
from nsys_digest.units import counted

_TOTAL: Final = of(KernelUse, "total_ns")
_BY_PATTERN: Final = (
    _TOTAL,
    told(Column("category", "label"), lambda row: _category(row[0])),
    of(KernelUse, "source"),
    NAME_OF_ROW,
)


def categories_report(found: CategoryUse, top: int) -> Report:
    """Arrange which pattern took which kernel; what no pattern took comes first."""
    whole = sum(kernel.total_ns for kernel in found.kernels)
    unknown = [kernel for kernel in found.kernels if kernel.source is None]
    known = [kernel for kernel in found.kernels if kernel.source is not None]
    count = sum(kernel.count for kernel in found.kernels)
    facts = [("kernels", f"{count:,}, of {counted(len(found.kernels), 'name')}")]
    if found.kernels:
        unknown_ns = sum(kernel.total_ns for kernel in unknown)
        time = f"{_TOTAL.form(unknown_ns)} ({ratio(unknown_ns, whole)}) of kernel time"
        facts.append(
            (
                "no pattern",
                f"{counted(len(unknown), 'name')}, {time}" if unknown else "none: a pattern took every kernel",
            )
        )
    blocks = (
        table(
            "Kernels that no pattern took, most time first",
            (_TOTAL, share(_TOTAL, whole), of(KernelUse, "count"), NAME_OF_ROW),
            ((kernel, kernel.name) for kernel in unknown[:top]),
            more(len(unknown) - top),
        ),
        table(
            "Kernels by pattern, most time first",
            _BY_PATTERN,
            ((kernel, kernel.name) for kernel in known[:top]),
            more(len(known) - top),
        ),
        Block(
            "These patterns",
            (Column("source", "label"), Column("pattern", "text")),
            tuple(dict.fromkeys((kernel.source or "", kernel.pattern or "") for kernel in known[:top])),
        ),
    )
    return Report(found.file, tuple(facts), (), filled(blocks), (), "")


def _category(kernel: KernelUse) -> str:
    return "/".join(filter(None, (kernel.category, kernel.kind)))
