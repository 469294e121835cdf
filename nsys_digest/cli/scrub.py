"""``nsys-digest scrub``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from nsys_digest.cli.options import Compact, FormatChoice, OptionalTrace
from nsys_digest.cli.output import Format, check_output, chosen_format, end_with, try_all, write_report
from nsys_digest.cli.scarce import shortage_at
from nsys_digest.errors import CheckFailed, UsageInvalid


def command(
    trace: OptionalTrace = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="OUT", readable=False, help="The copy, written whole or not at all."),
    ] = None,
    verify: Annotated[
        Path | None,
        typer.Option(
            "--verify", metavar="OUT", readable=False, help="Write nothing; search OUT for what TRACE tells elsewhere."
        ),
    ] = None,
    hash_names: Annotated[
        bool, typer.Option("--hash-names", help="Hash names of kernels, ranges, threads, programs, other calls.")
    ] = False,
    salt: Annotated[
        str | None,
        typer.Option("--salt", metavar="TEXT", help="What hashes are made with: one for a job. Default: random."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", metavar="TABLE", help="Copy a table as it is that would be dropped. May be repeated."),
    ] = None,
    dispatch_prefix: Annotated[
        str, typer.Option("--dispatch-prefix", metavar="TEXT", help="How dispatch marks begin; it is not hashed.")
    ] = "CG_DISPATCH",
    format: FormatChoice = None,
    compact: Compact = False,
) -> None:
    """Copy a trace without what identifies anybody.

    People and machines, that is. Prints what was taken out. The copy is searched for it; exit status 5 if it is still
    there.
    """
    chosen = chosen_format(format, None)
    kept = tuple(keep or ())
    if verify is not None:
        _verify(trace, output, verify, kept, chosen, compact=compact)
        return
    if trace is None or output is None:
        raise UsageInvalid("scrub takes a trace and the copy to write: nsys-digest scrub TRACE -o OUT")
    check_output(output, trace)
    from nsys_digest.api import scrub
    from nsys_digest.report.scrub import scrub_report

    with shortage_at(trace):
        done = scrub(trace, output, hash_names=hash_names, salt=salt, keep=kept, dispatch_prefix=dispatch_prefix)
    report = partial(write_report, lambda: done.to_json(compact=compact), lambda: scrub_report(done), chosen, None)
    end_with(_verdict(output, {one.kind for one in done.found}), try_all([report]))


def _verify(
    trace: Path | None, output: Path | None, copy: Path, keep: tuple[str, ...], chosen: Format, *, compact: bool
) -> None:
    if output is not None:
        raise UsageInvalid("--verify searches a copy and writes none; leave out -o")
    from nsys_digest.api import verify_scrub
    from nsys_digest.report.scrub import verify_report

    with shortage_at(copy):
        done = verify_scrub(copy, trace, keep=keep)
    report = partial(write_report, lambda: done.to_json(compact=compact), lambda: verify_report(done), chosen, None)
    end_with(_verdict(copy, {one.kind for one in done.found}), try_all([report]))


def _verdict(copy: Path, kinds: set[str]) -> CheckFailed | None:
    """Return the error of a copy in which something was found; None where nothing was."""
    if not kinds:
        return None
    return CheckFailed(
        f"{copy}: what identifies is in it ({', '.join(sorted(kinds))}); do not share it; scrub the trace with "
        "--hash-names, or without --keep"
    )
