"""What calls that wait waited for: a device, a stream, an event, or a copy of their own."""

from __future__ import annotations

from collections import Counter

import numpy as np

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.cuda_calls import CONTEXT_WAIT_CALLS, EVENT_WAIT_CALLS, STREAM_WAIT_CALLS, is_one_of
from nsys_digest.trace.events import NONE, Events

_KINDS = ("copy or set", "device", "stream", "event")
_NAMES = (None, CONTEXT_WAIT_CALLS, STREAM_WAIT_CALLS, EVENT_WAIT_CALLS)
_NO_STREAM = 0xFFFFFFFF
"""CUPTI's word for no stream (CUPTI_SYNCHRONIZATION_INVALID_VALUE)."""


def by_target(events: Events, call: Int64s, time_ns: Int64s) -> dict[str, int]:
    """Add up times of calls that wait by what these waited for, most first, then by name; shape (n,) both.

    The names are ``device``, ``stream N``, ``event`` or ``event of stream N``, and ``copy or set``; a number is left
    out where the trace does not say it, and N is the same for streams of several contexts and processes.
    """
    calls = events.calls
    kind_of_group = np.array(
        [next((at for at, names in enumerate(_NAMES) if names and is_one_of(name, names)), 0) for name in calls.names],
        np.int64,
    )
    group = calls.group[call]
    kind, stream = kind_of_group[group], np.full(call.size, NONE)
    for process, rows in events.waits.items():
        own = np.flatnonzero((calls.process_of_group[group] == process) & (kind >= _KINDS.index("stream")))
        if own.size:
            context, direct = rows.of(calls.correlation[call[own]])
            recorded = _streams_of_events(events, process, context, rows.event_of(calls.correlation[call[own]]))
            stream[own] = np.where(kind[own] == _KINDS.index("stream"), direct, recorded)
    stream[stream == _NO_STREAM] = NONE
    found: Counter[str] = Counter()
    pairs, which = np.unique(np.stack((kind, stream)), axis=1, return_inverse=True)
    sums = np.zeros(pairs.shape[1], np.int64)
    np.add.at(sums, which.ravel(), time_ns)
    for one, number, ns in zip(*pairs.tolist(), sums.tolist(), strict=True):
        found[_name(_KINDS[one], number)] += ns
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def _streams_of_events(events: Events, process: int, context: Int64s, event: Int64s) -> Int64s:
    pairs, which = np.unique(np.stack((context, event)), axis=1, return_inverse=True)
    streams = [events.event_streams.get((process, of, one), NONE) for of, one in pairs.T.tolist()]
    return np.array(streams, np.int64)[which.ravel()]


def _name(kind: str, stream: int) -> str:
    if stream == NONE:
        return kind
    return f"stream {stream}" if kind == "stream" else f"{kind} of stream {stream}"
