"""The command line: the only place that prints or decides an exit status.

Each command imports what it needs when it runs, so that ``--help`` imports neither numpy nor rich.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from nsys_digest import __version__
from nsys_digest.cli import inspect, schema, summarize
from nsys_digest.errors import DigestError

_INTERRUPTED = 130

# typer takes click's classes along and has moved them more than once; this one has had the same name throughout.
_UsageError: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException" and issubclass(base, Exception)
)

app = typer.Typer(
    name="nsys-digest",
    help="The truth about an NVIDIA Nsight Systems trace, in seconds.",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("summarize")(summarize.command)
app.command("inspect")(inspect.command)
app.command("schema")(schema.command)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"nsys-digest {__version__}")
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
    try:
        status = app(args=arguments, prog_name="nsys-digest", standalone_mode=False)
    except DigestError as error:
        return _fail(str(error), error.code, error.exit_status)
    except _UsageError as error:
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "nsys-digest"
        message = error.format_message()  # type: ignore[attr-defined]
        return _fail(f"{message.rstrip('.')}; see: {where} --help", "usage-invalid", 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted; nothing was written", "interrupted", _INTERRUPTED)
    except BrokenPipeError:
        # The reader has all it wanted, as in `| head`; Python must not flush into the closed pipe at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return status if isinstance(status, int) else 0


def _fail(message: str, code: str, status: int) -> int:
    from nsys_digest.render.escape import one_line

    print(f"nsys-digest: {one_line(message)} [{code}]", file=sys.stderr)
    return status
