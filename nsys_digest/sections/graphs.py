"""CUDA graphs: how often each was launched, for how long its launches ran, and the kernels of its nodes."""

from __future__ import annotations

import numpy as np

from nsys_digest.model.split_types import GraphUse
from nsys_digest.sections.durations import durations
from nsys_digest.sections.section import Context, Lane, Made, Section
from nsys_digest.trace.collect.graphs import GraphTotals
from nsys_digest.trace.nsys.tables import known_process_of


def graphs(found: GraphTotals) -> tuple[GraphUse, ...]:
    """Return the graphs of which a launch or a node counts, by process, then by id."""
    order = np.argsort(found.launch_graph, kind="stable")
    edges = np.searchsorted(found.launch_graph[order], np.arange(len(found.graphs) + 1))
    uses = []
    for index, (process, graph) in enumerate(found.graphs):
        lengths_ns = found.launch_ns[order[edges[index] : edges[index + 1]]]
        has_nodes = bool(found.has_nodes[index])
        if not lengths_ns.size and not has_nodes:
            continue
        uses.append(
            GraphUse(
                process=known_process_of(process),
                graph=graph or None,
                launch_count=lengths_ns.size,
                durations=durations(lengths_ns[lengths_ns > 0]),
                node_kernel_count=int(found.kernel_counts[index]) if has_nodes else None,
                node_kernel_sum_ns=int(found.kernel_sums_ns[index]) if has_nodes else None,
            )
        )
    return tuple(sorted(uses, key=lambda use: (use.process or 0, use.graph or 0)))


def _make(context: Context) -> Made:
    found = context.scanned.gpu.graphs
    return Made(() if found is None else graphs(found))


SECTION = Section("graphs", _make, Lane.time)
