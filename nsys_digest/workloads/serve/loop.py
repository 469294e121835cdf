"""The loop that serves requests as they arrive, and what came of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.requirements import need_torch
from nsys_digest.workloads.serve.config import ServeConfig
from nsys_digest.workloads.serve.engine import Engine
from nsys_digest.workloads.serve.requests import RequestSpec
from nsys_digest.workloads.serve.scheduler import Request, Scheduler, Segment


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step, as the log tells it."""

    index: int
    prompt_tokens: int
    decode_tokens: int
    requests: int
    mark: str
    wall_s: float
    """Host time from the start of the step to that of the next one, or to the end of the GPU's work."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A run that is over, with what a trace of it must show: exact counts by text, name and size."""

    steps: tuple[StepLine, ...]
    requests: tuple[Request, ...]
    marks: dict[str, int]
    """Dispatch marks by text."""
    ranges: dict[str, int]
    """Ranges by name."""
    graph_launches: dict[tuple[str, int], int]
    """Graphs launched, by mode and padded tokens."""
    drafts_offered: int
    drafts_accepted: int
    wall_s: float
    """From the first step to the end of the GPU's work, with pauses without requests."""


def serve(
    config: ServeConfig,
    specs: Sequence[RequestSpec],
) -> Outcome:
    """Prepare a server and serve all requests.

    Raises:
        UsageInvalid: the options do not fit each other.
        WorkloadFailed: the device has too little memory, or failed.

    """
    config.check()
    marks = Marks(keep=True)
    torch = need_torch()
    try:
        engine = Engine(config, specs, marks)
        engine.prepare()
        with _profiled(config):
            outcome = serve_all(engine, config, specs, marks)
        engine.close()
    except torch.AcceleratorError as error:
        raise WorkloadFailed(f"the GPU failed ({first_line(error)}); look at nvidia-smi and dmesg") from None
    except RuntimeError as error:  # PyTorch says no memory of a GPU with a class of its own, of the host without
        if not isinstance(error, torch.OutOfMemoryError) and "allocate" not in str(error):
            raise
        raise WorkloadFailed(
            f"there is too little memory ({first_line(error)}); take fewer --layers or a smaller --hidden, "
            "fewer --max-requests or shorter prompts"
        ) from None
    return outcome


def first_line(error: BaseException) -> str:
    """Return the first line of a message, without the stop behind it."""
    return str(error).partition("\n")[0].rstrip(".")


def serve_all(engine: Engine, config: ServeConfig, specs: Sequence[RequestSpec], marks: Marks) -> Outcome:
    """Serve all requests with an engine that is prepared."""
    scheduler = Scheduler(specs, config.max_requests, config.window, config.chunk_tokens)
    lines: list[StepLine] = []
    running: tuple[tuple[Segment, ...], str, float] | None = None

    def close_step() -> None:
        nonlocal running
        if running is not None:
            segments, mark, start = running
            lines.append(_line(len(lines), segments, mark, time.perf_counter() - start))
            running = None

    begin = time.perf_counter()
    while True:
        if scheduler.needs_results:
            engine.read_results()
        segments = scheduler.next_step(time.perf_counter() - begin)
        if not segments:
            engine.read_results()
            close_step()
            arrival_s = scheduler.next_arrival_s()
            if arrival_s is None:
                break
            time.sleep(max(begin + arrival_s - time.perf_counter(), 0.0))
            continue
        close_step()
        start = time.perf_counter()
        running = (segments, engine.step(segments), start)
        if config.synchronise:
            engine.synchronize()
    wall_s = time.perf_counter() - begin
    counts = Counter(marks.kept)
    return Outcome(
        steps=tuple(lines),
        requests=tuple(scheduler.requests),
        marks={name: count for (kind, name), count in counts.items() if kind == "mark"},
        ranges={name: count for (kind, name), count in counts.items() if kind == "push"},
        graph_launches=engine.graph_launches,
        drafts_offered=engine.acceptance.offered,
        drafts_accepted=engine.acceptance.accepted,
        wall_s=wall_s,
    )


def _line(index: int, segments: tuple[Segment, ...], mark: str, wall_s: float) -> StepLine:
    decode_tokens = sum(segment.count for segment in segments if segment.decodes)
    prompt_tokens = sum(segment.count for segment in segments) - decode_tokens
    return StepLine(index, prompt_tokens, decode_tokens, len(segments), mark, wall_s)


@contextmanager
def _profiled(config: ServeConfig) -> Iterator[None]:
    """Tell a profiler where the loop is, which may have been asked to record nothing else."""
    if not config.device.startswith("cuda"):
        yield
        return
    runtime = need_torch().cuda.cudart()
    runtime.cudaProfilerStart()
    try:
        yield
    finally:
        runtime.cudaProfilerStop()
