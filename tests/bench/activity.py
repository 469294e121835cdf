"""Simulated CUDA calls and GPU operations of the generated traces.

A step of a process is a forward part on the main thread, a backward part on the autograd thread and an
optimizer part on the main thread, each a sequence of CUDA calls. Kernels, copies and sets start after their
launch and after what runs before them on their stream; each half of a step ends in a call that waits for
the GPU.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

import numpy as np
import numpy.typing as npt

Int64s = npt.NDArray[np.int64]
Logs = float | npt.NDArray[np.float64]

CALLS, SEGMENT, GRAPH_NODES = 2000, 1000, 46
"""API calls of a step, of each of its two segments, and kernels of a graph."""

FIRST_NS = 3_000_000_000
PIDS = (40211, 40212, 40213, 40214)
COMPUTE, COMMUNICATION, COPY, BRANCH = 7, 23, 27, 31
"""Streams of every process."""

EAGER = [("cudaLaunchKernel_v7000", 8.3, 0.5, 0, 0.6), ("cuLaunchKernelEx", 8.1, 0.5, 1, 0.3),
         ("cudaLaunchKernelExC_v11060", 8.4, 0.5, 0, 0.1)]  # fmt: skip
OTHER = [
    ("cudaStreamIsCapturing_v10000", 6.1, 0.4, 0, 0.26), ("cuKernelGetAttribute", 5.2, 0.3, 1, 0.2),
    ("cudaEventRecordWithFlags_v11010", 7.6, 0.5, 0, 0.12), ("cudaEventQuery_v3020", 6.9, 0.5, 0, 0.12),
    ("cudaStreamWaitEvent_v3020", 6.8, 0.4, 0, 0.1), ("cuGetProcAddress_v2", 5.4, 0.4, 1, 0.06),
    ("cudaEventCreateWithFlags_v3020", 7.2, 0.5, 0, 0.05), ("cudaEventDestroy_v3020", 7.0, 0.5, 0, 0.05),
    ("cudaStreamSynchronize_v3020", 8.0, 0.7, 0, 0.025), ("cudaMalloc_v3020", 10.6, 0.6, 0, 0.008),
    ("cudaFree_v3020", 10.2, 0.6, 0, 0.005), ("cudaHostAlloc_v3020", 11.0, 0.5, 0, 0.001),
    ("cuLibraryLoadData", 12.0, 0.5, 1, 0.001),
]  # fmt: skip
"""CUDA calls: name, mean and deviation of the logarithm of the duration, event class, share."""
GRAPH_LAUNCH = ("cudaGraphLaunch_v10000", 10.9, 0.3, 0, 1.0)
MEMCPY = ("cudaMemcpyAsync_v3020", 8.7, 0.5, 0, 1.0)
MEMSET = ("cudaMemsetAsync_v3020", 8.4, 0.4, 0, 1.0)
WAIT = ("cudaDeviceSynchronize_v3020", 8.0, 0.4, 0, 1.0)
APIS = [*EAGER, *OTHER, GRAPH_LAUNCH, MEMCPY, MEMSET, WAIT]
N_EAGER, N_OTHER = len(EAGER), len(OTHER)
A_GRAPH, A_MEMCPY, A_MEMSET, A_WAIT = range(N_EAGER + N_OTHER, len(APIS))
EAGER_PER_SEGMENT, MEMCPY_PER_SEGMENT, MEMSET_PER_SEGMENT = 276, 35, 5
GRAPH_AT = ((100, 350, 600, 850), (620, 720, 820, 920))
"""Where the graph launches of each segment are, so that marks can stand before them."""


@dataclass
class Strings:
    """The StringIds table under construction: a text has one id."""

    ids: dict[str, int] = field(default_factory=dict)

    def add(self, text: str) -> int:
        """Return the id of a text."""
        return self.ids.setdefault(text, len(self.ids) + 1)


@dataclass(frozen=True)
class Names:
    """Ids of names by kind."""

    api: Int64s
    api_class: Int64s
    short: Int64s
    demangled: Int64s
    nccl: Int64s


def make_names(strings: Strings) -> Names:
    """Register the names of calls and kernels, and paths and symbols as real tables hold them."""
    api = [strings.add(a[0]) for a in APIS]
    bases = [
        "vectorized_elementwise_kernel", "elementwise_kernel", "reduce_kernel", "Kernel2",
        "cunn_SoftMaxForward",
        "vectorized_layer_norm_kernel", "CatArrayBatchedCopy_vectorized", "flash_fwd_splitkv_kernel",
        "splitKreduce_kernel", "multi_tensor_apply_kernel", "indexSelectLargeIndex",
        "fused_dropout_kernel_vec",
        "rotary_embedding_kernel", "reshape_and_cache_flash_kernel", "act_and_mul_kernel",
        "topkGatingSoftmax",
    ] + [f"nvjet_tst_{64 << i % 3}x{32 << i % 4}_64x{i + 2}_1x2_h_bz_NNT" for i in range(44)]  # fmt: skip
    short, demangled = [], []
    for i in range(600):
        base = bases[i % len(bases)]
        short.append(strings.add(base))
        functors = ", ".join(["at::native::BinaryFunctor<float, float, float>"] * (1 + i % 4))
        demangled.append(
            strings.add(f"void at::native::{base}<(int){i}, {functors}, std::array<char *, {i % 5}ul>>(int, T2, T3)")
        )
    nccl = [strings.add(f"ncclDevKernel_{c}_RING_LL")
            for c in ("AllReduce_Sum_bf16", "AllGather", "ReduceScatter_Sum_bf16")]  # fmt: skip
    for i in range(4000):
        strings.add(f"/usr/lib/x86_64-linux-gnu/libmodule{i % 37}.so.{i}!symbol_" + "y" * (i % 90))
    classes = [a[3] for a in APIS]
    return Names(*(np.array(ids, np.int64) for ids in (api, classes, short, demangled, nccl)))


@dataclass
class Activity:
    """Calls of one process in order, and the GPU operations that they launched.

    ``op_call`` is the index of the launching call, ``op_node`` the node of a graph (else -1), ``op_kind``
    the index of the call's name (-1 for a collective), and ``op_stream`` the stream. Times are in ns.
    """

    start: Int64s
    end: Int64s
    api: Int64s
    op_call: Int64s
    op_node: Int64s
    op_kind: Int64s
    op_stream: Int64s
    op_start: Int64s
    op_end: Int64s


def lognormal(rng: np.random.Generator, mean: Logs, sigma: Logs, n: int) -> Int64s:
    """Durations in ns whose logarithm has this mean and deviation."""
    return rng.lognormal(mean, sigma, n).astype(np.int64)


def make_segment(rng: np.random.Generator, begin: int, half: int, tails: dict[int, int]) -> Activity:
    """Make half a step from a time on; ``tails`` holds the end of each stream and is brought forward."""
    n = SEGMENT
    api = np.empty(n, np.int64)
    graph_at = np.array(GRAPH_AT[half])
    free = rng.permutation(np.setdiff1d(np.arange(n - 1), graph_at))
    a, b = EAGER_PER_SEGMENT, EAGER_PER_SEGMENT + MEMCPY_PER_SEGMENT
    c = b + MEMSET_PER_SEGMENT
    api[free[:a]] = rng.choice(N_EAGER, a, p=[x[4] for x in EAGER])
    api[free[a:b]], api[free[b:c]], api[graph_at], api[n - 1] = A_MEMCPY, A_MEMSET, A_GRAPH, A_WAIT
    api[free[c:]] = N_EAGER + rng.choice(N_OTHER, free.size - c, p=[x[4] for x in OTHER])
    duration = lognormal(rng, np.array([x[1] for x in APIS])[api], np.array([x[2] for x in APIS])[api], n) + 90
    gap = 500 + lognormal(rng, 7.4, 1.0, n)
    start = begin + np.concatenate((np.zeros(1, np.int64), np.cumsum(duration + gap)[:-1]))
    end = start + duration

    call = np.flatnonzero((api < N_EAGER) | (api == A_GRAPH) | (api == A_MEMCPY) | (api == A_MEMSET))
    count = np.where(api[call] == A_GRAPH, GRAPH_NODES, 1)
    op_call = np.repeat(call, count)
    node = np.arange(op_call.size) - np.repeat(np.cumsum(count) - count, count)
    kind = api[op_call]
    eager, graph = kind < N_EAGER, kind == A_GRAPH
    draw = rng.random(kind.size)
    nccl = eager & (draw < 0.065)
    stream = np.full(kind.size, COMPUTE)
    stream[nccl] = COMMUNICATION
    stream[graph & (node % 5 == 4)] = BRANCH
    stream[(kind == A_MEMCPY) & (draw < 0.5)] = COPY
    busy = np.where(nccl, lognormal(rng, 11.0, 0.5, kind.size), lognormal(rng, 8.4, 0.9, kind.size)) + 800
    busy = np.where(kind == A_MEMSET, 700 + busy // 20, busy)
    arrival = start[op_call] + np.where(graph, 9000, 2200) + rng.integers(0, 2500, kind.size)
    arrival = np.where(graph, np.maximum.accumulate(np.where(node == 0, arrival, 0)), arrival)
    pause = 600 + rng.integers(0, 700, kind.size)
    op_start = np.empty(kind.size, np.int64)
    for s in (COMPUTE, COMMUNICATION, COPY, BRANCH):
        i = np.flatnonzero(stream == s)
        before = np.concatenate((np.zeros(1, np.int64), np.cumsum(busy[i] + pause[i])))
        op_start[i] = np.maximum(np.maximum.accumulate(arrival[i] - before[:-1]), tails[s]) + before[:-1]
        if i.size:
            tails[s] = int(op_start[i[-1]] + busy[i[-1]] + pause[i[-1]])
    op_end = op_start + busy
    end[-1] = max(int(end[-1]), int(op_end.max()) + 2600)
    op_kind = np.where(nccl, -1, kind)
    return Activity(start, end, api, op_call, np.where(graph, node, -1), op_kind, stream, op_start, op_end)


def make_process(index: int, steps: int) -> Activity:
    """Run the steps of one process, segment after segment."""
    rng = np.random.default_rng([20250300, index])
    now = FIRST_NS + 37_000 * index
    tails = dict.fromkeys((COMPUTE, COMMUNICATION, COPY, BRANCH), 0)
    segments = []
    for half in range(2 * steps):
        segment = make_segment(rng, now, half % 2, tails)
        segment.op_call += half * SEGMENT
        now = int(segment.end[-1]) + 20_000 + int(rng.lognormal(12.3, 0.5)) * (half % 2)
        segments.append(segment)
    columns = [field.name for field in fields(Activity)]
    return Activity(*(np.concatenate([getattr(s, name) for s in segments]) for name in columns))


def correlation(process: int, call: Int64s) -> Int64s:
    """Return correlation ids of calls: increasing, with gaps, and the same ones in every process."""
    return 150 + process + call + call // 7


def global_pid(process: int) -> int:
    """Return the serialized id of a process, counted from 0."""
    return (1 << 48) | (PIDS[process] << 24)


def thread_of_call(call: Int64s) -> Int64s:
    """0 for the main thread, 1 for the autograd thread."""
    at = call % CALLS
    return ((at >= 1000) & (at < 1600)).astype(np.int64)
