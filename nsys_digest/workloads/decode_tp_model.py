"""A decoder cut over ranks: each has some heads and a part of each MLP, and their partial sums are added."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True, slots=True)
class DecodeSizes:
    """Sizes of the whole model."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    positions: int

    @property
    def head_width(self) -> int:
        """Width of one head."""
        return self.hidden // self.heads


@dataclass(frozen=True, slots=True)
class LayerPart:
    """What one rank has of a layer: by columns (its own outputs), then by rows (its own inputs, a partial sum)."""

    qkv: Tensor
    output: Tensor
    up: Tensor
    down: Tensor


@dataclass(frozen=True, slots=True)
class DecoderPart:
    """What one rank has of the model; embedding and head are whole on each."""

    sizes: DecodeSizes
    heads: int
    embedding: Tensor
    head: Tensor
    layers: tuple[LayerPart, ...]


def make_part(sizes: DecodeSizes, seed: int, rank: int, ranks: int, like: Tensor) -> DecoderPart:
    """Make the whole model from the seed, on the CPU, and keep a rank's part of it."""
    generator = torch.Generator().manual_seed(seed)
    hidden, width = sizes.hidden, sizes.head_width

    def weight(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator) * shape[-1] ** -0.5

    def mine(whole: Tensor, dimension: int) -> Tensor:
        return whole.chunk(ranks, dimension)[rank].to(like.device, like.dtype).contiguous()

    embedding = torch.randn(sizes.vocabulary, hidden, generator=generator)
    layers = []
    for _ in range(sizes.layers):
        qkv = mine(weight(3, sizes.heads, width, hidden), 1).view(-1, hidden)
        layers.append(LayerPart(qkv, mine(weight(hidden, hidden), 1), *_mlp(weight, mine, hidden)))
    head = weight(sizes.vocabulary, hidden).to(like.device, like.dtype)
    return DecoderPart(sizes, sizes.heads // ranks, embedding.to(like.device, like.dtype), head, tuple(layers))


def _mlp(
    weight: Callable[[int, int], Tensor], mine: Callable[[Tensor, int], Tensor], hidden: int
) -> tuple[Tensor, Tensor]:
    return mine(weight(4 * hidden, hidden), 0), mine(weight(hidden, 4 * hidden), 1)


class Decoder:
    """Decodes one token of each sequence at a time; the next one and its position are set on the device.

    All that changes stands at fixed addresses, so `step` can be captured once and replayed for each token.
    """

    def __init__(self, part: DecoderPart, first: Tensor, add_up: Callable[[Tensor], None]) -> None:
        sizes, batch = part.sizes, len(first)
        self._part = part
        self._add_up = add_up
        shape = (sizes.layers, batch, part.heads, sizes.positions, sizes.head_width)
        self._keys = part.embedding.new_zeros(shape)
        self._values = part.embedding.new_zeros(shape)
        self._first = first
        self._all_positions = torch.arange(sizes.positions, device=first.device)
        self.tokens = first.clone()
        self.position = torch.zeros(1, dtype=torch.int64, device=first.device)
        self.chosen = torch.zeros(sizes.positions, batch, dtype=torch.int64, device=first.device)
        """The token that follows each position, shape (positions, batch)."""
        self.logits = torch.zeros(sizes.positions, batch, sizes.vocabulary, device=first.device)

    def restart(self) -> None:
        """Begin again from the first tokens."""
        self.tokens.copy_(self._first)
        self.position.zero_()

    def step(self, forced: Tensor | None = None) -> None:
        """Decode one token of each sequence; go on with the best one, or with the one that is forced."""
        x = F.embedding(self.tokens, self._part.embedding)
        for index, layer in enumerate(self._part.layers):
            attended = F.linear(self._attend(index, F.linear(_normed(x), layer.qkv)), layer.output)
            self._add_up(attended)
            x = x + attended
            made = F.linear(F.gelu(F.linear(_normed(x), layer.up)), layer.down)
            self._add_up(made)
            x = x + made
        logits = F.linear(_normed(x), self._part.head).float()
        best = logits.argmax(dim=-1)
        self.logits.index_copy_(0, self.position, logits.unsqueeze(0))
        self.chosen.index_copy_(0, self.position, best.unsqueeze(0))
        self.tokens.copy_(best if forced is None else forced)
        self.position.add_(1)

    def _attend(self, layer: int, qkv: Tensor) -> Tensor:
        query, key, value = qkv.view(len(qkv), 3, self._part.heads, 1, -1).unbind(1)
        keys, values = self._keys[layer], self._values[layer]
        keys.index_copy_(2, self.position, key)
        values.index_copy_(2, self.position, value)
        scores = torch.matmul(query * query.shape[-1] ** -0.5, keys.transpose(2, 3)).float()
        scores = scores.masked_fill(self._all_positions > self.position, float("-inf"))
        return torch.matmul(scores.softmax(dim=-1).to(values.dtype), values).flatten(1)


def _normed(x: Tensor) -> Tensor:
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)
