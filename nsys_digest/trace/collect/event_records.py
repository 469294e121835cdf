"""On which stream each CUDA event was recorded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nsys_digest.trace.events import NONE
from nsys_digest.trace.source import Batch

_COLUMNS = ("process", "context", "event", "stream")


class EventRecordPart:
    """Some of the records: each event of a context with its stream, ``NONE`` where it was recorded on several."""

    def __init__(self) -> None:
        """Start without a record."""
        self._streams: dict[tuple[int, int, int], int] = {}

    def add(self, batch: Batch) -> None:
        """Take rows with the columns of ``event_query``."""
        rows = np.unique(np.stack([batch.ints(name) for name in _COLUMNS]), axis=1)
        for process, context, event, stream in zip(*rows.tolist(), strict=True):
            self._note((process, context, event), stream)

    def _note(self, event: tuple[int, int, int], stream: int) -> None:
        if self._streams.setdefault(event, stream) != stream:
            self._streams[event] = NONE

    def merge(self, other: EventRecordPart) -> None:
        """Take the records of another part."""
        for event, stream in other._streams.items():
            self._note(event, stream)

    def finish(self) -> Mapping[tuple[int, int, int], int]:
        """Return the stream of each (globalPid, context, event)."""
        return self._streams
