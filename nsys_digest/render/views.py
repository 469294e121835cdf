"""The ways in which a digest shows itself; see :class:`nsys_digest.model.views.Views`."""

from __future__ import annotations

from nsys_digest.model.digest import Digest
from nsys_digest.model.views import Shown
from nsys_digest.render import html as as_html
from nsys_digest.render import markdown as as_markdown
from nsys_digest.render import text as as_text
from nsys_digest.report.chosen import chosen_report


def text(digest: Digest, shown: Shown, *, width: int, color: bool) -> str:
    """Return it as text of that width."""
    return as_text.render(chosen_report(digest, shown), width=width, color=color)


def markdown(digest: Digest, shown: Shown) -> str:
    """Return it as GitHub-flavoured Markdown."""
    return as_markdown.render(chosen_report(digest, shown))


def html(digest: Digest, shown: Shown) -> str:
    """Return it as a fragment of HTML."""
    return as_html.render(chosen_report(digest, shown))
