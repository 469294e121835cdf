"""NVTX domains: each process numbers its own, and names them in events."""

from __future__ import annotations

import numpy as np

from nsys_digest.algorithms.codes import Codes, PairCodes
from nsys_digest.algorithms.intervals import Int64s


class Domains:
    """Scopes: 0 is the default domain of all processes, 1 and on the others by process and id."""

    def __init__(self) -> None:
        """Start without a domain."""
        self._ids = Codes()
        self._pairs = PairCodes()
        """(code of the process, code of the domain id) of each domain other than the default."""
        self._names: dict[tuple[int, int], tuple[int, str]] = {}
        """(start, name) by (code of the process, domain id)."""

    def scopes(self, process: Int64s, domain: Int64s) -> Int64s:
        """Return the scope of each row; ``process`` are codes."""
        scope = np.zeros(domain.size, np.int64)
        if domain.any():
            named = domain != 0
            scope[named] = 1 + self._pairs.encode(process[named], self._ids.encode(domain[named]))
        return scope

    def note(self, process: int, domain: int, start_ns: int, name: str) -> None:
        """Keep the name that an event gives a domain; the earliest of several counts."""
        named = start_ns, name
        self._names[process, domain] = min(named, self._names.get((process, domain), named))

    def merge(self, other: Domains, process: Int64s) -> Int64s:
        """Take another's, and return the scope here of each there; ``process`` is the code here of each there."""
        for (there, domain), (start_ns, name) in other._names.items():
            self.note(int(process[there]), domain, start_ns, name)
        pairs = self._pairs.merge(other._pairs, process, self._ids.merge(other._ids))
        return np.append(0, 1 + pairs)

    def prefix(self, scope: int) -> str:
        """Return what is put before a name, the empty text in the default domain and in one that has no name.

        A domain's name is in an event of its own, which a capture that began late lacks.
        """
        if not scope:
            return ""
        process, code = self._pairs.pairs[scope - 1]
        _, name = self._names.get((process, self._ids.values[code]), (0, ""))
        return f"{name}:" if name else ""
