"""``nsys-digest record``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nsys_digest import signals
from nsys_digest.cli.options import FormatChoice
from nsys_digest.cli.output import Format, check_output, flush_stdout, note
from nsys_digest.errors import DigestError, UsageInvalid
from nsys_digest.recorder.options import GraphTrace, Recording, Wait

if TYPE_CHECKING:
    from nsys_digest.recorder.record import Recorded

NsysPath: TypeAlias = Annotated[
    Path | None, typer.Option("--nsys", metavar="PATH", help="The nsys to use. Default: on PATH, then usual folders.")
]
Force: TypeAlias = Annotated[bool, typer.Option("--force", help="Replace what an earlier recording left.")]
Summarize: TypeAlias = Annotated[
    bool, typer.Option("--summarize", help="Print the digest after the output of the program.")
]


def command(
    program: Annotated[
        list[str], typer.Argument(metavar="COMMAND", help="The program and its arguments, after --; no shell string.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="NAME", help="Write NAME.sqlite and NAME.nsys-rep. Default: trace."),
    ] = None,
    graphs: Annotated[
        GraphTrace, typer.Option("--graphs", help="CUDA graphs kernel by kernel, or as a whole.")
    ] = GraphTrace.node,
    capture_range: Annotated[
        str,
        typer.Option("--capture-range", metavar="RANGE", help="Record only: cudaProfilerApi, or nvtx:NAME."),
    ] = "none",
    trace: Annotated[str, typer.Option("--trace", metavar="NAMES", help="What nsys traces.")] = "cuda,nvtx",
    wait: Annotated[
        Wait, typer.Option("--wait", help="Record until the program ends, or until all that it started has ended.")
    ] = Wait.primary,
    timeout: Annotated[
        float | None, typer.Option("--timeout", metavar="S", help="End the program after S seconds.")
    ] = None,
    summarize: Summarize = False,
    digest: Annotated[
        Path | None, typer.Option("--digest", metavar="FILE", help="Write the digest to FILE; implies --summarize.")
    ] = None,
    format: FormatChoice = None,
    keep_report: Annotated[
        bool, typer.Option("--keep-report/--drop-report", help="Keep NAME.nsys-rep, for the window of nsys.")
    ] = True,
    force: Force = False,
    nsys: NsysPath = None,
    nsys_option: Annotated[
        list[str] | None,
        typer.Option("--nsys-option", metavar="OPTION", help="Pass an option on to nsys profile; may be repeated."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No line about the trace, and no warnings.")] = False,
) -> None:
    """Run a program under nsys and keep its trace, as SQLite.

    Ends with the program's own exit status.
    """
    recording = Recording(
        trace=trace,
        graphs=graphs,
        capture_range=capture_range,
        wait=wait,
        timeout_s=timeout,
        nsys=nsys,
        force=force,
        keep_report=keep_report,
        nsys_options=tuple(nsys_option or ()),
    )
    record_and_digest(program, output, recording, summarize=summarize, digest=digest, format=format, quiet=quiet)


def record_and_digest(
    program: Sequence[str],
    output: Path | None,
    recording: Recording,
    *,
    summarize: bool = False,
    digest: Path | None = None,
    format: Format | None = None,
    quiet: bool = False,
) -> None:
    """Record a program, digest the trace where that is wanted, and end with the program's status.

    Raises:
        typer.Exit: always, when a trace came; holds the program's status.
        RecordTimedOut: the program was ended at its time limit; the trace is kept and still digested.
        DigestError: there is no trace, or no digest of the trace of a program that ended well.

    """
    from nsys_digest.recorder.record import record, target_of

    target = target_of(output, recording)
    if format is not None and digest is None and not summarize:
        raise UsageInvalid("--format is for the digest; add --summarize, or --digest FILE")
    if digest is not None:
        check_output(digest, target.trace)
        if digest.absolute() in {target.trace.absolute(), target.report.absolute()}:
            raise UsageInvalid(f"{digest}: this will be the trace; choose another file for the digest")
    flush_stdout()
    with signals.raised():
        recorded = record(program, target, recording)
    if not quiet:
        note(_outcome(recorded), "trace-recorded")
    if summarize or digest is not None:
        _digest(recorded, digest, format, quiet)
    if recorded.stopped is not None:
        raise recorded.stopped
    raise typer.Exit(recorded.status)


def _outcome(recorded: Recorded) -> str:
    from nsys_digest.units import size

    written = size(recorded.trace.stat().st_size)
    behind = "" if recorded.status == 0 else f"; the program ended with status {recorded.status}"
    ended = f"; ended what the program left running: {', '.join(recorded.ended)}" if recorded.ended else ""
    return f"trace in {recorded.trace} ({written}){behind}{ended}"


def _digest(recorded: Recorded, file: Path | None, format: Format | None, quiet: bool) -> None:
    from nsys_digest.cli import summarize

    try:
        summarize.print_digest(recorded.trace, {}, format=format, output=file, quiet=quiet)
    except DigestError as error:
        if recorded.status == 0 and recorded.stopped is None:
            raise
        note(str(error), error.code)  # the program's own failure decides the status
