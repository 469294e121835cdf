"""A whole run: a warm-up, a control, the measured steps, a profile of the backward pass, and the log of it all."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

from nsys_digest.workloads.errors import WorkloadDependency, WorkloadFailed
from nsys_digest.workloads.opd.clock import HostClock, StepTimer, WaitingClock, clock_of
from nsys_digest.workloads.opd.model import Pair, build, elements
from nsys_digest.workloads.opd.operators import ModuleNodes
from nsys_digest.workloads.opd.profile import BackwardProfiler, Profiled, operator_summaries
from nsys_digest.workloads.opd.settings import Settings
from nsys_digest.workloads.opd.step import Distillation, StepResult
from nsys_digest.workloads.phases.records import (
    Config,
    ModelConfig,
    PhaseLog,
    RunSummary,
    StepSummary,
    TimingSummary,
    WarmupSummary,
    phase_summaries,
)
from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.requirements import need_device, need_torch, need_transformers

_MOST_IDLE_STAMPS = 1_000
_FIRST_TRANSFORMERS = 5
"""Before it the base of the rotation had another name, and would be another number."""


def run(settings: Settings, marks: Marks | None = None, *, profiler: bool = False) -> PhaseLog:
    """Run and measure, and return the log.

    Each of warm-up, control, first measured step and profile begins with the same student and a new optimizer. Only
    the ranges of measured steps have the plain names of step and phases; the others begin with ``warmup/``,
    ``control/`` or ``profile/``. With ``profiler``, the CUDA profiler is started before the measured steps and stopped
    behind them, for a recorder that captures only that.

    Raises:
        UsageInvalid: a setting makes no sense.
        CheckpointInvalid: ``model_dir`` is no whole checkpoint of a Qwen3 model.
        WorkloadDependency: a package is not installed, or too old.
        WorkloadDevice: the device is not there.
        WorkloadFailed: the device failed or has too little memory, or the loss is no number.

    """
    settings.check()
    device = need_device(settings.device)
    _check_version()
    try:
        return _run(settings, device, marks or Marks(), profiler=profiler)
    except (RuntimeError, MemoryError) as error:  # what PyTorch raises when a device fails, or its memory is too small
        reason = " ".join(str(error).partition("\n")[0].split())[:300] or "out of memory"
        cure = "choose --dtype bfloat16, a smaller --size, or another device"
        raise WorkloadFailed(f"PyTorch could not run the step ({reason}); {cure}") from error


def _check_version() -> None:
    version = str(need_transformers().__version__)
    if not version.partition(".")[0].isdecimal() or int(version.partition(".")[0]) < _FIRST_TRANSFORMERS:
        raise WorkloadDependency(
            f"transformers {version} is too old; install 5.0 or newer: python -m pip install 'nsys-digest[workloads]'"
        )


def _run(settings: Settings, device: Any, marks: Marks, *, profiler: bool) -> PhaseLog:
    pair = build(settings, device)
    distillation = Distillation(pair, settings, device)
    warmup = StepTimer(clock_of(settings.phase_timing, device), marks, device, "warmup/")
    warmed = distillation.step(warmup)
    distillation.reset()
    control = None
    if settings.control and settings.phase_timing != "none":
        control = StepTimer(HostClock(), marks, device, "control/")
        distillation.step(control)
        distillation.reset()
    timers: list[StepTimer] = []
    results: list[StepResult] = []
    with _profiler() if profiler and device.type == "cuda" else nullcontext():
        for _ in range(settings.steps):
            timers.append(StepTimer(clock_of(settings.phase_timing, device), marks, device))
            results.append(distillation.step(timers[-1]))
    profiled = _profile(distillation, pair, settings, device, marks) if settings.backward_profile else None
    total_ns = sum(timer.total_ns for timer in timers)
    by_phase = sum((Counter(timer.ns_by_phase) for timer in timers), Counter[str]())
    # A Counter drops what is zero; a phase that took no time is still a phase.
    ns_by_phase = {name: by_phase[name] for name in timers[0].ns_by_phase}
    step_ns = 0
    if profiled is not None:
        step_ns = (total_ns - ns_by_phase["backward"]) // settings.steps + profiled.profile.total_ns
    return PhaseLog(
        config=_config(settings, device),
        model=_model_config(pair),
        run=_run_summary(settings, device),
        warmup=WarmupSummary(warmed.loss, warmup.total_ns),
        steps=tuple(
            StepSummary(result.loss, len(result.tokens), timer.total_ns)
            for result, timer in zip(results, timers, strict=True)
        ),
        phases=phase_summaries(ns_by_phase, total_ns),
        timing=_timing(settings, device, timers, control),
        backward=None if profiled is None else profiled.profile,
        operators=() if profiled is None else operator_summaries(profiled, step_ns),
    )


@contextmanager
def _profiler() -> Iterator[None]:
    """Have the CUDA profiler run, which a recorder may take as its range."""
    torch = need_torch()
    torch.cuda.profiler.start()
    try:
        yield
    finally:
        torch.cuda.profiler.stop()


def _profile(distillation: Distillation, pair: Pair, settings: Settings, device: Any, marks: Marks) -> Profiled:
    """Do a step of its own with every node of its backward pass timed: the measured steps have no hooks in them."""
    distillation.reset()
    clock = clock_of("sync" if settings.phase_timing == "none" else settings.phase_timing, device)
    modules = ModuleNodes(pair.student)
    profiler = BackwardProfiler(clock, modules)
    try:
        distillation.step(StepTimer(WaitingClock(device), marks, device, "profile/"), profiler)
    finally:
        modules.close()
    assert profiler.profiled is not None
    return profiler.profiled


def _config(settings: Settings, device: Any) -> Config:
    return Config(
        backend=device.type,
        model_dir="none" if settings.model_dir is None else str(settings.model_dir),
        prompt=settings.prompt,
        rollout_len=settings.rollout_len,
        lr=settings.lr,
        grad_clip=settings.grad_clip,
        perturb_scale=settings.perturb_scale,
    )


def _model_config(pair: Pair) -> ModelConfig:
    config = pair.student.config
    return ModelConfig(
        hidden=config.hidden_size,
        intermediate=config.intermediate_size,
        layers=config.num_hidden_layers,
        vocab=config.vocab_size,
        num_heads=config.num_attention_heads,
        num_kv_heads=config.num_key_value_heads,
        head_dim=config.head_dim,
        tie_word_embeddings=config.tie_word_embeddings,
        rope_theta=float(config.rope_parameters["rope_theta"]),
        teacher_param_elements=elements(pair.teacher),
        student_model_elements=elements(pair.student),
        student_trainable_elements=elements(pair.student, trainable=True),
        teacher_load_ns=pair.teacher_load_ns,
        student_load_ns=pair.student_load_ns,
    )


def _run_summary(settings: Settings, device: Any) -> RunSummary:
    torch = need_torch()
    return RunSummary(
        steps=settings.steps,
        seed=settings.seed,
        dtype=settings.dtype,
        attention="eager",
        kv_cache=settings.kv_cache,
        device=torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        torch=torch.__version__,
        transformers=need_transformers().__version__,
    )


def _timing(settings: Settings, device: Any, timers: Sequence[StepTimer], control: StepTimer | None) -> TimingSummary:
    reads = sum(timer.stamp_count for timer in timers)
    clock = clock_of(settings.phase_timing, device)
    tried = min(reads, _MOST_IDLE_STAMPS)
    start_ns = time.perf_counter_ns()
    for index in range(tried):
        if index % 2:  # of the two stamps of a phase, the second one has the end of its range before it
            clock.finish()
        clock.stamp()
    idle_ns = (time.perf_counter_ns() - start_ns) * reads // tried
    return TimingSummary(
        phase_timing=settings.phase_timing,
        clock_reads=reads,
        idle_cost_ns=idle_ns,
        control_step_ns=None if control is None else control.total_ns,
        cost_ns=None if control is None else timers[0].total_ns - control.total_ns,
        backward_profile="separate_step" if settings.backward_profile else "none",
    )
