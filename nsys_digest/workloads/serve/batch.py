"""Where the tokens of a step stand in the buffers, and the buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nsys_digest.workloads.serve.attention import DecodeRows, KVCache, PrefillRow
from nsys_digest.workloads.serve.scheduler import Segment
from nsys_digest.workloads.serve.stack import Inputs, Layout

_FROM_POOL, _DRAFTER_FROM_POOL = 0, 1
_POSITION, _SLOT, _EMBEDDING = 0, 1, 2
_OWN_SLOT, _DECODES, _REQUEST, _SAMPLES = 0, 1, 2, 3


@dataclass(frozen=True, slots=True)
class Placement:
    """A step's tokens in the buffers: the first token of each segment, and how many tokens are run."""

    segments: tuple[Segment, ...]
    firsts: tuple[int, ...]
    padded: int

    @property
    def actual(self) -> int:
        """Tokens that are asked for."""
        return sum(segment.count for segment in self.segments)

    @property
    def places(self) -> Tensor:
        """Return where the actual tokens stand, int64, on the host."""
        parts = [
            torch.arange(first, first + segment.count)
            for first, segment in zip(self.firsts, self.segments, strict=True)
        ]
        return torch.cat(parts)


def packed(segments: tuple[Segment, ...], padded: int) -> Placement:
    """Set the segments one behind another."""
    firsts, end = [], 0
    for segment in segments:
        firsts.append(end)
        end += segment.count
    return Placement(segments, tuple(firsts), padded)


def by_slot(segments: tuple[Segment, ...], padded: int, window: int) -> Placement:
    """Set each decode where the row of its slot is in a full graph."""
    return Placement(segments, tuple(segment.slot * window for segment in segments), padded)


class TokenPool:
    """All token ids in one device tensor, found by one lookup: prompts, next tokens, samples, a 0."""

    def __init__(self, prompts: Sequence[Tensor], slots: int, window: int, device: torch.device) -> None:
        self._starts = [0]
        for prompt in prompts:
            self._starts.append(self._starts[-1] + len(prompt))
        own = 2 * slots * window + 1
        self.ids = torch.cat([*prompts, torch.zeros(own, dtype=torch.int64)]).to(device)
        self._window = window
        self._next = self._starts[-1]
        self._sampled = self._next + slots * window
        self.zero = self._sampled + slots * window
        """Where a token 0 is, for padding."""
        self.next_tokens = self.ids[self._next : self._sampled].view(slots, window)
        """The last token of each slot and its drafts."""
        self.sampled = self.ids[self._sampled : self.zero].view(slots, window)
        """What the target made of each of them in the last step."""

    def sources(self, segment: Segment) -> range:
        """Return where a segment's tokens are."""
        if segment.decodes:
            return range(self._next + segment.slot * self._window, self._next + (segment.slot + 1) * self._window)
        start = self._starts[segment.request.index] + segment.prompt_start
        return range(start, start + segment.count)

    def successors(self, segment: Segment) -> list[int]:
        """Return where the token behind each of a segment's tokens is, once the target has sampled."""
        sampled = self._sampled + segment.slot * self._window
        if segment.decodes:
            return list(range(sampled, sampled + self._window))
        behind = [index + 1 for index in self.sources(segment)]
        return [*behind[:-1], sampled] if segment.ends_prompt else behind


class _Mirrored:
    """Whole numbers that the host writes and then sends: pinned on a GPU's host, at a fixed address on the device."""

    def __init__(self, rows: int, padding: Sequence[int], device: torch.device) -> None:
        self._padding = torch.tensor(padding)
        self.host = (
            self._padding.repeat(rows, 1) if device.type == "cpu" else self._padding.repeat(rows, 1).pin_memory()
        )
        self.device = self.host.to(device, copy=True)

    def clear(self, rows: int) -> None:
        self.host[:rows] = self._padding

    def send(self, rows: int) -> None:
        self.device[:rows].copy_(self.host[:rows], non_blocking=True)


class Buffers:
    """What a step tells the device, at fixed addresses, so that graphs find it there.

    The host writes the sources of a step before it waits for the GPU, and the rest behind that; so each was sent before
    the last wait, and may be written again.
    """

    def __init__(
        self, most_tokens: int, slots: int, window: int, cache: KVCache, pool: TokenPool, like: Tensor
    ) -> None:
        device = like.device
        self._pool = pool
        self._cache = cache
        self._sources = _Mirrored(most_tokens, (pool.zero, pool.zero), device)
        self._places = _Mirrored(most_tokens, (cache.positions - 1, 0, 0), device)
        self._requests = _Mirrored(slots, (0,) * (_SAMPLES + window), device)
        tokens, next_tokens = (torch.zeros(most_tokens, dtype=torch.int64, device=device) for _ in range(2))
        hidden = like.new_zeros(most_tokens, like.shape[-1])
        places = self._places.device
        self.target = Inputs(tokens, places[:, _POSITION], places[:, _SLOT], places[:, _EMBEDDING], hidden)
        self.drafter = Inputs(next_tokens, places[:, _POSITION], places[:, _SLOT], places[:, _EMBEDDING], hidden)

    def place_tokens(self, placement: Placement) -> None:
        """Bring the token ids of a step, and padding, to where the target reads them."""
        count = placement.padded
        self._sources.clear(count)
        for first, segment in zip(placement.firsts, placement.segments, strict=True):
            rows = self._sources.host[first : first + segment.count]
            rows[:, _FROM_POOL] = torch.tensor(self._pool.sources(segment))
            rows[:, _DRAFTER_FROM_POOL] = torch.tensor(self._pool.successors(segment))
        self._sources.send(count)
        torch.index_select(self._pool.ids, 0, self._sources.device[:count, _FROM_POOL], out=self.target.tokens[:count])

    def place_successors(self, placement: Placement) -> None:
        """Bring the ids behind the tokens of a step to where the drafter reads them, once the target has sampled."""
        count = placement.padded
        sources = self._sources.device[:count, _DRAFTER_FROM_POOL]
        torch.index_select(self._pool.ids, 0, sources, out=self.drafter.tokens[:count])

    def place_positions(self, placement: Placement, embeddings: Tensor) -> None:
        """Tell the device positions, slots and embedding rows of a step's tokens, and what to sample from."""
        self._places.clear(placement.padded)
        done = 0
        for row, (first, segment) in enumerate(zip(placement.firsts, placement.segments, strict=True)):
            start = segment.start
            rows = self._places.host[first : first + segment.count]
            rows[:, _POSITION] = torch.arange(start, start + segment.count)
            rows[:, _SLOT] = segment.slot
            rows[:, _EMBEDDING] = embeddings[done : done + segment.count]
            done += segment.count
            samples = torch.arange(first, first + segment.count) if segment.decodes else first + segment.count - 1
            request = self._requests.host[row]
            request[_OWN_SLOT], request[_DECODES], request[_REQUEST] = (
                segment.slot,
                segment.decodes,
                segment.request.index,
            )
            request[_SAMPLES:] = samples
        self._places.send(placement.padded)
        self._requests.send(len(placement.segments))

    def sampling(self, placement: Placement) -> Sampling:
        """Return what the device was told of the requests of a step."""
        rows = self._requests.device[: len(placement.segments)]
        return Sampling(rows[:, _OWN_SLOT], rows[:, _DECODES], rows[:, _REQUEST], rows[:, _SAMPLES:])

    def layout(self, placement: Placement, inputs: Inputs) -> Layout:
        """Return where attention looks for the tokens of a packed placement."""
        parts: list[DecodeRows | PrefillRow] = []
        decodes = tuple(segment for segment in placement.segments if segment.decodes)
        if decodes:
            window = decodes[0].count
            keys = max(segment.start for segment in decodes) + window
            hidden_keys = self._cache.hidden_keys(inputs.positions[: len(decodes) * window], window, keys)
            parts.append(DecodeRows(0, tuple(segment.slot for segment in decodes), window, keys, hidden_keys))
        for first, segment in zip(placement.firsts, placement.segments, strict=True):
            if not segment.decodes:
                parts.append(PrefillRow(first, segment.count, segment.slot, segment.start))
        return parts


@dataclass(frozen=True, slots=True)
class Sampling:
    """The requests of a step, on the device; each of shape (requests,), but for the places."""

    slots: Tensor
    decodes: Tensor
    """1 for a decode, 0 for a prompt."""
    requests: Tensor
    places: Tensor
    """Tokens whose successor is sampled, shape (requests, window); for a prompt its last one, repeated."""
