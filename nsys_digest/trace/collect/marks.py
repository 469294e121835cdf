"""NVTX marks one by one, whatever they are named, for those who take them as steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from nsys_digest.algorithms.codes import PairCodes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.trace.collect.range_names import NvtxOptions, RangeNames
from nsys_digest.trace.events import Marks


class MarkPart:
    """Some of the marks. Texts that all differ are no steps: past the limit of names none is kept any more."""

    def __init__(self, resolve: Callable[[list[int]], dict[int, str]], options: NvtxOptions) -> None:
        """Start without a mark; registered strings are resolved with ``resolve``."""
        self._names = RangeNames(resolve, options, None)
        self._groups = PairCodes()
        """(scope, name) of each group."""
        self._rows: list[tuple[Int64s, Int64s, Int64s]] = []
        """(start, group, code of the thread)."""
        self._too_many = False

    def add(
        self, start_ns: Int64s, scope: Int64s, thread: Int64s, text_code: Int64s, texts: list[str], string_id: Int64s
    ) -> None:
        """Take marks, arrays of shape (n,): ``texts`` are the inline ones by code."""
        if self._too_many:
            return
        name = self._names.of_ranges(text_code, texts, string_id)
        self._rows.append((start_ns, self._groups.encode(scope, name), thread))
        self._give_up_on_too_many()

    def _give_up_on_too_many(self) -> None:
        if self._names.too_many:
            self._too_many, self._rows = True, []

    def merge(self, other: MarkPart, scope: Int64s, thread: Int64s) -> None:
        """Take the marks of another part; ``scope`` and ``thread`` are the codes here of each code there."""
        self._too_many = self._too_many or other._too_many
        if self._too_many:
            self._rows = []
            return
        group = self._groups.merge(other._groups, scope, self._names.merge(other._names))
        self._rows += [(start_ns, group[there], thread[of]) for start_ns, there, of in other._rows]
        self._give_up_on_too_many()

    def finish(self, prefix_of: Callable[[int], str], thread_of_code: Int64s) -> Marks:
        """End the part: return the marks by thread, then by start, then by name.

        ``prefix_of`` gives what stands before the names of a scope.
        """
        names = tuple(prefix_of(scope) + self._names.texts[name] for scope, name in self._groups.pairs)
        none = np.zeros(0, np.int64)
        start_ns, group, code = (np.concatenate(column) for column in zip((none,) * 3, *self._rows, strict=True))
        thread = thread_of_code[code] if code.size else code
        rank = np.zeros(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        order = np.lexsort((rank[group], start_ns, thread)) if group.size else group
        return Marks(start_ns[order], group[order], thread[order], names)
