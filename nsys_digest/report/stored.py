"""The report of what a stored digest is."""

from __future__ import annotations

from collections import Counter
from typing import Final

from nsys_digest.model.stored_inspection import StoredInspection
from nsys_digest.report.blocks import NAME, Block, Column, Report, filled, named
from nsys_digest.report.figure_columns import of
from nsys_digest.units import MISSING

_SIZE: Final = of(StoredInspection, "size_bytes")
_KERNELS: Final = of(StoredInspection, "kernel_count")


def stored_report(found: StoredInspection) -> Report:
    """Arrange what a stored digest is."""
    size = () if found.size_bytes is None else ((_SIZE.title, _SIZE.cell((found,))),)
    facts = (
        ("a stored digest", f"schema version {found.schema_version}, written by {found.tool} {found.tool_version}"),
        *size,
        ("trace", named(found.trace_path or found.trace)),
        ("product", " ".join(part for part in (found.product, found.product_version) if part) or "unknown"),
        ("recorded", found.recorded_at or "unknown"),
        ("labels", ", ".join(f"{key}={named(value)}" for key, value in found.labels.items()) or "none"),
        ("sections", ", ".join(found.sections) or "none: the base alone"),
        (_KERNELS.title, _KERNELS.cell((found,))),
        ("warnings", ", ".join(map(_times, Counter(found.warnings).items())) or "none"),
    )
    gpus = tuple(
        (MISSING if gpu.ordinal is None else str(gpu.ordinal), gpu.name or "unknown", gpu.uuid or MISSING)
        for gpu in found.gpus
    )
    blocks = (Block("GPUs", (Column("ordinal"), NAME, Column("uuid", "name")), gpus),)
    return Report(found.file, facts, (), filled(blocks), (), "")


def _times(one: tuple[str, int]) -> str:
    code, count = one
    return code if count == 1 else f"{code} ({count:,} times)"
