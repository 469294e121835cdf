"""A bar of rows on standard error while a large file is read; what the system refuses meanwhile names the file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from nsys_digest import signals
from nsys_digest.cli.scarce import shortage_at

_SHOWN_FROM_BYTES = 64_000_000
_BAR_AWAY = b"\r\x1b[2K\x1b[?25h"
"""Clears the line of the bar and shows the cursor."""


@contextmanager
def progress_bar(trace: Path) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function to call with (rows read, rows in all); None where nobody watches or the file is small.

    Raises:
        OutOfResources: reading it took more memory, file handles or threads than there are.

    """
    with shortage_at(trace), _shown(trace) as show:
        yield show


@contextmanager
def _shown(trace: Path) -> Iterator[Callable[[int, int], None] | None]:
    if sys.stderr is None or not sys.stderr.isatty() or _size_of(trace) < _SHOWN_FROM_BYTES:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from nsys_digest.render.escape import one_line

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    console = Console(stderr=True, _environ=_without_size(os.environ))
    bar = Progress(*columns, TimeRemainingColumn(), console=console, transient=True)
    with signals.cleaned(lambda: os.write(2, _BAR_AWAY)), bar:
        task = bar.add_task(one_line(trace.name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, done))


def _size_of(trace: Path) -> int:
    """Return the bytes of a file, or of the files in a folder; 0 of what is on no disk here."""
    try:
        files = trace.iterdir() if trace.is_dir() else [trace]
        return sum(file.stat().st_size for file in files if file.is_file())
    except OSError:
        return 0


def _without_size(environment: Mapping[str, str]) -> dict[str, str]:
    """Leave out what the console would take for the size of the terminal, which knows that better."""
    return {name: value for name, value in environment.items() if name not in {"COLUMNS", "LINES"}}
