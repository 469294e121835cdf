"""How much of a digest a report shows: a screen, all of it, or some sections whole."""

from __future__ import annotations

import sys

from nsys_digest.model.digest import Digest
from nsys_digest.model.views import TOP, Shown
from nsys_digest.report import short
from nsys_digest.report.blocks import Report
from nsys_digest.report.digest import digest_report, sections_report


def chosen_report(digest: Digest, shown: Shown) -> Report:
    """Arrange as much of a digest as was asked for; the tables of sections that are named are whole."""
    if shown.full:
        return digest_report(digest, TOP if shown.top is None else shown.top)
    if shown.sections is not None:
        return sections_report(digest, shown.sections, sys.maxsize if shown.top is None else shown.top)
    return short.short_report(digest, short.TOP if shown.top is None else shown.top)
