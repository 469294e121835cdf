"""What the patterns are made of: each thing is done and booked in one place, so that the account is true."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from nsys_digest.workloads.patterns.expected_counts import ExpectedCounts
from nsys_digest.workloads.ranges import Marks, Span
from nsys_digest.workloads.requirements import need_device, need_torch


class GpuOps:
    """Does GPU work, ranges and marks, on a GPU or on the CPU; there it books no GPU work."""

    def __init__(self, device: str) -> None:
        """Get hold of the device.

        Raises:
            WorkloadDependency, WorkloadDevice: what is needed is not there.

        """
        self.torch = need_torch()
        self.device = need_device(device)
        self.cuda = device == "cuda"
        self.expected = ExpectedCounts()
        self._marks: dict[str | None, Marks] = {}
        self._inside = threading.local()

    def gpus(self) -> int:
        """Return how many GPUs the patterns use: at most two."""
        return min(2, self.torch.cuda.device_count()) if self.cuda else 0

    def numbers(self, count: int, *, device: Any = None) -> Any:
        """Return uninitialised memory for float32 numbers on the device; no GPU work."""
        return self.torch.empty(count, dtype=self.torch.float32, device=device or self.device)

    def on_host(self, count: int, *, pinned: bool = False) -> Any:
        """Return memory of the host for float32 numbers, filled with ones."""
        return self.torch.ones(count, dtype=self.torch.float32, pin_memory=pinned and self.cuda)

    def kernels(self, numbers: Any, count: int) -> None:
        """Launch so many kernels: ``add_`` of a number to contiguous memory is one."""
        for _ in range(count):
            numbers.add_(1)
        self.book(count)

    def spin(self, cycles: int) -> None:
        """Launch one kernel that lasts so many cycles of the GPU."""
        if self.cuda:
            self.torch.cuda._sleep(cycles)
        self.book(1)

    def book(self, kernels: int, *, in_graphs: bool = False) -> None:
        """Book kernels that something else launched on this thread."""
        if self.cuda:
            self.expected.launched(kernels, self._names(), in_graphs=in_graphs)

    def copy(self, target: Any, source: Any, direction: str, source_kind: str, target_kind: str) -> None:
        """Copy contiguous numbers: one copy, which may still be under way when this returns."""
        target.copy_(source, non_blocking=True)
        if self.cuda:
            self.expected.copied(direction, source_kind, target_kind, source.numel() * source.element_size())

    def side_stream(self) -> Any:
        """Return a stream that does not wait for the default one; None on the CPU."""
        return self.torch.cuda.Stream(self.device) if self.cuda else None

    def on(self, stream: Any) -> AbstractContextManager[Any]:
        """Launch what is inside into a stream."""
        return self.torch.cuda.stream(stream) if stream is not None else nullcontext()

    def wait(self) -> None:
        """Wait for all GPU work."""
        if self.cuda:
            for index in range(self.gpus()):
                self.torch.cuda.synchronize(index)

    @contextmanager
    def range(self, name: str, domain: str | None = None) -> Iterator[None]:
        """Have a nested range around what runs inside."""
        self.push(name, domain)
        try:
            yield
        finally:
            self._names().pop()
            self._in(domain).pop()

    def push(self, name: str, domain: str | None = None, *, stays_open: bool = False) -> None:
        """Begin a nested range."""
        full = f"{domain}:{name}" if domain else name
        self.expected.began(full, stays_open=stays_open)
        self._names().append(full)
        self._in(domain).push(name)

    @contextmanager
    def inline_range(self, name: str) -> Iterator[None]:
        """Have a nested range whose text is not registered, as PyTorch makes them; needs CUDA."""
        self.expected.began(name)
        self._names().append(name)
        self.torch.cuda.nvtx.range_push(name)
        try:
            yield
        finally:
            self.torch.cuda.nvtx.range_pop()
            self._names().pop()

    def start(self, name: str, domain: str | None = None, *, stays_open: bool = False) -> Span:
        """Begin a range that any thread may end."""
        self.expected.began(f"{domain}:{name}" if domain else name, nested=False, stays_open=stays_open)
        return self._in(domain).start(name)

    def end(self, span: Span) -> None:
        """End such a range."""
        self._in(None).end(span)

    def mark(self, text: str, domain: str | None = None) -> None:
        """Emit an instant."""
        self.expected.marked(f"{domain}:{text}" if domain else text)
        self._in(domain).mark(text)

    def _in(self, domain: str | None) -> Marks:
        return self._marks.setdefault(domain, Marks(domain))

    def _names(self) -> list[str]:
        names: list[str] | None = getattr(self._inside, "names", None)
        if names is None:
            names = self._inside.names = []
        return names
