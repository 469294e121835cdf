"""NVTX ranges and marks of a workload, which can also be kept in a list, for tests without nsys."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from nsys_digest.workloads.requirements import need_nvtx


@dataclass(frozen=True, slots=True)
class Span:
    """A start/end range that is open: any thread may end it."""

    name: str
    handle: Any


class Marks:
    """Emits NVTX in one domain; with ``keep``, remembers what was emitted.

    ``kept`` holds (kind, name) in order, over all threads: ``push`` and ``pop`` of nested ranges, ``start`` and ``end``
    of start/end ranges, ``mark``. Names go to NVTX as registered strings, as the package ``nvtx`` does it.

    Raises:
        WorkloadDependency: the package ``nvtx`` is not installed.

    """

    def __init__(self, domain: str | None = None, *, keep: bool = False) -> None:
        self._nvtx = need_nvtx()
        self._domain = domain
        self._keep = keep
        self._lock = threading.Lock()
        self._open = threading.local()
        self.kept: list[tuple[str, str]] = []

    @contextmanager
    def range(self, name: str) -> Iterator[None]:
        """Have a nested range around what runs inside, also when that fails."""
        self.push(name)
        try:
            yield
        finally:
            self.pop()

    def push(self, name: str) -> None:
        """Begin a nested range on this thread."""
        self._nvtx.push_range(name, domain=self._domain)
        self._names().append(name)
        self._note("push", name)

    def pop(self) -> None:
        """End the innermost nested range of this thread."""
        self._nvtx.pop_range(domain=self._domain)
        self._note("pop", self._names().pop())

    def start(self, name: str) -> Span:
        """Begin a range that any thread may end."""
        self._note("start", name)
        return Span(name, self._nvtx.start_range(name, domain=self._domain))

    def end(self, span: Span) -> None:
        """End a range that ``start`` began."""
        self._nvtx.end_range(span.handle)
        self._note("end", span.name)

    def mark(self, text: str) -> None:
        """Emit an instant."""
        self._nvtx.mark(text, domain=self._domain)
        self._note("mark", text)

    def _names(self) -> list[str]:
        names: list[str] | None = getattr(self._open, "names", None)
        if names is None:
            names = self._open.names = []
        return names

    def _note(self, kind: str, name: str) -> None:
        if self._keep:
            with self._lock:
                self.kept.append((kind, name))
