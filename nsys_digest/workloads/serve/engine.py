"""The server: what one step does on the host and on the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.serve.attention import DecodeRows, KVCache, PrefillRow
from nsys_digest.workloads.serve.batch import Buffers, Placement, Sampling, TokenPool
from nsys_digest.workloads.serve.config import ServeConfig, cache_length
from nsys_digest.workloads.serve.dispatch import EAGER, Dispatch, Dispatcher, mark_text
from nsys_digest.workloads.serve.graphs import full_layout
from nsys_digest.workloads.serve.model import Drafter, Target
from nsys_digest.workloads.serve.ple import PerLayerEmbeddings
from nsys_digest.workloads.serve.requests import RequestSpec
from nsys_digest.workloads.serve.sampling import Sampled, Sampler, confirm
from nsys_digest.workloads.serve.scheduler import Segment, take_results
from nsys_digest.workloads.serve.stack import Inputs, Stack


@dataclass(slots=True)
class Acceptance:
    """Drafts, as far as results were read."""

    offered: int = 0
    accepted: int = 0


class Engine:
    """The models with all they keep between steps.

    Everything is laid out before the first step: nothing that a step reads moves, so that graphs may hold addresses.
    """

    def __init__(self, config: ServeConfig, specs: Sequence[RequestSpec], marks: Marks) -> None:
        device = torch.device(config.device)
        like = torch.zeros(1, config.sizes.hidden, device=device, dtype=getattr(torch, config.dtype))
        generator = torch.Generator(device).manual_seed(config.seed)
        self._config = config
        self._marks = marks
        self._device = device
        most_tokens = config.chunk_tokens
        positions = cache_length(max(spec.longest_tokens(config.window) for spec in specs), config.window)
        self.target = Target(config.sizes, generator, like)
        self.prompts = make_prompts(specs, config.sizes.vocabulary, config.seed)
        self._pool = TokenPool(self.prompts, config.max_requests, config.window, device)
        cache = KVCache(config.sizes, config.sizes.layers, config.max_requests, positions, like)
        self._buffers = Buffers(most_tokens, config.max_requests, config.window, cache, self._pool, like)
        self.ple = PerLayerEmbeddings(config.sizes, most_tokens, config.seed, like)
        self._target_stack = Stack(self.target, cache, self.ple)
        self._drafter_stack: Stack | None = None
        self.drafter = Drafter(self.target, generator) if config.drafts else None
        if self.drafter is not None:
            self._drafter_stack = Stack(
                self.drafter, KVCache(config.sizes, 1, config.max_requests, positions, like), None
            )
        self._sampler = Sampler(config.sizes.vocabulary, config.temperature, config.seed, device)
        self._dispatcher = Dispatcher(config, self._buffers)
        self._results = torch.zeros(config.max_requests, 1 + config.window, dtype=torch.int64, device=device)
        self._read_results = _on_host(self._results)
        self._read_tokens = _on_host(self._buffers.target.tokens)
        self._unread: tuple[Segment, ...] = ()
        self.acceptance = Acceptance()

    @property
    def graph_launches(self) -> dict[tuple[str, int], int]:
        """Graphs launched by steps so far, by mode and padded tokens."""
        return dict(self._dispatcher.graph_launches)

    @torch.inference_mode()
    def prepare(self) -> None:
        """Capture the graphs, and run passes of the largest and the smallest size, so that no step meets a first time.

        What they leave in the caches is written over before it is read.
        """
        config = self._config
        for stack, inputs in self._stacks():
            self._dispatcher.capture(stack, inputs)
            chunk = min(config.chunk_tokens, stack.cache.positions)
            for start in (0, stack.cache.positions - chunk):  # with as much before it as there can be
                stack.forward(inputs.first(chunk), [PrefillRow(0, chunk, 0, start)])
            few = inputs.first(config.window)
            stack.forward(few, full_layout(stack, few, 1, config.window))
        self.synchronize()

    def _stacks(self) -> list[tuple[Stack, Inputs]]:
        both = [(self._target_stack, self._buffers.target), (self._drafter_stack, self._buffers.drafter)]
        return [(stack, inputs) for stack, inputs in both if stack is not None]

    @torch.inference_mode()
    def step(self, segments: tuple[Segment, ...]) -> str:
        """Run one step: the target on all tokens, sampling, the drafter on all tokens, then on one of each request.

        Returns the text of its first mark.
        """
        dispatch = self._dispatcher.choose(segments)
        placement = dispatch.placement
        self._marks.mark(dispatch.text)
        self._buffers.place_tokens(placement)
        embeddings = self.ple.look_up(placement.actual, lambda: self._wait_for_ids(placement), self._marks)
        self._buffers.place_positions(placement, embeddings)
        hidden = self._dispatcher.run(dispatch, self._target_stack, self._buffers.target)
        step = self._buffers.sampling(placement)
        sampled = self._sample(hidden, step)
        if self._drafter_stack is not None:
            self._draft(dispatch, self._drafter_stack, hidden, step, sampled)
        else:
            self._pool.next_tokens.index_copy_(0, step.slots, sampled.newest.unsqueeze(1))
        self._unread = segments
        return dispatch.text

    def _sample(self, hidden: Tensor, step: Sampling) -> Sampled:
        places = step.places.reshape(-1)
        positions = self._buffers.target.positions.index_select(0, places) + 1
        requests = step.requests.repeat_interleave(self._config.window, output_size=len(places))
        chosen = self._sampler.choose(self.target.logits(hidden.index_select(0, places)), requests, positions)
        sampled = confirm(chosen.view(-1, self._config.window), self._buffers.target.tokens, step)
        self._pool.sampled.index_copy_(0, step.slots, sampled.tokens)
        self._results.index_copy_(0, step.slots, torch.cat([sampled.accepted.unsqueeze(1), sampled.tokens], dim=1))
        return sampled

    def _draft(self, dispatch: Dispatch, stack: Stack, hidden: Tensor, step: Sampling, sampled: Sampled) -> None:
        placement, inputs = dispatch.placement, self._buffers.drafter
        self._marks.mark(dispatch.text)
        self._buffers.place_successors(placement)
        inputs.hidden[: placement.padded].copy_(hidden)
        state = self._dispatcher.run(dispatch, stack, inputs).index_select(0, sampled.last)
        positions = inputs.positions.index_select(0, sampled.last) + 1
        # what is guessed stands one behind the token that it is guessed from, and that one behind its hidden state
        drafts = [self._sampler.choose(stack.model.logits(state), step.requests, positions + 1)]
        slots = tuple(segment.slot for segment in placement.segments)
        keys = max(segment.start + segment.count for segment in placement.segments)
        for further in range(1, self._config.drafts):
            self._marks.mark(mark_text(len(slots), EAGER, len(slots)))
            given = Inputs(drafts[-1], positions, step.slots, step.slots, state)
            hidden_keys = stack.cache.hidden_keys(positions, 1, keys + further)
            rows = DecodeRows(0, slots, 1, keys + further, hidden_keys)
            state = stack.forward(given, [rows])
            positions = positions + 1
            drafts.append(self._sampler.choose(stack.model.logits(state), step.requests, positions + 1))
        self._pool.next_tokens.index_copy_(0, step.slots, torch.stack([sampled.newest, *drafts], dim=1))

    def _wait_for_ids(self, placement: Placement) -> Tensor:
        """Return the ids of a step's tokens on the host; the results of the step before come with them."""
        read = self._read_tokens[: placement.padded]
        read.copy_(self._buffers.target.tokens[: placement.padded], non_blocking=True)
        self.read_results()
        return read[placement.places]

    @torch.inference_mode()
    def read_results(self) -> None:
        """Wait for all that was launched, and give the requests of the last step what it brought them."""
        self._read_results.copy_(self._results, non_blocking=True)
        if self._device.type == "cuda":
            done = torch.cuda.Event()
            done.record()
            done.synchronize()
        rows = self._read_results.tolist()
        accepted = {slot: row[0] for slot, row in enumerate(rows)}
        sampled = {slot: row[1:] for slot, row in enumerate(rows)}
        offered, right = take_results(self._unread, accepted, sampled)
        self.acceptance.offered += offered
        self.acceptance.accepted += right
        self._unread = ()

    def next_tokens(self, slot: int) -> list[int]:
        """Return the last token of a slot and its drafts, once the GPU has them."""
        found: list[int] = self._pool.next_tokens[slot].tolist()
        return found

    def synchronize(self) -> None:
        """Wait for the device."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)

    def close(self) -> None:
        """Free the graphs once the device is done with them."""
        self.synchronize()
        self._dispatcher.close()


def make_prompts(specs: Sequence[RequestSpec], vocabulary: int, seed: int) -> list[Tensor]:
    """Return random prompts; that of a request depends on the seed and its place alone."""
    return [
        torch.randint(
            vocabulary, (spec.prompt_tokens,), generator=torch.Generator().manual_seed(seed * 1_000_003 + index)
        )
        for index, spec in enumerate(specs)
    ]


def _on_host(of: Tensor) -> Tensor:
    host = torch.zeros(of.shape, dtype=of.dtype)
    return host.pin_memory() if of.device.type == "cuda" else host
