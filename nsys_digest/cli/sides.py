"""Reading the sides of a comparison, with a bar for each large trace."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsys_digest.cli.memory import give_back_freed_memory
from nsys_digest.cli.progress import progress_bar

if TYPE_CHECKING:
    from nsys_digest.compare.side import Side


def read_side(paths: Sequence[Path], **options: Any) -> Side:
    """Return the side of these traces and stored digests; ``options`` are those of ``summarize``.

    Raises:
        DigestError: as :func:`nsys_digest.load`.

    """
    from nsys_digest.compare.side import Run, Side
    from nsys_digest.comparison import load

    runs = []
    for path in paths:
        with progress_bar(path) as show:
            runs.append(Run(os.fspath(path), load(path, progress=show, **options)))
        give_back_freed_memory()
    return Side(tuple(runs))
