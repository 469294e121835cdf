"""How a digest shows itself: renderers stand behind the model, so the package says here where they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from nsys_digest.model.digest import Digest


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of a digest is shown: one screen, or all (``full``), or the whole tables of ``sections``.

    ``top`` is how many rows each list has; None: 5 on a screen, 20 of all, every row of sections. No section but an
    empty tuple is what every digest has.
    """

    top: int | None = None
    full: bool = False
    sections: tuple[str, ...] | None = None


SCREEN: Final = Shown()
"""What fits on a screen."""


class Views(Protocol):
    """What renders a digest."""

    def text(self, digest: Digest, shown: Shown, *, width: int, color: bool) -> str:
        """Return it as text of that width."""
        ...

    def markdown(self, digest: Digest, shown: Shown) -> str:
        """Return it as GitHub-flavoured Markdown."""
        ...

    def html(self, digest: Digest, shown: Shown) -> str:
        """Return it as a fragment of HTML."""
        ...


VIEWS: Final[list[Callable[[], Views]]] = []
"""One function that imports the renderers when they are first used; the package puts it here as it is imported."""
TOP: Final = 20
"""Rows of each list, unless another number is asked for."""


def views() -> Views:
    """Return the renderers."""
    return VIEWS[-1]()
