"""The figures of a whole digest that a comparison shows first: some of them are sums that the digest does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from nsys_digest.compare.tables import KEYS as PAIR_KEYS
from nsys_digest.compare.tables import NUMBER, Number, Pair
from nsys_digest.model.catalogue import Json, figure, keys_of, result
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import RowFigure


@result
class WholeFigures:
    """Figures of a whole digest; None where it does not have one."""

    gpu_activity_span_ns: int | None = figure("s", "span of all GPU activity", bad="up", label="GPU span")
    gpu_busy_union_ns: int | None = figure("s", "time in which any GPU was busy", bad="up", label="GPU busy")
    gpu_idle_within_span_ns: int | None = figure("s", "span minus busy", bad="up", label="GPU idle")
    gpu_busy_ratio: float | None = figure("ratio", "busy over span", bad="down", label="GPU busy")
    kernel_sum_ns: int = figure("s", "plain sum of all kernels", bad="up", label="kernels")
    kernel_count: int = figure("count", "kernels", bad="up", label="kernels")
    graph_node_kernel_count: int = figure("count", "kernels of CUDA graph nodes", label="graph node kernels")
    graph_count: int = figure("count", "CUDA graphs traced as a whole", label="graphs")
    memcpy_count: int = figure("count", "copies", label="copies")
    memset_count: int = figure("count", "memory sets", label="sets")
    exposed_communication_ns: int | None = figure(
        "s", "communication that no compute hides, over all devices", bad="up", label="exposed communication"
    )
    api_count: int = figure("count", "CUDA API calls", bad="up", label="calls")
    api_total_ns: int = figure("s", "plain sum of all CUDA API calls", bad="up", label="calls")
    dispatch_count: int = figure("count", "dispatch marks", label="dispatch marks")


COLUMNS: Final[Mapping[str, RowFigure]] = {
    key.inside: RowFigure(key.inside, key.key, key.declared, (key.key,)) for key in keys_of(WholeFigures)
}
"""What is declared of each figure, by its name."""
KEYS: Final = tuple(column.key for column in COLUMNS.values())


_RUNS: Final = {"type": "array", "items": NUMBER}


@dataclass(frozen=True, slots=True)
class Headline:
    """A figure of whole digests: of the runs that stand for their sides, and of every run."""

    OWN_SCHEMA: ClassVar = {
        "type": "object",
        "properties": dict.fromkeys(PAIR_KEYS, NUMBER) | {"base_runs": _RUNS, "head_runs": _RUNS},
        "required": [*PAIR_KEYS, "base_runs", "head_runs"],
    }

    pair: Pair
    base_runs: tuple[Number | None, ...]
    head_runs: tuple[Number | None, ...]

    @property
    def own_key(self) -> str:
        """The key of the figure in a document."""
        return self.pair.own_key

    def own_form(self) -> Json:
        """Return the figure as a document has it."""
        return self.pair.own_form() | {
            "base_runs": list(map(self.pair.written, self.base_runs)),
            "head_runs": list(map(self.pair.written, self.head_runs)),
        }


def headline(digest: Digest) -> WholeFigures:
    """Return the figures of a whole digest."""
    span, busy, devices = digest.gpu_activity_span_ns, digest.gpu_busy_union_ns, digest.devices
    exposed = None if digest.communication is None else sum(device.exposed_ns for device in digest.communication)
    return WholeFigures(
        gpu_activity_span_ns=span,
        gpu_busy_union_ns=busy,
        gpu_idle_within_span_ns=digest.gpu_idle_within_span_ns,
        gpu_busy_ratio=busy / span if span and busy is not None else None,
        kernel_sum_ns=sum(device.sum_ns["kernel"] for device in devices),
        kernel_count=digest.kernel_count,
        graph_node_kernel_count=digest.graph_node_kernel_count,
        graph_count=sum(device.count["graph"] for device in devices),
        memcpy_count=sum(device.count["memcpy"] for device in devices),
        memset_count=sum(device.count["memset"] for device in devices),
        exposed_communication_ns=exposed,
        api_count=sum(call.count for call in digest.api.values()),
        api_total_ns=sum(call.total_ns for call in digest.api.values()),
        dispatch_count=sum(digest.dispatch.values()),
    )


def headlines(base: Sequence[Digest], head: Sequence[Digest], ours: int, theirs: int) -> dict[str, Headline]:
    """Put the figures of whole digests side by side: of all runs, and of those that stand for their sides."""
    first, second = ([headline(digest) for digest in side] for side in (base, head))
    found = {}
    for name, column in COLUMNS.items():
        values, others = (tuple(getattr(figures, name) for figures in side) for side in (first, second))
        found[name] = Headline(Pair(column, values[ours], others[theirs]), values, others)
    return found
