"""The texts of ranges and marks as small ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nsys_digest.algorithms.codes import Codes
from nsys_digest.algorithms.intervals import Int64s
from nsys_digest.model.base_types import OTHER_NAMES
from nsys_digest.trace.collect.name_folds import SERIALS, FoldOnce, NameFolds
from nsys_digest.trace.columns import Bools
from nsys_digest.trace.nsys.tables import NO_STRING, name_of


@dataclass(frozen=True, slots=True)
class NvtxOptions:
    """What counts as a dispatch mark, whether names keep what frameworks append, and how many are kept apart.

    ``folds`` are the rules of the user for names; see :class:`NameFolds`.
    """

    dispatch_prefix: str
    raw_names: bool
    max_names: int
    folds: tuple[str, ...] = ()


class RangeNames:
    """Ids of texts; 0 is what all those have that are not kept apart."""

    def __init__(
        self,
        resolve: Callable[[list[int]], dict[int, str]],
        options: NvtxOptions,
        kept: frozenset[int] | None,
        wanted: Callable[[str], bool] | None = None,
    ) -> None:
        """Resolve registered strings with ``resolve``; ``kept`` are the hashes of the names to keep apart, None of all.

        Dispatch names are always kept apart. ``wanted`` tells which texts are asked for; None is all.
        """
        self.wanted = wanted
        self.resolve = resolve
        self._options = options
        self._kept = kept
        self.cut = None if options.raw_names else SERIALS
        """What is taken off the end of an inline text as it is read."""
        self._folds = FoldOnce(NameFolds(options.folds), options.dispatch_prefix, raw=options.raw_names)
        self.texts: list[str] = [OTHER_NAMES]
        self._ids: dict[str, int] = {}
        self._registered = _Registered(self._text_of_strings, self._numbers)
        self._registered_hashes = _Registered(self._text_of_strings, self._hashes)
        self._is_dispatch = np.zeros(1, bool)

    @property
    def too_many(self) -> bool:
        """Whether there are more names than may be kept."""
        return self._kept is None and len(self.texts) - 1 > self._options.max_names

    def of_ranges(self, text_code: Int64s, texts: list[str], string_id: Int64s) -> Int64s:
        """Return the id of each row's text: ``texts`` are the inline ones by code."""
        return _by_row(text_code, texts, string_id, self._numbers, self._registered)

    def of_marks(self, text_code: Int64s, texts: list[str], string_id: Int64s) -> Int64s:
        """Return the id of each text of the dispatch prefix, -1 of others: they may all differ and are not kept."""
        return _by_row(text_code, texts, string_id, self._dispatch_numbers, self._registered)

    def hashes(self, text_code: Int64s, texts: list[str], string_id: Int64s) -> Int64s:
        """Return the hash of each text."""
        return _by_row(text_code, texts, string_id, self._hashes, self._registered_hashes)

    def are_dispatch(self, name: Int64s) -> Bools:
        """Tell which ids are of the dispatch prefix."""
        return (name >= 0) & self._is_dispatch[name]

    def merge(self, other: RangeNames) -> Int64s:
        """Take the texts of another, and return the id here of each id there."""
        return np.array([0, *map(self._intern, other.texts[1:])], np.int64)

    def _text_of_strings(self, ids: list[int]) -> list[str]:
        texts = self.resolve(ids)
        named = (name_of(key, texts) for key in ids)
        return [text if self.cut is None else self.cut.off(text) for text in named]

    def _numbers(self, texts: list[str]) -> list[int]:
        return [self._intern(text) for text in self._folds.fold(texts)]

    def _hashes(self, texts: list[str]) -> list[int]:
        return [hash(text) for text in self._folds.fold(texts)]

    def _dispatch_numbers(self, texts: list[str]) -> list[int]:
        prefix, numbers = self._options.dispatch_prefix, [-1] * len(texts)
        own = [index for index, text in enumerate(texts) if text.startswith(prefix)]
        for index, number in zip(own, self._numbers([texts[index] for index in own]), strict=True):
            numbers[index] = number
        return numbers

    def _intern(self, text: str) -> int:
        name = self._ids.get(text)
        if name is None:
            is_dispatch = text.startswith(self._options.dispatch_prefix)
            if self._kept is not None and not is_dispatch and hash(text) not in self._kept:
                return 0
            if self.wanted is not None and not is_dispatch and not self.wanted(text):
                name = self._ids[text] = 0
                return name
            name = self._ids[text] = len(self.texts)
            self.texts.append(text)
            if name >= self._is_dispatch.size:
                self._is_dispatch = np.concatenate((self._is_dispatch, np.zeros(max(64, name), bool)))
            self._is_dispatch[name] = is_dispatch
        return name


class _Registered:
    """A number for each registered string, found out when the string is first used."""

    def __init__(self, texts: Callable[[list[int]], list[str]], number: Callable[[list[str]], list[int]]) -> None:
        self._texts = texts
        self._number = number
        self._codes = Codes()
        self._numbers = np.zeros(0, np.int64)

    def numbers(self, string_id: Int64s) -> Int64s:
        code = self._codes.encode(string_id)
        new = self._codes.values[self._numbers.size :]
        if new:
            found = np.array(self._number(self._texts(new)), np.int64)
            self._numbers = np.concatenate((self._numbers, found))
        return self._numbers[code]


def _by_row(
    text_code: Int64s,
    texts: list[str],
    string_id: Int64s,
    number: Callable[[list[str]], list[int]],
    registered: _Registered,
) -> Int64s:
    """Return the number of each row's text: the registered string where there is one, else the inline text."""
    inline = string_id == NO_STRING
    used = np.zeros(len(texts), bool)
    used[text_code[inline]] = True
    number_of = np.full(len(texts), -1, np.int64)
    number_of[used] = number([texts[code] for code in np.flatnonzero(used).tolist()])
    numbers = number_of[text_code]
    if not inline.all():
        numbers[~inline] = registered.numbers(string_id[~inline])
    return numbers
