"""A small transformer that learns, and the text it learns from."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

_FACTOR, _ADDEND = 5, 3


@dataclass(frozen=True, slots=True)
class TrainSizes:
    """Sizes of the model."""

    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int


class Block(nn.Module):
    """Attention and an MLP, each behind a norm and added to its input."""

    def __init__(self, sizes: TrainSizes) -> None:
        super().__init__()
        self.heads = sizes.heads
        self.before_attention = nn.LayerNorm(sizes.hidden)
        self.qkv = nn.Linear(sizes.hidden, 3 * sizes.hidden)
        self.output = nn.Linear(sizes.hidden, sizes.hidden)
        self.before_mlp = nn.LayerNorm(sizes.hidden)
        self.up = nn.Linear(sizes.hidden, 4 * sizes.hidden)
        self.down = nn.Linear(4 * sizes.hidden, sizes.hidden)

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, of the shape of its input: (batch, sequence, hidden)."""
        batch, sequence, hidden = x.shape
        heads = self.qkv(self.before_attention(x)).view(batch, sequence, 3, self.heads, hidden // self.heads)
        query, key, value = heads.permute(2, 0, 3, 1, 4).unbind(0)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(attended.transpose(1, 2).reshape(batch, sequence, hidden))
        result: Tensor = x + self.down(F.gelu(self.up(self.before_mlp(x))))
        return result


class SmallTransformer(nn.Module):
    """Predicts the next token at each position."""

    def __init__(self, sizes: TrainSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(sizes.vocabulary, sizes.hidden)
        self.positions = nn.Embedding(sizes.sequence, sizes.hidden)
        self.blocks = nn.ModuleList(Block(sizes) for _ in range(sizes.layers))
        self.norm = nn.LayerNorm(sizes.hidden)
        self.head = nn.Linear(sizes.hidden, sizes.vocabulary, bias=False)

    def forward(self, tokens: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss over all tokens, in nats."""
        x = self.embedding(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), targets.flatten())


def make_batch(sizes: TrainSizes, batch: int, seed: int, step: int) -> tuple[Tensor, Tensor]:
    """Return tokens and their successors, both (batch, sequence): each successor follows from its token by one rule."""
    generator = torch.Generator().manual_seed(seed * 1_000_003 + step)
    tokens = torch.randint(sizes.vocabulary, (batch, sizes.sequence), generator=generator)
    return tokens, (tokens * _FACTOR + _ADDEND) % sizes.vocabulary
