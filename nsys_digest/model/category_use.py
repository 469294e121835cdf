"""Which kernel category each kernel of a trace is in, as ``categories`` says it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from nsys_digest.model.codec import encode


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A full kernel name with its time, and the pattern that took it; the last four are None where none did."""

    name: str
    count: int
    total_ns: int
    category: str | None
    kind: str | None
    source: str | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class CategoryUse:
    """Which pattern took which kernel of a trace, most time first."""

    file: str
    kernels: tuple[KernelUse, ...]

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text, times in seconds."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(encode(self), ensure_ascii=False, allow_nan=False, **layout)
