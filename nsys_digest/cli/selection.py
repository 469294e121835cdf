"""The options that say what is looked at, the same for every command that reads a trace."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeAlias, Unpack, cast

import typer

if TYPE_CHECKING:
    from nsys_digest.options import SelectionKeywords, SummarizeKeywords

Window: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--window", metavar="FROM:TO", help="Look at this time alone: 6.5s:7s, 250ms:, 10%:90% of the GPU span."
    ),
]
Within: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--in", metavar="NAME", help="Look within these NVTX ranges: NAME, a glob, NAME#3, NAME#2..9, FIRST..LAST."
    ),
]
SkipWarmup: TypeAlias = Annotated[
    bool,
    typer.Option("--skip-warmup", help="Look from the second instance of --steps on, or from the first dispatch mark."),
]
Devices: TypeAlias = Annotated[
    list[int] | None, typer.Option("--device", metavar="N", help="Look at the work of this GPU (CUDA ordinal).")
]
Processes: TypeAlias = Annotated[
    list[str] | None, typer.Option("--process", metavar="PID", help="Look at this process: its id or name, or a glob.")
]
Streams: TypeAlias = Annotated[
    list[int] | None, typer.Option("--stream", metavar="N", help="Look at the work of this CUDA stream.")
]


def selection_keywords(
    window: str | None,
    within: list[str] | None,
    skip_warmup: bool,
    device: list[int] | None,
    process: list[str] | None,
    stream: list[int] | None,
) -> SelectionKeywords:
    """Return the options as keywords of the library, those that were given."""
    found: SelectionKeywords = {}
    if window is not None:
        found["window"] = window
    if within:
        found["within"] = within
    if skip_warmup:
        found["skip_warmup"] = True
    if device:
        found["device"] = device
    if process:
        found["process"] = process
    if stream:
        found["stream"] = stream
    return found


def together(selection: SelectionKeywords, **others: Unpack[SummarizeKeywords]) -> SummarizeKeywords:
    """Return what is looked at and other options as keywords of the library."""
    return cast("SummarizeKeywords", {**others, **selection})
