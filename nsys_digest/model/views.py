"""How a digest shows itself: renderers stand behind the model, so the package says here where they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from nsys_digest.model.digest import Digest


class Views(Protocol):
    """What renders a digest."""

    def text(self, digest: Digest, *, top: int, width: int, color: bool) -> str:
        """Return it as text of that width."""
        ...

    def markdown(self, digest: Digest, *, top: int) -> str:
        """Return it as GitHub-flavoured Markdown."""
        ...

    def html(self, digest: Digest, *, top: int) -> str:
        """Return it as a fragment of HTML."""
        ...


VIEWS: Final[list[Callable[[], Views]]] = []
"""One function that imports the renderers when they are first used; the package puts it here as it is imported."""
TOP: Final = 20
"""Rows of each list, unless another number is asked for."""


def views() -> Views:
    """Return the renderers."""
    return VIEWS[-1]()
