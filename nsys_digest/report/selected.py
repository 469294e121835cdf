"""What part of a trace was looked at, in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from nsys_digest.model.base_types import Capture, Window
from nsys_digest.model.selection_options import filter_words
from nsys_digest.report.blocks import named
from nsys_digest.report.figure_columns import of
from nsys_digest.units import instant

_LENGTH: Final = of(Window, "length_ns")


def selected(capture: Capture) -> Iterator[tuple[str, str]]:
    """Say what part of the trace was looked at, where it is not all of it."""
    window = capture.window
    if window is not None:
        stretches = "" if len(window.what) == 1 else f" in {len(window.what):,} stretches"
        ends = f"{instant(window.what[0].start_ns)} to {instant(window.what[-1].end_ns)}" if window.what else "nothing"
        yield "window", f"{named(window.asked)}: {_LENGTH.cell((window,))}{stretches}, from {ends}"
    only = filter_words(capture.devices or (), capture.selected_processes or (), capture.streams or ())
    if only:
        yield "only", named("; ".join(only))
