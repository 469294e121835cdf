"""What a run of the distillation step is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from nsys_digest.errors import UsageInvalid

PhaseTiming: TypeAlias = Literal["sync", "events", "none"]


_LARGEST: Final = 1e30
"""What float32 still holds with some room."""


@dataclass(frozen=True, slots=True)
class Size:
    """The architecture of a Qwen3 model with random weights."""

    hidden: int
    intermediate: int
    layers: int
    vocab: int
    heads: int
    kv_heads: int
    head_dim: int

    def check(self) -> None:
        """Pass when the numbers fit together.

        Raises:
            UsageInvalid: the query heads cannot share the key heads evenly, or a head cannot be rotated by halves.

        """
        if self.heads % self.kv_heads:
            raise UsageInvalid(
                f"{self.heads} heads cannot share {self.kv_heads} key heads evenly; choose a multiple for --heads"
            )
        if self.head_dim % 2:
            raise UsageInvalid(f"a head of {self.head_dim} cannot be rotated by halves; choose an even --head-dim")


SIZES: Final = {
    "0.6b": Size(hidden=1024, intermediate=3072, layers=28, vocab=151936, heads=16, kv_heads=8, head_dim=128),
    "tiny": Size(hidden=64, intermediate=128, layers=2, vocab=4096, heads=4, kv_heads=2, head_dim=16),
}
"""Qwen3-0.6B as published (config.json of Qwen/Qwen3-0.6B), and one for tests on a CPU."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A run; ``size`` is that of random weights and is not looked at where ``model_dir`` names a checkpoint."""

    device: str = "cuda"
    dtype: str = "float32"
    size: Size = SIZES["0.6b"]
    model_dir: Path | None = None
    prompt: tuple[int, ...] = (1, 872, 198, 3456)
    rollout_len: int = 8
    lr: float = 5e-5
    weight_decay: float = 0.01
    grad_clip: float = 1.0
    perturb_scale: float = 1e-3
    seed: int = 0
    steps: int = 1
    kv_cache: bool = True
    phase_timing: PhaseTiming = "sync"
    control: bool = True
    backward_profile: bool = True

    def check(self) -> None:
        """Pass when a run can begin.

        Raises:
            UsageInvalid: a value makes no sense, or two exclude each other.

        """
        if not self.prompt:
            raise UsageInvalid("the prompt is empty; give token numbers, as in --prompt 1,872")
        if self.phase_timing == "events" and self.device == "cpu":
            raise UsageInvalid("a CPU has no events; choose --phase-timing sync or none")
        for name in ("lr", "weight_decay", "grad_clip", "perturb_scale"):
            if not 0 <= getattr(self, name) <= _LARGEST:
                raise UsageInvalid(
                    f"--{name.replace('_', '-')} must be a number from 0 to {_LARGEST:g}; choose another"
                )
        self.size.check()

    def check_vocabulary(self, vocab: int) -> None:
        """Pass when the model knows every token of the prompt.

        Raises:
            UsageInvalid: it does not.

        """
        for token in self.prompt:
            if not 0 <= token < vocab:
                raise UsageInvalid(
                    f"token {token} of the prompt is not one of the {vocab} that the model knows; "
                    "choose another --prompt, or a larger --vocab"
                )
