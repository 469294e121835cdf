"""Which kernel category each kernel of a trace is in, as ``categories`` says it."""

from __future__ import annotations

from nsys_digest.model.catalogue import figure, label, part, result
from nsys_digest.model.codec import encode, json_text
from nsys_digest.units import counted


@result
class KernelUse:
    """A full kernel name with its time, and the pattern that took it; the last four are None where none did."""

    name: str = label("full name of the kernel")
    count: int = figure("count", "kernels of that name", label="count", counts="kernels")
    total_ns: int = figure("s", "plain sum of their lengths", label="total")
    category: str | None = label("the category that the pattern is of")
    kind: str | None = label("the kind of communication that it says")
    source: str | None = label("where the pattern stands: file and number")
    pattern: str | None = label("its pattern")


@result
class CategoryUse:
    """Which pattern took which kernel of a trace, most time first."""

    file: str = label("name of the trace, without its folder")
    kernels: tuple[KernelUse, ...] = part("kernels by full name, most time first")

    def __repr__(self) -> str:
        """Return the file and how many names there are, and not all of them."""
        return f"<CategoryUse {self.file!r}: {counted(len(self.kernels), 'kernel name')}>"

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text, times in seconds."""
        return json_text(encode(self), compact=compact)
