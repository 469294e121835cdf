"""The target model and its drafter: pre-norm transformer layers, cut where attention reads the KV cache."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nsys_digest.workloads.serve.config import ModelSizes

_GAIN = 0.3
_DRAFTER_KNOWS = 0.7
"""Share of the vocabulary whose embedding the drafter shares; about so many drafts are right."""
_ROPE_BASE = 10_000.0


@dataclass(frozen=True, slots=True)
class Heads:
    """What a layer gives to attention: shapes (tokens, heads, width), and (tokens, kv heads, width) twice."""

    query: Tensor
    key: Tensor
    value: Tensor


def _weight(generator: torch.Generator, *shape: int, gain: float = 1.0, like: Tensor) -> Tensor:
    """Return normal weights that keep the scale of their input, times a gain; the last dimension is summed over."""
    values = torch.randn(*shape, generator=generator, device=like.device, dtype=torch.float32)
    return (values * (gain * shape[-1] ** -0.5)).to(like.dtype)


class Layer(nn.Module):
    """One transformer layer, with a per-layer embedding where it is given one."""

    def __init__(self, sizes: ModelSizes, generator: torch.Generator, like: Tensor, *, ple: bool) -> None:
        super().__init__()
        self.sizes = sizes
        hidden, width = sizes.hidden, sizes.head_width

        def weight(*shape: int, gain: float = 1.0) -> nn.Parameter:
            return nn.Parameter(_weight(generator, *shape, gain=gain, like=like), requires_grad=False)

        self.qkv = weight((sizes.heads + 2 * sizes.kv_heads) * width, hidden)
        self.output = weight(hidden, sizes.heads * width, gain=_GAIN)
        if sizes.experts:
            each = max(1, sizes.intermediate // sizes.expert_choices)
            self.router = weight(sizes.experts, hidden)
            self.up = weight(sizes.experts, 2 * each, hidden)
            self.down = weight(sizes.experts, hidden, each, gain=_GAIN)
        else:
            self.up = weight(2 * sizes.intermediate, hidden)
            self.down = weight(hidden, sizes.intermediate, gain=_GAIN)
        if ple:
            self.ple_gate = weight(sizes.ple_width, hidden)
            self.ple_output = weight(hidden, sizes.ple_width, gain=_GAIN)

    def before_attention(self, x: Tensor, rotation: Tensor) -> Heads:
        """Return queries, keys and values; the first two are rotated by their positions."""
        sizes = self.sizes
        rotated = sizes.heads + sizes.kv_heads
        heads = F.linear(normed(x), self.qkv).view(x.shape[0], rotated + sizes.kv_heads, sizes.head_width)
        query, key = rotate(heads[:, :rotated], rotation).split([sizes.heads, sizes.kv_heads], dim=1)
        return Heads(query, key, heads[:, rotated:])

    def after_attention(self, x: Tensor, attended: Tensor, ple: Tensor | None) -> Tensor:
        """Return the layer's output for what attention gave, shape (tokens, heads * width)."""
        x = x + F.linear(attended, self.output)
        x = x + (self._experts(normed(x)) if self.sizes.experts else self._mlp(normed(x)))
        if ple is not None:
            gate = F.gelu(F.linear(x, self.ple_gate), approximate="tanh")
            x = x + F.linear(gate * ple, self.ple_output)
        return x

    def _mlp(self, x: Tensor) -> Tensor:
        gate, up = F.linear(x, self.up).chunk(2, dim=-1)
        return F.linear(F.silu(gate) * up, self.down)

    def _experts(self, x: Tensor) -> Tensor:
        """Compute every expert for every token and weigh by the routing: no shape depends on data, as graphs need."""
        best, chosen = torch.topk(F.linear(x, self.router).float(), self.sizes.expert_choices, dim=-1)
        shares = torch.zeros(x.shape[0], self.sizes.experts, device=x.device, dtype=torch.float32)
        shares = shares.scatter(1, chosen, torch.softmax(best, dim=-1)).to(x.dtype)
        gate, up = torch.matmul(x, self.up.transpose(1, 2)).chunk(2, dim=-1)
        each = torch.matmul(F.silu(gate) * up, self.down.transpose(1, 2))
        return torch.einsum("eth,te->th", each, shares)


def normed(x: Tensor) -> Tensor:
    """Return x with a root mean square of 1."""
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def rotation_table(positions: int, width: int, like: Tensor) -> Tensor:
    """Return cosines and sines by position, shape (positions, width), float32: half cosines, half sines."""
    rates = _ROPE_BASE ** (-torch.arange(0, width, 2, device=like.device, dtype=torch.float32) / width)
    angles = torch.outer(torch.arange(positions, device=like.device, dtype=torch.float32), rates)
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def rotate(heads: Tensor, rotation: Tensor) -> Tensor:
    """Rotate each head by its token's position (Su et al. 2021, RoFormer, with halves as in GPT-NeoX)."""
    cosine, sine = rotation.unsqueeze(1).chunk(2, dim=-1)
    first, second = heads.float().chunk(2, dim=-1)
    turned = torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)
    return turned.to(heads.dtype)


class Target(nn.Module):
    """The model that is served.

    The head's rows are the embedding's in another order. With random layers a token is then mostly followed by the one
    that this order says, so a drafter of the same head can guess it, as a trained one does.
    """

    def __init__(self, sizes: ModelSizes, generator: torch.Generator, like: Tensor) -> None:
        super().__init__()
        self.sizes = sizes
        embedding = _weight(generator, sizes.vocabulary, sizes.hidden, gain=sizes.hidden**0.5, like=like)
        order = torch.randperm(sizes.vocabulary, generator=generator, device=like.device)
        self.embedding = nn.Parameter(embedding, requires_grad=False)
        self.head = nn.Parameter(embedding[order] * sizes.hidden**-0.5, requires_grad=False)
        self.layers = nn.ModuleList(Layer(sizes, generator, like, ple=True) for _ in range(sizes.layers))

    def start(self, tokens: Tensor, _hidden: Tensor | None) -> Tensor:
        """Return the input of the first layer."""
        return F.embedding(tokens, self.embedding)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return float32 logits over the vocabulary."""
        return F.linear(hidden, self.head).float()


class Drafter(nn.Module):
    """One layer that guesses further tokens from the target's last hidden states, as EAGLE and MTP heads do.

    At position i it sees the hidden state of i and the token of i + 1, and guesses that of i + 2.
    """

    def __init__(self, target: Target, generator: torch.Generator) -> None:
        super().__init__()
        sizes, like = target.sizes, target.embedding
        self.sizes = sizes
        unknown = torch.rand(sizes.vocabulary, 1, generator=generator, device=like.device) >= _DRAFTER_KNOWS
        others = _weight(generator, sizes.vocabulary, sizes.hidden, gain=sizes.hidden**0.5, like=like)
        self.embedding = nn.Parameter(torch.where(unknown, others, like.data), requires_grad=False)
        self.head = target.head
        same = torch.eye(sizes.hidden, device=like.device, dtype=like.dtype)
        mixed = _weight(generator, sizes.hidden, sizes.hidden, gain=_GAIN, like=like)
        self.join = nn.Parameter(torch.cat([same, mixed], dim=1), requires_grad=False)
        self.layers = nn.ModuleList([Layer(sizes, generator, like, ple=False)])

    def start(self, tokens: Tensor, hidden: Tensor | None) -> Tensor:
        """Return the input of the layer from the next tokens and the hidden states before them."""
        assert hidden is not None
        return F.linear(torch.cat([normed(F.embedding(tokens, self.embedding)), normed(hidden)], dim=-1), self.join)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return float32 logits over the vocabulary."""
        return F.linear(hidden, self.head).float()
