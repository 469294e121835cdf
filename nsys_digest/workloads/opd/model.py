"""The teacher and the student: Qwen3 as the library ``transformers`` builds it, from a checkpoint or a seed."""

from __future__ import annotations

import copy
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsys_digest.workloads.errors import CheckpointInvalid
from nsys_digest.workloads.opd.checkpoint import check_checkpoint
from nsys_digest.workloads.opd.settings import Settings, Size
from nsys_digest.workloads.requirements import need, need_torch, need_transformers

_ATTENTION = "eager"
"""The attention whose two products, mask and softmax are operators of their own, as in the log."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A frozen teacher, a student of the same architecture, and how long each took to load."""

    teacher: Any
    student: Any
    teacher_load_ns: int
    student_load_ns: int


def qwen3_config(size: Size) -> Any:
    """Return the configuration of a Qwen3 model of a size; all else as Qwen3-0.6B has it."""
    need_torch()
    return need_transformers().Qwen3Config(
        vocab_size=size.vocab,
        hidden_size=size.hidden,
        intermediate_size=size.intermediate,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        num_key_value_heads=size.kv_heads,
        head_dim=size.head_dim,
        max_position_embeddings=40960,
        rope_parameters={"rope_type": "default", "rope_theta": 1_000_000.0},
        rms_norm_eps=1e-6,
        tie_word_embeddings=True,
        use_cache=False,
        attn_implementation=_ATTENTION,
    )


def build(settings: Settings, device: Any) -> Pair:
    """Load or draw the teacher, and make the student a copy of it.

    Raises:
        CheckpointInvalid: ``model_dir`` is no whole checkpoint of a Qwen3 model.
        UsageInvalid: the prompt has a token that the model does not know.

    """
    torch = need_torch()
    start_ns = time.perf_counter_ns()
    if settings.model_dir is None:
        settings.check_vocabulary(settings.size.vocab)
        teacher = random_model(settings.size, settings.seed, device)
    else:
        teacher = load_checkpoint(settings.model_dir)
        settings.check_vocabulary(teacher.config.vocab_size)
    teacher = teacher.to(device).eval().requires_grad_(False)
    for parameter in teacher.parameters():  # not the frequencies of the rotation, which stay in float32
        parameter.data = parameter.data.to(getattr(torch, settings.dtype))
    synchronize(device)
    loaded_ns = time.perf_counter_ns()
    student = copy.deepcopy(teacher).requires_grad_(True)
    perturb(student, teacher, settings)
    synchronize(device)
    return Pair(teacher, student, loaded_ns - start_ns, time.perf_counter_ns() - loaded_ns)


def random_model(size: Size, seed: int, device: Any) -> Any:
    """Return a model with weights drawn from the seed, made on the device itself."""
    torch = need_torch()
    torch.manual_seed(seed)
    with torch.device(device):
        return need_transformers().Qwen3ForCausalLM(qwen3_config(size))


def load_checkpoint(folder: Path) -> Any:
    """Load a checkpoint folder without network, code or pickles.

    Raises:
        CheckpointInvalid: files are missing or damaged, or weights do not fit the configuration.

    """
    check_checkpoint(folder)
    transformers = need_transformers()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    try:
        model, info = transformers.Qwen3ForCausalLM.from_pretrained(
            str(folder),
            local_files_only=True,
            use_safetensors=True,
            attn_implementation=_ATTENTION,
            output_loading_info=True,
        )
    except _load_errors() as error:
        reason = " ".join(str(error).split())
        raise CheckpointInvalid(f"{folder}: cannot be loaded ({reason[:300]}); download the checkpoint again") from None
    for what in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        if names := sorted(map(str, info.get(what) or ())):
            raise CheckpointInvalid(
                f"{folder}: {len(names)} {what.replace('_', ' ')} among the weights, such as {names[0]}; "
                "download the checkpoint again"
            )
    return model


def _load_errors() -> tuple[type[Exception], ...]:
    """Return what the library raises where files do not fit together; its own checks of a configuration are apart."""
    strict = getattr(need("huggingface_hub.errors"), "StrictDataclassError", ValueError)
    return (OSError, ValueError, RuntimeError, KeyError, TypeError, AttributeError, ArithmeticError, strict)


def perturb(student: Any, teacher: Any, settings: Settings) -> None:
    """Make the student the teacher plus noise: normal, ``perturb_scale`` times the root mean square of each tensor."""
    torch = need_torch()
    device = next(teacher.parameters()).device
    generator = torch.Generator(device=device).manual_seed(settings.seed + 1)
    with torch.no_grad():
        for own, given in zip(student.parameters(), teacher.parameters(), strict=True):
            noise = torch.randn(given.shape, generator=generator, device=device, dtype=torch.float32)
            scale = settings.perturb_scale * given.float().square().mean().sqrt()
            own.copy_(given.float() + noise * scale)


def elements(model: Any, *, trainable: bool = False) -> int:
    """Return how many numbers the parameters hold; tied ones count once."""
    return sum(each.numel() for each in model.parameters() if each.requires_grad or not trainable)


def synchronize(device: Any) -> None:
    """Wait until the device has done all that was asked of it."""
    if device.type == "cuda":
        need_torch().cuda.synchronize(device)
