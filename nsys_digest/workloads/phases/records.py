"""The log of a distillation step: what it says, and its two forms, lines of text and one JSON document.

A line is a kind and ``key=value`` pairs; the document has one key for each kind, with the same keys in it. Times are
integers of nanoseconds in here, seconds with six digits in a line, and seconds as the nearest double in the document.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from nsys_digest.workloads.phases.forms import (
    FLAG,
    INTEGER,
    INTEGERS,
    PERCENT,
    PLAIN,
    SCIENTIFIC,
    SECONDS,
    TEXT,
    Form,
    line,
    plain,
)

Json: TypeAlias = dict[str, Any]

UNATTRIBUTED: Final = "unattributed"
DOCUMENT_VERSION: Final = 1


def _key(form: Form, name: str = "", *, optional: bool = False) -> Any:
    """Declare a field: how its value is written, and its key where that is not the name of the field."""
    metadata = {"form": form, "key": name}
    return field(metadata=metadata, default=None) if optional else field(metadata=metadata)


@dataclass(frozen=True, slots=True)
class Config:
    """What was asked for; ``model_dir`` is ``none`` for random weights."""

    backend: str = _key(TEXT)
    model_dir: str = _key(TEXT)
    prompt: tuple[int, ...] = _key(INTEGERS)
    rollout_len: int = _key(INTEGER)
    lr: float = _key(PLAIN)
    grad_clip: float = _key(PLAIN)
    perturb_scale: float = _key(PLAIN)


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The architecture, the number of elements of both models, and how long loading took."""

    hidden: int = _key(INTEGER)
    intermediate: int = _key(INTEGER)
    layers: int = _key(INTEGER)
    vocab: int = _key(INTEGER)
    num_heads: int = _key(INTEGER)
    num_kv_heads: int = _key(INTEGER)
    head_dim: int = _key(INTEGER)
    tie_word_embeddings: bool = _key(FLAG)
    rope_theta: float = _key(PLAIN)
    teacher_param_elements: int = _key(INTEGER)
    student_model_elements: int = _key(INTEGER)
    student_trainable_elements: int = _key(INTEGER)
    teacher_load_ns: int = _key(SECONDS, "teacher_load_seconds")
    student_load_ns: int = _key(SECONDS, "student_load_seconds")


@dataclass(frozen=True, slots=True)
class RunSummary:
    """What else decides the result: measured steps, seed, element type, versions."""

    steps: int = _key(INTEGER)
    seed: int = _key(INTEGER)
    dtype: str = _key(TEXT)
    attention: str = _key(TEXT)
    kv_cache: bool = _key(FLAG)
    device: str = _key(TEXT)
    torch: str = _key(TEXT)
    transformers: str = _key(TEXT)


@dataclass(frozen=True, slots=True)
class WarmupSummary:
    """The first step, which is not measured."""

    loss: float = _key(SCIENTIFIC)
    ns: int = _key(SECONDS, "seconds")


@dataclass(frozen=True, slots=True)
class StepSummary:
    """A measured step; ``rollout_len`` counts the tokens of the prompt too, as both forwards see them."""

    loss: float = _key(SCIENTIFIC)
    rollout_len: int = _key(INTEGER)
    total_step_ns: int = _key(SECONDS, "total_step_seconds")


@dataclass(frozen=True, slots=True)
class PhaseSummary:
    """All instances of a phase in the measured steps; ``pct_total`` is its share of these steps."""

    rank: int = _key(INTEGER)
    phase: str = _key(TEXT)
    ns: int = _key(SECONDS, "seconds")
    pct_total: float = _key(PERCENT)


@dataclass(frozen=True, slots=True)
class TimingSummary:
    """How the phases were timed, and what that cost.

    ``clock_reads`` is how often the measured steps were stopped for it, ``idle_cost_ns`` what as many stops take where
    there is nothing to wait for. ``control_step_ns`` is the same step with one stop at its end, ``cost_ns`` what the
    first measured step took longer than that. All three are None where there was no control step.
    """

    phase_timing: str = _key(TEXT)
    clock_reads: int = _key(INTEGER)
    idle_cost_ns: int = _key(SECONDS, "idle_cost_seconds")
    control_step_ns: int | None = _key(SECONDS, "control_step_seconds", optional=True)
    cost_ns: int | None = _key(SECONDS, "cost_seconds", optional=True)
    backward_profile: str = _key(TEXT, optional=True)


@dataclass(frozen=True, slots=True)
class BackwardProfile:
    """A backward pass with every operator timed: the four parts add up to the total."""

    total_ns: int = _key(SECONDS, "total_seconds")
    op_ns: int = _key(SECONDS, "op_seconds")
    merge_grad_ns: int = _key(SECONDS, "merge_grad_seconds")
    prelude_ns: int = _key(SECONDS, "prelude_seconds")
    unattributed_ns: int = _key(SECONDS, "unattributed_seconds")


@dataclass(frozen=True, slots=True)
class BackwardOperator:
    """All operators of a kind; ``pct_total`` is the share of the step with the profiled backward in its place."""

    rank: int = _key(INTEGER)
    op: str = _key(TEXT)
    count: int = _key(INTEGER)
    ns: int = _key(SECONDS, "seconds")
    pct_backward: float = _key(PERCENT)
    pct_total: float = _key(PERCENT)


@dataclass(frozen=True, slots=True)
class PhaseLog:
    """A whole log; a part that a log does not have is None or empty."""

    steps: tuple[StepSummary, ...]
    phases: tuple[PhaseSummary, ...]
    config: Config | None = None
    model: ModelConfig | None = None
    run: RunSummary | None = None
    warmup: WarmupSummary | None = None
    timing: TimingSummary | None = None
    backward: BackwardProfile | None = None
    operators: tuple[BackwardOperator, ...] = ()

    @property
    def total_ns(self) -> int:
        """Time of the measured steps."""
        return sum(step.total_step_ns for step in self.steps)

    def to_lines(self) -> list[str]:
        """Return the lines of the text form."""
        return [line(kind, record) for kind, name in RECORD_KINDS.items() for record in records(getattr(self, name))]

    def to_dict(self) -> Json:
        """Return the document: a list for the kinds that may occur many times, an object or null for the others."""
        found: Json = {"log": "opd", "version": DOCUMENT_VERSION}
        for kind, name in RECORD_KINDS.items():
            value = getattr(self, name)
            many = isinstance(value, tuple)
            found[kind.replace(" ", "_")] = (
                [plain(record) for record in value] if many else None if value is None else plain(value)
            )
        return found

    def to_json(self) -> str:
        """Return the document as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)


def records(value: Any) -> tuple[Any, ...]:
    """Return the records of a part of a log, however many it has."""
    return value if isinstance(value, tuple) else () if value is None else (value,)


RECORD_KINDS: Final = {
    "config": "config",
    "model config": "model",
    "run_summary": "run",
    "warmup_summary": "warmup",
    "step_summary": "steps",
    "phase_summary": "phases",
    "timing_summary": "timing",
    "backward_profile_summary": "backward",
    "backward_op_summary": "operators",
}
"""The kinds of line in their order, and the part of the log that each fills."""

TYPES: Final[dict[str, type]] = {
    "config": Config,
    "model config": ModelConfig,
    "run_summary": RunSummary,
    "warmup_summary": WarmupSummary,
    "step_summary": StepSummary,
    "phase_summary": PhaseSummary,
    "timing_summary": TimingSummary,
    "backward_profile_summary": BackwardProfile,
    "backward_op_summary": BackwardOperator,
}


def phase_summaries(ns_by_phase: dict[str, int], total_ns: int) -> tuple[PhaseSummary, ...]:
    """Rank phases by time, then by name, with what they leave of the total as one more: they add up to it."""
    rest_ns = total_ns - sum(ns_by_phase.values())
    ranked = sorted({**ns_by_phase, UNATTRIBUTED: rest_ns}.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        PhaseSummary(rank, phase, ns, 100 * ns / total_ns if total_ns else 0.0)
        for rank, (phase, ns) in enumerate(ranked, start=1)
    )
