"""CUDA calls that returned an error."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from nsys_digest.model.base_types import FailedCalls, Warn
from nsys_digest.model.cuda_errors import error_name
from nsys_digest.trace.collect.api import ApiTotals
from nsys_digest.trace.nsys.tables import name_of
from nsys_digest.units import counted

_SHOWN = 3


def failed_calls(api: ApiTotals, strings: Mapping[int, str]) -> tuple[FailedCalls, ...]:
    """Return the calls that failed, by recorded name and error; most calls first, then by name, then by number."""
    counts: Counter[tuple[str, int]] = Counter()
    for (group, value), count in api.failures.items():
        counts[name_of(api.groups[group][1], strings), value] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], *item[0]))
    return tuple(FailedCalls(name, error_name(name, value), value, count) for (name, value), count in ordered)


def failure_warning(failed: tuple[FailedCalls, ...]) -> Warn | None:
    """Return what to say of failed calls; None where there are none."""
    if not failed:
        return None
    total = sum(one.count for one in failed)
    shown = [f"{one.count:,} {one.name} {one.error or 'error'} ({one.value})" for one in failed[:_SHOWN]]
    if len(failed) > _SHOWN:
        shown.append(f"and {len(failed) - _SHOWN:,} more in failed_calls of the document")
    return Warn(
        "failed-calls",
        f"{counted(total, 'CUDA API call')} returned an error: {', '.join(shown)}. What they were to do did not "
        "happen; the time of the calls counts like that of others",
    )
