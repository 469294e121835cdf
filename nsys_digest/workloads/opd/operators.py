"""Which operator of the model each node of the backward graph belongs to.

PyTorch's autograd has finer nodes than a model has operators: an RMS norm is six of them, a linear product four. Nodes
that a module made are found by walking the graph from the module's output back to its inputs; the others by the name
of the node and by what it saved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

from nsys_digest.workloads.requirements import need_torch

MERGE_GRAD: Final = "merge_grad"
"""The kind of the nodes that put a gradient into its parameter."""

_ACCUMULATE = "torch::autograd::AccumulateGrad"
_SUFFIX = re.compile(r"Backward\d*$")
_KINDS: Final = {
    "Transpose": "Transpose",
    "Bmm": "Matmul",
    "Mm": "Matmul",
    "Silu": "Silu",
    "Softmax": "Softmax",
    "LogSoftmax": "LogSoftmax",
    "Mean": "Mean",
    "Sub": "Sub",
    "Embedding": "Embedding",
    "Clone": "Contiguous",
    "ToCopy": "Cast",
    **dict.fromkeys(
        ("View", "UnsafeView", "ReshapeAlias", "Slice", "Unsqueeze", "Squeeze", "Alias", "T", "Permute", "Select"),
        "Reshape",
    ),
}
"""Nodes that say it all by their name, without ``Backward`` and its number."""


@dataclass(frozen=True, slots=True)
class Operators:
    """The nodes of a graph with the kind of each, and how many operators of each kind there are."""

    kinds: tuple[tuple[Any, str], ...]
    counts: Counter[str]


class ModuleNodes:
    """Remembers the nodes that linear layers and RMS norms of a model make while gradients are recorded.

    Several nodes that one module made are one operator: ``MatmulBT`` for a linear layer, a product with a transposed
    weight, ``RMSNorm`` for a norm.
    """

    def __init__(self, model: Any) -> None:
        linear = need_torch().nn.Linear
        self.kind_of: dict[Any, str] = {}
        self.counts: Counter[str] = Counter()
        self._handles = []
        for module in model.modules():
            kind = "MatmulBT" if isinstance(module, linear) else "RMSNorm" if _is_norm(module) else None
            if kind is not None:
                self._handles.append(module.register_forward_hook(self._hook(kind)))

    def close(self) -> None:
        """Let the model be, and forget the graph."""
        for handle in self._handles:
            handle.remove()
        self.kind_of.clear()

    def _hook(self, kind: str) -> Callable[[Any, tuple[Any, ...], Any], None]:
        def remember(_: Any, inputs: tuple[Any, ...], output: Any) -> None:
            if output.grad_fn is None:
                return
            self.counts[kind] += 1
            edges = {each.grad_fn for each in inputs if getattr(each, "grad_fn", None) is not None}
            for node in walk(output.grad_fn, stop=edges.__contains__):
                self.kind_of[node] = kind

        return remember


def _is_norm(module: Any) -> bool:
    return type(module).__name__.endswith("RMSNorm")


def walk(root: Any, stop: Callable[[Any], bool] = lambda node: False) -> list[Any]:
    """Return the nodes from a root on, up to and without those at which to stop, parameters left out."""
    found: dict[Any, None] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node in found or stop(node) or node.name() == _ACCUMULATE:
            continue
        found[node] = None
        waiting += inputs_of(node)
    return list(found)


def inputs_of(node: Any) -> list[Any]:
    """Return the nodes that a node hands gradients to."""
    return [following for following, _ in node.next_functions if following is not None]


def operators_of(root: Any, modules: ModuleNodes) -> Operators:
    """Return the kind of every node from the root of a graph on, and the number of operators of each kind."""
    nodes = walk(root)
    kind_of = dict(modules.kind_of)
    counts = Counter(modules.counts)
    for node in nodes:
        if node not in kind_of and is_rotation(node):
            counts["RoPE"] += 1
            for part in walk(node, stop=lambda each: each.name().startswith("Transpose")):
                kind_of[part] = "RoPE"
    for node in nodes:
        if node not in kind_of:
            kind_of[node] = kind_by_name(node)
            counts[kind_of[node]] += 1
    leaves = _leaves(nodes)
    counts[MERGE_GRAD] += len(leaves)
    return Operators((*((node, kind_of[node]) for node in nodes), *((leaf, MERGE_GRAD) for leaf in leaves)), counts)


def _leaves(nodes: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(each for node in nodes for each in inputs_of(node) if each.name() == _ACCUMULATE))


def is_rotation(node: Any) -> bool:
    """Tell whether a node is the sum of a rotary embedding: ``x * cos + rotate_half(x) * sin``."""
    parts = inputs_of(node)
    return (
        node.name().startswith("Add")
        and len(parts) == 2
        and all(part.name().startswith("Mul") for part in parts)
        and any(each.name().startswith("Cat") for part in parts for each in inputs_of(part))
    )


def kind_by_name(node: Any) -> str:
    """Return the kind of a node that no module and no rotation owns."""
    name = _SUFFIX.sub("", node.name())
    if name == "Add":
        # A sum of which only one side learns is that of the attention mask.
        return "Add" if len(inputs_of(node)) == 2 else "AddBroadcast"
    if name == "Mul":
        return "MulScalar" if _has_scalar(node) else "Mul"
    if name == "Expand":
        # Keys and values are spread over the heads that share them; an expansion to the same shape does nothing.
        return "AddBroadcast" if list(node._saved_self_sym_sizes) != list(_shape(node)) else "Reshape"
    return _KINDS.get(name, name)


def _has_scalar(node: Any) -> bool:
    return any(each is not None and each.dim() == 0 for each in (node._saved_self, node._saved_other))


def _shape(node: Any) -> Any:
    """Return the shape of what a node made in the forward pass."""
    return node._input_metadata[0].shape
