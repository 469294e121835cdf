"""Calls of the CUDA runtime and driver that PyTorch has none for, through ctypes.

Only functions whose form has been the same since CUDA 11 are called; prefetching is called in the driver, since the
runtime's function took other arguments in CUDA 13 (CUDA Toolkit 13.0 release notes, "cudaMemPrefetchAsync").
"""

from __future__ import annotations

import ctypes
from pathlib import Path

_MAPS = Path("/proc/self/maps")
_ATTACH_GLOBAL = 1
_CAPTURE_THREAD_LOCAL = 1
_ON_HOST = -1


class Unavailable(Exception):
    """The system has no such call, or it refuses."""


class Runtime:
    """The CUDA runtime that PyTorch has loaded, and the driver below it."""

    def __init__(self) -> None:
        """Find both.

        Raises:
            Unavailable: PyTorch has the runtime built in, or there is no driver.

        """
        paths = {line.split(maxsplit=5)[5] for line in _MAPS.read_text().splitlines() if "libcudart.so" in line}
        if not paths:
            raise Unavailable("PyTorch has loaded no libcudart.so")
        try:
            self._runtime = ctypes.CDLL(sorted(paths)[0])
            self._driver = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Unavailable(str(error)) from None

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        """Set memory on a stream."""
        self._call("cudaMemsetAsync", ctypes.c_void_p(address), value, ctypes.c_size_t(size), ctypes.c_void_p(stream))

    def allocate_managed(self, size: int) -> int:
        """Return the address of unified memory."""
        address = ctypes.c_void_p()
        self._call("cudaMallocManaged", ctypes.byref(address), ctypes.c_size_t(size), ctypes.c_uint(_ATTACH_GLOBAL))
        if not address.value:
            raise Unavailable("cudaMallocManaged gave no address")
        return address.value

    def free(self, address: int) -> None:
        """Give memory back."""
        self._call("cudaFree", ctypes.c_void_p(address))

    def prefetch(self, address: int, size: int, device: int | None, stream: int) -> None:
        """Move unified memory to a device, or to the host for None."""
        where = ctypes.c_int(_ON_HOST if device is None else device)
        status = self._driver.cuMemPrefetchAsync(
            ctypes.c_uint64(address), ctypes.c_size_t(size), where, ctypes.c_void_p(stream)
        )
        if status:
            raise Unavailable(f"cuMemPrefetchAsync failed with error {status}")

    def begin_capture(self, stream: int) -> None:
        """Have what is launched into a stream go into a graph."""
        self._call("cudaStreamBeginCapture", ctypes.c_void_p(stream), ctypes.c_int(_CAPTURE_THREAD_LOCAL))

    def end_capture(self, stream: int) -> Graph:
        """Return the graph, made ready to be launched."""
        graph, ready = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cudaStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self._call("cudaGraphInstantiateWithFlags", ctypes.byref(ready), graph, ctypes.c_ulonglong(0))
        return Graph(self, graph, ready)

    def _call(self, name: str, *arguments: object) -> None:
        try:
            function = getattr(self._runtime, name)
        except AttributeError:
            raise Unavailable(f"libcudart.so has no {name}") from None
        status = function(*arguments)
        if status:
            self._runtime.cudaGetLastError()  # or PyTorch takes the error for that of its next launch
            raise Unavailable(f"{name} failed with error {status}")


class Graph:
    """A graph that can be launched."""

    def __init__(self, runtime: Runtime, graph: ctypes.c_void_p, ready: ctypes.c_void_p) -> None:
        self._runtime, self._graph, self._ready = runtime, graph, ready

    def launch(self, stream: int) -> None:
        """Launch it into a stream."""
        self._runtime._call("cudaGraphLaunch", self._ready, ctypes.c_void_p(stream))

    def destroy(self) -> None:
        """Give it back; nothing may be running."""
        self._runtime._call("cudaGraphExecDestroy", self._ready)
        self._runtime._call("cudaGraphDestroy", self._graph)
