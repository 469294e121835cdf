"""What is asked of the sections that look at events one by one."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.model.kernel_categories import KernelCategories


@dataclass(frozen=True, slots=True)
class SectionOptions:
    """Which sections to make, how many gaps to list, the kernel categories, and what is a step."""

    sections: tuple[str, ...]
    gaps: int
    kernel_categories: KernelCategories
    step: str | None
    warmup: int = 1
    """How many first steps of each process warm up."""

    @property
    def needs_events(self) -> bool:
        """Whether anything must be looked at one by one."""
        return bool(self.sections) or self.step is not None
