"""Two pieces of work at once, where the system has a thread to give."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")


def both(beside: Callable[[], First], here: Callable[[], Second]) -> tuple[First, Second]:
    """Return what both give; the first runs in a thread of its own, or before the other where no thread can start."""
    with ThreadPoolExecutor(1) as pool:
        try:
            running = pool.submit(beside)
        except RuntimeError:  # the user has as many threads as the system allows
            return beside(), here()
        found = here()
        return running.result(), found
