"""The least change that is worth a line."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.compare.tables import Pair
from nsys_digest.errors import UsageInvalid
from nsys_digest.model.quantity import amount, is_share, share
from nsys_digest.units import to_ns


@dataclass(frozen=True, slots=True)
class Threshold:
    """A change counts that reaches both: nanoseconds, for times, and a share of BASE."""

    ns: int = 0
    share: float = 0.0

    def lets(self, pair: Pair) -> bool:
        """Tell whether a figure moved enough; one that did not move never does."""
        change = pair.change
        if not change:
            return False
        if pair.is_time and abs(change) < self.ns:
            return False
        return not pair.base or abs(change) >= self.share * abs(pair.base)

    def keeps(self, pair: Pair) -> bool:
        """Tell whether an amount that is on one side only is worth a line."""
        amount_there = pair.base or pair.head
        return bool(amount_there) and not (pair.is_time and abs(amount_there or 0) < self.ns)


def read_threshold(text: str) -> Threshold:
    """Read ``50us``, ``5%`` or both with a comma.

    Raises:
        UsageInvalid: it is neither.

    """
    ns, part = 0, 0.0
    for word in text.split(","):
        try:
            if is_share(word):
                part = share(word)
            else:
                ns = to_ns(amount(word, "s", or_share=True))
        except (ValueError, OverflowError) as error:
            raise UsageInvalid(f"--min-change {text}: {error}; for example --min-change 50us, or 50us,5%") from None
    return Threshold(ns, part)
