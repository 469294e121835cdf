"""Where a product goes: standard output, or a file that is written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from nsys_digest.errors import DigestError, OutputFailed, UsageInvalid
from nsys_digest.files import WRITTEN, whole_file, whole_folder

if TYPE_CHECKING:
    from nsys_digest.report.blocks import Report

CI_VARIABLES: Final = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL", "BUILDKITE", "TEAMCITY_VERSION")
_PLAIN_WIDTH = 120
_WIDEST = 10_000
_TRACE_HEADS = (b"SQLite format 3\0", b"NVIDIA Tegra Pro", b"PAR1")
_TRACE_SUFFIXES = frozenset({".nsys-rep", ".qdrep", ".sqlite", ".parquet", ".arrow"})
_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


class Format(StrEnum):
    """What a product looks like."""

    json = "json"
    text = "text"
    markdown = "markdown"


def chosen_format(asked: Format | None, output: Path | None) -> Format:
    """Return the format asked for; text on a terminal and JSON elsewhere when none was."""
    if asked is not None:
        return asked
    return Format.text if on_terminal(output) else Format.json


def in_ci() -> bool:
    """Tell whether a CI system runs this, whose log people read: by the variables that these set."""
    return any(os.environ.get(name, "").lower() not in {"", "0", "false"} for name in CI_VARIABLES)


def on_terminal(output: Path | None) -> bool:
    """Tell whether the product goes to a terminal."""
    return output is None and sys.stdout is not None and sys.stdout.isatty()


def text_layout(output: Path | None) -> tuple[int, bool]:
    """Return (width, whether to colour) for text: a terminal's own, or 120 columns without colour.

    ``COLUMNS`` counts for more where it is a number; beyond 10,000 it is taken for that.
    """
    terminal = on_terminal(output)
    color = terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    asked = os.environ.get("COLUMNS", "").strip().lstrip("0")
    if asked.isascii() and asked.isdigit():
        return int(asked) if len(asked) < len(str(_WIDEST)) else _WIDEST, color
    if terminal or "COLUMNS" in os.environ:
        return _terminal_columns(), color
    return _PLAIN_WIDTH, color


def _terminal_columns() -> int:
    """Return how wide the terminal of standard output is, whatever ``COLUMNS`` says."""
    try:
        return os.get_terminal_size(sys.__stdout__.fileno() if sys.__stdout__ else 1).columns or _PLAIN_WIDTH
    except (OSError, ValueError):
        return _PLAIN_WIDTH


def check_output(output: Path | None, trace: Path | None) -> None:
    """Refuse, before any work, an output that cannot be or must not be written.

    Raises:
        UsageInvalid: it is the trace itself, another database or report, a folder, or in a folder that is not there.

    """
    if output is None or _is_stream(output):
        return
    try:
        _check_file(output, trace)
    except OSError as error:
        raise UsageInvalid(
            f"{output}: cannot be written ({error.strerror or error}); choose another file for the output"
        ) from None


def _check_file(output: Path, trace: Path | None) -> None:
    if output.is_dir():
        raise UsageInvalid(f"{output}: this is a folder; name a file in it")
    target = Path(os.path.realpath(output))
    if target.is_symlink():
        raise UsageInvalid(f"{output}: this symbolic link leads back to itself; choose another file for the output")
    if not target.parent.is_dir():
        raise UsageInvalid(f"{output}: the folder {target.parent} is not there; make it first")
    if output.exists():
        if trace is not None and trace.exists() and output.samefile(trace):
            raise UsageInvalid(f"{output}: this is the trace itself; choose another file for the output")
        with contextlib.suppress(OSError), output.open("rb") as file:
            if file.read(16).startswith(_TRACE_HEADS) or output.suffix in _TRACE_SUFFIXES:
                raise UsageInvalid(f"{output}: this is a trace or a database; choose another file for the output")
        if not target.stat().st_mode & _WRITABLE or not os.access(target, os.W_OK):
            raise UsageInvalid(f"{output}: this file may not be written; choose another file, or: chmod u+w")


def _is_stream(output: Path) -> bool:
    """Tell whether the output is a pipe or a device, which is written to and never replaced."""
    try:
        return not stat.S_ISREG(output.stat().st_mode) and not output.is_dir()
    except OSError:
        return False


def write(text: str, output: Path | None) -> None:
    """Write text as UTF-8 with one line end behind it.

    Raises:
        OutputFailed: it could not be written whole; a file that was there is unchanged.
        BrokenPipeError: the reader of standard output has gone.

    """
    data = (text.rstrip("\n") + "\n").encode("utf-8", "backslashreplace")
    write_with(lambda file: file.write(data), output)


def write_with(writer: Callable[[BinaryIO], object], output: Path | None) -> None:
    """Have a function write a product to where it goes, piece by piece.

    Raises:
        What :func:`write` raises.

    """
    try:
        if output is None:
            with _streaming("standard output"):
                _write_stdout(writer)
        elif _is_stream(output):
            with _streaming(str(output)), output.open("wb") as file:
                writer(file)
        else:
            with whole_file(output.resolve()) as file:
                writer(file)
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or error
        if output is None:
            abandon_stdout()
            raise OutputFailed(
                f"standard output: cannot be written ({reason}); make room, or send it somewhere else"
            ) from None
        raise _failed(output, error) from None


@contextlib.contextmanager
def folder_to_fill(output: Path) -> Iterator[Path]:
    """Give a folder that takes the place of ``output`` once it is filled; nothing is left where something is raised.

    Raises:
        OutputFailed: it could not be written whole.

    """
    try:
        with whole_folder(output.resolve()) as folder:
            yield folder
    except OSError as error:
        raise _failed(output, error) from None


def _failed(output: Path, error: OSError) -> OutputFailed:
    return OutputFailed(
        f"{output}: cannot be written ({error.strerror or error}); nothing there was changed, make room or choose "
        "another place with -o"
    )


def check_output_folder(output: Path) -> None:
    """Refuse, before any work, a folder that holds something, or that cannot be made.

    Raises:
        UsageInvalid: it is so.

    """
    try:
        if output.is_dir():
            if next(output.iterdir(), None) is not None:
                raise UsageInvalid(f"{output}: this folder is not empty; name one that is, or that is not there yet")
        elif output.exists() or output.is_symlink():
            raise UsageInvalid(f"{output}: this is no folder; name a folder for the tables")
        elif not output.resolve().parent.is_dir():
            raise UsageInvalid(f"{output}: the folder {output.resolve().parent} is not there; make it first")
    except OSError as error:
        raise UsageInvalid(
            f"{output}: cannot be written ({error.strerror or error}); choose another folder for the tables"
        ) from None


_unfinished: list[str] = []
"""Standard output, or the pipe or device, that is being written to."""


@contextlib.contextmanager
def _streaming(name: str) -> Iterator[None]:
    """Note what is written in parts: it was begun, and where nothing is raised it is whole."""
    _unfinished.append(name)
    yield
    _unfinished.remove(name)
    WRITTEN.append(name)


def forget_written() -> None:
    """Begin a command: nothing was written so far."""
    _unfinished.clear()
    WRITTEN.clear()


def written_so_far() -> str:
    """Say which outputs a command had written when it was interrupted or failed, and which only in part."""
    whole = f"{', '.join(WRITTEN)} {'was' if len(WRITTEN) == 1 else 'were'} written whole, and nothing else"
    if _unfinished:
        return f"{whole if WRITTEN else 'nothing was written whole'}; {_unfinished[-1]} may have a part"
    return whole if WRITTEN else "nothing was written"


def with_written(message: str) -> str:
    """Return what is said of an output that failed, with what was written before, where something was."""
    return f"{message}; {written_so_far()}" if WRITTEN else message


def written_line() -> str:
    """Say the same, escaped, and without an import: a signal may have come in the midst of one."""
    text = written_so_far()
    escaped = getattr(sys.modules.get("nsys_digest.render.escape"), "one_line", None)
    return str(escaped(text)) if escaped is not None else ascii(text)[1:-1]


def _write_stdout(writer: Callable[[BinaryIO], object]) -> None:
    if sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed")
    sys.stdout.flush()
    writer(sys.stdout.buffer)
    sys.stdout.buffer.flush()


def try_all(writers: Iterable[Callable[[], None]]) -> list[OutputFailed]:
    """Write each, whatever becomes of the others; return what failed.

    A reader of standard output that has gone is no failure: it has all it wanted, and there is a verdict to come.
    """
    failed = []
    for writer in writers:
        try:
            writer()
        except BrokenPipeError:
            abandon_stdout()
        except OutputFailed as error:
            failed.append(error)
    return failed


def end_with(verdict: DigestError | None, failed: Sequence[OutputFailed]) -> None:
    """End with the verdict, and with the first output that failed where there is none.

    Raises:
        DigestError: the verdict; the failures are told before it.
        OutputFailed: there is no verdict.

    """
    told = failed if verdict is not None else failed[1:]
    for error in told:
        note(with_written(str(error)), error.code)
    if verdict is not None:
        raise verdict
    if failed:
        raise failed[0]


def flush_stdout() -> None:
    """Send what was printed on its way, so that a failure shows here and not when Python ends."""
    if sys.stdout is not None:
        sys.stdout.flush()


def abandon_stdout() -> None:
    """Drop what standard output could not take, so that Python does not try again when it ends."""
    with contextlib.suppress(OSError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(message: str, code: str) -> None:
    """Write one line to standard error, where it is open; ``code`` has an entry in docs/messages.md."""
    try:
        from nsys_digest.render.escape import one_line
    except (ImportError, OSError, MemoryError):  # where memory or handles have run out, which is what the line says

        def one_line(text: str) -> str:
            return ascii(text)[1:-1]

    if sys.stderr is not None:  # print() would take standard output instead
        try:
            print(f"nsys-digest: {one_line(message)} [{one_line(code)}]", file=sys.stderr, flush=True)
        except OSError:  # what could not be written would be tried again at the end, and change the exit status
            with contextlib.suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def warn(source: str, message: str, code: str) -> None:
    """Write a warning about a file to standard error."""
    note(f"warning: {source}: {message}", code)


def tell(text: str) -> None:
    """Say on standard error what another program did for this one."""
    note(text, "report-exported")


def write_json(document: str, output: Path | None) -> None:
    """Write JSON text; what names in it could do to a terminal or a log is escaped as JSON escapes it."""
    from nsys_digest.render.escape import json_text

    write(json_text(document), output)


def write_paths(paths: Iterable[Path]) -> None:
    """Print paths, one a line; those that are no plain text are escaped."""
    from nsys_digest.render.escape import whole_line

    write("\n".join(whole_line(str(path)) for path in paths), None)


def write_report(
    document: Callable[[], str],
    report: Callable[[], Report],
    chosen: Format,
    output: Path | None,
    *,
    pager: bool = False,
) -> None:
    """Write a product in the chosen format: its JSON document, or its report, whichever is wanted.

    With ``pager`` people who sit at a terminal read a text that is longer than it in a pager.
    """
    if chosen is Format.json:
        write_json(document(), output)
    elif chosen is Format.markdown:
        from nsys_digest.render import markdown

        write(markdown.render(report()), output)
    else:
        from nsys_digest.render import text

        width, color = text_layout(output)
        shown = text.render(report(), width=width, color=color)
        if pager and on_terminal(output) and not in_ci():
            from nsys_digest.cli.pager import paged

            if paged(shown):
                return
        write(shown, output)
