"""A model over its cache, in the pieces that run between one attention and the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from nsys_digest.workloads.serve.attention import DecodeRows, KVCache, PrefillRow
from nsys_digest.workloads.serve.model import Drafter, Layer, Target, normed, rotation_table
from nsys_digest.workloads.serve.ple import PerLayerEmbeddings

Layout: TypeAlias = Sequence[DecodeRows | PrefillRow]


@dataclass(frozen=True, slots=True)
class Inputs:
    """The tokens of a pass, on the device; each of shape (tokens,), but for the hidden states."""

    tokens: Tensor
    positions: Tensor
    slots: Tensor
    embeddings: Tensor
    """Which fetched row of the per-layer embeddings is each token's own."""
    hidden: Tensor
    """What the target made of the token before, shape (tokens, hidden); for the drafter."""

    def first(self, count: int) -> Inputs:
        """Return the first tokens of these, as views."""
        parts = (self.tokens, self.positions, self.slots, self.embeddings, self.hidden)
        return Inputs(*(part[:count] for part in parts))


@dataclass(slots=True)
class State:
    """What goes from piece to piece."""

    x: Tensor
    query: Tensor
    rotation: Tensor
    rows: Tensor
    ple: Tensor | None


class Stack:
    """The target or the drafter with its cache; piece i ends where layer i attends, the last one with the output."""

    def __init__(self, model: Target | Drafter, cache: KVCache, ple: PerLayerEmbeddings | None) -> None:
        self.model = model
        self.cache = cache
        self._ple = ple
        self._layers: list[Layer] = list(model.layers)
        like = model.embedding
        self._rotation = rotation_table(cache.positions, model.sizes.head_width, like)

    @property
    def layers(self) -> int:
        """Number of layers."""
        return len(self._layers)

    def start(self, inputs: Inputs) -> State:
        """Run the first piece."""
        x = self.model.start(inputs.tokens, inputs.hidden)
        rotation = self._rotation.index_select(0, inputs.positions)
        rows = self.cache.rows(inputs.slots, inputs.positions)
        ple = None if self._ple is None else self._ple.of_tokens(inputs.embeddings)
        return self._before(0, State(x, x, rotation, rows, ple))

    def go_on(self, layer: int, state: State, attended: Tensor) -> State:
        """Run the piece behind a layer's attention."""
        ple = None if state.ple is None else state.ple[:, layer]
        x = self._layers[layer].after_attention(state.x, attended, ple)
        after = State(x, x, state.rotation, state.rows, state.ple)
        return after if layer + 1 == self.layers else self._before(layer + 1, after)

    def _before(self, layer: int, state: State) -> State:
        heads = self._layers[layer].before_attention(state.x, state.rotation)
        self.cache.write(layer, state.rows, heads)
        return State(state.x, heads.query, state.rotation, state.rows, state.ple)

    def attend(self, layer: int, query: Tensor, layout: Layout) -> Tensor:
        """Run a layer's attention; tokens outside the layout are given zeros."""
        parts = [
            self.cache.decode(layer, query[part.first : part.end], part)
            if isinstance(part, DecodeRows)
            else self.cache.prefill(layer, query[part.first : part.end], part)
            for part in layout
        ]
        covered = sum(len(part) for part in parts)
        if covered < len(query):
            parts.append(parts[0].new_zeros(len(query) - covered, parts[0].shape[1]))
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    def output(self, state: State) -> Tensor:
        """Return the hidden states that logits are made of, from the state behind the last piece."""
        return normed(state.x)

    def forward(self, inputs: Inputs, layout: Layout) -> Tensor:
        """Run all pieces and return the hidden states, shape (tokens, hidden)."""
        state = self.start(inputs)
        for layer in range(self.layers):
            state = self.go_on(layer, state, self.attend(layer, state.query, layout))
        return self.output(state)
