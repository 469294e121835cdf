"""CUDA graphs of a stack: one of all of it for decodes, or one of each piece between attentions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeVar

import torch
from torch import Tensor

from nsys_digest.workloads.serve.attention import DecodeRows
from nsys_digest.workloads.serve.stack import Inputs, Layout, Stack, State

_T = TypeVar("_T")


class Capture:
    """Captures into one memory pool, on one side stream.

    Work is run once on the side stream before it is captured, so that a capture sets nothing of cuBLAS or
    PyTorch up.
    What a capture returns is kept by the caller, and so is its memory in the pool; what it only used in between may be
    used again by the next one, because graphs run one behind another.
    """

    def __init__(self) -> None:
        self._pool = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()

    def __call__(self, work: Callable[[], _T]) -> tuple[torch.cuda.CUDAGraph, _T]:
        """Return a graph of the work, and what the work returned: the tensors that each replay writes again."""
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            work()
        torch.cuda.current_stream().wait_stream(self._stream)
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            made = work()
        graph.replay()  # a capture computes nothing: what is captured next starts from real values
        return graph, made


class FullGraph:
    """One graph of a whole pass for padded tokens: as many rows of a window each as fit, row r in slot r."""

    launches = 1

    def __init__(self, stack: Stack, inputs: Inputs, window: int, slots: int, capture: Capture) -> None:
        rows = min(len(inputs.tokens) // window, slots)
        self._graph, self._output = capture(lambda: stack.forward(inputs, full_layout(stack, inputs, rows, window)))

    def run(self) -> Tensor:
        """Replay it and return the hidden states, which stay until the next replay."""
        self._graph.replay()
        return self._output

    def close(self) -> None:
        """Free it."""
        self._graph.reset()


def full_layout(stack: Stack, inputs: Inputs, rows: int, window: int) -> Layout:
    """Return the layout of a padded decode: row r in slot r, over all positions of the cache."""
    keys = stack.cache.positions
    hidden_keys = stack.cache.hidden_keys(inputs.positions[: rows * window], window, keys)
    return [DecodeRows(0, tuple(range(rows)), window, keys, hidden_keys)]


class PiecewiseGraph:
    """A graph of each piece of a stack for padded tokens; attention runs between them, on the true tokens."""

    def __init__(self, stack: Stack, inputs: Inputs, capture: Capture) -> None:
        self._stack = stack
        like = inputs.hidden
        sizes = stack.model.sizes
        self._attended = like.new_zeros(len(inputs.tokens), sizes.heads * sizes.head_width)
        self._graphs: list[torch.cuda.CUDAGraph] = []
        self._states: list[State] = []
        self._add(capture, lambda: stack.start(inputs))
        for layer in range(stack.layers - 1):
            state = self._states[-1]
            self._add(capture, partial(stack.go_on, layer, state, self._attended))
        last = self._states[-1]
        graph, self._output = capture(lambda: stack.output(stack.go_on(stack.layers - 1, last, self._attended)))
        self._graphs.append(graph)

    @property
    def launches(self) -> int:
        """Graphs that one run launches."""
        return len(self._graphs)

    def _add(self, capture: Capture, piece: Callable[[], State]) -> None:
        graph, state = capture(piece)
        self._graphs.append(graph)
        self._states.append(state)

    def run(self, layout: Layout) -> Tensor:
        """Replay the pieces and return the hidden states, which stay until the next run."""
        end = max(part.end for part in layout)
        for layer, state in enumerate(self._states):
            self._graphs[layer].replay()
            self._attended[:end].copy_(self._stack.attend(layer, state.query[:end], layout))
        self._graphs[-1].replay()
        return self._output

    def close(self) -> None:
        """Free them."""
        for graph in self._graphs:
            graph.reset()
