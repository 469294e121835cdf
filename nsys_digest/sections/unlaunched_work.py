"""GPU work without a launch call in the trace, by process and kind.

Such work is busy time like all other, so that the figures of GPU time are whole. What links work to calls does not see
it: launch costs, launched work of ranges and steps, and causes of idle time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Final

from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.base_types import Warn
from nsys_digest.trace.collect.gpu import GpuTotals
from nsys_digest.trace.events import Events
from nsys_digest.trace.nsys.tables import GPU_KINDS, known_process_of
from nsys_digest.units import counted

_WORDS: Final = {"kernel": "kernel", "graph": "CUDA graph", "memcpy": "copy", "memset": "set"}
_SHOWN_PROCESSES: Final = 3
_UNKNOWN: Final = "launch cost, cause of idle time, and the range or step that launched it are not known"
_HOLDS: Final = "Span, busy and idle hold"


def unlaunched_work(events: Events, gpu: GpuTotals, *, whole: bool = True) -> Warn | None:
    """Return what to say of GPU rows without a call; None where each has one, page migrations apart.

    ``whole`` tells that the events are of all of time, so that one without calls has none at all.
    The driver moves pages of unified memory on its own: no call launches that.
    """
    operations = events.operations
    total = int(operations.unlinked.sum())
    if not total:
        return None
    if whole and not events.calls.start_ns.size:
        return Warn(
            "unattributed-work",
            f"The trace has no CUDA API call for its {counted(total, 'GPU operation')}: {_UNKNOWN}. {_HOLDS}",
        )
    lacking, all_of = (_by_process(counts, gpu) for counts in (operations.unlinked, operations.launchable))
    processes = sorted(lacking, key=lambda process: (-lacking[process].total(), process))
    told = [
        _told(lacking[process], all_of[process]) + (f" of {_named(process)}" if len(all_of) > 1 else "")
        for process in processes[:_SHOWN_PROCESSES]
    ]
    if rest := processes[_SHOWN_PROCESSES:]:
        rows = sum(lacking[process].total() for process in rest)
        others = "1 other process" if len(rest) == 1 else f"{len(rest):,} other processes"
        told.append(f"{counted(rows, 'GPU operation')} of {others}")
    return Warn(
        "unattributed-work",
        f"{'; '.join(told)} {'has' if total == 1 else 'have'} no launch call in the trace: {_UNKNOWN}. {_HOLDS}. The "
        "capture began late, or left out the calls",
    )


def _by_process(counts: Int64s, gpu: GpuTotals) -> dict[int, Counter[str]]:
    """Return the counts of groups by globalPid and kind, without zeros."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for (kind, place), count in zip(gpu.groups, counts.tolist(), strict=True):
        if count:
            found[gpu.places[place].process][GPU_KINDS[kind]] += count
    return found


def _told(lacking: Counter[str], all_of: Counter[str]) -> str:
    told = [f"{lacking[kind]:,} of {counted(all_of[kind], word)}" for kind, word in _WORDS.items() if lacking[kind]]
    return ", ".join(told[:-1]) + (" and " if len(told) > 1 else "") + told[-1]


def _named(process: int) -> str:
    pid = known_process_of(process)
    return "no named process" if pid is None else f"process {pid}"
