"""What a stored digest is, as ``inspect`` says it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from nsys_digest.model.base_types import Gpu
from nsys_digest.model.catalogue import Json, document, figure, label, part
from nsys_digest.model.codec import encode, json_text
from nsys_digest.model.digest import Digest
from nsys_digest.units import counted

KIND: Final[Literal["digest"]] = "digest"


@document
class StoredInspection:
    """What a stored digest is: who wrote it, of which trace, and what is in it."""

    kind: str = label("what the file is: always `digest`", always=True, default=KIND)
    file: str = label("name of the document, without its folder; of a baseline its name and time")
    size_bytes: int | None = figure("bytes", "size of the file; null where it is none", label="size")
    schema_version: str = label("version of the document; what an older one lacks was filled in")
    tool: str = label("what wrote it")
    tool_version: str = label("version of that")
    trace: str = label("name of the trace, without its folder")
    trace_path: str | None = label("path of the trace as it was given, or null")
    recorded_at: str | None = label("when the trace's clock began: ISO 8601 in UTC, to the second")
    labels: Mapping[str, str] = label("what was said of the run")
    product: str | None = label("the program that recorded the trace")
    product_version: str | None = label("its version")
    gpus: tuple[Gpu, ...] = part("GPUs that the trace names")
    kernel_count: int = figure("count", "kernels of the trace", label="kernels", counts="rows")
    sections: tuple[str, ...] = label("the sections in it, `steps` with them")
    warnings: tuple[str, ...] = label("codes of its warnings")

    def __repr__(self) -> str:
        """Return the file and the trace that it is of."""
        return f"<StoredInspection {self.file!r}: {self.trace!r}, {counted(len(self.sections), 'section')}>"

    def to_dict(self) -> Json:
        """Return the fields."""
        written: Json = encode(self)
        return written

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text."""
        return json_text(self.to_dict(), compact=compact)


def inspect_stored(digest: Digest, name: str, file: Path | None = None) -> StoredInspection:
    """Say what a stored digest is; ``file`` is where it lies."""
    capture = digest.capture
    return StoredInspection(
        file=name,
        size_bytes=None if file is None else file.stat().st_size,
        schema_version=digest.schema_version,
        tool=digest.tool,
        tool_version=digest.tool_version,
        trace=digest.file,
        trace_path=digest.path,
        recorded_at=digest.run.recorded_at,
        labels=digest.run.labels,
        product=capture.product,
        product_version=capture.product_version,
        gpus=capture.gpus,
        kernel_count=digest.kernel_count,
        sections=(*capture.sections, *(("steps",) if digest.steps is not None else ())),
        warnings=tuple(warn.code for warn in digest.warnings),
    )
