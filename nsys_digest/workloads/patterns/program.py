"""The patterns, one function each: a phase with a range of its own."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.patterns.cuda import Runtime, Unavailable
from nsys_digest.workloads.patterns.gpu_ops import GpuOps
from nsys_digest.workloads.patterns.host_waits import busy_cpu, share_cpu, sleep, wait_for_lock

NUMBERS = 1 << 16
"""Float32 numbers in one unit of copying: 256 KiB. Each kind of copy moves another multiple of it."""
UNIT_BYTES = 4 * NUMBERS
SET_BYTES = 4096
GRAPH_KERNELS = 4
_PATIENCE_S = 60.0
SPIN_CYCLES = 2_000_000
"""About 1 ms: longer than two launches take, so that two of them overlap."""


def warm_up(gpu_ops: GpuOps, rounds: int) -> None:
    """Load the code of the kernels, so that no later launch waits for it; ``rounds`` plays no part."""
    gpu_ops.kernels(gpu_ops.numbers(NUMBERS), 1)
    gpu_ops.spin(1)
    gpu_ops.wait()


def kernels(gpu_ops: GpuOps, rounds: int) -> None:
    """Kernels inside nested ranges, also of one name within itself."""
    numbers = gpu_ops.numbers(NUMBERS)
    for _ in range(rounds):
        with gpu_ops.range("outer"):
            gpu_ops.kernels(numbers, 1)
            with gpu_ops.range("middle"):
                gpu_ops.kernels(numbers, 2)
                with gpu_ops.range("inner"):
                    gpu_ops.kernels(numbers, 3)
        with gpu_ops.range("recursive"), gpu_ops.range("recursive"):
            gpu_ops.kernels(numbers, 1)
    gpu_ops.wait()


def streams(gpu_ops: GpuOps, rounds: int) -> None:
    """Two streams at work at the same time."""
    both = (gpu_ops.side_stream(), gpu_ops.side_stream())
    for _ in range(rounds):
        with gpu_ops.range("overlap"):
            for stream in both:
                with gpu_ops.on(stream):
                    gpu_ops.spin(SPIN_CYCLES)
        gpu_ops.wait()
    if gpu_ops.cuda:
        gpu_ops.expected.overlapping_kernels += 2 * rounds


def copies(gpu_ops: GpuOps, rounds: int) -> None:
    """Copy in every direction and between all kinds of memory, each with bytes of its own."""
    pageable, back = gpu_ops.on_host(5 * NUMBERS), gpu_ops.on_host(5 * NUMBERS)
    pinned = gpu_ops.on_host(5 * NUMBERS, pinned=True)
    near, far = gpu_ops.numbers(5 * NUMBERS), gpu_ops.numbers(5 * NUMBERS)
    back.zero_()
    for _ in range(rounds):
        with gpu_ops.range("copies"):
            _copy(gpu_ops, near, pageable, 1, "HtoD", "pageable", "device")
            _copy(gpu_ops, near, pinned, 2, "HtoD", "pinned", "device")
            _copy(gpu_ops, far, near, 2, "DtoD", "device", "device")
            _copy(gpu_ops, pinned, far, 1, "DtoH", "device", "pinned")
            gpu_ops.wait()
            _copy(gpu_ops, back, far, 2, "DtoH", "device", "pageable")
        gpu_ops.wait()
    if not bool((back[: 2 * NUMBERS] == 1).all()):
        raise WorkloadFailed("copies gave other numbers than they took; look for faulty memory or a faulty driver")


def _copy(gpu_ops: GpuOps, target: Any, source: Any, units: int, direction: str, *kinds: str) -> None:
    size = units * NUMBERS
    gpu_ops.copy(target[:size], source[:size], direction, *kinds)


def peers(gpu_ops: GpuOps, rounds: int) -> None:
    """Kernels on a second GPU, and copies to it."""
    if gpu_ops.gpus() < 2:
        gpu_ops.expected.skip("peers", "needs two GPUs")
        return
    here, there = gpu_ops.numbers(3 * NUMBERS), gpu_ops.numbers(3 * NUMBERS, device="cuda:1")
    for _ in range(rounds):
        with gpu_ops.range("peers"):
            gpu_ops.kernels(here, 1)
            gpu_ops.copy(there, here, "PtoP", "device", "device")
            gpu_ops.kernels(there, 2)
        gpu_ops.wait()


def sets(gpu_ops: GpuOps, rounds: int) -> None:
    """Set memory by the runtime."""
    runtime = Runtime()
    numbers = gpu_ops.numbers(NUMBERS)
    stream = gpu_ops.torch.cuda.current_stream().cuda_stream
    for _ in range(rounds):
        with gpu_ops.range("sets"):
            for value in (0, 255):
                runtime.fill(numbers.data_ptr(), value, SET_BYTES, stream)
                gpu_ops.expected.sets.add(1, SET_BYTES)
        gpu_ops.wait()


class _Unified:
    """Unified memory as PyTorch takes it over."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 2,
        }


def managed(gpu_ops: GpuOps, rounds: int) -> None:
    """Unified memory: written by the host, moved, worked on by a kernel, moved back, read by the host.

    Whether the moves are in a trace depends on options of nsys; they are not booked as copies.
    """
    runtime = Runtime()
    address = runtime.allocate_managed(UNIT_BYTES)
    gpu_ops.expected.managed_bytes += UNIT_BYTES
    stream = gpu_ops.torch.cuda.current_stream().cuda_stream
    try:
        numbers = gpu_ops.torch.as_tensor(_Unified(address, NUMBERS), device=gpu_ops.device)
        if numbers.data_ptr() != address:
            raise Unavailable("PyTorch copies unified memory in place of using it")
        host = (ctypes.c_float * NUMBERS).from_address(address)
        for number in range(rounds):
            with gpu_ops.range("managed"):
                gpu_ops.wait()
                host[0] = float(number)
                _move(gpu_ops, runtime, address, 0, stream)
                gpu_ops.kernels(numbers, 1)
                _move(gpu_ops, runtime, address, None, stream)
                gpu_ops.wait()
            if host[0] != number + 1:
                raise WorkloadFailed(f"unified memory holds {host[0]:g} in place of {number + 1}; the driver is faulty")
        del numbers, host
    finally:
        gpu_ops.wait()
        runtime.free(address)


def _move(gpu_ops: GpuOps, runtime: Runtime, address: int, device: int | None, stream: int) -> None:
    try:
        runtime.prefetch(address, UNIT_BYTES, device, stream)
    except Unavailable as error:  # the memory then moves page by page when it is touched
        if not any(each["pattern"] == "prefetch" for each in gpu_ops.expected.skipped):
            gpu_ops.expected.skip("prefetch", str(error))


def graphs(gpu_ops: GpuOps, rounds: int) -> None:
    """Capture a graph of kernels, a copy and a set, and launch it several times, each time behind a mark."""
    runtime = Runtime()
    numbers, other = gpu_ops.numbers(NUMBERS), gpu_ops.numbers(NUMBERS)
    stream = gpu_ops.side_stream()
    gpu_ops.wait()
    with gpu_ops.range("capture"), gpu_ops.on(stream):
        runtime.begin_capture(stream.cuda_stream)
        for _ in range(GRAPH_KERNELS):
            numbers.add_(1)  # captured, not launched
        other.copy_(numbers, non_blocking=True)
        runtime.fill(numbers.data_ptr(), 0, SET_BYTES, stream.cuda_stream)
        graph = runtime.end_capture(stream.cuda_stream)
    for _ in range(2 * rounds):
        gpu_ops.mark(f"CG_DISPATCH:actual={GRAPH_KERNELS - 1}:mode=FULL:padded={GRAPH_KERNELS}")
        with gpu_ops.range("replay"):
            graph.launch(stream.cuda_stream)
            gpu_ops.book(GRAPH_KERNELS, in_graphs=True)
            gpu_ops.expected.replayed(1, UNIT_BYTES, SET_BYTES)
    gpu_ops.wait()
    graph.destroy()


def names(gpu_ops: GpuOps, rounds: int) -> None:
    """Ranges and marks: domains, text beyond ASCII, text that is not registered, an end on another thread."""
    numbers = gpu_ops.numbers(NUMBERS)
    for number in range(rounds):
        with gpu_ops.range("read", domain="patterns.io"):
            gpu_ops.kernels(numbers, 1)
        with gpu_ops.range("étape π — ✓"):
            gpu_ops.kernels(numbers, 1)
        gpu_ops.mark("round")
        gpu_ops.mark(f"round {number}", domain="patterns.io")
        if gpu_ops.cuda:
            with gpu_ops.inline_range("not registered"):
                gpu_ops.kernels(numbers, 1)
        span = gpu_ops.start("ended by another thread", domain="patterns.io")
        ender = threading.Thread(target=gpu_ops.end, args=(span,))
        ender.start()
        ender.join()
    if not gpu_ops.cuda:
        gpu_ops.expected.skip("not registered", "PyTorch has NVTX only with CUDA")
    gpu_ops.wait()


def in_threads(gpu_ops: GpuOps, rounds: int, count: int) -> None:
    """Threads that launch at the same time, each into a stream of its own."""
    if not count:
        return
    ready = threading.Barrier(count)  # so that no thread does the work of two

    def work(_: int) -> None:
        ready.wait(_PATIENCE_S)
        numbers, stream = gpu_ops.numbers(NUMBERS), gpu_ops.side_stream()
        gpu_ops.wait()
        for _ in range(rounds):
            with gpu_ops.range("thread"), gpu_ops.on(stream):
                gpu_ops.kernels(numbers, 2)
        gpu_ops.wait()

    with ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


def left_open(gpu_ops: GpuOps) -> None:
    """Ranges of both kinds that never end; the last thing that a program does."""
    gpu_ops.push("never popped", stays_open=True)
    gpu_ops.start("never ended", domain="patterns.io", stays_open=True)


def blocked(gpu_ops: GpuOps, rounds: int) -> None:
    """Block on a lock while the GPU has nothing to do."""
    _waits(gpu_ops, rounds, "blocked", wait_for_lock)


def asleep(gpu_ops: GpuOps, rounds: int) -> None:
    """Sleep while the GPU has nothing to do."""
    _waits(gpu_ops, rounds, "asleep", sleep)


def off_cpu(gpu_ops: GpuOps, rounds: int) -> None:
    """Compute on a CPU that another process has half of the time, while the GPU has nothing to do."""
    with busy_cpu():
        _waits(gpu_ops, rounds, "off_cpu", share_cpu)


def _waits(gpu_ops: GpuOps, rounds: int, name: str, wait: Callable[[], int]) -> None:
    """Have the host wait between two kernels, in a range in which nothing else is done."""
    numbers = gpu_ops.numbers(NUMBERS)
    for _ in range(rounds):
        gpu_ops.kernels(numbers, 1)
        gpu_ops.wait()
        with gpu_ops.range(name):
            waited_ns = wait()
        gpu_ops.kernels(numbers, 1)
        gpu_ops.expected.waited(name, waited_ns)
    gpu_ops.wait()


NEED_CUDA: tuple[Callable[[GpuOps, int], None], ...] = (sets, managed, graphs)
ALL: tuple[Callable[[GpuOps, int], None], ...] = (
    warm_up,
    kernels,
    streams,
    copies,
    peers,
    sets,
    managed,
    graphs,
    names,
    blocked,
    asleep,
    off_cpu,
)


def phase(gpu_ops: GpuOps, pattern: Callable[[GpuOps, int], None], rounds: int) -> None:
    """Run one pattern in the range of its phase; one that the system has not is booked as skipped."""
    name = pattern.__name__
    if pattern in NEED_CUDA and not gpu_ops.cuda:
        gpu_ops.expected.skip(name, "needs CUDA")
        return
    with gpu_ops.range(f"phase {name}"):
        try:
            pattern(gpu_ops, rounds)
        except Unavailable as error:
            gpu_ops.expected.skip(name, str(error))
