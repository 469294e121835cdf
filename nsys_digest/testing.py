"""The check as an assertion, for test suites: a function, and a pytest fixture of the same name.

With pytest, ``pytest_plugins = ["nsys_digest.testing"]`` in ``conftest.py`` makes the fixture. Nothing else here needs
pytest.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Unpack

from nsys_digest.api import Runs, check
from nsys_digest.errors import DigestError
from nsys_digest.gate.policy import Policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.options import SummarizeKeywords

_WIDTH = 120
_ROWS = 0


def assert_no_regression(
    head: Runs,
    baseline: Runs | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    *,
    allow_mismatch: Iterable[str] = (),
    min_repeats: int | None = None,
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[SummarizeKeywords],
) -> CheckResult:
    """Check as :func:`nsys_digest.check` does, and return its result where nothing failed and nothing was missing.

    Raises:
        AssertionError: a figure is worse than allowed, or cannot be told; the text is the report.
        DigestError: as :func:`nsys_digest.check`.

    """
    __tracebackhide__ = True
    try:
        result = check(
            head, baseline, policy, allow_mismatch=allow_mismatch, min_repeats=min_repeats, store=store, **options
        )
    except DigestError as error:
        raise error.with_traceback(None) from None  # what failed is in its line, not in the frames of this package
    if not result.passed:
        from nsys_digest.render.text import render
        from nsys_digest.report.check import check_report

        raise AssertionError(render(check_report(result, _ROWS), width=_WIDTH, color=False))
    return result


with suppress(ImportError):
    import pytest

    @pytest.fixture(name="assert_no_regression")
    def _assert_no_regression() -> Callable[..., CheckResult]:
        """Give :func:`assert_no_regression`."""
        return assert_no_regression
