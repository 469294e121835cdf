"""Sampling, and which drafts it confirms; all on the device."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from nsys_digest.workloads.serve.batch import Sampling

_NOISE_ROWS = 251
_NOISE_STRIDE = 97


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the target makes of a step."""

    tokens: Tensor
    """The successor of each place, shape (requests, window); of a prompt only the first counts."""
    accepted: Tensor
    """Drafts that are confirmed, shape (requests,); 0 for a prompt."""
    newest: Tensor
    """The last token of each request, shape (requests,)."""
    last: Tensor
    """Where the token before that one stands, shape (requests,)."""


class Sampler:
    """The best token by logits; with a temperature, by logits and noise.

    Noise depends on the seed, the request and the position alone (the Gumbel-max trick), so a token is the same whether
    it is drafted or not, and whoever else is in the batch. The noise of a request repeats after 251 positions.
    """

    def __init__(self, vocabulary: int, temperature: float, seed: int, device: torch.device) -> None:
        self._temperature = temperature
        if temperature > 0:
            generator = torch.Generator(device).manual_seed(seed)
            even = torch.rand(_NOISE_ROWS, vocabulary, generator=generator, device=device).clamp_(1e-10, 1 - 1e-7)
            self._noise = -torch.log(-torch.log(even))

    def choose(self, logits: Tensor, requests: Tensor, positions: Tensor) -> Tensor:
        """Return the tokens at these positions for logits of shape (tokens, vocabulary)."""
        if self._temperature > 0:
            noise = self._noise.index_select(0, (requests * _NOISE_STRIDE + positions) % _NOISE_ROWS)
            logits = logits / self._temperature + noise
        return torch.argmax(logits, dim=-1)


def confirm(chosen: Tensor, tokens: Tensor, step: Sampling) -> Sampled:
    """Return what is sampled: the drafts that the target would have chosen itself, and the token behind the last one.

    `chosen` has the shape (requests, window); `tokens` are those of the whole batch.
    """
    drafts = tokens[step.places[:, 1:]]
    right = (chosen[:, :-1] == drafts) & step.decodes.bool().unsqueeze(1)
    accepted = right.long().cumprod(dim=1).sum(dim=1)
    index = accepted.unsqueeze(1)
    return Sampled(chosen, accepted, chosen.gather(1, index).squeeze(1), step.places.gather(1, index).squeeze(1))
