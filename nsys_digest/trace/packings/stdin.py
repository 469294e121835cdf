"""A trace on standard input, in whatever it is packed."""

from __future__ import annotations

import sys
from pathlib import Path

from nsys_digest.errors import TraceUnreadable, UsageInvalid
from nsys_digest.trace.packings.room import Room


def read_standard_input(_: Path, room: Room) -> Path:
    """Write what comes on standard input to a file.

    Raises:
        UsageInvalid: it is a terminal. TraceUnreadable: it is closed, empty, or cannot be read.

    """
    if sys.stdin is None:
        raise TraceUnreadable("standard input: it is closed; send the trace there, or name a file")
    if sys.stdin.isatty():
        raise UsageInvalid("standard input: this is a terminal; send a trace there, as with: zcat trace.gz | …")
    try:
        file = room.write(sys.stdin.buffer, room.new_folder() / "trace", None)
    except OSError as error:
        raise TraceUnreadable(
            f"standard input: it cannot be read ({error.strerror or error}); name a file instead"
        ) from None
    if not file.stat().st_size:
        raise TraceUnreadable("standard input: it is empty; see whether what should send the trace failed")
    return file
