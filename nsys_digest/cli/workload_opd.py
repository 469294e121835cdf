"""``nsys-digest workload opd``."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsys_digest.cli import output
from nsys_digest.cli.workload_options import (
    AsJson,
    Device,
    DeviceKind,
    Dtype,
    DtypeName,
    Force,
    Nsys,
    Record,
    RecordGraphs,
    RecordTimeout,
    Seed,
    Summarize,
    record_instead,
)
from nsys_digest.errors import UsageInvalid
from nsys_digest.recorder.options import GraphTrace

if TYPE_CHECKING:
    from nsys_digest.workloads.opd.settings import Size

_LARGEST = 1 << 24
_OF_THE_SIZE = ("hidden", "intermediate", "layers", "vocab", "heads", "kv_heads", "head_dim")


class SizeName(StrEnum):
    """A named architecture."""

    published = "0.6b"
    tiny = "tiny"


class PhaseTimingName(StrEnum):
    """How phases are timed."""

    sync = "sync"
    events = "events"
    none = "none"


def _part(name: str, what: str) -> Any:
    told = f"{what} of random weights. Default: that of --size."
    return typer.Option(f"--{name}", min=1, max=_LARGEST, metavar="N", help=told)


def command(
    context: typer.Context,
    device: Device = DeviceKind.cuda,
    model_dir: Annotated[
        Path | None, typer.Option("--model-dir", metavar="DIR", help="Load this Hugging Face checkpoint of Qwen3.")
    ] = None,
    size: Annotated[
        SizeName, typer.Option("--size", help="Without a checkpoint: random weights of this architecture.")
    ] = SizeName.published,
    hidden: Annotated[int | None, _part("hidden", "Hidden size")] = None,
    intermediate: Annotated[int | None, _part("intermediate", "Width of the MLP")] = None,
    layers: Annotated[int | None, _part("layers", "Layers")] = None,
    vocab: Annotated[int | None, _part("vocab", "Vocabulary")] = None,
    heads: Annotated[int | None, _part("heads", "Query heads")] = None,
    kv_heads: Annotated[int | None, _part("kv-heads", "Key and value heads")] = None,
    head_dim: Annotated[int | None, _part("head-dim", "Size of a head")] = None,
    prompt: Annotated[
        str, typer.Option("--prompt", metavar="TOKENS", help="Token numbers, separated by commas.")
    ] = "1,872,198,3456",
    rollout_len: Annotated[
        int, typer.Option("--rollout-len", min=1, max=4096, metavar="N", help="Tokens that the student writes.")
    ] = 8,
    steps: Annotated[
        int, typer.Option("--steps", min=1, max=100_000, metavar="N", help="Measured steps, one after another.")
    ] = 1,
    lr: Annotated[float, typer.Option("--lr", min=0, metavar="RATE", help="Learning rate of AdamW.")] = 5e-5,
    weight_decay: Annotated[
        float, typer.Option("--weight-decay", min=0, metavar="RATE", help="Weight decay of AdamW.")
    ] = 0.01,
    grad_clip: Annotated[
        float, typer.Option("--grad-clip", min=0, metavar="NORM", help="Largest norm of all gradients together.")
    ] = 1.0,
    perturb_scale: Annotated[
        float, typer.Option("--perturb-scale", min=0, metavar="X", help="Noise of the student, by size of each tensor.")
    ] = 1e-3,
    dtype: Dtype = DtypeName.float32,
    seed: Seed = 0,
    kv_cache: Annotated[
        bool, typer.Option("--kv-cache/--no-kv-cache", help="Keep keys and values during the rollout.")
    ] = True,
    phase_timing: Annotated[
        PhaseTimingName, typer.Option("--phase-timing", help="Wait at the ends of phases, use CUDA events, or neither.")
    ] = PhaseTimingName.sync,
    control: Annotated[
        bool, typer.Option("--control/--no-control", help="Do the step once more without timing its phases.")
    ] = True,
    backward_profile: Annotated[
        bool, typer.Option("--backward-profile/--no-backward-profile", help="Do it once more with hooks on backward.")
    ] = True,
    as_json: AsJson = False,
    log: Annotated[
        Path | None, typer.Option("--log", metavar="FILE", help="Write the log to FILE too. With --record: NAME.log.")
    ] = None,
    record: Record = None,
    record_graphs: RecordGraphs = GraphTrace.node,
    record_timeout: RecordTimeout = None,
    record_step: Annotated[
        bool, typer.Option("--record-step", help="Record only the measured steps, not the others.")
    ] = False,
    nsys: Nsys = None,
    force: Force = False,
    summarize: Summarize = False,
) -> None:
    """Let a Qwen3 student learn one step from a teacher.

    Says where the time went, phase by phase.
    """
    if record is not None:
        log = _log_of(record, log, force=force)
        _run_recorded(context, record, log, step_only=record_step, as_json=as_json)
    record_instead(context)
    output.check_output(log, model_dir)
    from nsys_digest.workloads.opd.run import run
    from nsys_digest.workloads.opd.settings import SIZES, Settings

    settings = Settings(
        device=device.value,
        dtype=dtype.value,
        size=_sized(context, SIZES[size.value], model_dir),
        model_dir=model_dir,
        prompt=_tokens(prompt),
        rollout_len=rollout_len,
        lr=lr,
        weight_decay=weight_decay,
        grad_clip=grad_clip,
        perturb_scale=perturb_scale,
        seed=seed,
        steps=steps,
        kv_cache=kv_cache,
        phase_timing=phase_timing.value,
        control=control,
        backward_profile=backward_profile,
    )
    found = run(settings, profiler=record_step)
    text = found.to_json() if as_json else "\n".join(found.to_lines())
    if log is not None:
        output.write(text, log)
    output.write(text, None)


def _sized(context: typer.Context, size: Size, model_dir: Path | None) -> Size:
    given = {name: context.params[name] for name in _OF_THE_SIZE if context.params[name] is not None}
    if given and model_dir is not None:
        option = next(iter(given)).replace("_", "-")
        raise UsageInvalid(f"--{option} is for random weights; leave it out, or --model-dir")
    return replace(size, **given)


def _tokens(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() and len(word) < 19 for word in words):
        raise UsageInvalid(f"--prompt {text}: this is no list of token numbers; write it as in --prompt 1,872,198")
    return tuple(map(int, words))


def _log_of(name: Path, log: Path | None, *, force: bool) -> Path:
    """Return where the log of a recorded run goes: beside the trace, under its name.

    Raises:
        UsageInvalid: there is such a file and ``force`` is off, or the recorder would refuse the name.

    """
    from nsys_digest.recorder.options import Recording
    from nsys_digest.recorder.record import target_of

    target = target_of(name, Recording(force=force))
    output.check_output(log, target.trace)
    chosen = log or target.file(".log")
    if log is None and chosen.exists() and not force:
        raise UsageInvalid(f"{chosen}: it is there already; choose another name, or replace it with --force")
    return chosen


def _run_recorded(context: typer.Context, name: Path, log: Path, *, step_only: bool, as_json: bool) -> None:
    """Run under the recorder, then set the log beside the trace.

    Raises:
        typer.Exit: the recorded run is over; holds its status.

    """
    from nsys_digest.recorder.options import Recording
    from nsys_digest.recorder.record import target_of

    trace = target_of(name, Recording(force=True)).trace
    given = context.get_parameter_source("record")
    assert given is not None
    context.params["log"] = log
    context.set_parameter_source("log", given)  # the run itself writes it
    try:
        record_instead(
            context,
            needs=("torch", "transformers", "safetensors", "nvtx"),
            capture_range="cudaProfilerApi" if step_only else "none",
        )
    except typer.Exit as done:
        if done.exit_code == 0:
            _compare(log, trace, as_json=as_json)
        raise


def _compare(log: Path, trace: Path, *, as_json: bool) -> None:
    from nsys_digest.api import summarize
    from nsys_digest.render import text
    from nsys_digest.workloads.phases.comparison import compare_phases
    from nsys_digest.workloads.phases.reader import read_log
    from nsys_digest.workloads.phases.report import phases_report, verdict

    comparison = compare_phases(read_log(log), summarize(trace, sections=["nvtx"]), name=log.name)
    if as_json:  # standard output has the one document already
        seen = f"{trace}: log and trace {verdict(comparison)}; see: nsys-digest workload phases {log} {trace}"
        output.note(seen, "phases-compared")
        return
    width, color = output.text_layout(None)
    output.write(text.render(phases_report(comparison, top=0), width=width, color=color), None)
