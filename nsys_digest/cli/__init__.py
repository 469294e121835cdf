"""The command line: the only place that prints or decides an exit status.

Each command imports what it needs when it runs, so that ``--help`` imports neither numpy nor rich.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Annotated

import typer

from nsys_digest import __version__, signals
from nsys_digest.cli import (
    baseline,
    categories,
    check,
    diff,
    findings,
    inspect,
    output,
    record,
    schema,
    scrub,
    summarize,
    workload,
)
from nsys_digest.cli.memory import make_sure_of_room
from nsys_digest.cli.multi_value import MultiValueBaseline, MultiValueSides
from nsys_digest.cli.scarce import shortage
from nsys_digest.cli.usage import UsageError, usage_message
from nsys_digest.errors import DigestError, OutOfResources, UsageInvalid

app = typer.Typer(
    name="nsys-digest",
    help="The truth about an NVIDIA Nsight Systems trace, in seconds.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=False,
)
app.command("summarize")(summarize.command)
app.command("findings")(findings.command)
app.command("diff", cls=MultiValueSides)(diff.command)
app.command("check", cls=MultiValueBaseline)(check.command)
app.add_typer(baseline.app, name="baseline")
app.command("inspect")(inspect.command)
app.command("categories")(categories.command)
app.command("scrub")(scrub.command)
app.command("schema")(schema.command)
# What follows the program's name is the program's own, whether or not -- stands before it.
app.command("record", context_settings={"allow_interspersed_args": False})(record.command)
app.add_typer(workload.app, name="workload")


def _print_version(wanted: bool) -> None:
    if wanted:
        output.write(f"nsys-digest {__version__}", None)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status; see docs/cli.md."""
    # Idle BLAS threads cost 60 ms of start-up, and nothing here multiplies matrices; numpy reads this on import.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Arrow's own pool keeps what is freed; with the system's, peak memory is a tenth less.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    output.forget_written()
    signals.say_written(output.written_line)
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(list(words))  # which typer takes apart
    except DigestError as error:
        return _fail(str(error), error.code, error.exit_status)
    except UsageError as error:
        return _fail(usage_message(error, words, _built(app)), "usage-invalid", 2)
    except (KeyboardInterrupt, typer.Abort) as error:
        number = error.number if isinstance(error, signals.SignalReceived) else signal.SIGINT
        return _fail(*signals.described(number, output.written_so_far()))
    except BrokenPipeError:
        output.abandon_stdout()  # the reader has all it wanted, as in `| head`
        return 0
    except (MemoryError, RuntimeError, ImportError, SystemError) as error:
        line = shortage(error)
        if line is None:
            raise
        return _fail(line, OutOfResources.code, OutOfResources.exit_status)
    except OSError as error:  # --help into a full disk; whatever else fails names its own file
        line = shortage(error)
        if line is not None:
            return _fail(line, OutOfResources.code, OutOfResources.exit_status)
        output.abandon_stdout()
        where = error.filename or "standard output"
        reason = error.strerror or error
        return _fail(f"{where}: failed ({reason}); make room, or choose another place", "output-failed", 1)


_built = cache(typer.main.get_command)
"""What Click runs, made once, however often `main` is called: making it takes longer than most digests."""


def _run(arguments: list[str]) -> int:
    if "_NSYS_DIGEST_COMPLETE" in os.environ:
        _complete(arguments)
    command = _built(app)
    if not arguments:
        return _help()
    if arguments[0] != "record" and any(
        not word and not option.startswith("-") for option, word in pairwise(arguments)
    ):
        raise UsageInvalid("an argument is empty; a variable of the shell that should fill it may not be set")
    # Not app(), whose own handlers of Ctrl-C and closed pipes differ between versions and end with other statuses.
    try:
        with command.make_context("nsys-digest", arguments) as context:
            make_sure_of_room()
            command.invoke(context)
    except typer.Exit as done:
        output.flush_stdout()
        return done.exit_code
    return 0


def _help() -> int:
    """Print the help where no command was given, which is bad usage all the same: a script may have lost its words."""
    with _built(app).make_context("nsys-digest", ["summarize"], resilient_parsing=True) as context:
        print(context.get_help(), file=sys.stderr)
    return 2


def _complete(arguments: list[str]) -> None:
    """Say what could come next, as a shell asks in environment variables; ends the program."""
    task, _, shell = os.environ["_NSYS_DIGEST_COMPLETE"].partition("_")
    if task not in {"complete", "source"} or shell not in {"bash", "zsh", "fish", "powershell", "pwsh"}:
        raise UsageInvalid("_NSYS_DIGEST_COMPLETE is set, and not as a shell sets it, such as complete_bash; unset it")
    try:
        app(arguments, prog_name="nsys-digest")
    except (KeyError, ValueError, IndexError) as error:
        what = f"{error.args[0]} is not set" if isinstance(error, KeyError) else str(error)
        raise UsageInvalid(
            f"_NSYS_DIGEST_COMPLETE is set, and what a shell sets beside it is wrong ({what}); unset it, or set "
            "completion up with: nsys-digest --install-completion"
        ) from None


def _fail(message: str, code: str, status: int) -> int:
    signals.ignore()
    output.note(message, code)
    return status
