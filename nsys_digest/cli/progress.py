"""A bar of rows on standard error while a large file is read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

_SHOWN_FROM_BYTES = 64_000_000


@contextmanager
def progress_bar(trace: Path) -> Iterator[Callable[[int, int], None] | None]:
    """Give a function to call with (rows read, rows in all); None where nobody watches or the file is small."""
    if sys.stderr is None or not sys.stderr.isatty() or not trace.is_file() or trace.stat().st_size < _SHOWN_FROM_BYTES:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from nsys_digest.render.escape import one_line

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TextColumn("rows"))
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(trace.name), total=None)
        yield lambda done, total: bar.update(task, completed=done, total=max(total, done))
