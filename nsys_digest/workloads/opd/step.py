"""One distillation step, phase by phase."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.opd.clock import StepTimer
from nsys_digest.workloads.opd.loss import distillation_loss
from nsys_digest.workloads.opd.model import Pair, perturb, synchronize
from nsys_digest.workloads.opd.settings import Settings
from nsys_digest.workloads.requirements import need_torch

PHASES: Final = (
    "rollout_tape_disable",
    "rollout_positions",
    "rollout_student_forward",
    "rollout_argmax_readback",
    "full_positions",
    "teacher_forward",
    "student_tape_enable",
    "student_forward",
    "kl_distill_loss",
    "loss_readback",
    "optimizer_zero_grad",
    "backward",
    "grad_clip",
    "optimizer_step",
    "keep_extra_build",
    "post_step_cleanup",
)
"""The phases in the order in which a step first comes to them."""


@dataclass(frozen=True, slots=True)
class StepResult:
    """What outlives a step: the loss before the update, and the tokens of the prompt and the rollout."""

    loss: float
    tokens: tuple[int, ...]


class Distillation:
    """A student that learns from a teacher, and its optimizer."""

    def __init__(self, pair: Pair, settings: Settings, device: Any) -> None:
        self._torch = need_torch()
        self._pair = pair
        self._settings = settings
        self._device = device
        self._parameters = list(pair.student.parameters())
        self._optimizer = self._torch.optim.AdamW(self._parameters, lr=settings.lr, weight_decay=settings.weight_decay)
        # The library has renamed this argument: past_key_values up to 5.23.
        known = inspect.signature(type(pair.student).forward).parameters
        self._cache_word = "cache" if "cache" in known else "past_key_values"

    def reset(self) -> None:
        """Put student and optimizer back to the start; what they have allocated stays so."""
        perturb(self._pair.student, self._pair.teacher, self._settings)
        for state in self._optimizer.state.values():
            for value in state.values():
                value.zero_()
        synchronize(self._device)

    def step(self, timer: StepTimer, backward: Callable[[Any], None] | None = None) -> StepResult:
        """Do one step; ``backward`` may run the backward pass in a way of its own.

        Raises:
            WorkloadFailed: the loss is no number.

        """
        torch = self._torch
        had_tape = torch.is_grad_enabled()
        try:
            with timer.step():
                return self._phases(timer, backward)
        finally:
            torch.set_grad_enabled(had_tape)

    def _phases(self, timer: StepTimer, backward: Callable[[Any], None] | None) -> StepResult:
        torch, pair, settings = self._torch, self._pair, self._settings
        with timer.phase("rollout_tape_disable"):
            torch.set_grad_enabled(False)
        tokens = self._rollout(timer)
        with timer.phase("full_positions"):
            inputs = self._inputs(tokens, 0)
        with timer.phase("teacher_forward"):
            taught = pair.teacher(**inputs, use_cache=False).logits
        with timer.phase("student_tape_enable"):
            torch.set_grad_enabled(True)
        with timer.phase("student_forward"):
            learned = pair.student(**inputs, use_cache=False).logits
        with timer.phase("kl_distill_loss"):
            written = slice(len(settings.prompt) - 1, len(tokens) - 1)  # the positions that chose the rollout's tokens
            loss = distillation_loss(learned[:, written], taught[:, written])
        with timer.phase("loss_readback"):
            value = float(loss.item())
        if not math.isfinite(value):
            raise WorkloadFailed(f"the loss is {value}; choose a smaller --lr or --perturb-scale, or --dtype float32")
        with timer.phase("optimizer_zero_grad"):
            self._optimizer.zero_grad(set_to_none=True)
        with timer.phase("backward"):
            loss.backward() if backward is None else backward(loss)
        with timer.phase("grad_clip"):
            torch.nn.utils.clip_grad_norm_(self._parameters, settings.grad_clip)
        with timer.phase("optimizer_step"):
            self._optimizer.step()
        with timer.phase("keep_extra_build"):
            kept = StepResult(value, tuple(tokens))
        with timer.phase("post_step_cleanup"):
            del inputs, taught, learned, loss
            self._optimizer.zero_grad(set_to_none=True)
        return kept

    def _rollout(self, timer: StepTimer) -> list[int]:
        """Return the prompt and what the student writes behind it, each token the likeliest."""
        tokens = list(self._settings.prompt)
        cache, known = None, 0
        for _ in range(self._settings.rollout_len):
            with timer.phase("rollout_positions"):
                inputs = self._inputs(tokens, known)
            with timer.phase("rollout_student_forward"):
                found = self._pair.student(
                    **inputs,
                    **{self._cache_word: cache},
                    use_cache=self._settings.kv_cache,
                    logits_to_keep=1,
                )
            with timer.phase("rollout_argmax_readback"):
                token = int(found.logits[0, -1].argmax().item())
            if self._settings.kv_cache:
                cache, known = found[self._cache_word], len(tokens)
            tokens.append(token)
        return tokens

    def _inputs(self, tokens: list[int], known: int) -> dict[str, Any]:
        """Return ids and positions of the tokens behind those that are known already."""
        torch = self._torch
        return {
            "input_ids": torch.tensor([tokens[known:]], device=self._device),
            "position_ids": torch.arange(known, len(tokens), device=self._device).unsqueeze(0),
        }
