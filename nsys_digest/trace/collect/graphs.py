"""Launches of CUDA graphs: rows of whole graphs, and nodes that share the call of their launch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from nsys_digest.algorithms.accumulators import Totals
from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.source import Batch

_NODE_BITS = 32
"""The upper half of a node id is the id of its executable graph, as traces of one program in both modes show."""
_INT64_MAX = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class GraphTotals:
    """Launches of graphs that count; arrays of shape (launches,) and (graphs,)."""

    graphs: tuple[tuple[int, int], ...]
    """(globalPid, id of the executable graph) of each; 0 for an id that the export does not tell."""
    launch_graph: Int64s
    """The graph of each launch."""
    launch_ns: Int64s
    """From the first start to the last end of a launch; 0 where no time is known."""
    has_nodes: Int64s
    """How many operations of nodes each graph has."""
    kernel_counts: Int64s
    kernel_sums_ns: Int64s


class _Launches(NamedTuple):
    """Launches by their nodes, or pieces of launches; columns of shape (n,)."""

    graph: Int64s
    correlation: Int64s
    first_ns: Int64s
    """The first start; ``_INT64_MAX`` where no node has a length."""
    last_ns: Int64s

    def together(self) -> _Launches:
        """Return the launches in order of graph, then of correlation id, the pieces of each as one."""
        order = np.lexsort((self.correlation, self.graph))
        graph, correlation, first_ns, last_ns = (column[order] for column in self)
        is_next = (np.diff(graph, prepend=-1) != 0) | (np.diff(correlation, prepend=0) != 0)
        starts = np.flatnonzero(is_next)
        if not starts.size:
            return self
        return _Launches(
            graph[starts],
            correlation[starts],
            np.minimum.reduceat(first_ns, starts),
            np.maximum.reduceat(last_ns, starts),
        )


class GraphPart:
    """Some of the operations of graphs: nothing is kept of a node by itself."""

    def __init__(self) -> None:
        """Start without a row."""
        self._processes, self._ids = Codes(), Codes()
        self._graphs = PairCodes()
        """(process, id) of each graph."""
        none = np.zeros(0, np.int64)
        self._launches = [_Launches(none, none, none, none)]
        """Launches of nodes, a piece of them a batch; there are too many for a code each."""
        self._nodes, self._kernels = Totals(), Totals()
        """By graph."""
        self._whole: list[tuple[Int64s, Int64s]] = []
        """(graph, length) of launches that were traced as a whole."""

    def add(self, kind: str, batch: Batch, part_ns: Int64s) -> None:
        """Take work of one kind that counts, with the columns of ``gpu_query`` in detail.

        ``part_ns`` is the time of each row within what is looked at.
        """
        if kind == "graph":
            self._add_whole(batch)
        else:
            self._add_nodes(batch, part_ns, kernels=kind == "kernel")

    def _add_whole(self, batch: Batch) -> None:
        """Take launches that were traced as a whole."""
        process, graph = self._processes.encode(batch.ints("process")), self._ids.encode(batch.ints("graph"))
        length_ns = np.maximum(batch.ints("end_ns") - batch.ints("start_ns"), 0)
        self._whole.append((self._graphs.encode(process, graph), length_ns))

    def _add_nodes(self, batch: Batch, part_ns: Int64s, *, kernels: bool) -> None:
        """Take work of any kind of which some may be of nodes."""
        node = batch.ints("graph_node")
        own = np.flatnonzero(node)
        if not own.size:
            return
        names = ("start_ns", "end_ns", "process", "correlation")
        start_ns, end_ns, process, correlation = (batch.ints(name)[own] for name in names)
        graph = self._graphs.encode(self._processes.encode(process), self._ids.encode(node[own] >> _NODE_BITS))
        self._nodes.add(graph, part_ns[own])
        if kernels:
            self._kernels.add(graph, part_ns[own])
        known = np.flatnonzero(correlation != 0)
        real = end_ns[known] > start_ns[known]
        first_ns = np.where(real, start_ns[known], _INT64_MAX)
        last_ns = np.where(real, end_ns[known], -_INT64_MAX)
        self._launches.append(_Launches(graph[known], correlation[known], first_ns, last_ns).together())

    def merge(self, other: GraphPart) -> None:
        """Take the rows of another part."""
        graph = self._graphs.merge(other._graphs, self._processes.merge(other._processes), self._ids.merge(other._ids))
        self._launches += [piece._replace(graph=graph[piece.graph]) for piece in other._launches]
        self._nodes.merge(other._nodes, graph)
        self._kernels.merge(other._kernels, graph)
        self._whole += [(graph[there], length_ns) for there, length_ns in other._whole]

    def finish(self) -> GraphTotals:
        """Return the launches and graphs."""
        graphs = len(self._graphs)
        launches = _Launches(*map(np.concatenate, zip(*self._launches, strict=True))).together()
        timed = launches.first_ns < _INT64_MAX
        length_ns = np.zeros(timed.size, np.int64)
        length_ns[timed] = launches.last_ns[timed] - launches.first_ns[timed]
        none = np.zeros(0, np.int64)
        whole_graph, whole_ns = (np.concatenate(column) for column in zip((none, none), *self._whole, strict=True))
        return GraphTotals(
            graphs=tuple(
                (self._processes.values[process], self._ids.values[one]) for process, one in self._graphs.pairs
            ),
            launch_graph=np.concatenate((whole_graph, launches.graph)),
            launch_ns=np.concatenate((whole_ns, length_ns)),
            has_nodes=self._nodes.count(graphs),
            kernel_counts=self._kernels.count(graphs),
            kernel_sums_ns=self._kernels.sum(graphs),
        )
