"""A backward pass with a stamp before and behind every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nsys_digest.workloads.opd.clock import Clock
from nsys_digest.workloads.opd.operators import MERGE_GRAD, ModuleNodes, operators_of
from nsys_digest.workloads.phases.records import BackwardOperator, BackwardProfile


@dataclass(frozen=True, slots=True)
class Profiled:
    """The profile, with time and number of operators by kind."""

    profile: BackwardProfile
    ns_by_kind: dict[str, int]
    count_by_kind: dict[str, int]


class BackwardProfiler:
    """Runs a backward pass and times each node of its graph; ``profiled`` holds the result.

    Between the stamps behind a node and before the next one the engine sums gradients that meet and calls hooks: this
    is what is unattributed. What comes before the first node is the prelude.
    """

    def __init__(self, clock: Clock, modules: ModuleNodes) -> None:
        self._clock = clock
        self._modules = modules
        self._stamps: list[Any] = []
        self._kinds: list[str] = []
        self.profiled: Profiled | None = None

    def __call__(self, loss: Any) -> None:
        """Run the backward pass of a loss."""
        operators = operators_of(loss.grad_fn, self._modules)
        handles = []
        for node, kind in operators.kinds:
            handles.append(node.register_prehook(self._before(kind)))
            handles.append(node.register_hook(self._behind))
        self._stamps.append(self._clock.stamp())
        try:
            loss.backward()
        finally:
            for handle in handles:
                handle.remove()
        self._stamps.append(self._clock.stamp())
        self.profiled = self._settle(operators.counts)

    def _before(self, kind: str) -> Any:
        def stamp(_: Any) -> None:
            self._kinds.append(kind)
            self._stamps.append(self._clock.stamp())

        return stamp

    def _behind(self, *_: Any) -> None:
        self._stamps.append(self._clock.stamp())

    def _settle(self, counts: dict[str, int]) -> Profiled:
        found = self._clock.resolve(self._stamps)
        taken_ns: dict[str, int] = {}
        for index, kind in enumerate(self._kinds):
            taken_ns[kind] = taken_ns.get(kind, 0) + found[2 * index + 2] - found[2 * index + 1]
        merge_ns = taken_ns.pop(MERGE_GRAD, 0)
        total_ns = found[-1] - found[0]
        prelude_ns = found[1] - found[0]
        op_ns = sum(taken_ns.values())
        rest_ns = total_ns - op_ns - merge_ns - prelude_ns
        return Profiled(BackwardProfile(total_ns, op_ns, merge_ns, prelude_ns, rest_ns), taken_ns, dict(counts))


def operator_summaries(profiled: Profiled, step_ns: int) -> tuple[BackwardOperator, ...]:
    """Rank kinds of operators by time, then by name; ``step_ns`` is the step with the profiled backward in it."""
    total_ns = profiled.profile.total_ns
    ranked: Sequence[tuple[str, int]] = sorted(profiled.ns_by_kind.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        BackwardOperator(
            rank, kind, profiled.count_by_kind[kind], ns, 100 * ns / total_ns, 100 * ns / step_ns if step_ns else 0.0
        )
        for rank, (kind, ns) in enumerate(ranked, start=1)
    )
