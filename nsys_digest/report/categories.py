"""The report of kernel categories: which pattern took which kernel, and what none took."""

from __future__ import annotations

from nsys_digest.model.category_use import CategoryUse, KernelUse
from nsys_digest.report.blocks import NAME, Block, Column, Report, filled, more, named, numbers
from nsys_digest.units import counted, duration, percent


def categories_report(found: CategoryUse, top: int) -> Report:
    """Arrange which pattern took which kernel; what no pattern took comes first."""
    whole = sum(kernel.total_ns for kernel in found.kernels)
    unknown = [kernel for kernel in found.kernels if kernel.source is None]
    known = [kernel for kernel in found.kernels if kernel.source is not None]
    count = sum(kernel.count for kernel in found.kernels)
    facts = [("kernels", f"{count:,}, of {counted(len(found.kernels), 'name')}")]
    if found.kernels:
        unknown_ns = sum(kernel.total_ns for kernel in unknown)
        time = f"{duration(unknown_ns)} ({percent(unknown_ns, whole)}) of kernel time"
        facts.append(
            (
                "no pattern",
                f"{counted(len(unknown), 'name')}, {time}" if unknown else "none: a pattern took every kernel",
            )
        )
    blocks = (
        Block(
            "Kernels that no pattern took, most time first",
            (*numbers("total", "share", "count"), NAME),
            tuple(
                (duration(kernel.total_ns), percent(kernel.total_ns, whole), f"{kernel.count:,}", named(kernel.name))
                for kernel in unknown[:top]
            ),
            more(len(unknown) - top),
        ),
        Block(
            "Kernels by pattern, most time first",
            (*numbers("total"), Column("category", "label"), Column("source", "label"), NAME),
            tuple(
                (duration(kernel.total_ns), _category(kernel), kernel.source or "", named(kernel.name))
                for kernel in known[:top]
            ),
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
