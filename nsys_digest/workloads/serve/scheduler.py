"""Continuous batching: which tokens of which requests make up the next step."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from nsys_digest.workloads.serve.requests import RequestSpec


@dataclass(slots=True)
class Request:
    """A request on its way; what the host knows of it."""

    index: int
    """Its place among all requests, from 0."""
    spec: RequestSpec
    slot: int = -1
    """Its place in the KV cache, or -1 while it waits."""
    scheduled: int = 0
    """Prompt tokens that steps have been given."""
    context: int = 0
    """Tokens whose keys are in the cache to stay, as of the last results that were read."""
    decode_steps: int = 0
    output: list[int] = field(default_factory=list)
    drafts_accepted: int = 0

    @property
    def prefilled(self) -> bool:
        """Tell whether the whole prompt is with steps."""
        return self.scheduled >= self.spec.prompt_tokens

    @property
    def complete(self) -> bool:
        """Tell whether it has all it asked for, as far as the host knows."""
        if not self.prefilled:
            return False
        if self.spec.output_tokens is None:
            return self.decode_steps >= (self.spec.decode_steps or 0)
        return len(self.output) >= self.spec.output_tokens

    def may_be_complete(self, window: int) -> bool:
        """Tell whether results that are not read yet could complete it."""
        return (
            self.prefilled
            and self.spec.output_tokens is not None
            and (len(self.output) + window >= self.spec.output_tokens)
        )


@dataclass(frozen=True, slots=True)
class Segment:
    """The tokens of one request in one step."""

    request: Request
    slot: int
    count: int
    prompt_start: int
    """Where in the prompt a prefill chunk begins; -1 for a decode."""

    @property
    def decodes(self) -> bool:
        """Tell a decode from a prefill."""
        return self.prompt_start < 0

    @property
    def start(self) -> int:
        """Position of the first token; for a decode, as of the last results that were read."""
        return self.request.context if self.decodes else self.prompt_start

    @property
    def ends_prompt(self) -> bool:
        """Tell whether the last prompt token is among them, whose successor is the first output."""
        return not self.decodes and self.prompt_start + self.count == self.request.spec.prompt_tokens


class Scheduler:
    """Requests by arrival into free slots; decodes first, then prompts in chunks, up to the tokens of a step."""

    def __init__(self, specs: Iterable[RequestSpec], slots: int, window: int, chunk_tokens: int) -> None:
        self.requests = [Request(index, spec) for index, spec in enumerate(specs)]
        self._coming = deque(sorted(self.requests, key=lambda request: request.spec.arrival_s))
        self._running: list[Request] = []
        self._free = list(range(slots))
        self._window = window
        self._chunk_tokens = chunk_tokens

    @property
    def needs_results(self) -> bool:
        """Tell whether the last results must be read before it is known who is complete."""
        return any(request.may_be_complete(self._window) for request in self._running)

    def next_arrival_s(self) -> float | None:
        """Return when the next request arrives, or None when all have."""
        return self._coming[0].spec.arrival_s if self._coming else None

    def next_step(self, now_s: float) -> tuple[Segment, ...]:
        """Return the segments of the next step: decodes by slot, then prompts by slot; none when nothing is to be done.

        Raises nothing; a request that is complete leaves its slot here.
        """
        for request in [request for request in self._running if request.complete]:
            self._running.remove(request)
            self._free.append(request.slot)
        self._free.sort()
        while self._free and self._coming and self._coming[0].spec.arrival_s <= now_s:
            request = self._coming.popleft()
            request.slot = self._free.pop(0)
            self._running.append(request)
        self._running.sort(key=lambda request: request.slot)
        decodes = [self._decode(request) for request in self._running if request.prefilled]
        left = self._chunk_tokens - len(decodes) * self._window
        prompts = []
        for request in sorted(self._running, key=lambda request: request.index):
            if left > 0 and not request.prefilled:
                prompts.append(self._chunk(request, left))
                left -= prompts[-1].count
        return (*decodes, *sorted(prompts, key=lambda segment: segment.slot))

    def _decode(self, request: Request) -> Segment:
        request.decode_steps += 1
        return Segment(request, request.slot, self._window, -1)

    def _chunk(self, request: Request, most: int) -> Segment:
        start = request.scheduled
        count = min(most, request.spec.prompt_tokens - start)
        request.scheduled += count
        return Segment(request, request.slot, count, start)


def take_results(
    segments: Iterable[Segment], accepted: dict[int, int], sampled: dict[int, list[int]]
) -> tuple[int, int]:
    """Give each request what its segment brought, by slot; return how many drafts were offered and accepted."""
    offered = right = 0
    for segment in segments:
        request = segment.request
        if segment.decodes:
            new = sampled[segment.slot][: 1 + accepted[segment.slot]]
            offered += segment.count - 1
            right += len(new) - 1
            request.drafts_accepted += len(new) - 1
            request.context += len(new)
        else:
            new = sampled[segment.slot][:1] if segment.ends_prompt else []
            request.context += segment.count
        room = len(new) if request.spec.output_tokens is None else request.spec.output_tokens - len(request.output)
        request.output += new[:room]
    return offered, right
