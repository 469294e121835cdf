"""Which GPU of one side did the work of which GPU of the other: decided here once, for every comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from nsys_digest.compare.runs import RunSet
from nsys_digest.model.base_types import Device
from nsys_digest.model.catalogue import Json
from nsys_digest.model.digest import Digest


def active(digest: Digest) -> tuple[Device, ...]:
    """Return the devices that did work, in the order of the digest."""
    return tuple(device for device in digest.devices if device.idle_ns is not None)


def pair_devices(base: Digest, head: Digest) -> tuple[tuple[int, int], ...]:
    """Pair the devices that did work, as positions among ``active``, in the order of BASE.

    As many on both sides did the same work: they are paired in order, so that a job that moved from GPUs 0 and 1 to 1
    and 2 is compared GPU for GPU; in order among those of one model, where the sides have as many of each. Where the
    numbers differ, those of equal ordinal are pairs, and then the rest in order; some are left over.
    """
    bases, heads = active(base), active(head)
    if len(bases) != len(heads):
        return tuple(sorted(_by_ordinal(bases, heads)))
    models = [sorted(range(len(side)), key=lambda at: side[at].name or "") for side in (bases, heads)]
    if [bases[at].name for at in models[0]] != [heads[at].name for at in models[1]]:
        models = [list(range(len(bases)))] * 2
    return tuple(sorted(zip(*models, strict=True)))


def _by_ordinal(bases: Sequence[Device], heads: Sequence[Device]) -> Iterator[tuple[int, int]]:
    left = list(range(len(heads)))
    rest = []
    for at, device in enumerate(bases):
        same = next((other for other in left if heads[other].device == device.device), None)
        if same is None:
            rest.append(at)
        else:
            left.remove(same)
            yield at, same
    yield from zip(rest, left, strict=False)


def documents(side: RunSet, like: Digest) -> tuple[tuple[Json, ...], tuple[str, ...]]:
    """Return the documents of a side, with the ordinals of ``like``, and a note on each run that had others."""
    found, notes = [], []
    for run in side.runs:
        document = run.digest.to_dict()
        places = _places(run.digest, like)
        changed = [
            f"{device.device} as {ordinal}"
            for device, (ordinal, _) in zip(run.digest.devices, places, strict=True)
            if device.device != ordinal
        ]
        if changed:
            _renumber(document, run.digest, places)
            notes.append(f"{run.source} used other GPUs than HEAD; its GPU ordinals are read {', '.join(changed)}")
        found.append(document)
    return tuple(found), tuple(notes)


_Place: TypeAlias = tuple[int, int]
"""The ordinal that a device is read under, and its place among devices of that ordinal: that of its partner."""


def _places(digest: Digest, like: Digest) -> list[_Place]:
    """Return the place of each device; one without a partner keeps its ordinal, unless a partner has it."""
    partners = dict(pair_devices(digest, like))
    wanted = active(like)
    paired = {
        at: (wanted[partners[position]].device, partners[position])
        for at, position in _active_positions(digest)
        if position in partners
    }
    taken = {ordinal for ordinal, _ in paired.values()}
    alone = {device.device for at, device in enumerate(digest.devices) if at not in paired}
    free = iter(sorted({device.device for device in digest.devices} - taken - alone))
    return [
        paired.get(at) or (next(free, device.device) if device.device in taken else device.device, len(wanted) + at)
        for at, device in enumerate(digest.devices)
    ]


def _active_positions(digest: Digest) -> Iterator[tuple[int, int]]:
    """Yield the position of each device that did work among all, and among those."""
    working = (at for at, device in enumerate(digest.devices) if device.idle_ns is not None)
    for position, at in enumerate(working):
        yield at, position


def _renumber(document: Json, digest: Digest, places: Sequence[_Place]) -> None:
    """Give the items of each list by device their ordinals, and the order of their partners."""
    working = [places[at] for at, _ in _active_positions(digest)]
    ran = [place for place, device in zip(working, active(digest), strict=True) if device.count["kernel"]]
    document["devices"] = _in_order(document["devices"], places)
    if "idle" in document:
        document["idle"]["devices"] = _in_order(document["idle"]["devices"], working)
    if document.get("communication") is not None:
        document["communication"] = _in_order(document["communication"], ran)


def _in_order(items: Sequence[Json], places: Sequence[_Place]) -> list[Json]:
    if len(items) != len(places):
        return list(items)  # of another order than the devices: left as it is
    renumbered = sorted(zip(places, items, strict=True), key=lambda pair: pair[0][1])
    return [item | {"device": ordinal} for (ordinal, _), item in renumbered]
