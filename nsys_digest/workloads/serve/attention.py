"""The KV cache and attention over it."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.attention.bias import causal_lower_right

from nsys_digest.workloads.serve.config import ModelSizes
from nsys_digest.workloads.serve.model import Heads


@dataclass(frozen=True, slots=True)
class DecodeRows:
    """Tokens first to first + rows * window of a batch: the same number for each of some slots, one behind another."""

    first: int
    slots: tuple[int, ...]
    window: int
    keys: int
    """Positions of the cache that are looked at, at most all; the mask hides what lies behind each token."""
    hidden_keys: Tensor
    """True where a token must not look: shape (rows, 1, 1, window, keys)."""

    @property
    def end(self) -> int:
        """Return the token after the last one."""
        return self.first + len(self.slots) * self.window


@dataclass(frozen=True, slots=True)
class PrefillRow:
    """Tokens first to first + count of a batch: the positions start to start + count of one slot."""

    first: int
    count: int
    slot: int
    start: int

    @property
    def end(self) -> int:
        """Return the token after the last one."""
        return self.first + self.count


class KVCache:
    """Keys and values of every layer, slot and position, each of shape (slots, kv heads, positions, width)."""

    def __init__(self, sizes: ModelSizes, layers: int, slots: int, positions: int, like: Tensor) -> None:
        shape = (slots, sizes.kv_heads, positions, sizes.head_width)
        self.positions = positions
        self.kv_heads = sizes.kv_heads
        self.keys = [torch.zeros(shape, device=like.device, dtype=like.dtype) for _ in range(layers)]
        self.values = [torch.zeros(shape, device=like.device, dtype=like.dtype) for _ in range(layers)]
        self._heads = torch.arange(sizes.kv_heads, device=like.device)
        self._positions = torch.arange(positions, device=like.device)

    def rows(self, slots: Tensor, positions: Tensor) -> Tensor:
        """Return where each token's keys go, for `write`; the same for all layers."""
        return (
            ((slots * self.kv_heads).unsqueeze(1) + self._heads)
            .mul(self.positions)
            .add(positions.unsqueeze(1))
            .view(-1)
        )

    def hidden_keys(self, positions: Tensor, window: int, keys: int) -> Tensor:
        """Return the mask of `DecodeRows` for tokens at these positions, shape (rows * window,)."""
        return self._positions[:keys] > positions.view(-1, 1, 1, window, 1)

    def write(self, layer: int, rows: Tensor, heads: Heads) -> None:
        """Store keys and values of tokens."""
        width = heads.key.shape[-1]
        self.keys[layer].view(-1, width).index_copy_(0, rows, heads.key.reshape(-1, width))
        self.values[layer].view(-1, width).index_copy_(0, rows, heads.value.reshape(-1, width))

    def decode(self, layer: int, query: Tensor, where: DecodeRows) -> Tensor:
        """Attend from a few tokens of each of several slots; query of shape (rows * window, heads, width)."""
        rows, width, groups = len(where.slots), query.shape[-1], query.shape[1] // self.kv_heads
        keys = self._of_slots(self.keys[layer], where)
        values = self._of_slots(self.values[layer], where)
        # heads that share keys are set beside each other, so that keys are read once and not repeated
        grouped = query.view(rows, where.window, self.kv_heads, groups, width).permute(0, 2, 3, 1, 4)
        flat = grouped.reshape(rows, self.kv_heads, groups * where.window, width)
        scores = torch.matmul(flat * width**-0.5, keys.transpose(2, 3))
        shape = (rows, self.kv_heads, groups, where.window, where.keys)
        scores = scores.view(shape).masked_fill(where.hidden_keys, float("-inf"))
        shares = torch.softmax(scores, dim=-1, dtype=torch.float32).to(query.dtype)
        attended = torch.matmul(shares.view(rows, self.kv_heads, groups * where.window, where.keys), values)
        attended = attended.view(rows, self.kv_heads, groups, where.window, width).permute(0, 3, 1, 2, 4)
        return attended.reshape(rows * where.window, -1)

    def _of_slots(self, cache: Tensor, where: DecodeRows) -> Tensor:
        """Return the part of a cache that some slots need: a view where they lie side by side, else a copy."""
        first, last = where.slots[0], where.slots[-1]
        if where.slots == tuple(range(first, last + 1)):
            return cache[first : last + 1, :, : where.keys]
        return torch.stack([cache[slot, :, : where.keys] for slot in where.slots])

    def prefill(self, layer: int, query: Tensor, where: PrefillRow) -> Tensor:
        """Attend from a chunk of one prompt to all before it and to itself, causally."""
        end = where.start + where.count
        attended = F.scaled_dot_product_attention(
            query.transpose(0, 1).unsqueeze(0),
            self.keys[layer][where.slot : where.slot + 1, :, :end],
            self.values[layer][where.slot : where.slot + 1, :, :end],
            attn_mask=_causal(where.count, end, query),
            enable_gqa=True,
        )
        return attended.squeeze(0).transpose(0, 1).reshape(where.count, -1)


def _causal(count: int, end: int, query: Tensor) -> Tensor:
    """Return the mask of the last `count` of `end` positions: True where a token may look, or a promise of that.

    PyTorch's flash attention takes the promise and needs no mask, but knows no float32.
    """
    if query.dtype == torch.float32:
        return torch.ones(count, end, dtype=torch.bool, device=query.device).tril(end - count)
    promise: Tensor = causal_lower_right(count, end)
    return promise
