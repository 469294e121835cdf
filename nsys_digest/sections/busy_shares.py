"""Busy time shared out among kinds of work, so that the shares add up to it to the nanosecond."""

from __future__ import annotations

from nsys_digest.model.split_types import BusyShares
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section


def _make(context: Context) -> Made:
    made = []
    for index, device in enumerate(context.gpu.devices):
        if device.did_work and device.busy_ns is not None:
            own = {name: ns for name, ns in context.shared_out.of(index).items() if ns}
            ordered = dict(sorted(own.items(), key=lambda row: (-row[1], row[0])))
            made.append(BusyShares(device.device, device.busy_ns, ordered))
    return Made(tuple(made))


SECTION = Section("busy_shares", _make, Lane.time, frozenset({Blind.whole_graphs}))
