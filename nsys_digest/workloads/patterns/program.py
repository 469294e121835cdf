"""The patterns, one function each: a phase with a range of its own."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from nsys_digest.errors import WorkloadFailed
from nsys_digest.workloads.patterns.cuda import Runtime, Unavailable
from nsys_digest.workloads.patterns.gpu_ops import Hands

NUMBERS = 1 << 16
"""Float32 numbers in one unit of copying: 256 KiB. Each kind of copy moves another multiple of it."""
UNIT_BYTES = 4 * NUMBERS
SET_BYTES = 4096
GRAPH_KERNELS = 4
_PATIENCE_S = 60.0
SPIN_CYCLES = 2_000_000
"""About 1 ms: longer than two launches take, so that two of them overlap."""


def warm_up(hands: Hands, rounds: int) -> None:
    """Load the code of the kernels, so that no later launch waits for it; ``rounds`` plays no part."""
    hands.kernels(hands.numbers(NUMBERS), 1)
    hands.spin(1)
    hands.wait()


def kernels(hands: Hands, rounds: int) -> None:
    """Kernels inside nested ranges, also of one name within itself."""
    numbers = hands.numbers(NUMBERS)
    for _ in range(rounds):
        with hands.range("outer"):
            hands.kernels(numbers, 1)
            with hands.range("middle"):
                hands.kernels(numbers, 2)
                with hands.range("inner"):
                    hands.kernels(numbers, 3)
        with hands.range("recursive"), hands.range("recursive"):
            hands.kernels(numbers, 1)
    hands.wait()


def streams(hands: Hands, rounds: int) -> None:
    """Two streams at work at the same time."""
    both = (hands.side_stream(), hands.side_stream())
    for _ in range(rounds):
        with hands.range("overlap"):
            for stream in both:
                with hands.on(stream):
                    hands.spin(SPIN_CYCLES)
        hands.wait()
    if hands.cuda:
        hands.ledger.overlapping_kernels += 2 * rounds


def copies(hands: Hands, rounds: int) -> None:
    """Copy in every direction and between all kinds of memory, each with bytes of its own."""
    pageable, back = hands.on_host(5 * NUMBERS), hands.on_host(5 * NUMBERS)
    pinned = hands.on_host(5 * NUMBERS, pinned=True)
    near, far = hands.numbers(5 * NUMBERS), hands.numbers(5 * NUMBERS)
    back.zero_()
    for _ in range(rounds):
        with hands.range("copies"):
            _copy(hands, near, pageable, 1, "HtoD", "pageable", "device")
            _copy(hands, near, pinned, 2, "HtoD", "pinned", "device")
            _copy(hands, far, near, 2, "DtoD", "device", "device")
            _copy(hands, pinned, far, 1, "DtoH", "device", "pinned")
            hands.wait()
            _copy(hands, back, far, 2, "DtoH", "device", "pageable")
        hands.wait()
    if not bool((back[: 2 * NUMBERS] == 1).all()):
        raise WorkloadFailed("copies gave other numbers than they took; look for faulty memory or a faulty driver")


def _copy(hands: Hands, target: Any, source: Any, units: int, direction: str, *kinds: str) -> None:
    size = units * NUMBERS
    hands.copy(target[:size], source[:size], direction, *kinds)


def peers(hands: Hands, rounds: int) -> None:
    """Kernels on a second GPU, and copies to it."""
    if hands.gpus() < 2:
        hands.ledger.skip("peers", "needs two GPUs")
        return
    here, there = hands.numbers(3 * NUMBERS), hands.numbers(3 * NUMBERS, device="cuda:1")
    for _ in range(rounds):
        with hands.range("peers"):
            hands.kernels(here, 1)
            hands.copy(there, here, "PtoP", "device", "device")
            hands.kernels(there, 2)
        hands.wait()


def sets(hands: Hands, rounds: int) -> None:
    """Set memory by the runtime."""
    runtime = Runtime()
    numbers = hands.numbers(NUMBERS)
    stream = hands.torch.cuda.current_stream().cuda_stream
    for _ in range(rounds):
        with hands.range("sets"):
            for value in (0, 255):
                runtime.fill(numbers.data_ptr(), value, SET_BYTES, stream)
                hands.ledger.sets.add(1, SET_BYTES)
        hands.wait()


class _Unified:
    """Unified memory as PyTorch takes it over."""

    def __init__(self, address: int, count: int) -> None:
        self.__cuda_array_interface__ = {
            "shape": (count,),
            "typestr": "<f4",
            "data": (address, False),
            "version": 2,
        }


def managed(hands: Hands, rounds: int) -> None:
    """Unified memory: written by the host, moved, worked on by a kernel, moved back, read by the host.

    Whether the moves are in a trace depends on options of nsys; they are not booked as copies.
    """
    runtime = Runtime()
    address = runtime.allocate_managed(UNIT_BYTES)
    hands.ledger.managed_bytes += UNIT_BYTES
    stream = hands.torch.cuda.current_stream().cuda_stream
    try:
        numbers = hands.torch.as_tensor(_Unified(address, NUMBERS), device=hands.device)
        if numbers.data_ptr() != address:
            raise Unavailable("PyTorch copies unified memory in place of using it")
        host = (ctypes.c_float * NUMBERS).from_address(address)
        for number in range(rounds):
            with hands.range("managed"):
                hands.wait()
                host[0] = float(number)
                _move(hands, runtime, address, 0, stream)
                hands.kernels(numbers, 1)
                _move(hands, runtime, address, None, stream)
                hands.wait()
            if host[0] != number + 1:
                raise WorkloadFailed(f"unified memory holds {host[0]:g} in place of {number + 1}; the driver is faulty")
        del numbers, host
    finally:
        hands.wait()
        runtime.free(address)


def _move(hands: Hands, runtime: Runtime, address: int, device: int | None, stream: int) -> None:
    try:
        runtime.prefetch(address, UNIT_BYTES, device, stream)
    except Unavailable as error:  # the memory then moves page by page when it is touched
        if not any(each["pattern"] == "prefetch" for each in hands.ledger.skipped):
            hands.ledger.skip("prefetch", str(error))


def graphs(hands: Hands, rounds: int) -> None:
    """Capture a graph of kernels, a copy and a set, and launch it several times, each time behind a mark."""
    runtime = Runtime()
    numbers, other = hands.numbers(NUMBERS), hands.numbers(NUMBERS)
    stream = hands.side_stream()
    hands.wait()
    with hands.range("capture"), hands.on(stream):
        runtime.begin_capture(stream.cuda_stream)
        for _ in range(GRAPH_KERNELS):
            numbers.add_(1)  # captured, not launched
        other.copy_(numbers, non_blocking=True)
        runtime.fill(numbers.data_ptr(), 0, SET_BYTES, stream.cuda_stream)
        graph = runtime.end_capture(stream.cuda_stream)
    for _ in range(2 * rounds):
        hands.mark(f"CG_DISPATCH:actual={GRAPH_KERNELS - 1}:mode=FULL:padded={GRAPH_KERNELS}")
        with hands.range("replay"):
            graph.launch(stream.cuda_stream)
            hands.book(GRAPH_KERNELS, in_graphs=True)
            hands.ledger.replayed(1, UNIT_BYTES, SET_BYTES)
    hands.wait()
    graph.destroy()


def names(hands: Hands, rounds: int) -> None:
    """Ranges and marks: domains, text beyond ASCII, text that is not registered, an end on another thread."""
    numbers = hands.numbers(NUMBERS)
    for number in range(rounds):
        with hands.range("read", domain="patterns.io"):
            hands.kernels(numbers, 1)
        with hands.range("étape π — ✓"):
            hands.kernels(numbers, 1)
        hands.mark("round")
        hands.mark(f"round {number}", domain="patterns.io")
        if hands.cuda:
            with hands.inline_range("not registered"):
                hands.kernels(numbers, 1)
        span = hands.start("ended by another thread", domain="patterns.io")
        ender = threading.Thread(target=hands.end, args=(span,))
        ender.start()
        ender.join()
    if not hands.cuda:
        hands.ledger.skip("not registered", "PyTorch has NVTX only with CUDA")
    hands.wait()


def in_threads(hands: Hands, rounds: int, count: int) -> None:
    """Threads that launch at the same time, each into a stream of its own."""
    if not count:
        return
    ready = threading.Barrier(count)  # so that no thread does the work of two

    def work(_: int) -> None:
        ready.wait(_PATIENCE_S)
        numbers, stream = hands.numbers(NUMBERS), hands.side_stream()
        hands.wait()
        for _ in range(rounds):
            with hands.range("thread"), hands.on(stream):
                hands.kernels(numbers, 2)
        hands.wait()

    with ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


def left_open(hands: Hands) -> None:
    """Ranges of both kinds that never end; the last thing that a program does."""
    hands.push("never popped", stays_open=True)
    hands.start("never ended", domain="patterns.io", stays_open=True)


NEED_CUDA: tuple[Callable[[Hands, int], None], ...] = (sets, managed, graphs)
ALL: tuple[Callable[[Hands, int], None], ...] = (
    warm_up,
    kernels,
    streams,
    copies,
    peers,
    sets,
    managed,
    graphs,
    names,
)


def phase(hands: Hands, pattern: Callable[[Hands, int], None], rounds: int) -> None:
    """Run one pattern in the range of its phase; one that the system has not is booked as skipped."""
    name = pattern.__name__
    if pattern in NEED_CUDA and not hands.cuda:
        hands.ledger.skip(name, "needs CUDA")
        return
    with hands.range(f"phase {name}"):
        try:
            pattern(hands, rounds)
        except Unavailable as error:
            hands.ledger.skip(name, str(error))
