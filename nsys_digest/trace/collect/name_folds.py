"""Range names that differ in numbers alone become one: what frameworks append, and what the user says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from nsys_digest.algorithms.patterns import ArrowMissing, PatternInvalid, check_pattern, replaced
from nsys_digest.errors import UsageInvalid
from nsys_digest.trace.source import Tail

# PyTorch's emit_nvtx writes these behind an operator's name, torch/csrc/autograd/profiler_legacy.cpp.
_LIST = r"\[[\[\]()0-9, -]*\]"
SERIALS: Final = Tail(rf", (?:seq = -?[0-9]+|op_id = -?[0-9]+|sizes = {_LIST}|input_op_ids = {_LIST})")
# XLA writes `Thunk:#hlo_op=fusion.1,unique_hlo_op_id=34#`, xla/backends/profiler/gpu and xla/service/gpu annotations.
_XLA_END: Final = "#"
_XLA_ID = re.compile(r"(?:program_id|unique_hlo_op_id)=-?[0-9]+")

NUMBERS: Final = "numbers"
"""The fold that turns every run of digits into ``#``."""
_ARROW: Final = "=>"
_REMEMBERED: Final = 1 << 16


def fold_name(text: str) -> str:
    """Take off what differs from call to call: PyTorch's serial numbers and sizes, XLA's ids of programs and operators.

    ``aten::mm, seq = 1, op_id = 2`` gives ``aten::mm``, and ``Thunk:#hlo_op=dot.1,unique_hlo_op_id=4#`` gives
    ``Thunk:#hlo_op=dot.1#``.
    """
    return _without_ids(SERIALS.off(text))


def _without_ids(text: str) -> str:
    """Take the ids off the pairs between the first ``#`` and one at the end; without pairs the signs go too."""
    if not text.endswith(_XLA_END):
        return text
    head, mark, block = text[:-1].partition(_XLA_END)
    pairs = block.split(",") if mark else []
    kept = [pair for pair in pairs if not _XLA_ID.fullmatch(pair)]
    if len(kept) == len(pairs):
        return text
    return f"{head}{mark}{','.join(kept)}{mark}" if kept else head


class NameFolds:
    r"""Rules of the user, in order: ``numbers``, or ``REGEX=>TEXT``, which puts TEXT in place of what REGEX matches.

    Patterns are in the syntax of RE2, whose time is linear in the length of a name, whatever the pattern. ``\1`` in
    TEXT is the first group.
    """

    def __init__(self, rules: Iterable[str]) -> None:
        """Read the rules.

        Raises:
            UsageInvalid: one is no rule, its pattern or text is wrong, or it matches the empty text.

        """
        self._rules = [_read(rule) for rule in rules]

    def __bool__(self) -> bool:
        """Return whether there is a rule."""
        return bool(self._rules)

    def fold(self, texts: list[str]) -> list[str]:
        """Return each text with every rule applied."""
        if not self._rules or not texts:
            return texts
        for pattern, text in self._rules:
            texts = replaced(pattern, text, texts)
        return texts


class FoldOnce:
    """Folds texts without serial numbers, each once as long as it is remembered."""

    def __init__(self, folds: NameFolds, dispatch_prefix: str, *, raw: bool) -> None:
        """Take the rules of the user; ``raw`` leaves the ids of XLA.

        Texts of the dispatch prefix are data: the rules of the user leave them as they are.
        """
        self._folds, self._prefix, self._raw = folds, dispatch_prefix, raw
        self._known: dict[str, str] = {}

    def fold(self, texts: list[str]) -> list[str]:
        """Return each text folded."""
        if not self._folds:
            return texts if self._raw else [_without_ids(text) for text in texts]
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if len(self._known) + len(new) > _REMEMBERED:
            self._known.clear()
            new = [*dict.fromkeys(texts)]
        bare = [text if self._raw else _without_ids(text) for text in new]
        other = [index for index, text in enumerate(bare) if not text.startswith(self._prefix)]
        for index, folded in zip(other, self._folds.fold([bare[index] for index in other]), strict=True):
            bare[index] = folded
        self._known.update(zip(new, bare, strict=True))
        return [self._known[text] for text in texts]


def _read(rule: str) -> tuple[str, str]:
    """Return the pattern of a rule, and the text in its place."""
    if rule == NUMBERS:
        return "[0-9]+", "#"
    pattern, arrow, text = rule.partition(_ARROW)
    if not arrow or not pattern:
        raise UsageInvalid(f"there is no fold {rule!r}; give {NUMBERS}, or REGEX=>TEXT, such as 'request [0-9]+=>a'")
    try:
        matches_nothing = check_pattern(pattern, text)
    except PatternInvalid as error:
        raise UsageInvalid(f"fold {rule!r} is wrong: {error}; patterns and \\1 are written as in RE2") from None
    except ArrowMissing:
        raise UsageInvalid("names cannot be folded without pyarrow; install it: pip install pyarrow") from None
    if matches_nothing:
        raise UsageInvalid(f"fold {rule!r} matches the empty text, so between all letters; name what it replaces")
    return pattern, text
