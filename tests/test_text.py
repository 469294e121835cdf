"""The report on a terminal of any width: names may be cut, numbers never."""

from __future__ import annotations

import pytest

from nsys_digest import summarize
from nsys_digest.render import text
from nsys_digest.render.report import digest_report
from test_fixtures import TRACES


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_number_is_cut(width: int) -> None:
    trace = next(path for path in TRACES if path.stem == "rank_0")
    report = digest_report(summarize(trace, steps="train_step"), top=5)
    shown = text.render(report, width=width, color=False)
    for block in report.blocks:
        for row in block.rows:
            for column, cell in zip(block.columns, row, strict=True):
                if column.kind == "number":
                    assert cell in shown, (block.title, column.title)


@pytest.mark.parametrize("width", [80, 120])
def test_tables_keep_within_the_terminal(width: int) -> None:
    for trace in TRACES:
        report = digest_report(summarize(trace), top=5)
        _, _, tables = text.render(report, width=width, color=False).partition("\nDevices\n")
        for line in tables.splitlines():
            assert len(line) <= width, line
