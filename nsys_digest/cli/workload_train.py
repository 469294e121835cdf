"""``nsys-digest workload train``."""

from __future__ import annotations

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Any

import typer

from nsys_digest.cli import output
from nsys_digest.cli.workload_options import (
    AsJson,
    Device,
    DeviceKind,
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


class TrainMode(StrEnum):
    """What the ranks share."""

    data_parallel = "data-parallel"
    decode_tp = "decode-tp"


class StepGraphs(StrEnum):
    """How a token of decode-tp is launched."""

    none = "none"
    full = "full"


_OF_ONE_MODE = {
    TrainMode.data_parallel: ("steps", "sequence", "bucket_mb", "learning_rate"),
    TrainMode.decode_tp: ("tokens", "graphs"),
}


def command(
    context: typer.Context,
    mode: Annotated[TrainMode, typer.Option("--mode", help="Train, or decode with sharded layers.")] = (
        TrainMode.data_parallel
    ),
    device: Device = DeviceKind.cuda,
    gpus: Annotated[int, typer.Option("--gpus", min=1, max=64, metavar="N", help="Ranks, each with its own GPU.")] = 1,
    batch: Annotated[
        int, typer.Option("--batch", min=1, max=1 << 16, metavar="N", help="Sequences of a step, over all ranks.")
    ] = 8,
    steps: Annotated[int, typer.Option("--steps", min=1, max=100_000, metavar="N", help="Training steps.")] = 10,
    sequence: Annotated[
        int | None, typer.Option("--sequence", min=1, max=1 << 20, metavar="N", help="Tokens of a training sequence.")
    ] = None,
    bucket_mb: Annotated[
        float, typer.Option("--bucket-mb", min=0.001, metavar="MB", help="Size of a bucket of gradients, MiB.")
    ] = 25.0,
    learning_rate: Annotated[float, typer.Option("--learning-rate", min=0.0, metavar="RATE", help="Of AdamW.")] = 0.001,
    tokens: Annotated[
        int, typer.Option("--tokens", min=1, max=100_000, metavar="N", help="Tokens that decode-tp decodes.")
    ] = 64,
    graphs: Annotated[
        StepGraphs | None, typer.Option("--graphs", help="full: each token of decode-tp is one graph.")
    ] = None,
    layers: Annotated[int | None, typer.Option("--layers", min=1, max=1000, metavar="N", help="Layers.")] = None,
    hidden: Annotated[
        int | None, typer.Option("--hidden", min=1, max=65536, metavar="N", help="Width of the model.")
    ] = None,
    heads: Annotated[
        int | None, typer.Option("--heads", min=1, max=1024, metavar="N", help="Heads of attention.")
    ] = None,
    vocabulary: Annotated[
        int | None, typer.Option("--vocabulary", min=2, max=1 << 20, metavar="N", help="Different tokens.")
    ] = None,
    seed: Seed = 0,
    dtype: Annotated[DtypeName | None, typer.Option("--dtype", help="Type of the products.")] = None,
    as_json: AsJson = False,
    record: Record = None,
    record_graphs: RecordGraphs = GraphTrace.node,
    record_timeout: RecordTimeout = None,
    nsys: Nsys = None,
    force: Force = False,
    summarize: Summarize = False,
) -> None:
    """Train data-parallel, or decode tensor-parallel.

    On one or several GPUs; the decode runs inside CUDA graphs.
    """
    for other, names in _OF_ONE_MODE.items():
        for name in names if other is not mode else ():
            source = context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                raise UsageInvalid(
                    f"--{name.replace('_', '-')} is for --mode {other.value}; leave it out, or choose that mode"
                )
    on_gpu = device is DeviceKind.cuda
    shared: dict[str, Any] = {
        "gpus": gpus,
        "batch": batch,
        "layers": layers or (4 if on_gpu else 2),
        "hidden": hidden or (1024 if on_gpu else 32),
        "heads": heads or (16 if on_gpu else 4),
        "vocabulary": vocabulary or (8192 if on_gpu else 64),
        "seed": seed,
        "dtype": dtype.value if dtype else ("bfloat16" if on_gpu else "float32"),
        "device": device.value,
    }
    work: Callable[[], dict[str, Any]]
    lines: Callable[[dict[str, Any]], list[str]]
    if mode is TrainMode.data_parallel:
        from nsys_digest.workloads.train import TrainConfig, train, train_lines

        training = TrainConfig(
            **shared,
            steps=steps,
            sequence=sequence or (512 if on_gpu else 16),
            bucket_mb=bucket_mb,
            learning_rate=learning_rate,
        )
        training.check()
        work, lines = lambda: train(training), train_lines
    else:
        from nsys_digest.workloads.decode_tp import DecodeConfig, decode, decode_lines

        with_graphs = on_gpu if graphs is None else graphs is StepGraphs.full
        decoding = DecodeConfig(**shared, tokens=tokens, graphs=with_graphs)
        decoding.check()
        work, lines = lambda: decode(decoding), decode_lines
    record_instead(context)
    from nsys_digest.workloads.requirements import need_device, need_nvtx

    need_nvtx()
    need_device(device.value, count=gpus)
    found = work()
    output.write(json.dumps(found, indent=2) if as_json else "\n".join(lines(found)), None)
