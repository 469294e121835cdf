"""Options that the workloads share, and how a workload runs itself again under the recorder."""

from __future__ import annotations

import sys
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from nsys_digest.cli import record as record_command
from nsys_digest.errors import UsageInvalid
from nsys_digest.recorder.options import GraphTrace, Recording
from nsys_digest.workloads.requirements import check_installed


class DeviceKind(StrEnum):
    """Where a workload runs."""

    cuda = "cuda"
    cpu = "cpu"


class DtypeName(StrEnum):
    """The type of a workload's numbers."""

    float32 = "float32"
    bfloat16 = "bfloat16"
    float16 = "float16"


Device: TypeAlias = Annotated[DeviceKind, typer.Option("--device", help="cpu runs the same logic without a GPU.")]
Seed: TypeAlias = Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Seed of all that is drawn.")]
Dtype: TypeAlias = Annotated[DtypeName, typer.Option("--dtype", help="Type of weights and activations.")]
AsJson: TypeAlias = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of lines.")]
Record: TypeAlias = Annotated[
    Path | None, typer.Option("--record", metavar="NAME", help="Run under the recorder; the trace is NAME.sqlite.")
]
RecordGraphs: TypeAlias = Annotated[
    GraphTrace, typer.Option("--record-graphs", help="How the recorder traces CUDA graphs.")
]
RecordTimeout: TypeAlias = Annotated[
    float | None, typer.Option("--record-timeout", metavar="S", help="End the recorded run after S seconds.")
]
Nsys: TypeAlias = record_command.NsysPath
Force: TypeAlias = record_command.Force
Summarize: TypeAlias = record_command.Summarize

_OF_THE_RECORDER = ("record", "record_graphs", "record_timeout", "nsys", "force", "summarize")


def record_instead(
    context: typer.Context,
    *,
    needs: tuple[str, ...] = ("torch", "nvtx"),
    capture_range: str = "none",
    nsys_options: tuple[str, ...] = (),
) -> None:
    """Run the same command line again under the recorder, where ``--record`` asks for it.

    A workload's command declares the options above under the names in ``_OF_THE_RECORDER`` and calls this first; when
    it returns, nothing was asked for and the workload runs here.

    Raises:
        typer.Exit: the recorded run is over; holds its status.
        UsageInvalid: an option of the recorder without ``--record``.
        WorkloadDependency: a package that the workload needs is not installed.
        DigestError: as ``record`` does.

    """
    values = context.params
    if values["record"] is None:
        for name in _OF_THE_RECORDER[1:]:
            if _was_given(context, name):
                raise UsageInvalid(f"--{name.replace('_', '-')} is for recorded runs; add --record NAME")
        return
    check_installed(*needs)
    nsys = values["nsys"]
    # typer turns words into paths and choices only for the command itself, in some versions
    recording = Recording(
        graphs=GraphTrace(values["record_graphs"]),
        capture_range=capture_range,
        timeout_s=values["record_timeout"],
        nsys=None if nsys is None else Path(nsys),
        force=values["force"],
        nsys_options=nsys_options,
    )
    record_command.record_and_digest(
        own_command(context), Path(values["record"]), recording, summarize=values["summarize"]
    )


def own_command(context: typer.Context) -> list[str]:
    """Return the words that run a workload again as it was called, without the options of the recorder."""
    words = [sys.executable, "-m", "nsys_digest", "workload", str(context.info_name)]
    behind: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        if name in _OF_THE_RECORDER or not _was_given(context, name):
            continue
        if parameter.param_type_name == "argument":
            behind += _texts(context.params[name])
        else:
            words += _option(parameter, context.params[name])
    return [*words, "--", *behind] if behind else words


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _option(parameter: Any, value: object) -> list[str]:
    spelled = max(parameter.opts, key=len)
    if isinstance(value, bool):
        return [spelled if value else max(parameter.secondary_opts, key=len)]
    return [f"{spelled}={text}" for text in _texts(value)]


def _texts(value: object) -> list[str]:
    if isinstance(value, list | tuple):
        return [text for each in value for text in _texts(each)]
    return [str(value.value if isinstance(value, Enum) else value)]
