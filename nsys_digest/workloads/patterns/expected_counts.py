"""What the program did, booked as it is done, over all threads and processes."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Moved:
    """Copies or sets: how many, and bytes in all."""

    count: int = 0
    bytes: int = 0

    def add(self, count: int, size: int) -> None:
        """Add some of ``size`` bytes together."""
        self.count += count
        self.bytes += size

    def to_dict(self) -> dict[str, int]:
        """Return it for JSON."""
        return {"count": self.count, "bytes": self.bytes}


@dataclass(slots=True)
class Waited:
    """How often the host waited, and for how long in all, by its own clock."""

    count: int = 0
    ns: int = 0

    def to_dict(self) -> dict[str, int]:
        """Return it for JSON."""
        return {"count": self.count, "ns": self.ns}


@dataclass(slots=True)
class Ranges:
    """The ranges of one name. ``kernels`` were launched from inside one, on its thread; graphs are counted apart."""

    nested: bool
    count: int = 0
    kernels: int = 0
    graph_kernels: int = 0
    threads: set[tuple[int, int]] = field(default_factory=set)

    def to_dict(self) -> dict[str, Any]:
        """Return it for JSON; what a start/end range launched is not told, since any thread may end it."""
        launched = {"kernels": self.kernels, "graph_kernels": self.graph_kernels} if self.nested else {}
        return {"count": self.count, "threads": len(self.threads), **launched}


class ExpectedCounts:
    """The account of one process, to which those of others are added; any thread may book."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.processes = 1
        self.kernels = 0
        self.copies: dict[tuple[str, str, str], Moved] = {}
        self.sets = Moved()
        self.graph_launches = 0
        self.graph_kernels = 0
        self.graph_copies = Moved()
        self.graph_sets = Moved()
        self.overlapping_kernels = 0
        self.managed_bytes = 0
        self.open_ranges = 0
        self.ranges: dict[str, Ranges] = {}
        self.marks: Counter[str] = Counter()
        self.host_waits: dict[str, Waited] = {}
        self.skipped: list[dict[str, str]] = []

    def launched(self, kernels: int, names: Iterable[str], *, in_graphs: bool = False) -> None:
        """Book kernels, in all and for each range name around them once."""
        with self._lock:
            if in_graphs:
                self.graph_kernels += kernels
            else:
                self.kernels += kernels
            for name in set(names):
                if in_graphs:
                    self.ranges[name].graph_kernels += kernels
                else:
                    self.ranges[name].kernels += kernels

    def copied(self, direction: str, source_kind: str, destination_kind: str, size: int) -> None:
        """Book a copy."""
        with self._lock:
            self.copies.setdefault((direction, source_kind, destination_kind), Moved()).add(1, size)

    def replayed(self, launches: int, copy_bytes: int, set_bytes: int) -> None:
        """Book launches of a graph that holds one copy and one set."""
        with self._lock:
            self.graph_launches += launches
            self.graph_copies.add(launches, launches * copy_bytes)
            self.graph_sets.add(launches, launches * set_bytes)

    def began(self, name: str, *, nested: bool = True, stays_open: bool = False) -> None:
        """Book a range on this thread."""
        with self._lock:
            ranges = self.ranges.setdefault(name, Ranges(nested))
            ranges.count += 1
            ranges.threads.add((os.getpid(), threading.get_native_id()))
            self.open_ranges += stays_open

    def marked(self, text: str) -> None:
        """Book a mark."""
        with self._lock:
            self.marks[text] += 1

    def waited(self, name: str, ns: int) -> None:
        """Book a wait of the host in the range of that name."""
        with self._lock:
            waited = self.host_waits.setdefault(name, Waited())
            waited.count += 1
            waited.ns += ns

    def skip(self, pattern: str, reason: str) -> None:
        """Book what could not be done here."""
        with self._lock:
            self.skipped.append({"pattern": pattern, "reason": reason})

    def to_dict(self) -> dict[str, Any]:
        """Return the account for JSON; names and directions in order of first use."""
        copies = [
            {"direction": direction, "source_kind": source, "destination_kind": destination, **moved.to_dict()}
            for (direction, source, destination), moved in self.copies.items()
        ]
        return {
            "processes": self.processes,
            "kernels": self.kernels,
            "overlapping_kernels": self.overlapping_kernels,
            "copies": copies,
            "sets": self.sets.to_dict(),
            "graphs": {
                "launches": self.graph_launches,
                "kernels": self.graph_kernels,
                "copies": self.graph_copies.to_dict(),
                "sets": self.graph_sets.to_dict(),
            },
            "managed_bytes": self.managed_bytes,
            "ranges": {name: ranges.to_dict() for name, ranges in self.ranges.items()},
            "open_ranges": self.open_ranges,
            "marks": dict(self.marks),
            "host_waits": {name: waited.to_dict() for name, waited in self.host_waits.items()},
            "skipped": self.skipped,
        }


def merged(first: Mapping[str, Any], *others: Mapping[str, Any]) -> dict[str, Any]:
    """Return accounts of several processes as one: numbers add up, lists of copies by their kinds."""
    total = dict(first)
    for other in others:
        for key, value in other.items():
            total[key] = _sum(key, total[key], value) if key in total else value
    return total


def _sum(key: str, mine: Any, theirs: Any) -> Any:
    if isinstance(mine, int):
        return mine + theirs
    if isinstance(mine, Mapping):
        return merged(mine, theirs)
    if key == "copies":
        by_kind = {_kinds(row): row for row in mine}
        for row in theirs:
            found = by_kind.get(_kinds(row))
            by_kind[_kinds(row)] = row if found is None else {**row, **_moved(found, row)}
        return list(by_kind.values())
    return [*mine, *(row for row in theirs if row not in mine)]


def _kinds(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["direction"], row["source_kind"], row["destination_kind"]


def _moved(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, int]:
    return {key: mine[key] + theirs[key] for key in ("count", "bytes")}
