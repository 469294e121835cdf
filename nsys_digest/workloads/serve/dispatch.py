"""How a step is launched: in a graph or eagerly, padded or not; what the dispatch marks say."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from torch import Tensor

from nsys_digest.workloads.serve.batch import Buffers, Placement, by_slot, packed
from nsys_digest.workloads.serve.config import ServeConfig
from nsys_digest.workloads.serve.graphs import Capture, FullGraph, PiecewiseGraph
from nsys_digest.workloads.serve.scheduler import Segment
from nsys_digest.workloads.serve.stack import Inputs, Stack

EAGER, PIECEWISE, FULL = "NONE", "PIECEWISE", "FULL"


def mark_text(actual: int, mode: str, padded: int) -> str:
    """Return the text of a dispatch mark."""
    return f"CG_DISPATCH:actual={actual}:mode={mode}:padded={padded}"


@dataclass(frozen=True, slots=True)
class Dispatch:
    """A step as it will be launched."""

    mode: str
    placement: Placement

    @property
    def text(self) -> str:
        """Return the mark that says so."""
        return mark_text(self.placement.actual, self.mode, self.placement.padded)


class Dispatcher:
    """Chooses how to launch each step, and launches it, with the graphs of both models."""

    def __init__(self, config: ServeConfig, buffers: Buffers) -> None:
        self._config = config
        self._buffers = buffers
        self._graphs: dict[tuple[int, int], FullGraph | PiecewiseGraph] = {}
        self._sizes: list[int] = []
        self._capture: Capture | None = None
        self.graph_launches: Counter[tuple[str, int]] = Counter()
        """Graphs launched, by mode and padded tokens."""

    def capture(self, stack: Stack, inputs: Inputs) -> None:
        """Capture the graphs of a stack for all sizes, the largest first, so that smaller ones use its memory."""
        config = self._config
        if config.graphs == "none":
            return
        self._capture = self._capture or Capture()
        self._sizes = captured_sizes(config)
        for size in reversed(self._sizes):
            given = inputs.first(size)
            self._graphs[id(stack), size] = (
                FullGraph(stack, given, config.window, config.max_requests, self._capture)
                if config.graphs == "full"
                else PiecewiseGraph(stack, given, self._capture)
            )

    def choose(self, segments: tuple[Segment, ...]) -> Dispatch:
        """Return how to launch a step."""
        window = self._config.window
        actual = sum(segment.count for segment in segments)
        if self._config.graphs == "full" and all(segment.decodes for segment in segments):
            rows = 1 + max(segment.slot for segment in segments)
            for size in self._sizes:
                if size // window >= rows:
                    return Dispatch(FULL, by_slot(segments, size, window))
        if self._config.graphs == "piecewise":
            for size in self._sizes:
                if size >= actual:
                    return Dispatch(PIECEWISE, packed(segments, size))
        return Dispatch(EAGER, packed(segments, actual))

    def run(self, dispatch: Dispatch, stack: Stack, inputs: Inputs) -> Tensor:
        """Launch a pass and return its hidden states, shape (padded, hidden)."""
        padded = dispatch.placement.padded
        graph = self._graphs.get((id(stack), padded)) if dispatch.mode != EAGER else None
        if isinstance(graph, FullGraph):
            self.graph_launches[dispatch.mode, padded] += graph.launches
            return graph.run()
        layout = self._buffers.layout(dispatch.placement, inputs)
        if graph is None:
            return stack.forward(inputs.first(padded), layout)
        self.graph_launches[dispatch.mode, padded] += graph.launches
        return graph.run(layout)

    def close(self) -> None:
        """Free the graphs."""
        for graph in self._graphs.values():
            graph.close()
        self._graphs.clear()


def captured_sizes(config: ServeConfig) -> list[int]:
    """Return the padded tokens that graphs are captured for.

    A full graph needs room for one decode, and none larger is captured than the first with room for all slots.
    """
    if config.graphs != "full":
        return [size for size in config.graph_sizes if size <= config.chunk_tokens]
    sizes = []
    for size in config.graph_sizes:
        if config.window <= size <= config.chunk_tokens:
            sizes.append(size)
        if size // config.window >= config.max_requests:
            break
    return sizes
