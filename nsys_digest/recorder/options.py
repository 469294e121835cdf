"""What is recorded and how, and the command of nsys that does it."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from nsys_digest.errors import UsageInvalid


class GraphTrace(StrEnum):
    """How CUDA graphs are traced."""

    node = "node"
    """Each kernel of a graph as an operation of its own; costs time in the program."""
    graph = "graph"
    """Each launch of a graph as one operation."""


class Wait(StrEnum):
    """Which processes end a recording by ending."""

    primary = "primary"
    """The program itself."""
    all = "all"
    """The program and all that it started."""


@dataclass(frozen=True, slots=True)
class Recording:
    """How to record: what nsys traces, when, for how long, and what becomes of its files.

    ``capture_range`` is ``none``, ``cudaProfilerApi``, or ``nvtx:NAME`` (``nvtx:NAME@DOMAIN``). ``timeout_s`` limits
    the program, not the writing of the trace.
    """

    trace: str = "cuda,nvtx"
    graphs: GraphTrace = GraphTrace.node
    capture_range: str = "none"
    wait: Wait = Wait.primary
    timeout_s: float | None = None
    nsys: Path | None = None
    force: bool = False
    keep_report: bool = True
    nsys_options: tuple[str, ...] = ()
    deep: bool = False
    """Whether what the host does is traced too, as far as the system allows it."""


def check_options(recording: Recording) -> None:
    """Refuse what nsys would refuse, or take for something else.

    Raises:
        UsageInvalid: the range to capture or the list of APIs makes no sense, or an option is none.

    """
    kind, colon, name = recording.capture_range.partition(":")
    if kind not in {"none", "cudaProfilerApi", "nvtx"} or (kind != "nvtx" and colon) or (kind == "nvtx" and not name):
        raise UsageInvalid(
            f"--capture-range {recording.capture_range}: it is none, cudaProfilerApi, or nvtx:NAME; take one of these"
        )
    if not re.fullmatch(r"[\w-]+(,[\w-]+)*", recording.trace, re.ASCII):
        raise UsageInvalid("--trace: names of APIs separated by commas are wanted, as in cuda,nvtx")
    if recording.timeout_s is not None and not recording.timeout_s > 0:
        raise UsageInvalid(f"--timeout {recording.timeout_s:g}: it must be more than 0 seconds")
    for option in recording.nsys_options:
        if not option.startswith("-"):
            raise UsageInvalid(f"--nsys-option {option}: an option begins with -, as in --gpu-metrics-devices=0")


def nsys_command(
    nsys: Path, recording: Recording, stem: Path, program: Sequence[str], *, cpu: bool = False
) -> list[str]:
    """Return the words that record a program into ``stem`` with the suffixes that nsys adds.

    ``cpu`` asks for scheduling and call stacks of the program's threads.
    The options are those of the User Guide of Nsight Systems, "CLI Profile Command Switch Options".
    """
    return [
        str(nsys),
        "profile",
        f"--trace={_traced(recording)}",
        f"--sample={'process-tree' if cpu else 'none'}",
        f"--cpuctxsw={'process-tree' if cpu else 'none'}",
        f"--cuda-graph-trace={recording.graphs.value}",
        f"--wait={recording.wait.value}",
        *_capture_options(recording.capture_range),
        "--export=sqlite",
        "--stats=false",
        f"--output={os.fspath(stem).replace('%', '%%')}",
        *recording.nsys_options,
        *program,
    ]


def _traced(recording: Recording) -> str:
    names = recording.trace.split(",")
    return ",".join([*names, "osrt"] if recording.deep and "osrt" not in names else names)


def _capture_options(capture_range: str) -> list[str]:
    kind, _, name = capture_range.partition(":")
    if kind == "none":
        return []
    # stop: the program goes on after its range and ends as it would alone; nsys would kill it otherwise
    options = [f"--capture-range={kind}", "--capture-range-end=stop"]
    return [*options, f"--nvtx-capture={name}"] if kind == "nvtx" else options


def nsys_environment(environment: Mapping[str, str], recording: Recording, temporary: Path) -> dict[str, str]:
    """Return the environment for nsys: its own files go to a folder that is removed afterwards."""
    ours = {"TMPDIR": str(temporary)}
    if recording.capture_range.startswith("nvtx:"):
        ours["NSYS_NVTX_PROFILER_REGISTER_ONLY"] = "0"  # a range begins a capture also where its name is not registered
    return {**environment, **ours}
